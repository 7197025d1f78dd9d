"""How an Ollama server describes its models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.model_list import NO_MODEL, NO_TIME, ModelFacts
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

UNKNOWN_MODEL = Refusal(text="model '{model}' not found", status=404)


def _details(model: ModelFacts) -> dict[str, Any]:
    family = model.owner
    return {
        "parent_model": "",
        "format": "",
        "family": family,
        "families": [family],
        "parameter_size": "",
        "quantization_level": "",
    }


def model_card(model: ModelFacts) -> dict[str, Any]:
    """The response of /api/show, whose sizes are named after the model's architecture."""
    sizes = {f"{model.owner}.context_length": model.context} if model.context else {}
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _details(model),
        "model_info": {"general.architecture": model.owner, **sizes},
        "capabilities": ["completion", "tools", *(["thinking"] if model.reasons else [])],
        "modified_at": NO_TIME,
    }


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    listed = [
        {
            "name": model.name,
            "model": model.name,
            "modified_at": NO_TIME,
            "size": 0,
            "digest": "",
            "details": _details(model),
        }
        for model in models
    ]
    return {"models": listed}
