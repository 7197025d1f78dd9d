"""A model's bare name -> the provider that it belongs to.

A provider knows a name if a row that is not a guess has a pattern for it: a row of models.toml with this host, or `models` of the host. A
pattern counts only from the start of the name, and only if it begins with a letter or digit of the name: `*` matches everything and proves nothing.

If several providers know a name, the model belongs to its maker: the one whose column `makes` has the name. `claude-opus-5-5` is
known to Anthropic, Vertex, Azure and others, and belongs to Anthropic. A model with a maker never belongs to anyone else: a name that only
an aggregator knows is not passed to it. `gpt-oss-120b` has no maker that serves it and many hosts, so it belongs to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from innervoice.canon.rows import Host, ModelRow
from innervoice.catalog.lookup import all_hosts, all_model_rows, dialect_at, fits, host_of

__all__ = [
    "closest_names",
    "hosts_that_know",
    "maker_of",
    "names_at",
    "nearest_models",
    "owners_of",
]


_MOST_NEAREST = 3


@lru_cache(maxsize=256)
def hosts_that_know(model: str) -> tuple[Host, ...]:
    """The hosts whose rows have a pattern for this name, in the order of hosts.toml."""
    hosts = {
        host
        for row in all_model_rows()
        if not row.guess and _begins(row.match, model)
        for host in row.hosts
    }
    return tuple(
        host for host in all_hosts() if host.id in hosts or _begins(host.models or (), model)
    )


@lru_cache(maxsize=256)
def maker_of(model: str) -> Host | None:
    """The host whose own model this is, by its name; whether the host still has it is another question."""
    return next((host for host in all_hosts() if _begins(host.makes, model)), None)


def owners_of(model: str) -> tuple[Host, ...]:
    """The hosts that a bare name may belong to: its maker alone, if that has it; several if nobody made it; none if it is unknown."""
    hosts = hosts_that_know(model)
    maker = maker_of(model)
    if maker is None:
        return hosts
    return (maker,) if maker in hosts else ()


def nearest_models(model: str) -> tuple[str, ...]:
    """Names of the catalog, as `provider/model`, that are similar to a name with or without a provider."""
    every = tuple(f"{host.id}/{name}" for host in all_hosts() for name in names_at(host.id))
    return tuple(closest_names(model[:100].lower(), every)[:_MOST_NEAREST])


def closest_names(name: str, names: Iterable[str]) -> list[str]:
    """The names that are most similar to one; a name without a provider is compared with the models alone."""
    full: dict[str, str] = {}
    for candidate in names:
        full.setdefault(candidate.lower(), candidate)
        if "/" not in name:
            full.setdefault(candidate.partition("/")[2].lower() or candidate.lower(), candidate)
    matches = get_close_matches(name, full, _MOST_NEAREST * 2)
    return list(dict.fromkeys(full[key] for key in matches))


@lru_cache(maxsize=64)
def names_at(provider: str) -> tuple[str, ...]:
    """Names of a provider's own models, from the rows.

    Hosts that serve the models of others spell their names in their own ways, which no row has, so they have none.
    """
    host = host_of(provider)
    if host is None or not host.makes:
        return ()
    names = dict.fromkeys(
        name
        for row in all_model_rows()
        if not row.guess and host.id in row.hosts
        for pattern in row.match
        if (name := _name_in(pattern, row))
        and _begins(host.makes, name)
        and (not row.dialects or dialect_at(host, name) in row.dialects)
    )
    return tuple(names)


def _begins(patterns: Iterable[str], model: str) -> bool:
    """Whether a pattern matches the name from its start."""
    name = model.lower()
    return "/" not in name and any(
        (start := pattern.partition("*")[0]) and name.startswith(start) and fits((pattern,), name)
        for pattern in patterns
    )


_ENDINGS = ("-20", "-v")
"""Suffixes that a pattern allows and that the model's name does not have: a date, a version."""


def _name_in(pattern: str, row: ModelRow) -> str | None:
    """The name that a pattern stands for: the pattern itself, or the text before its only `*`."""
    name, star, rest = pattern.partition("*")
    if rest or name.endswith(_ENDINGS) or not name[-1:].isalnum():
        return None
    if name.endswith("-latest") and name.removesuffix("-latest") in row.match:
        return None
    # A row of models without reasoning groups whole generations (`gpt-4*`), and its pattern is not a name.
    return None if star and row.control == "none" else name
