"""A model at a host -> each fact about it, with where it comes from and how old that is."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from datetime import date
from typing import Any, NamedTuple

from innervoice.canon.rows import Host, Row
from innervoice.canon.target import UNKNOWN_MODEL
from innervoice.catalog.lookup import (
    card_of,
    changes_of,
    model_row_of,
    packaged_row_of,
    packaged_source,
    price_of,
    user_catalog,
)

__all__ = ["SourcedFact", "age_of", "shown_value", "sourced_facts"]

_DAY = re.compile(r"\b(20\d\d-\d\d)(-\d\d)?\b")
_NOT_FACTS = ("source", "match", "hosts", "dialects", "guess", "id", "family")
_MONTH = 30


class SourcedFact(NamedTuple):
    """A column with its value, and the source of the value."""

    table: str
    column: str
    value: Any
    source: str


def sourced_facts(host: Host, model: str, dialect: str) -> Iterator[SourcedFact]:
    """Every fact that is not the default of its column, and all that the user's own catalog has."""
    own, place = user_catalog(), (model, host.id, dialect)
    row = model_row_of(*place) or UNKNOWN_MODEL
    changed = {column: change.source for change in changes_of(*place) for column in change.columns}
    below = (packaged_row_of(*place) or UNKNOWN_MODEL) if changed else row
    for column, value in _facts(row, changed):
        yield SourcedFact("model", column, value, changed.get(column, below.source))
    yield from _named_facts("host", host.id, host, own.hosts)
    card = card_of(model)
    if card:
        yield from _named_facts("markup", card.family, card, own.markup)
    price = price_of(model, host.id)
    for column, value in _facts(price, ()) if price else ():
        yield SourcedFact("price", column, value, price.source if price else "")


def _named_facts(
    table: str, name: str, row: Any, own: dict[str, dict[str, Any]]
) -> Iterator[SourcedFact]:
    """The facts of a row in which the user's own catalog may change columns."""
    changed = own.get(name, {})
    below = packaged_source(table, name) or row.source
    for column, value in _facts(row, changed):
        yield SourcedFact(table, column, value, row.source if column in changed else below)


def _facts(row: Row, changed: Container[str]) -> Iterator[tuple[str, Any]]:
    defaults = row.defaults()
    for column in row.columns():
        value = getattr(row, column)
        is_usual = column in defaults and value == defaults[column]
        if column not in _NOT_FACTS and (column in changed or not is_usual):
            yield column, value


def shown_value(value: Any) -> str:
    """A value as people read it in a table."""
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple() | list():
            return ", ".join(map(shown_value, value)) or "none"
        case dict():
            return ", ".join(f"{name}: {shown_value(item)}" for name, item in value.items())
        case None:
            return "none"
        case _:
            return str(value)


def age_of(source: str, today: date) -> str | None:
    """How old the newest day, or month, in a source is; None if it names none."""
    ages = [(today - day).days for day in map(_day_of, _DAY.findall(source)) if day]
    if not ages:
        return None
    age = max(min(ages), 0)
    if age >= 2 * _MONTH:
        return f"{age // _MONTH} months old"
    return f"{age} days old" if age != 1 else "1 day old"


def _day_of(written: tuple[str, str]) -> date | None:
    month, day = written
    try:
        return date.fromisoformat(month + (day or "-01"))
    except ValueError:
        return None
