"""How OpenAI's API describes its models, and its error for an unknown one."""

from __future__ import annotations

from innervoice.wire.model_list import NO_MODEL, UNKNOWN_MODEL
from innervoice.wire.model_list import openai_model as model_card
from innervoice.wire.model_list import openai_models as model_list

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]
