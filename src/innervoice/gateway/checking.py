"""A config -> lines for people: what each name reaches, and what is wrong. No key is printed, only the names of references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from innervoice.canon.target import Target
from innervoice.catalog.lookup import host_of, is_served
from innervoice.gateway.config import GatewayConfig, NamedModel
from innervoice.gateway.routes import Candidate, NotConfiguredError, Routes

__all__ = ["report_of"]

_EXAMPLE = "MODEL"
"""Stands for the text that a glob matches."""


def report_of(
    config: GatewayConfig,
    environ: Mapping[str, str],
    *,
    base_url_of: Callable[[str], str | None] | None = None,
    stored_keys: bool = False,
) -> list[str]:
    """The lines that `serve --check` prints; those that begin with "wrong:" must be fixed, those with "note:" may be fine.

    `stored_keys`: the store has callers' keys.
    """
    routes = Routes(config, environ, base_url_of=base_url_of)
    lines = [_listens(config, stored_keys=stored_keys)]
    for model in config.models:
        lines += _entry(model, routes)
    ready = routes.providers_with_keys
    lines.append(f"providers with a key: {', '.join(ready) or 'none'}")
    lines.append(f"names in the list of models: {len(routes.names())}")
    lines += _unused(config)
    if not ready:
        lines.append("note: no provider has a key, so only servers that need none can be called")
    return lines


def _listens(config: GatewayConfig, *, stored_keys: bool) -> str:
    server = config.server
    host = f"[{server.host}]" if ":" in server.host else server.host
    names = [*config.keys, *(["owners of keys in the store"] if stored_keys else [])]
    callers = f"callers: {', '.join(names)}" if names else "anyone on this machine"
    return f"listens on {host}:{server.port} for {callers}"


def _entry(model: NamedModel, routes: Routes) -> Iterator[str]:
    """What an entry of [[models]] reaches, and what is wrong with it."""
    limit = f", effort at most {model.reasoning.at_most}" if model.reasoning.at_most else ""
    yield f"{model.name}{limit}"
    problems: list[str] = []
    reached = 0
    for target in model.to:
        try:
            candidates = routes.candidates_of(target.replace("*", _EXAMPLE))
        except NotConfiguredError as error:
            problems += error.problems
            yield f"  {target}: cannot be called"
            continue
        reached += len(candidates)
        yield f"  {target}: {_described(candidates)}"
        if "*" not in target:
            problems += _doubts(candidates[0].target, model)
    kind = "note" if reached else "wrong"
    yield from (f"{kind}: {model.name}: {problem}" for problem in problems)


def _described(candidates: tuple[Candidate, ...]) -> str:
    first = candidates[0]
    provider = first.target.provider
    where = "" if first.is_default_url else f" at {first.base_url}"
    accounts = ", ".join(_account(candidate) for candidate in candidates)
    return f"{provider} speaks {first.target.dialect}{where}; {accounts}"


def _account(candidate: Candidate) -> str:
    name = candidate.account.name
    if name == "none":
        return "without a key"
    if name.endswith(" credentials"):
        return f"{name}, looked up when it is called"
    return f"key set ({name})"


def _doubts(target: Target, model: NamedModel) -> Iterator[str]:
    """What may be wrong with a model that can be called."""
    name = f"{target.provider}/{target.model}"
    if target.host is not None and not is_served(target.model, target.host):
        yield f"the catalog has no model {name} at {target.host.id}"
    elif target.row.guess:
        yield f"{name} is not in the catalog; the settings of the newest models there are used"
    at_most = model.reasoning.at_most
    if at_most == "none" and target.row.off == "never":
        yield f'{name} always reasons; `at_most = "none"` cannot switch it off'


def _unused(config: GatewayConfig) -> Iterator[str]:
    """Upstreams that callers can reach only if they know their name."""
    used = {target.partition("/")[0] for model in config.models for target in model.to}
    for name in config.upstreams:
        if name not in used and host_of(name) is None:
            yield f"note: no entry of [[models]] uses {name}; callers reach it as {name}/MODEL"
