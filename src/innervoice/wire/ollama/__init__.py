"""Ollama's native chat API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.frames.lines import line_bytes
from innervoice.wire.dialect import Dialect
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.model_list import NO_TIME, ModelFacts
from innervoice.wire.refusals import Refusal

__all__ = ["DIALECT"]


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return "done" in value and ("message" in value or "response" in value)


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    return any(
        "tool_name" in item
        or isinstance(item.get("images"), list)
        or isinstance(item.get("thinking"), str)
        or any(_has_object(call) for call in as_list(item.get("tool_calls")))
        for item in items
    )


def _has_object(call: Any) -> bool:
    """Whether the arguments of a call are an object, and not text as elsewhere."""
    return isinstance(as_dict(as_dict(call).get("function")).get("arguments"), dict)


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


def _model_card(model: ModelFacts) -> dict[str, Any]:
    """The reply of /api/show, whose sizes are named after the model's architecture."""
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


def _model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
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


DIALECT = Dialect(
    name="ollama",
    package=__name__,
    model_list=_model_list,
    model_card=_model_card,
    endpoints={"GET /api/tags": "models", "GET /api/version": "version", "POST /api/show": "show"},
    # The release whose API this is; clients compare it with the least that they work with.
    about={"version": "0.40.12"},
    unknown_model=Refusal(text="model '{model}' not found", status=404),
    places={
        name: ("options", name)
        for name in ("seed", "top_k", "presence_penalty", "frequency_penalty")
    },
    home="ollama",
    path="/api/chat",
    limit="num_predict",
    lacks=("tool_choice", "parallel_tool_calls"),
    framing=line_bytes,
    media_type="application/x-ndjson",
    streams_unasked=True,
    inline_reasoning=True,
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    thinks_visibly=True,
    answers="answer:OllamaWriter",
    obeys="grammar:OllamaGrammar",
    reads="read:OllamaReader",
)
