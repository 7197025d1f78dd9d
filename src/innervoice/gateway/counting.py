"""Token counts: the provider's own, where it has an endpoint for that; elsewhere an estimate, marked as one.

Clients count often, and some treat a failure as a broken model. So an endpoint that fails or is slow is replaced by the estimate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.request import Wire
from innervoice.client.auth import Outgoing
from innervoice.client.base_urls import with_quoted_model
from innervoice.gateway.callers import Caller, check_model
from innervoice.gateway.fronts import Front
from innervoice.gateway.listings import ESTIMATED, count_body, estimate
from innervoice.gateway.passage import Passage
from innervoice.gateway.routes import Candidate
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = ["counted"]

_SECONDS = 5.0


async def counted(
    gateway: Gateway, front: Front, body: bytes, value: dict[str, Any], caller: Caller
) -> tuple[Mapping[str, str], dict[str, Any]]:
    """The headers and the body of the response."""
    inner = value.get(dialect_named(front.dialect).counted_in or "")
    value = as_dict(inner) if isinstance(inner, dict) else value
    report = gateway.new_report(caller, front.dialect)
    whole = Front(front.dialect, "answer", front.model, stream=False)
    passage = Passage(
        whole, body, value, report=report, secret=gateway.lookup_key, sealer=gateway.sealer
    )
    check_model(caller, passage.name)
    route = gateway.routes.route(passage.name)
    candidate = route.candidates[0]
    host = candidate.target.host
    if host and host.counts and candidate.target.dialect == host.dialect:
        passage.restore(await gateway.found(passage))
        tokens = await _asked(gateway, candidate, passage.attempt(candidate, route).wire)
        if tokens is not None:
            return {}, count_body(front, tokens)
    return ESTIMATED, count_body(front, estimate(value))


async def _asked(gateway: Gateway, candidate: Candidate, wire: Wire) -> int | None:
    """The provider's count; None if it does not answer."""
    target = candidate.target
    dialect = dialect_named(target.dialect)
    assert dialect.counts_at is not None, "a host that counts does so in its default dialect"
    url = with_quoted_model(wire.url, target).replace(*dialect.counts_at)
    asked = {name: wire.body[name] for name in dialect.counted if name in wire.body}
    if dialect.counted_in:
        asked = {dialect.counted_in: {"model": f"models/{target.model}", **wire.body}}
    body = dump_json(asked)
    headers = {**wire.headers, **candidate.headers}
    outgoing = Outgoing("POST", url, headers, body)
    headers |= candidate.account.keyring.headers(candidate.destination, outgoing)
    try:
        async with asyncio.timeout(_SECONDS):
            status, answer = await gateway.posted(Outgoing("POST", url, headers, body))
            count = as_dict(load_json(answer)).get(dialect.counts or "") if status == 200 else None
    except Exception:  # noqa: BLE001 - whatever happens, there is an estimate
        return None
    return count if isinstance(count, int) else None
