"""The rows of facts.toml: which facts there are, which concern a model, and in which order they are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from innervoice.canon.rows import Row
from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of
from innervoice.errors import UsageError
from innervoice.probe.recipes import Recipe, setting_members
from innervoice.wire.controls import Choice, is_claude
from innervoice.wire.dialects import dialect_named

__all__ = ["ProbeFact", "all_facts", "concerned", "recipe_of", "selected", "values_of"]

_WITHOUT_OFF = ("gemini-level", "interactions", "none", "qwen-string")
"""Controls that have no value for off."""
_PARAMETERS = ("temperature", "top_p", "top_k", "stop", "presence_penalty", "frequency_penalty", "top_logprobs")  # fmt: skip
_EACH = "{each}"


class ProbeFact(Row, frozen=True, kw_only=True):
    """A fact that is measured; facts.toml explains the columns."""

    id: str
    fact: str
    column: str | None = None
    look: str
    recipe: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    each: tuple[str, ...] | str = ()
    needs: tuple[str, ...] = ()
    group: str


@cache
def all_facts() -> tuple[ProbeFact, ...]:
    """Every row."""
    import tomllib  # noqa: PLC0415 - only `innervoice probe` needs it

    text = Path(__file__).with_name("facts.toml").read_text("utf-8")
    return tuple(map(ProbeFact.from_row, tomllib.loads(text)["fact"]))


def selected(only: Iterable[str], skip: Iterable[str]) -> list[ProbeFact]:
    """The facts that --only and --skip leave, by their ids or groups."""
    facts = list(all_facts())
    words = {fact.id for fact in facts} | {fact.group for fact in facts}
    for word in (*only, *skip):
        if word not in words:
            raise UsageError(f"unknown fact {word!r}; expected one of {', '.join(sorted(words))}")
    if only := set(only):
        facts = [fact for fact in facts if {fact.id, fact.group} & only]
    return [fact for fact in facts if not {fact.id, fact.group} & set(skip)]


def recipe_of(fact: ProbeFact, value: str | None = None) -> Recipe:
    """The recipe of a fact, for one of its values."""
    return Recipe.from_row(
        {name: value if item == _EACH else item for name, item in fact.recipe.items()}
    )


def values_of(fact: ProbeFact, target: Target) -> tuple[str, ...]:
    """The values that are tried one after the other."""
    if not isinstance(fact.each, str):
        return fact.each
    row = target.row
    match fact.each:
        case "efforts":
            return row.efforts
        case "limits":
            return dialect_named(target.dialect).limit_names
        case "parameters":
            lacks = dialect_named(target.dialect).lacks
            return tuple(name for name in _PARAMETERS if _has(name, target) and name not in lacks)
        case _:
            raise UsageError(f"facts.toml: {fact.id} has an unknown list {fact.each!r}")


def _has(parameter: str, target: Target) -> bool:
    """Whether the dialect has a parameter, or the catalog says that it is refused."""
    if parameter in ("temperature", "top_p", "stop"):
        return True
    return parameter in (*target.row.refuses, *target.row.refuses_always)


# ---- needs -------------------------------------------------------------------------------------------


def concerned(fact: ProbeFact, target: Target) -> bool:
    """Whether a fact has a meaning for a model, as far as the catalog says."""
    return all(_STATIC[need](target) for need in fact.needs if need in _STATIC)


def _spelled(choice: Choice, other: Choice) -> Callable[[Target], bool]:
    """Whether a control can express a choice."""
    return lambda target: setting_members(choice, target) != setting_members(other, target)


def _counts(target: Target) -> bool:
    host = target.host
    dialect = dialect_named(target.dialect)
    return bool(host and host.counts and host.dialect == dialect.name and dialect.counts_at)


def _has_sibling(target: Target) -> bool:
    return target.row.replay == "must"


def _has_members(target: Target) -> bool:
    """Whether messages hold reasoning in members of their own."""
    return bool(dialect_named(target.dialect).reasoning_members)


def _takes_schemas(target: Target) -> bool:
    host = target.host
    formats = (host.formats if host else ()) or dialect_named(target.dialect).formats
    return "json_schema" in formats


_STATIC: dict[str, Callable[[Target], bool]] = {
    "effort": lambda target: (
        _spelled(Choice(effort="low"), Choice(effort="high"))(target) and bool(target.row.efforts)
    ),
    "off": lambda target: target.row.control not in _WITHOUT_OFF,
    "budget": lambda target: (
        target.row.budget is not None and _spelled(Choice(budget=5), Choice(budget=6))(target)
    ),
    "bounded_budget": lambda target: (
        not is_claude(target.row) and target.row.control != "openrouter"
    ),
    "show": _spelled(Choice(effort="low", show="summary"), Choice(effort="low", show="hidden")),
    "claude": lambda target: is_claude(target.row),
    "kinds": lambda target: is_claude(target.row) or target.row.control.startswith("gemini-"),
    "pairs": lambda target: bool(target.host and target.host.exclusive),
    "limits": lambda target: (
        bool(dialect_named(target.dialect).limit_names) and target.row.control != "none"
    ),
    "max_output": lambda target: target.row.max_output is not None,
    "schemas": _takes_schemas,
    "message_members": _has_members,
    "counts": _counts,
    "sibling": _has_sibling,
    "card": lambda target: card_of(target.model) is not None,
}
"""Needs that the catalog decides; the others are measured: `run.py`."""
