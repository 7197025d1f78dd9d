"""How OpenAI's API describes its models; an unknown one is an invalid request in Responses."""

from __future__ import annotations

from innervoice.wire.model_list import NO_MODEL
from innervoice.wire.model_list import openai_model as model_card
from innervoice.wire.model_list import openai_models as model_list
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

UNKNOWN_MODEL = Refusal(
    text="The requested model '{model}' does not exist.", code="model_not_found", param="model"
)
