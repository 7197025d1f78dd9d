"""What clients ask of a stored response: the object, its input items, to delete it, to cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from innervoice.gateway.fronts import Front
from innervoice.gateway.refusals import NO_STORE
from innervoice.gateway.stored_responses import StoredResponse
from innervoice.memory.stores.store import StoreError
from innervoice.wire.dialects import dialect_named
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.serve import StoredAnswers

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = ["OF_RESPONSES", "of_response"]

OF_RESPONSES = ("stored", "delete", "cancel", "input_items")
"""The verbs that ask for it."""


async def of_response(gateway: Gateway, front: Front, query: str, tenant: str) -> dict[str, Any]:
    """The reply; raises `Refused` for a response that is not there, or another's."""
    api = dialect_named(front.dialect).stored_answers
    assert api is not None, "only APIs that store answers have these paths"
    name = front.id or ""
    asked = parse_qs(query)
    if front.verb == "delete":
        return await _deleted(gateway, api, name, tenant)
    response = await _found(gateway, api, name, tenant)
    if front.verb == "cancel":
        raise Refused(Refusal(text=api.cannot_cancel))
    if front.verb == "input_items" and api.listed:
        return api.listed(response.id, response.input, asked)
    if asked.get("stream", ["false"])[-1].lower() not in ("false", "0"):
        text = f"a stored {api.noun} cannot be streamed; remove stream from the query"
        raise Refused(Refusal(text=text, param="stream"))
    return api.shown(response.body, response.input, asked)


async def _found(gateway: Gateway, api: StoredAnswers, name: str, tenant: str) -> StoredResponse:
    found = await gateway.responses.get(api, tenant, [name])
    response = found.responses.get(name)
    if response is None and not found.is_whole:
        raise Refused(NO_STORE)
    if response is None or response.is_deleted:
        raise Refused(api.missing(name))
    return response


async def _deleted(gateway: Gateway, api: StoredAnswers, name: str, tenant: str) -> dict[str, Any]:
    try:
        was_there = await gateway.responses.delete(api, tenant, name)
        if was_there:
            await gateway.turns.delete(tenant, gateway.responses.turn_keys(api, tenant, name))
    except StoreError:
        raise Refused(NO_STORE) from None
    if not was_there:
        raise Refused(api.missing(name))
    return api.deleted(name)
