"""Ollama's native chat API."""

from __future__ import annotations

from typing import Any

from innervoice.frames.lines import line_bytes
from innervoice.wire.dialect import Code, Dialect
from innervoice.wire.json_access import as_dict, as_list

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


DIALECT = Dialect(
    name="ollama",
    package=__name__,
    endpoints={"GET /api/tags": "models", "GET /api/version": "version", "POST /api/show": "show"},
    # The release whose API this is; clients compare it with their minimum version.
    about={"version": "0.40.12"},
    places={
        name: ("options", name)
        for name in ("seed", "top_k", "presence_penalty", "frequency_penalty")
    },
    home="ollama",
    path="/api/chat",
    limit="num_predict",
    lacks=("tool_choice", "parallel_tool_calls"),
    files_in_turns=True,
    framing=line_bytes,
    media_type="application/x-ndjson",
    streams_unasked=True,
    inline_reasoning=True,
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    thinks_visibly=True,
    last_mark=b'"done":true',
    reasoning_members=("thinking",),
    is_local=True,
    code=Code(
        shape_rules=None,
        reader="read:OllamaReader",
        answer_writer="answer:OllamaWriter",
        grammar="grammar:OllamaGrammar",
    ),
)
