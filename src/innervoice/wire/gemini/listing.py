"""How Gemini's API describes its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.model_list import NO_MODEL, ModelFacts, known
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

UNKNOWN_MODEL = Refusal(
    text="models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
    status=404,
)


def model_card(model: ModelFacts) -> dict[str, Any]:
    sizes = known(inputTokenLimit=model.context, outputTokenLimit=model.output)
    methods = ["generateContent", "countTokens"]
    named = {"name": f"models/{model.name}", "displayName": model.name}
    return {
        **named,
        **sizes,
        "supportedGenerationMethods": methods,
        **({"thinking": True} if model.reasons else {}),
    }


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"models": [model_card(model) for model in models]}
