"""A provider's name -> its host's row, a model's name -> its card.

The last segment of the name, in lower case, is matched against the patterns of every row: `*` stands for anything, and a pattern may
begin after a separator in the name (`kimi-k2*` matches `moonshot.kimi-k2-thinking`). The most specific pattern wins: the one with
the most characters other than `*`. A pattern without `*` at its end never matches a longer name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

from innervoice.canon.rows import Card, Host, ModelRow

__all__ = [
    "all_cards",
    "all_hosts",
    "all_model_rows",
    "card_of",
    "dialect_at",
    "family_of",
    "fits",
    "host_in_langchain",
    "host_of",
    "is_served",
    "model_row_of",
    "use_overrides",
]


def host_of(provider: str) -> Host | None:
    """The row of a provider, by its id or an alias; None for an unknown provider."""
    return _hosts_by_name().get(provider.lower())


def host_in_langchain(provider: str) -> Host | None:
    """The row of a provider as LangChain names it in `model_provider`: a name of its own, or one of ours."""
    return _hosts_in_langchain().get(provider) or host_of(provider)


def dialect_at(host: Host, model: str) -> str:
    """The dialect that a model speaks at a host."""
    spoken = (dialect for pattern, dialect in host.speaks.items() if fits((pattern,), model))
    return next(spoken, host.dialect) if host.speaks else host.dialect


@lru_cache(maxsize=256)
def family_of(model: str) -> str:
    """The family whose models can read each other's sealed reasoning: the first word of the name, without a vendor.

    `us.anthropic.claude-sonnet-4-5-v1:0` and `claude-opus-5` are claude, `gpt-5.6` and `gpt-oss-20b` gpt and gpt-oss.
    """
    name = _VENDOR.sub("", _last_segment(model))
    if name.startswith("gpt-oss"):
        return "gpt-oss"
    word = re.match(r"[a-z]+", name)
    return word[0] if word else name


_VENDOR = re.compile(
    r"^(?:[a-z]{2,6}\.)?(?:amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot(?:ai)?|nvidia|openai|qwen|zai)\."
)


@lru_cache(maxsize=256)
def model_row_of(model: str, host: str | None, dialect: str) -> ModelRow | None:
    """What a model accepts at a host in a dialect; a row that names the host wins over one for all hosts."""
    name = _last_segment(model)
    best: tuple[tuple[bool, int], ModelRow] | None = None
    for weight, pattern, row in _model_patterns():
        is_named = host in row.hosts
        fits = (is_named or "*" in row.hosts) and (not row.dialects or dialect in row.dialects)
        if fits and (best is None or (is_named, weight) > best[0]) and _matches(pattern, name):
            best = ((is_named, weight), row)
    return best[1] if best else None


def is_served(model: str, host: Host) -> bool:
    """Whether a host has a model of this name: one with a row at the host that is not a guess, or one that the host's row names."""
    if host.models is None or fits(host.models, model):
        return True
    name = _last_segment(model)
    return any(
        host.id in row.hosts and not row.guess and _matches(pattern, name)
        for _, pattern, row in _model_patterns()
    )


@lru_cache(maxsize=256)
def card_of(model: str) -> Card | None:
    """The markup card of a model, or None for an unknown model."""
    name = _last_segment(model)
    best: tuple[int, Card] | None = None
    for weight, pattern, card in _patterns():
        if (best is None or weight > best[0]) and _matches(pattern, name):
            best = (weight, card)
    return best[1] if best else None


@lru_cache(maxsize=1)
def all_hosts() -> tuple[Host, ...]:
    """Every row of hosts.toml."""
    return tuple(Host.from_row(row) for row in _rows("hosts.toml")["host"])


@lru_cache(maxsize=1)
def _hosts_by_name() -> dict[str, Host]:
    return {name: host for host in all_hosts() for name in (host.id, *host.aliases)}


@lru_cache(maxsize=1)
def _hosts_in_langchain() -> dict[str, Host]:
    return {host.langchain_name: host for host in all_hosts() if host.langchain_name}


@lru_cache(maxsize=1)
def all_model_rows() -> tuple[ModelRow, ...]:
    """Every row of models.toml."""
    return (*_overrides, *(ModelRow.from_row(row) for row in _rows("models.toml")["model"]))


_overrides: list[ModelRow] = []


def use_overrides(rows: Iterable[ModelRow]) -> None:
    """Puts rows before the built-in ones, for this process; of two equally specific rows the first wins."""
    _overrides[:] = rows
    for cached in (all_model_rows, _model_patterns, model_row_of):
        cached.cache_clear()


@lru_cache(maxsize=1)
def _model_patterns() -> tuple[tuple[int, tuple[str, ...], ModelRow], ...]:
    return tuple(
        (len(match.replace("*", "")), tuple(match.split("*")), row)
        for row in all_model_rows()
        for match in row.match
    )


def _last_segment(model: str) -> str:
    """The part of a name that patterns match: without a path, and without `+words`, which are options of the model."""
    return model.partition("+")[0].rstrip("/").rsplit("/", 1)[-1].lower()


@lru_cache(maxsize=1)
def all_cards() -> tuple[Card, ...]:
    """Every row of markup.toml."""
    return tuple(Card.from_row(row) for row in _rows("markup.toml")["markup"])


def _rows(file: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - needed only once a provider or model is named

    return tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[int, tuple[str, ...], Card], ...]:
    return tuple(
        (len(match.replace("*", "")), tuple(match.split("*")), card)
        for card in all_cards()
        for match in card.match
    )


def fits(patterns: Iterable[str], model: str) -> bool:
    """Whether one of these patterns matches a model's name."""
    name = _last_segment(model)
    return any(_matches(tuple(pattern.split("*")), name) for pattern in patterns)


def _matches(pieces: tuple[str, ...], name: str) -> bool:
    """Whether a name matches a pattern, which is split at each `*`; takes time in proportion to the name's length.

    The leftmost position of each piece is the best, because it leaves the most of the name to the pieces after it.
    """
    first, *others = pieces
    if not others:
        return name.endswith(first) and _is_start(name, len(name) - len(first))
    place = name.find(first)
    while place >= 0 and not _is_start(name, place):
        place = name.find(first, place + 1)
    if place < 0:
        return False
    place += len(first)
    for piece in others[:-1]:
        position = name.find(piece, place)
        if position < 0:
            return False
        place = position + len(piece)
    last = others[-1]
    return name.endswith(last) and place <= len(name) - len(last)


def _is_start(name: str, place: int) -> bool:
    """Whether a pattern may begin here: at the start of the name, or after a separator."""
    return place == 0 or name[place - 1] not in _WORD


_WORD = frozenset(ascii_lowercase + digits)
