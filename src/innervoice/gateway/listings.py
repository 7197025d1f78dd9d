"""What clients request besides answers: lists of models, one model, token counts, a version; in the dialect of the endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.request import Wire
from innervoice.catalog.targets import resolved
from innervoice.client.auth import Outgoing
from innervoice.client.base_urls import with_quoted_model
from innervoice.errors import UsageError
from innervoice.gateway.callers import Caller, check_model
from innervoice.gateway.credentials import with_credentials
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.errors import unknown_model
from innervoice.gateway.estimates import estimate
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.responses.state import ResponseState
from innervoice.gateway.rewritten import RewrittenRequest
from innervoice.gateway.routes import Candidate, Routes, UnknownModelError
from innervoice.pricing import context_window
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.refusals import Refused
from innervoice.wire.serve import ModelFacts

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Admitted, Gateway

__all__ = [
    "ESTIMATED",
    "count_body",
    "counted",
    "looked_up",
    "model_body",
    "models_body",
    "shown_model",
    "version_body",
]

_NOWHERE: Mapping[str, str] = MappingProxyType({})
_OWNER = "innervoice"
"""The owner of the gateway's own model names."""
ESTIMATED = {"x-innervoice-count": "estimate"}
"""The header that marks an estimated count."""


def models_body(
    endpoint: Endpoint, names: Sequence[str], reaches: Mapping[str, str] = _NOWHERE
) -> dict[str, Any]:
    """The list of models; `reaches` maps the gateway's own names to the `provider/model` that answers for them."""
    facts = [_facts(name, reaches) for name in names]
    return dialect_named(endpoint.dialect).listing.model_list(facts)


def model_body(
    endpoint: Endpoint, name: str, reaches: Mapping[str, str] = _NOWHERE
) -> dict[str, Any]:
    """The description of one model."""
    return dialect_named(endpoint.dialect).listing.model_card(_facts(name, reaches))


def shown_model(body: Mapping[str, Any]) -> str | None:
    """The model that a request of the verb "show" asks about; older clients call the member `name`."""
    return as_text(body.get("model")) or as_text(body.get("name"))


def count_body(endpoint: Endpoint, tokens: int) -> dict[str, Any]:
    """The response to a request that counts tokens."""
    dialect = dialect_named(endpoint.dialect)
    return {**dialect.count_members, dialect.counts or "tokens": tokens}


def version_body(endpoint: Endpoint) -> dict[str, Any]:
    """The server's description of itself."""
    return dict(dialect_named(endpoint.dialect).about)


def _facts(name: str, reaches: Mapping[str, str]) -> ModelFacts:
    """The catalog's facts about the model that a name reaches."""
    try:
        target = resolved(reaches.get(name, name))
    except UsageError:
        return ModelFacts(name, _OWNER)
    if not target.is_known:
        return ModelFacts(name, target.provider or _OWNER)
    row = target.row
    return ModelFacts(
        name,
        target.provider or _OWNER,
        row.context or context_window(target.provider or "", target.model),
        row.max_output,
        reasons=row.reasons,
    )


# ---- Requests that need no model: the list of models, one model, the version.


def looked_up(
    endpoint: Endpoint, value: Mapping[str, Any], routes: Routes, caller: Caller
) -> dict[str, Any]:
    """The response; raises `Refused` for anything that does not exist. A caller sees only the models that it may use."""
    if endpoint.verb == "models":
        names = tuple(name for name in routes.names() if caller.may_ask(name, is_exact=True))
        return models_body(endpoint, names, {name: _reached(name, routes) for name in names})
    if endpoint.verb == "version":
        return version_body(endpoint)
    if endpoint.verb in ("model", "show"):
        name = endpoint.model or shown_model(value) or ""
        if not caller.may_ask(name, is_exact=routes.has_entry(name)):
            raise Refused(unknown_model(endpoint.dialect, name, looked_up=True))
        try:
            return model_body(endpoint, name, {name: routes.route(name).candidates[0].name})
        except UnknownModelError as error:
            refusal = unknown_model(endpoint.dialect, name, error.nearest, looked_up=True)
            raise Refused(refusal) from None
    raise AssertionError(f"{endpoint.verb} is looked up elsewhere")


def _reached(name: str, routes: Routes) -> str:
    try:
        return routes.route(name).candidates[0].name
    except UsageError:
        return name


# ---- Token counts: the provider's own, where it has an endpoint for that; elsewhere an estimate, marked as one.
#
# Clients count often, and some treat a failure as a broken model. So an endpoint that fails or is slow is replaced by the estimate.


async def counted(
    gateway: Gateway, endpoint: Endpoint, body: bytes, value: dict[str, Any], admitted: Admitted
) -> tuple[Mapping[str, str], dict[str, Any]]:
    """The headers and the body of the response."""
    inner = value.get(dialect_named(endpoint.dialect).counted_in or "")
    value = as_dict(inner) if isinstance(inner, dict) else value
    caller = admitted.caller
    report = gateway.new_report(caller, endpoint.dialect)
    whole = Endpoint(endpoint.dialect, "answer", endpoint.model, stream=False)
    request = RewrittenRequest(gateway, whole, body, value, report, {})
    check_model(caller, request.name, is_exact=gateway.routes.has_entry(request.name))
    route = gateway.routes.route(request.name)
    route = with_credentials(route, admitted.credentials, report.notes.append)
    report.is_shared = admitted.has_key and gateway.routes.is_shared(request.name)
    await gateway.owned_ids.check_answer(report, endpoint.dialect, body)
    candidate = route.candidates[0]
    if api := dialect_named(endpoint.dialect).stored_answers:
        state = ResponseState(
            gateway, api, report, lambda name: dump_json(value[name]) if name in value else None
        )
        if earlier := await state.whole(candidate, always=True):
            body, value = state.expanded(value, earlier)
            request = RewrittenRequest(gateway, whole, body, value, report, {}, earlier.turns)
    host = candidate.target.host
    if host and host.counts and candidate.target.dialect == host.dialect:
        request.restore(await gateway.stored_turns(request.report, request.wanted))
        tokens = await _counted_by_provider(
            gateway, candidate, request.attempt(candidate, route).wire
        )
        if tokens is not None:
            return {}, count_body(endpoint, tokens)
    return ESTIMATED, count_body(endpoint, estimate(value))


async def _counted_by_provider(gateway: Gateway, candidate: Candidate, wire: Wire) -> int | None:
    """The provider's count; None if it does not answer."""
    target = candidate.target
    dialect = dialect_named(target.dialect)
    assert dialect.counts_at is not None, "a host that counts does so in its default dialect"
    url = with_quoted_model(wire.url, target).replace(*dialect.counts_at)
    counted_body = {name: wire.body[name] for name in dialect.counted if name in wire.body}
    if dialect.counted_in:
        counted_body = {dialect.counted_in: {"model": f"models/{target.model}", **wire.body}}
    body = dump_json(counted_body)
    headers = {**wire.headers, **candidate.headers}
    outgoing = Outgoing("POST", url, headers, body)
    headers |= candidate.account.keyring.headers(candidate.destination, outgoing)
    try:
        async with asyncio.timeout(LIMITS.count_seconds):
            status, answer = await gateway.posted(Outgoing("POST", url, headers, body))
            count = as_dict(load_json(answer)).get(dialect.counts or "") if status == 200 else None
    except Exception:  # noqa: BLE001 - whatever happens, there is an estimate
        return None
    return count if isinstance(count, int) else None
