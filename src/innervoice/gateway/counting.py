"""Token counts: the provider's own, where it has an endpoint for that; elsewhere an estimate, marked as one.

Clients count often, and some treat a failure as a broken model. So an endpoint that fails or is slow is replaced by the estimate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.request import Wire
from innervoice.client.auth import Outgoing
from innervoice.client.base_urls import with_quoted_model
from innervoice.gateway.callers import Caller, check_model
from innervoice.gateway.fronts import Front
from innervoice.gateway.listings import ESTIMATED, count_body, estimate
from innervoice.gateway.passage import Passage
from innervoice.gateway.routes import Candidate
from innervoice.wire.json_access import as_dict

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = ["counted"]

_SECONDS = 5.0


class _Counter(NamedTuple):
    """How a provider counts tokens: what replaces which part of the URL, which members are sent, and the member that holds the count."""

    replaced: str
    by: str
    members: tuple[str, ...]
    """Empty: the whole body, like the request that would be sent."""
    member: str


_COUNTERS = {
    "anthropic": _Counter(
        "/messages",
        "/messages/count_tokens",
        ("model", "messages", "system", "tools", "tool_choice", "thinking"),
        "input_tokens",
    ),
    "gemini": _Counter(":generateContent", ":countTokens", (), "totalTokens"),
}
"""Providers that count tokens."""


async def counted(
    gateway: Gateway, front: Front, body: bytes, value: dict[str, Any], caller: Caller
) -> tuple[Mapping[str, str], dict[str, Any]]:
    """The headers and the body of the response."""
    inner = value.get("generateContentRequest")
    value = as_dict(inner) if isinstance(inner, dict) else value
    report = gateway.new_report(caller, front.dialect)
    whole = Front(front.dialect, "answer", front.model, stream=False)
    passage = Passage(
        whole, body, value, report=report, secret=gateway.lookup_key, sealer=gateway.sealer
    )
    check_model(caller, passage.name)
    route = gateway.routes.route(passage.name)
    candidate = route.candidates[0]
    counter = _COUNTERS.get(candidate.target.provider or "")
    if (
        counter is not None
        and candidate.target.host
        and candidate.target.dialect == candidate.target.host.dialect
    ):
        passage.restore(await gateway.found(passage))
        tokens = await _asked(gateway, candidate, counter, passage.attempt(candidate, route).wire)
        if tokens is not None:
            return {}, count_body(front, tokens)
    return ESTIMATED, count_body(front, estimate(value))


async def _asked(
    gateway: Gateway, candidate: Candidate, counter: _Counter, wire: Wire
) -> int | None:
    """The provider's count; None if it does not answer."""
    model = candidate.target.model
    url = with_quoted_model(wire.url, candidate.target).replace(counter.replaced, counter.by)
    named = {"model": f"models/{model}", **wire.body}
    held = {name: wire.body[name] for name in counter.members if name in wire.body}
    body = dump_json(held or {"generateContentRequest": named})
    headers = {**wire.headers, **candidate.headers}
    outgoing = Outgoing("POST", url, headers, body)
    headers |= candidate.account.keyring.headers(candidate.destination, outgoing)
    try:
        async with asyncio.timeout(_SECONDS):
            status, answer = await gateway.posted(Outgoing("POST", url, headers, body))
            count = as_dict(load_json(answer)).get(counter.member) if status == 200 else None
    except Exception:  # noqa: BLE001 - whatever happens, there is an estimate
        return None
    return count if isinstance(count, int) else None
