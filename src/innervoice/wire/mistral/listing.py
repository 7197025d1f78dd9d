"""How Mistral's API describes its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.model_list import NO_MODEL, ModelFacts, known
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

UNKNOWN_MODEL = Refusal(text="Invalid model: {model}", type="invalid_model", code="1500")


def model_card(model: ModelFacts) -> dict[str, Any]:
    """A base model; the SDK refuses a card without a type or without abilities."""
    abilities = {"completion_chat": True, "function_calling": True, "reasoning": model.reasons}
    named = {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner}
    sizes = known(max_context_length=model.context)
    return {**named, "type": "base", "name": model.name, "capabilities": abilities, **sizes}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"object": "list", "data": [model_card(model) for model in models]}
