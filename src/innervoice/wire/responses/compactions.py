"""Compaction in the Responses API: one item that stands for everything before it, and the two ways to ask for it.

    an item `compaction_trigger` at the end of `input`   the answer is one item `compaction`
    POST /responses/compact                              an object with the messages of the user and one item `compaction`

Source: the types of openai 3.49.0, and threads on github.com about proxies for Codex (read 2026-11-16).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import without

__all__ = [
    "ASKED",
    "NOT_LAST",
    "asks_for_compaction",
    "compacted_body",
    "items_in",
    "new_compaction",
    "with_trigger",
]

ASKED = "compaction_trigger"
"""The type of the item that asks for a compaction."""
NOT_LAST = Refusal(
    text="The 'compaction_trigger' item must be the final input item.", param="input"
)
_UNARY = ("stream", "background")
"""Members that requests for a whole object do not have."""


def items_in(value: Any) -> list[Any]:
    """The items of an `input`; a text alone is a message of the user."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else as_list(value)


def asks_for_compaction(items: Iterable[Any]) -> bool:
    """Whether one of the items asks for a compaction."""
    return any(as_dict(item).get("type") == ASKED for item in items)


def with_trigger(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request to /responses/compact -> the same request to /responses."""
    items = items_in(body.get("input"))
    return {**without(dict(body), *_UNARY), "input": [*items, {"type": ASKED}]}


def new_compaction(name: str, sealed: str) -> dict[str, Any]:
    """The item that stands for everything before it."""
    return {"type": "compaction", "id": name, "encrypted_content": sealed}


def compacted_body(answer: Mapping[str, Any], items: Iterable[Any]) -> dict[str, Any]:
    """What /responses/compact answers: the messages of the user among these items, and the compaction in an answer."""
    name = str(answer.get("id"))
    users = [item for item in map(as_dict, items) if item.get("role") == "user"]
    kept = [_message(item, f"msg_{name.removeprefix('resp_')}_{n}") for n, item in enumerate(users)]
    compactions = [
        item for item in as_list(answer.get("output")) if as_dict(item).get("type") == "compaction"
    ]
    return {
        "id": name,
        "object": "response.compaction",
        "created_at": answer.get("created_at"),
        "output": [*kept, *compactions],
        "usage": answer.get("usage"),
    }


def _message(item: dict[str, Any], name: str) -> dict[str, Any]:
    """A message of the user as an item of an output."""
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    head = {"type": "message", "id": as_text(item.get("id")) or name, "status": "completed"}
    return {**head, "role": "user", "content": as_list(content)}
