"""What clients ask of a stored response: the object, its input items, to delete it, to cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from innervoice.gateway.fronts import Front
from innervoice.gateway.refusals import NO_STORE, SYNCHRONOUS, not_stored
from innervoice.gateway.stored_responses import StoredResponse
from innervoice.memory.stores.store import StoreError
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = ["OF_RESPONSES", "of_response"]

OF_RESPONSES = ("stored", "delete", "cancel", "input_items")
"""The verbs that ask for it."""
_USUAL, _MOST = 20, 100
_STARTS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
"""Types of items -> what their ids begin with."""


async def of_response(gateway: Gateway, front: Front, query: str, tenant: str) -> dict[str, Any]:
    """The reply; raises `Refused` for a response that is not there, or another's."""
    name = front.id or ""
    asked = parse_qs(query)
    if front.verb == "delete":
        return await _deleted(gateway, name, tenant)
    response = await _found(gateway, name, tenant)
    if front.verb == "cancel":
        raise Refused(SYNCHRONOUS)
    if front.verb == "input_items":
        return _listed(response, asked)
    if asked.get("stream", ["false"])[-1].lower() not in ("false", "0"):
        text = "a stored response is not streamed here; ask without stream"
        raise Refused(Refusal(text=text, param="stream"))
    return response.body


async def _found(gateway: Gateway, name: str, tenant: str) -> StoredResponse:
    found = await gateway.responses.get(tenant, [name])
    response = found.responses.get(name)
    if response is None and not found.is_whole:
        raise Refused(NO_STORE)
    if response is None or response.is_deleted:
        raise Refused(not_stored(name))
    return response


async def _deleted(gateway: Gateway, name: str, tenant: str) -> dict[str, Any]:
    try:
        was_there = await gateway.responses.delete(tenant, name)
        if was_there:
            await gateway.turns.delete(tenant, gateway.responses.turn_keys(tenant, name))
    except StoreError:
        raise Refused(NO_STORE) from None
    if not was_there:
        raise Refused(not_stored(name))
    return {"id": name, "object": "response", "deleted": True}


# ---- input items -----------------------------------------------------------------------------------------


def _listed(response: StoredResponse, asked: dict[str, list[str]]) -> dict[str, Any]:
    """One page of the items of the request."""
    suffix = response.id.removeprefix("resp_")
    items = [_item(item, f"{suffix}_{number}") for number, item in enumerate(response.input)]
    limit = _limit(asked.get("limit", [str(_USUAL)])[-1])
    order = asked.get("order", ["desc"])[-1]
    if order not in ("asc", "desc"):
        raise Refused(Refusal(text="order must be asc or desc", param="order"))
    if order == "desc":
        items.reverse()
    if after := asked.get("after", [""])[-1]:
        names = [item["id"] for item in items]
        if after not in names:
            text = f"after must be the id of an item of this response; {after[:80]!r} is none"
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
