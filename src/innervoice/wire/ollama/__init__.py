"""Ollama's native chat API."""

from __future__ import annotations

from typing import Any

from innervoice.frames.lines import line_bytes
from innervoice.wire.dialect import Dialect

__all__ = ["DIALECT"]


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return "done" in value and ("message" in value or "response" in value)


def _model_list(names: list[str], owner: str) -> dict[str, Any]:
    return {"models": [{"name": name, "model": name} for name in names]}


DIALECT = Dialect(
    name="ollama",
    package=__name__,
    model_list=_model_list,
    home="ollama",
    path="/api/chat",
    limit="num_predict",
    lacks=("tool_choice",),
    framing=line_bytes,
    media_type="application/x-ndjson",
    streams_unasked=True,
    inline_reasoning=True,
    looks_like=_looks_like,
    thinks_visibly=True,
    reads="read:OllamaReader",
)
