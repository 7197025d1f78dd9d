"""Stored responses, and the list of the items that a request had as its input."""

from __future__ import annotations

from typing import Any

from innervoice.wire.json_access import as_list
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.stored_answers import Query, StoredAnswers

__all__ = ["STORED"]

_PREVIOUS = "previous_response_id"
_LONGEST_NAME = 200
_USUAL, _MOST = 20, 100
_STARTS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
"""Types of items -> what their ids begin with."""


def _items_of(value: Any) -> list[Any]:
    """The items as they came; words alone are a message of the user's."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else as_list(value)


def _missing(name: str) -> Refusal:
    return Refusal(text=f"Response with id '{name[:_LONGEST_NAME]}' not found.", status=404)


def _no_previous(name: str) -> Refusal:
    return Refusal(
        text=f"Previous response with id '{name[:_LONGEST_NAME]}' not found.",
        code="previous_response_not_found",
        param=_PREVIOUS,
    )


def _no_item(name: str) -> Refusal:
    text = f"Item with id '{name[:_LONGEST_NAME]}' not found."
    return Refusal(text=text, status=404, param="input")


def _deleted(name: str) -> dict[str, Any]:
    return {"id": name, "object": "response", "deleted": True}


def _shown(answer: dict[str, Any], items: list[Any], query: Query) -> dict[str, Any]:
    return answer


# ---- input items -----------------------------------------------------------------------------------------


def _listed(name: str, items: list[Any], query: Query) -> dict[str, Any]:
    """One page of the items of a request; raises `Refused` for an invalid query."""
    suffix = name.removeprefix("resp_")
    items = [_item(item, f"{suffix}_{number}") for number, item in enumerate(items)]
    limit = _limit(query.get("limit", [str(_USUAL)])[-1])
    order = query.get("order", ["desc"])[-1]
    if order not in ("asc", "desc"):
        raise Refused(Refusal(text="order must be asc or desc", param="order"))
    if order == "desc":
        items.reverse()
    if after := query.get("after", [""])[-1]:
        names = [item["id"] for item in items]
        if after not in names:
            text = f"after must be the id of an item of this response, not {after[:80]!r}"
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


def _item(given: Any, suffix: str) -> dict[str, Any]:
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
    return item


STORED = StoredAnswers(
    dialect="openai-responses",
    noun="response",
    previous=_PREVIOUS,
    output="output",
    goes_on=("completed", "incomplete"),
    ended=("completed", "incomplete", "failed", "cancelled"),
    confirmed_by="store",
    reference="item_reference",
    conversation="conversation",
    echoed=("store", "metadata"),
    only_there={
        "background": "background responses are supported only if the request is forwarded unchanged to a provider that has "
        "them; remove `background`",
        "conversation": "stored conversations are supported only if the request is forwarded unchanged to the provider that "
        "has them; use previous_response_id, or send all items in `input`",
    },
    lost=("previous response", "item with id"),
    items_of=_items_of,
    missing=_missing,
    no_previous=_no_previous,
    no_item=_no_item,
    cannot_cancel="Cannot cancel a synchronous response.",
    deleted=_deleted,
    shown=_shown,
    listed=_listed,
)
