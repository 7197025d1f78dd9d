"""How Anthropic's API describes its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.model_list import NO_TIME, ModelFacts, known
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

NO_MODEL = Refusal(text="model: Field required")
UNKNOWN_MODEL = Refusal(text="model: {model}", status=404)


def model_card(model: ModelFacts) -> dict[str, Any]:
    sizes = known(
        max_input_tokens=model.context,
        # Not in Anthropic's API: Claude Code reads it in a gateway's list.
        context_window=model.context,
        max_tokens=model.output,
    )
    named = {"type": "model", "id": model.name, "display_name": model.name, "created_at": NO_TIME}
    return {**named, **sizes}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    listed = [model_card(model) for model in models]
    first, last = (models[0].name, models[-1].name) if models else (None, None)
    return {"data": listed, "has_more": False, "first_id": first, "last_id": last}
