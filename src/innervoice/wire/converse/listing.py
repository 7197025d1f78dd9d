"""How AWS Bedrock describes its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.model_list import NO_MODEL, ModelFacts
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

UNKNOWN_MODEL = Refusal(text="The provided model identifier is invalid.")


def _summary(model: ModelFacts) -> dict[str, Any]:
    return {
        "modelArn": f"arn:aws:bedrock:::foundation-model/{model.name}",
        "modelId": model.name,
        "modelName": model.name,
        "providerName": model.owner,
        "inputModalities": ["TEXT"],
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": True,
        "inferenceTypesSupported": ["ON_DEMAND"],
        "modelLifecycle": {"status": "ACTIVE"},
    }


def model_card(model: ModelFacts) -> dict[str, Any]:
    return {"modelDetails": _summary(model)}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"modelSummaries": [_summary(model) for model in models]}
