"""Conversations of the Responses API, and pages of items: stored items go in, the bodies of the API come out.

After the types of openai 3.49 and https://platform.openai.com/docs/api-reference/conversations (read 2026-11-17).
"""

from __future__ import annotations

from typing import Any

from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.serve import Query

__all__ = [
    "EXCLUSIVE",
    "MOST_ITEMS",
    "checked_items",
    "checked_metadata",
    "conversation_body",
    "deleted_conversation",
    "no_conversation",
    "no_item",
    "page_of",
    "with_id",
]

MOST_ITEMS = 20
"""How many items a client may add at once."""
_LONGEST_NAME = 200
_USUAL, _MOST = 20, 100
_MOST_METADATA, _LONGEST_KEY, _LONGEST_VALUE = 16, 64, 512
_STARTS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
"""Types of items -> what their ids begin with."""
EXCLUSIVE = Refusal(
    text="Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.",
    param="previous_response_id",
    code="mutually_exclusive_parameters",
)


def conversation_body(name: str, created: int, metadata: dict[str, Any]) -> dict[str, Any]:
    """A conversation."""
    return {"id": name, "object": "conversation", "created_at": created, "metadata": metadata}


def deleted_conversation(name: str) -> dict[str, Any]:
    """The response to the deletion of a conversation."""
    return {"id": name, "object": "conversation.deleted", "deleted": True}


def no_conversation(name: str) -> Refusal:
    """The error for a conversation that does not exist."""
    text = f"Conversation with id '{name[:_LONGEST_NAME]}' not found."
    return Refusal(text=text, status=404, param="conversation")


def no_item(name: str, conversation: str) -> Refusal:
    """The error for an item that is not in a conversation."""
    text = f"Item with id '{name[:_LONGEST_NAME]}' not found in conversation '{conversation[:_LONGEST_NAME]}'."
    return Refusal(text=text, status=404, param="item_id")


def checked_items(value: Any) -> list[dict[str, Any]]:
    """The items of a request that adds them; raises `Refused` for anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Refused(Refusal(text="items must be a list of objects", param="items"))
    if len(value) > MOST_ITEMS:
        text = f"items has {len(value)} entries; at most {MOST_ITEMS} can be added at once"
        raise Refused(Refusal(text=text, param="items"))
    return value


def checked_metadata(value: Any) -> dict[str, Any]:
    """The metadata of a request; raises `Refused` for what the API does not accept."""
    if value is None:
        return {}
    is_valid = isinstance(value, dict) and all(
        isinstance(text, str) and len(text) <= _LONGEST_VALUE and len(name) <= _LONGEST_KEY
        for name, text in value.items()
    )
    if not is_valid or len(value) > _MOST_METADATA:
        text = (
            f"metadata must be an object with at most {_MOST_METADATA} members, whose names have at most {_LONGEST_KEY} and "
            f"whose values are strings of at most {_LONGEST_VALUE} characters"
        )
        raise Refused(Refusal(text=text, param="metadata"))
    return dict(value)


def page_of(items: list[dict[str, Any]], query: Query) -> dict[str, Any]:
    """One page of items that have ids, the newest first unless the query says otherwise; raises `Refused` for an invalid query."""
    limit = _limit(query.get("limit", [str(_USUAL)])[-1])
    order = query.get("order", ["desc"])[-1]
    if order not in ("asc", "desc"):
        raise Refused(Refusal(text="order must be asc or desc", param="order"))
    items = items if order == "asc" else items[::-1]
    if after := query.get("after", [""])[-1]:
        names = [item["id"] for item in items]
        if after not in names:
            text = f"after must be the id of an item in this list, not {after[:80]!r}"
            raise Refused(Refusal(text=text, param="after"))
        items = items[names.index(after) + 1 :]
    page = items[:limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(items) > limit,
    }


def _limit(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) < 4 and 1 <= int(given) <= _MOST):
        text = f"limit must be a number from 1 to {_MOST}"
        raise Refused(Refusal(text=text, param="limit"))
    return int(given)


def with_id(given: Any, suffix: str) -> dict[str, Any]:
    """An item as the API lists it: with a type and an id, and the words of a message as an entry."""
    item: dict[str, Any] = dict(given) if isinstance(given, dict) else {"content": given}
    kind = str(item.get("type") or "message")
    name = item.get("id")
    if not isinstance(name, str) or not name:
        name = f"{_STARTS.get(kind, 'item')}_{suffix}"
    item = {**item, "type": kind, "id": name}
    if kind == "message":
        item.setdefault("role", "user")
        item.setdefault("status", "completed")
        if isinstance(item.get("content"), str):
            entry = "output_text" if item["role"] == "assistant" else "input_text"
            more: dict[str, Any] = {"annotations": []} if entry == "output_text" else {}
            item["content"] = [{"type": entry, "text": item["content"], **more}]
    elif kind.endswith(("_call", "_call_output")):
        item.setdefault("status", "completed")
    return item
