"""A provider's name -> its host's row, a model's name -> its card.

The last segment of the name, in lower case, is matched against the patterns of every row: `*` stands for anything, and a pattern may
begin after a separator in the name (`kimi-k2*` matches `moonshot.kimi-k2-thinking`). The most specific pattern wins: the one with
the most characters other than `*`. A pattern without `*` at its end never matches a longer name. Rows of the user's own catalog
(`user_catalog.py`) win over all packaged ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING, Any

from innervoice.canon.rows import Card, Host, ModelRow, Price
from innervoice.canon.target import UNKNOWN_MODEL

if TYPE_CHECKING:
    from innervoice.catalog.user_catalog import ModelChange, UserCatalog

__all__ = [
    "all_cards",
    "all_hosts",
    "all_model_rows",
    "card_of",
    "changes_of",
    "dialect_at",
    "family_of",
    "fits",
    "host_in_langchain",
    "host_of",
    "is_served",
    "model_row_of",
    "packaged_row_of",
    "packaged_source",
    "price_of",
    "use_overrides",
    "user_catalog",
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
    row = _best_row(reversed(user_catalog().models), model, host, dialect)
    row = row or packaged_row_of(model, host, dialect)
    for change in changes_of(model, host, dialect):
        row = (row or UNKNOWN_MODEL).replace(**change.columns, source=change.source)
    return row


def packaged_row_of(model: str, host: str | None, dialect: str) -> ModelRow | None:
    """The same without the user's own catalog."""
    return _best_row(None, model, host, dialect)


def changes_of(model: str, host: str | None, dialect: str) -> list[ModelChange]:
    """What the user's own catalog changes in the row of a model, in this order."""
    return [
        change
        for change in user_catalog().changes
        if ("*" in change.hosts or host in change.hosts)
        and (not change.dialects or dialect in change.dialects)
        and fits(change.match, model)
    ]


def _best_row(
    rows: Iterable[ModelRow] | None, model: str, host: str | None, dialect: str
) -> ModelRow | None:
    """The row that fits best; None as rows stands for the packaged ones, whose patterns are split only once."""
    name = _last_segment(model)
    best: tuple[tuple[bool, int], ModelRow] | None = None
    for weight, pattern, row in _model_patterns() if rows is None else _split(rows):
        is_named = host in row.hosts
        fits = (is_named or "*" in row.hosts) and (not row.dialects or dialect in row.dialects)
        if fits and (best is None or (is_named, weight) > best[0]) and _matches(pattern, name):
            best = ((is_named, weight), row)
    return best[1] if best else None


def price_of(model: str, host: str | None) -> Price | None:
    """What the user's own catalog says that a model costs at a host."""
    prices = (price for price in reversed(user_catalog().prices) if fits(price.match, model))
    return next((price for price in prices if "*" in price.hosts or host in price.hosts), None)


def is_served(model: str, host: Host) -> bool:
    """Whether a host has a model of this name: one with a row at the host that is not a guess, or one that the host's row names."""
    if host.models is None or fits(host.models, model):
        return True
    name = _last_segment(model)
    return any(
        host.id in row.hosts and not row.guess and _matches(pattern, name)
        for _, pattern, row in (*_split(user_catalog().models), *_model_patterns())
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
    """Every host, with the columns that the user's own catalog changes."""
    return tuple(map(Host.from_row, _changed("host", "id", user_catalog().hosts)))


@lru_cache(maxsize=1)
def _hosts_by_name() -> dict[str, Host]:
    return {name: host for host in all_hosts() for name in (host.id, *host.aliases)}


@lru_cache(maxsize=1)
def _hosts_in_langchain() -> dict[str, Host]:
    return {host.langchain_name: host for host in all_hosts() if host.langchain_name}


@lru_cache(maxsize=1)
def all_model_rows() -> tuple[ModelRow, ...]:
    """Every row of models.toml, the user's own first."""
    return (*user_catalog().models, *_packaged_models())


@lru_cache(maxsize=1)
def _packaged_models() -> tuple[ModelRow, ...]:
    return (*_overrides, *map(ModelRow.from_row, _rows("model")))


_overrides: list[ModelRow] = []


def use_overrides(rows: Iterable[ModelRow]) -> None:
    """Puts rows before the built-in ones, for this process; of two equally specific rows the first wins."""
    _overrides[:] = rows
    for cached in (all_model_rows, _packaged_models, _model_patterns, model_row_of):
        cached.cache_clear()


@lru_cache(maxsize=1)
def _model_patterns() -> tuple[tuple[int, tuple[str, ...], ModelRow], ...]:
    return tuple(_split(_packaged_models()))


def _split(rows: Iterable[ModelRow]) -> Iterator[tuple[int, tuple[str, ...], ModelRow]]:
    """The patterns of rows, each with its weight."""
    for row in rows:
        for match in row.match:
            yield len(match.replace("*", "")), tuple(match.split("*")), row


def _last_segment(model: str) -> str:
    """The part of a name that patterns match: without a path, and without `+words`, which are options of the model."""
    return model.partition("+")[0].rstrip("/").rsplit("/", 1)[-1].lower()


@lru_cache(maxsize=1)
def all_cards() -> tuple[Card, ...]:
    """Every card, with the columns that the user's own catalog changes; the user's cards are first."""
    return tuple(map(Card.from_row, _changed("markup", "family", user_catalog().markup)))


@lru_cache(maxsize=1)
def user_catalog() -> UserCatalog:
    """The user's own catalog; raises `UsageError` with every mistake in it."""
    from innervoice.catalog.user_catalog import read_catalog  # noqa: PLC0415 - needed only once a provider or model is named

    return read_catalog(_rows)


def packaged_source(table: str, name: str) -> str | None:
    """The source of a packaged host or card, by its id or family; None if it is the user's own."""
    column = "id" if table == "host" else "family"
    return next((row["source"] for row in _rows(table) if row[column] == name), None)


_FILES = {"host": "hosts.toml", "model": "models.toml", "markup": "markup.toml"}


@lru_cache(maxsize=len(_FILES))
def _rows(table: str) -> list[dict[str, Any]]:
    """The packaged rows of a table."""
    import tomllib  # noqa: PLC0415 - needed only once a provider or model is named

    text = Path(__file__).with_name(_FILES[table]).read_text("utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)[table]
    return rows


def _changed(table: str, name: str, own: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a table, after the user's new ones, each with the columns that the user changes."""
    rows = _rows(table)
    packaged = {row[name] for row in rows}
    yield from (row for key, row in own.items() if key not in packaged)
    for row in rows:
        change = own.get(row[name])
        yield {**row, **change} if change else row


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[int, tuple[str, ...], Card], ...]:
    own = user_catalog().markup
    return tuple(
        (
            len(match.replace("*", "")) + (_OWN if card.family in own else 0),
            tuple(match.split("*")),
            card,
        )
        for card in all_cards()
        for match in card.match
    )


_OWN = 1000
"""More than the characters of a pattern: the user's own cards win."""


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
