"""The files of models.dev -> their facts about a model's reasoning.

`api.json` is an object of providers, each with an object of models; `catalog.json` has that object under `providers`. A model describes
its reasoning settings in `reasoning_options` (a list of toggle, effort and budget_tokens), in the second version of the format in
`capabilities.reasoning`. `models.json` names no providers, so nothing can be taken from it.
https://github.com/anomalyco/models.dev, README.md, packages/core/src/schema.ts and schema-v2.ts, read 2026-11-16.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from innervoice.canon.rows import ModelRow
from innervoice.canon.words import REASONING_FIELDS

__all__ = ["Fact", "facts_of", "providers_in"]

_WORDS = ("minimal", "low", "medium", "high", "xhigh", "max")
_NO_WORDS = (None, "none", "default")
"""Values of an effort that are not levels: off, and the provider's choice."""
_MOST_TOKENS = 10**9
_SHOWN = 40


class Fact:
    """A list's facts about a model, column by column of its row."""

    def __init__(self) -> None:
        self.not_understood: Counter[str] = Counter()
        self._columns: dict[str, Any] = {}
        self._is_switched = False
        self._bounds: tuple[int | None, int | None] | None = None

    def set(self, column: str, value: Any) -> None:
        """Sets a value that is known to fit the column."""
        self._columns[column] = value

    def wonder(self, what: str, value: Any) -> None:
        """Counts something that is not understood."""
        text = repr(value)
        self.not_understood[f"{what} {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}"] += 1

    def set_efforts(self, values: Any) -> None:
        """Sets a list of effort levels."""
        if not isinstance(values, list):
            self.wonder("efforts", values)
            return
        for value in values:
            if value not in (*_WORDS, *_NO_WORDS):
                self.wonder("effort", value)
        words = tuple(word for word in _WORDS if word in values)
        if words:
            self.set("efforts", words)
        if "none" in values:
            self._is_switched = True

    def set_default(self, value: Any) -> None:
        """Sets the effort when nothing is sent."""
        if value in ("none", *_WORDS):
            self.set("default", value)
        elif value is not None and value != "default":
            self.wonder("default effort", value)

    def set_toggle(self, default: Any) -> None:
        """Sets that reasoning can be switched on and off."""
        self._is_switched = True
        if isinstance(default, bool) and not default:
            self.set("default", "none")
        elif default is True:
            self._columns.setdefault("default", "on")
        elif default is not None:
            self.wonder("toggle default", default)

    def set_budget(self, least: Any, most: Any) -> None:
        """Sets the bounds of a token budget; each may be missing."""
        low, high = self._count("budget min", least), self._count("budget max", most)
        if low is not None and high is not None and low > high:
            self.wonder("budget", [least, most])
        else:
            self._bounds = low, high

    def set_count(self, column: str, value: Any) -> None:
        """Sets a number of tokens; 0 means none."""
        if count := self._count(column, value):
            self.set(column, count)

    def _count(self, what: str, value: Any) -> int | None:
        if value is None:
            return None
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not -1 <= value <= _MOST_TOKENS or value != int(value):
            self.wonder(what, value)
            return None
        return max(int(value), 0)  # -1 is a budget that the model chooses

    def changes(self, known: ModelRow) -> dict[str, Any]:
        """The columns that change in the current row of the model."""
        changes = dict(self._columns)
        has_options = self._is_switched or self._bounds is not None or "efforts" in changes
        if "off" not in changes and has_options and known.off in ("value", "never"):
            switched = self._is_switched or (self._bounds is not None and self._bounds[0] == 0)
            changes["off"] = "value" if switched else "never"
        if self._bounds is not None:
            low, high = self._bounds
            before = known.budget or (None, None)
            low = low if low is not None else before[0]
            high = high if high is not None else before[1] or changes.get("max_output")
            if high is not None and (low or 0) <= high:
                changes["budget"] = (low or 0, high)
        return changes


def providers_in(data: Any) -> dict[str, dict[str, Any]] | None:
    """Providers -> their models, in any of models.dev's files that has both; None for another file."""
    if isinstance(data, dict) and isinstance(data.get("providers"), dict):
        data = data["providers"]
    if not isinstance(data, dict):
        return None
    providers = {
        str(name): entry["models"]
        for name, entry in data.items()
        if isinstance(entry, dict) and isinstance(entry.get("models"), dict)
    }
    return providers or None


def facts_of(model: Any) -> Fact | None:
    """The file's facts about a model; None if the model does not reason."""
    if not isinstance(model, dict):
        return None
    abilities = model.get("capabilities")
    second = abilities.get("reasoning") if isinstance(abilities, dict) else None
    if isinstance(second, dict):
        if second.get("supported") is not True:
            return None
        fact = _of_second(second, model.get("api"))
    elif model.get("reasoning") is True:
        fact = _of_first(model)
    else:
        return None
    limits = model.get("limit")
    if isinstance(limits, dict):
        fact.set_count("max_output", limits.get("output"))
        fact.set_count("context", limits.get("context"))
    elif limits is not None:
        fact.wonder("limit", limits)
    return fact


def _of_first(model: dict[str, Any]) -> Fact:
    fact = Fact()
    options = model.get("reasoning_options")
    if not isinstance(options, (list, type(None))):
        fact.wonder("reasoning_options", options)
        options = None
    for option in options or []:
        match option:
            case {"type": "effort", **rest}:
                fact.set_efforts(rest.get("values"))
                fact.set_default(rest.get("default"))
            case {"type": "toggle", **rest}:
                fact.set_toggle(rest.get("default"))
            case {"type": "budget_tokens", **rest}:
                fact.set_budget(rest.get("min"), rest.get("max"))
            case {"type": kind}:
                fact.wonder("reasoning option", kind)
            case _:
                fact.wonder("reasoning option", option)
    match model.get("interleaved"):
        case None | True | False:
            pass
        case {"field": field}:
            _set_field(fact, field)
        case other:
            fact.wonder("interleaved", other)
    return fact


def _of_second(reasoning: dict[str, Any], api: Any) -> Fact:
    fact = Fact()
    if reasoning.get("effort") is not None:
        fact.set_efforts(reasoning["effort"])
    match reasoning.get("default"):
        case None | {"type": "budget"}:
            default = None
        case {"type": "effort", "value": value}:
            default = None
            fact.set_default(value)
        case {"type": "toggle", "value": default}:
            pass
        case other:
            default = None
            fact.wonder("reasoning default", other)
    if reasoning.get("toggle") is True:
        fact.set_toggle(default)
    match reasoning.get("budget"):
        case None:
            pass
        case dict() as budget:
            fact.set_budget(budget.get("min"), budget.get("max"))
        case other:
            fact.wonder("budget", other)
    match api:
        case {"chat-completions": {"compatibility": {"reasoning_field": field}}}:
            _set_field(fact, field)
    return fact


def _set_field(fact: Fact, field: Any) -> None:
    if isinstance(field, str) and field in REASONING_FIELDS:
        fact.set("replay_field", field)
    else:
        fact.wonder("reasoning field", field)
