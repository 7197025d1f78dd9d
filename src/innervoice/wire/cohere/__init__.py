"""Cohere's chat API, version 2."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import Code, Dialect
from innervoice.wire.json_access import as_list, as_text

__all__ = ["DIALECT"]

_EVENTS = ("message-start", "content-", "tool-", "citation-", "message-end")


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    kind = as_text(value.get("type")) or ""
    return kind.startswith(_EVENTS) or (
        isinstance(value.get("message"), dict) and "finish_reason" in value
    )


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    return any(
        "tool_plan" in item or any(map(_is_own, as_list(item.get("content")))) for item in items
    )


def _is_own(block: Any) -> bool:
    """Whether only Cohere has such a block: thinking in a text, or a document as a result."""
    match block:
        case {"type": "thinking", "thinking": str()}:
            return "signature" not in block
        case {"type": "document", "document": dict()}:
            return True
        case _:
            return False


DIALECT = Dialect(
    name="cohere",
    package=__name__,
    endpoints={"GET /models": "models", "GET /models/{model}": "model"},
    places={
        "top_k": ("k",),
        **{name: (name,) for name in ("seed", "presence_penalty", "frequency_penalty")},
    },
    part_places={"image": {"detail": ("image_url", "detail")}},
    switches=("cohere",),
    said_by={("thinking",): ("reasoning",), ("response_format",): ("response_format",)},
    home="cohere",
    path="/v2/chat",
    names_tools=False,
    lacks=("parallel_tool_calls",),
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    thinks_visibly=True,
    error_is_quiet=True,
    last_mark=b"[DONE]",
    reasoning_blocks=("thinking",),
    code=Code(
        reader="read:CohereReader",
        replay="replay:REPLAY",
        answer_writer="answer:CohereWriter",
        grammar="grammar:CohereGrammar",
    ),
)
