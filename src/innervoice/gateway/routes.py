"""A model name, as a caller writes it -> the candidates that can answer, in the order of the config.

A name is, in this order:

1. a name of `[[models]]`; names without `*` first, then globs, those with more characters besides `*` first;
2. `provider/model`, for providers with a row and for `[upstreams]`;
3. a bare name that belongs to one provider (`catalog/makers.py` has the rule).

Claude Code appends words such as `[1m]` to a name. They are removed, unless `[[models]]` has the name with them.

A caller names a model and never a host: addresses come from the config and from the providers' rows, and a name with an address in it is
unknown. Servers on the gateway's own machine, such as Ollama, must be listed in `[upstreams]` as soon as other machines can reach the
gateway. To an upstream with `base_url` only the keys listed there are sent, not those of the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_hosts, host_of, is_served
from innervoice.catalog.makers import closest_names, maker_of, names_at, owners_of
from innervoice.errors import UsageError
from innervoice.gateway.config import GatewayConfig, NamedModel, exposure_problem
from innervoice.gateway.config.names import (
    filled,
    is_safe,
    matched,
    split_name,
    without_suffix,
)
from innervoice.gateway.effort_policy import PlacedRule, described, placed_rules, rules_for
from innervoice.gateway.upstreams import (
    Account,
    Candidate,
    NotConfiguredError,
    Upstream,
)
from innervoice.steering.watch import Steering
from innervoice.wire.dialects import DEFAULT

__all__ = [
    "Account",
    "AmbiguousModelError",
    "Candidate",
    "NotConfiguredError",
    "Route",
    "Routes",
    "UnknownModelError",
    "report_of",
]

_MOST_NAMED = 5
_MOST_NEAREST = 3


@dataclass(frozen=True)
class Route:
    """What a name reaches."""

    asked: str
    candidates: tuple[Candidate, ...]
    rules: tuple[PlacedRule, ...] = ()
    """The rules of the config for its reasoning, the first one first."""
    steering: Steering | None = None
    """What is done about answers while they run."""
    notes_loops: bool = False
    """Whether reasoning that repeats itself is only noted."""

    @cached_property
    def is_free(self) -> bool:
        """Whether its requests need not be read."""
        return not self.rules and self.steering is None


class UnknownModelError(UsageError):
    """A caller requested a model that does not exist here; `nearest` has names that do exist."""

    def __init__(self, model: str, nearest: tuple[str, ...] = ()) -> None:
        self.model = model
        self.nearest = nearest
        hint = f"; the nearest are {', '.join(nearest)}" if nearest else ""
        super().__init__(f"unknown model {_short(model)!r}{hint}")

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return type(self), (self.model, self.nearest)


class AmbiguousModelError(UsageError):
    """A caller requested a model that several providers have by its bare name; `names` has some of the full names."""

    def __init__(self, model: str, names: tuple[str, ...]) -> None:
        self.model = model
        self.names = names
        super().__init__(
            f"several providers have the model {_short(model)!r}; name one of them, for example {', '.join(names)}"
        )

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return type(self), (self.model, self.names)


class Routes:
    """The names of a gateway. Created once for a config; another config needs another one."""

    def __init__(
        self,
        config: GatewayConfig,
        environ: Mapping[str, str],
        *,
        base_url_of: Callable[[str], str | None] | None = None,
    ) -> None:
        """`base_url_of` returns the emulator's base URL for a provider; no key is needed there."""
        self._exact = {model.name: model for model in config.models if not model.is_glob}
        globs = (model for model in config.models if model.is_glob)
        self._globs = sorted(globs, key=lambda model: -len(model.name.replace("*", "")))
        self._environ = environ
        self._rules = placed_rules(config)
        self._is_exposed = exposure_problem(config.server.host, {}) is not None
        self._emulated = base_url_of
        self._upstreams = {
            _id_of(name): Upstream.of_settings(_id_of(name), settings, environ, base_url_of)
            for name, settings in config.upstreams.items()
        }
        # Callers choose the names, so the memory for them is bounded.
        self._cached = lru_cache(maxsize=1024)(self._route_of)

    def route(self, name: str) -> Route:
        """The candidates for a name.

        Raises an `UnknownModelError`, an `AmbiguousModelError`, or a `NotConfiguredError` if no candidate has a key and a base URL.
        """
        return self._cached(name)

    def names(self) -> tuple[str, ...]:
        """The names in the list of models: those of `[[models]]` without globs, and the own models of providers with a key.

        The same for an upstream whose address the config has.
        """
        listed = (
            f"{upstream.name}/{model}"
            for upstream in self._all()
            if upstream.has_key or upstream.base_url
            for model in names_at(upstream.provider)
        )
        return tuple(dict.fromkeys((*self._exact, *listed)))

    @property
    def is_emulated(self) -> bool:
        """Whether the emulator answers in place of all providers."""
        return self._emulated is not None

    def has_upstream(self, name: str) -> bool:
        """Whether a word is the name of a provider or of an upstream."""
        return _id_of(name) in self._upstreams or host_of(name) is not None

    def providers_of(self, name: str) -> tuple[str, ...]:
        """Returns the providers and upstreams that a model's name reaches, as the configuration names them; none for a name that reaches nothing."""
        try:
            targets = self.targets_of(name)
        except UsageError:
            return ()
        return tuple(dict.fromkeys(target.partition("/")[0] for target in targets))

    def dialect_of(self, upstream: str) -> str:
        """Returns the dialect that an upstream usually speaks."""
        found = self._upstream(upstream)
        host = found.host if found else None
        return (found.dialect if found else None) or (host.dialect if host else DEFAULT)

    def is_shared(self, name: str) -> bool:
        """True if a model's name reaches an account that all callers share; also for a name that reaches nothing."""
        try:
            candidates = self.route(name).candidates
        except UsageError:
            return True
        return not all(candidate.takes_callers_key for candidate in candidates)

    def has_own_key(self, upstream: str) -> bool:
        """True if an upstream is called with a key of the gateway, which all its callers share."""
        found = self._upstream(upstream)
        return found is None or not found.takes_callers_keys

    def id_of(self, upstream: str) -> str:
        """Returns the usual name of a provider, which may have several; an upstream has its own alone."""
        return _id_of(upstream)

    def has_entry(self, name: str) -> bool:
        """True if an entry of [[models]] has a name as it is, with any word in brackets at its end."""
        return name in self._exact

    def is_same(self, name: str, other: str) -> bool:
        """Whether two names stand for one provider or upstream."""
        return _id_of(name) == _id_of(other)

    @property
    def takes_callers_keys(self) -> bool:
        """Whether any upstream is called with the caller's own credential."""
        return any(upstream.takes_callers_keys for upstream in self._upstreams.values())

    @property
    def providers_with_keys(self) -> tuple[str, ...]:
        """The providers and upstreams that have a key, or need none because the emulator answers."""
        return tuple(upstream.name for upstream in self._all() if upstream.has_key)

    def candidates_of(self, target: str) -> tuple[Candidate, ...]:
        """The candidates of one `provider/model`, one for each account; raises like `route`."""
        parsed = split_name(target)
        upstream = self._upstream(parsed.provider) if parsed else None
        # The text that a glob matched may be safe in the name but not at its place in the target.
        if parsed is None or upstream is None or not is_safe(parsed.model):
            raise UnknownModelError(target)
        if self._is_exposed and upstream.is_own_machine and upstream.name not in self._upstreams:
            raise NotConfiguredError(
                (
                    f"{upstream.name} is a server on the gateway's machine: list it as [upstreams.{upstream.name}]",
                )
            )
        return upstream.candidates(parsed.model)

    # ---- which entry -----------------------------------------------------------------------------

    def _route_of(self, requested: str) -> Route:
        entry = self._entry_of(requested)
        return self._route(requested, self.targets_of(requested), entry)

    def targets_of(self, requested: str) -> tuple[str, ...]:
        """Returns each `provider/model` that a name stands for; raises like `route`."""
        name, entry = self._named(requested), self._entry_of(requested)
        if entry is not None and not entry.is_glob:
            return entry.to
        if not is_safe(name):
            raise UnknownModelError(requested, self._nearest(name))
        if entry is not None:
            texts = matched(entry.name, name)
            assert texts is not None, "the entry of this name"
            return tuple(filled(to, texts) for to in entry.to)
        return (name if split_name(name) else f"{self._provider_of(name)}/{name}",)

    def _named(self, requested: str) -> str:
        """A name without a word in brackets that no entry has."""
        return requested if self.has_entry(requested) else without_suffix(requested)

    def _entry_of(self, requested: str) -> NamedModel | None:
        """The entry of [[models]] for a name."""
        name = self._named(requested)
        if entry := self._exact.get(name):
            return entry
        return next((one for one in self._globs if matched(one.name, name) is not None), None)

    def _route(
        self, requested: str, targets: tuple[str, ...], entry: NamedModel | None = None
    ) -> Route:
        """The candidates of all targets; one that cannot be called is left out as long as another can."""
        candidates: list[Candidate] = []
        problems: list[str] = []
        for target in targets:
            try:
                candidates += self.candidates_of(target)
            except UnknownModelError:
                raise UnknownModelError(
                    requested, self._nearest(without_suffix(requested))
                ) from None
            except NotConfiguredError as error:
                problems += error.problems
        if not candidates:
            raise NotConfiguredError(tuple(problems))
        rules = rules_for(requested, entry, self._rules)
        if entry is None:
            return Route(requested, tuple(candidates), rules)
        steering = entry.steering
        if steering.is_acting:
            return Route(requested, tuple(candidates), rules, steering)
        return Route(requested, tuple(candidates), rules, notes_loops=steering.loops is not None)

    def _provider_of(self, name: str) -> str:
        """The provider that a bare name belongs to."""
        providers = owners_of(name)
        if not providers:
            raise UnknownModelError(name, self._nearest(name))
        if len(providers) > 1:
            ids = [host.id for host in providers]
            ready = [provider for provider in self.providers_with_keys if provider in ids]
            names = (f"{provider}/{name}" for provider in dict.fromkeys((*ready, *ids)))
            raise AmbiguousModelError(name, tuple(names)[:_MOST_NAMED])
        return providers[0].id

    # ---- upstreams -------------------------------------------------------------------------------

    def _upstream(self, provider: str) -> Upstream | None:
        """An upstream of the config, or else one from a provider's row."""
        upstream = self._upstreams.get(_id_of(provider))
        host = host_of(provider)
        if upstream is not None or host is None:
            return upstream
        return Upstream.of_row(host, self._environ, self._emulated)

    def _all(self) -> Iterator[Upstream]:
        """The upstreams of the config, then all other providers."""
        rows = (host.id for host in all_hosts())
        names = dict.fromkeys((*self._upstreams, *rows))
        return filter(None, map(self._upstream, names))

    # ---- names that are near ---------------------------------------------------------------------

    def _nearest(self, requested: str) -> tuple[str, ...]:
        """Names that are similar to a name: of the models that can be called, or else of the whole catalog.

        The last one is the name at its maker: it may be newer than the catalog.
        """
        name = requested[:100].lower()
        maker = maker_of(name) if is_safe(name) else None
        by_maker = (f"{maker.id}/{name}",) if maker else ()
        every = (f"{host.id}/{model}" for host in all_hosts() for model in names_at(host.id))
        close = closest_names(name, self.names()) or closest_names(name, (*self._exact, *every))
        others = [other for other in close if other not in by_maker]
        return (*others[: _MOST_NEAREST - len(by_maker)], *by_maker)


def _id_of(provider: str) -> str:
    host = host_of(provider)
    return host.id if host else provider


def _short(name: str) -> str:
    return name if len(name) <= 100 else name[:100] + "..."


# ---- What each name reaches, and what is wrong, in lines for people. No key is printed, only the names of references.


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


def _limits(model: NamedModel) -> Iterator[str]:
    """What is limited in the answers of a name, and what is done about them."""
    reasoning = model.reasoning
    if text := described(reasoning):
        yield text
    if reasoning.limit:
        yield f"reasoning at most {reasoning.limit} tokens"
    if reasoning.loops:
        yield f"loops: {reasoning.loops}"
    if model.goes_on:
        yield "continues streams"


def _entry(model: NamedModel, routes: Routes) -> Iterator[str]:
    """What an entry of [[models]] reaches, and what is wrong with it."""
    yield ", ".join((model.name, *_limits(model)))
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
