"""Findings -> values of columns of the catalog, for the comparison and for the user's own catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of
from innervoice.probe.facts import ProbeFact, values_of
from innervoice.probe.looks import Finding
from innervoice.wire.controls import is_claude
from innervoice.wire.dialects import dialect_named

__all__ = ["Column", "catalog_value", "column_of"]


class Column(NamedTuple):
    """A column of a table of the catalog, and a value for it."""

    table: str
    name: str
    value: Any


def column_of(fact: ProbeFact, finding: Finding, target: Target) -> Column | None:
    """What the catalog should say, by a finding; None if no column can say it."""
    converter = _CONVERTERS.get(fact.id)
    if converter is None or fact.column is None:
        return None
    table, _, name = fact.column.partition(".")
    value = converter(fact, finding.value, target)
    if isinstance(value, Column):
        return value
    return None if value is _UNKNOWN else Column(table, name, value)


def catalog_value(table: str, name: str, target: Target) -> Any:
    """What the catalog says."""
    row = {"model": target.row, "host": target.host, "markup": card_of(target.model)}[table]
    return getattr(row, name, None)


_UNKNOWN = object()
Converter: TypeAlias = Callable[[ProbeFact, Any, Target], Any]


def _as_it_is(_: ProbeFact, value: Any, __: Target) -> Any:
    return value


def _is_accepted(_: ProbeFact, value: Any, __: Target) -> bool:
    return bool(value == "accepted")


def _default(_: ProbeFact, value: Any, target: Target) -> Any:
    if value == "none" or target.row.default == "none":
        return value
    return target.row.default  # the level cannot be seen


def _shown(_: ProbeFact, value: Any, target: Target) -> Any:
    if value == "nothing":
        return _UNKNOWN
    if value == "hidden":
        return "hidden"
    return target.row.shown if target.row.shown != "hidden" else "full"


def _showable(_: ProbeFact, value: Any, target: Target) -> Any:
    shows = {word: word for word in target.row.showable}
    if target.row.shown != "hidden" and not {"summary", "full"} & shows.keys():
        value = tuple(word for word in value if word != "summary")  # it is readable anyway
    if "full" in shows and "summary" not in shows:
        shows["summary"] = "full"
    return tuple(dict.fromkeys(shows.get(word, word) for word in value))


def _fields(_: ProbeFact, value: Any, target: Target) -> Any:
    host = target.host
    has_members = dialect_named(target.dialect).reasoning_members
    if not has_members or host is None or any(map(_is_no_field, value)):
        return _UNKNOWN
    # A host may have several; which of them a model uses is not in the catalog.
    known = all(
        any(f"{field} ".startswith(f"{place} ") for field in host.fields) for place in value
    )
    return host.fields if known else tuple(value)


def _is_no_field(place: str) -> bool:
    return "unknown" in place or place in ("nowhere", "parts", "only in the counts")


def _inline(_: ProbeFact, value: Any, target: Target) -> Any:
    # A host that may leave reasoning in the text need not do so for every model.
    return bool(value or (target.host and target.host.inline))


def _prefix(_: ProbeFact, value: Any, target: Target) -> Any:
    return value if card_of(target.model) else _UNKNOWN


def _off(_: ProbeFact, value: Any, target: Target) -> Any:
    if value in ("value", "never") and target.row.off == "omit":
        return "omit"  # nothing is sent, whatever a value would do
    return _UNKNOWN if value == "ignored" else value


def _off_up_to(_: ProbeFact, value: Any, __: Target) -> Any:
    if value == "none":
        return _UNKNOWN
    return None if value == "any" else value


def _kinds(_: ProbeFact, value: Any, target: Target) -> Any:
    usual, other = ("adaptive", "enabled") if is_claude(target.row) else ("level", "budget")
    start = "anthropic-" if is_claude(target.row) else "gemini-"
    if target.row.control.removeprefix(start) != usual:
        usual, other = other, usual
    if not value:
        return _UNKNOWN
    if usual not in value:
        return Column("model", "control", start + other)
    if not is_claude(target.row):
        return _UNKNOWN
    rest = tuple(word for word in target.row.tolerates if word != other)
    return Column("model", "tolerates", (*rest, other) if other in value else rest)


def _least(_: ProbeFact, value: Any, target: Target) -> Any:
    return _UNKNOWN if value is None or not target.row.budget else (value, target.row.budget[1])


def _most(_: ProbeFact, value: Any, target: Target) -> Any:
    return _UNKNOWN if value is None or not target.row.budget else (target.row.budget[0], value)


def _refuses(fact: ProbeFact, value: Any, target: Target) -> Any:
    """The measured ones, and those of the catalog that were not tried; what is refused in any case has a column of its own."""
    tried, row = values_of(fact, target), target.row
    always = tuple(name for name in row.refuses_always if name in value or name not in tried)
    if always != row.refuses_always:
        return Column("model", "refuses_always", always)
    untried = tuple(name for name in row.refuses if name not in tried)
    measured = (*untried, *(name for name in value if name not in always))
    return row.refuses if set(measured) == set(row.refuses) - set(always) else measured


def _refuses_always(fact: ProbeFact, value: Any, target: Target) -> Any:
    tried, known = values_of(fact, target), target.row.refuses_always
    measured = (*(name for name in known if name not in tried), *value)
    return known if set(measured) == set(known) else measured


def _prefill(_: ProbeFact, value: Any, target: Target) -> Any:
    """Two columns decide about prefill while the model reasons."""
    row = target.row
    if value == "accepted":
        name = "prefill_thinking" if row.prefill else "prefill"
        return Column("model", name, True)
    return Column("model", "prefill_thinking", False) if row.prefill else Column("model", "prefill", False)  # fmt: skip


def _limit(_: ProbeFact, value: Any, target: Target) -> Any:
    limit = target.row.limit
    if not value or (limit == "max_completion_tokens" and len(value) > 1):
        return _UNKNOWN  # more is accepted than the catalog expects, which no column says
    return limit if limit in value else value[0]


def _counted(_: ProbeFact, value: Any, __: Target) -> Any:
    return _UNKNOWN if value == "no counts" else value == "counted"


def _output(_: ProbeFact, value: Any, __: Target) -> Any:
    return _UNKNOWN if value is None else value


def _stream_only(_: ProbeFact, value: Any, __: Target) -> Any:
    return value != "yes"


def _bound(_: ProbeFact, value: Any, target: Target) -> Any:
    if value == "refused":
        return "refused"
    return "no" if target.row.bound == "refused" else target.row.bound


def _strict(_: ProbeFact, value: Any, target: Target) -> Any:
    host = target.host
    if host is None:
        return _UNKNOWN
    others = tuple(name for name in host.strict if name != target.dialect)
    if value == "accepted":
        return others
    return host.strict if target.dialect in host.strict else (*others, target.dialect)


_CONVERTERS: dict[str, Converter] = {
    "default": _default,
    "shown": _shown,
    "showable": _showable,
    "usage": _counted,
    "usage-separate": _as_it_is,
    "place": _fields,
    "streamed-place": _fields,
    "inline": _inline,
    "prefix": _prefix,
    "efforts": _as_it_is,
    "off": _off,
    "off-up-to": _off_up_to,
    "kinds": _kinds,
    "budget-least": _least,
    "budget-most": _most,
    "refuses": _refuses,
    "refuses-always": _refuses_always,
    "limit": _limit,
    "max-output": _output,
    "stream-only": _stream_only,
    "tools": _is_accepted,
    "forced-tools": _is_accepted,
    "prefill": _prefill,
    "prefill-off": _is_accepted,
    "bound": _bound,
    "strict": _strict,
    "count": _is_accepted,
}
