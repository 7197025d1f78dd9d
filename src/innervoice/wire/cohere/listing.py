"""How Cohere's API describes its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.model_list import NO_MODEL, ModelFacts, known
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

UNKNOWN_MODEL = Refusal(
    text="model '{model}' not found, make sure the correct model ID was used and that you have access to the model.",
    status=404,
)


def model_card(model: ModelFacts) -> dict[str, Any]:
    sizes = known(context_length=model.context)
    return {"name": model.name, "endpoints": ["chat"], "finetuned": False, **sizes}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"models": [model_card(model) for model in models]}
