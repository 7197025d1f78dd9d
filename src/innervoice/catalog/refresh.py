"""Newer facts about models -> rows that override the built-in ones.

Three formats are read: the files of models.dev (`catalog/models_dev.py`), Anthropic's list of models with their capabilities, and
OpenRouter's list of models. Values that a list does not mention are copied from the model's current row; values that are unknown here are
counted, not guessed. The caller does all I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from innervoice.canon.rows import ModelRow
from innervoice.catalog.lookup import dialect_at, host_of, model_row_of
from innervoice.catalog.models_dev import Fact, facts_of, providers_in
from innervoice.errors import DecodeError

__all__ = ["Refreshed", "refreshed"]

_EXPECTED = (
    "expected models.dev's api.json or catalog.json, or a model list of Anthropic or OpenRouter"
)
_LONGEST_NAME = 200


@dataclass
class Refreshed:
    """The rows of a list, and counts of the rest."""

    rows: list[ModelRow] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)
    """Columns -> how many rows have a new value in them."""
    without_reasoning: int = 0
    """Models that do not reason, which need no row."""
    unknown_hosts: Counter[str] = field(default_factory=Counter)
    """Providers without a row here -> how many of their models reason."""
    unknown_models: list[str] = field(default_factory=list)
    """Models of known providers that no row matches, not even a guess."""
    not_understood: Counter[str] = field(default_factory=Counter)
    """Values of the list that are unknown here, or have a wrong form -> how often."""

    def add(self, provider: str, model: Any, fact: Fact, source: str) -> None:
        """Adds the list's facts about a model that reasons."""
        host = host_of(provider)
        if host is None:
            self.unknown_hosts[provider] += 1
            return
        if not _is_name(model):
            self.not_understood["a model's name"] += 1
            return
        name = model.rsplit("/", 1)[-1].lower()
        row_before = model_row_of(model, host.id, dialect_at(host, model))
        if row_before is None:
            self.unknown_models.append(f"{host.id}/{model}")
            return
        self.not_understood.update(fact.not_understood)
        changes = fact.changes(row_before)
        if row_before.guess:
            source += "; values that it does not contain are guesses"
        row = row_before.replace(
            match=(name,), hosts=(host.id,), guess=False, source=source, **changes
        )
        self.taken.update(
            column for column in changes if getattr(row, column) != getattr(row_before, column)
        )
        self.rows.append(row)


def refreshed(data: Any, source: str) -> Refreshed:
    """A row for every reasoning model in the data that already has a row, if only a guess."""
    result = Refreshed()
    if isinstance(data, dict) and isinstance(data.get("data"), list):
        for provider, model, fact in _listed(data["data"]):
            result.add(provider, model, fact, source)
        return result
    providers = providers_in(data)
    if providers is None:
        raise DecodeError(_EXPECTED)
    for provider, models in providers.items():
        for name, model in models.items():
            facts = facts_of(model)
            if facts is None:
                result.without_reasoning += 1
            else:
                result.add(provider, name, facts, source)
    result.rows = _first_of_each(result.rows)
    return result


def _first_of_each(rows: list[ModelRow]) -> list[ModelRow]:
    """The rows without those for a model that has one: two of a list's providers may be one host here."""
    rows_by_key: dict[tuple[Any, ...], ModelRow] = {}
    for row in rows:
        rows_by_key.setdefault((row.match, row.hosts), row)
    return list(rows_by_key.values())


def _is_name(model: Any) -> bool:
    """Whether a name can be the pattern of a row: `*` would match other models, and `+` begins a suffix that is not part of a name."""
    if not isinstance(model, str) or not 0 < len(model) <= _LONGEST_NAME:
        return False
    return model.isprintable() and not set("*+") & set(model) and not model.endswith("/")


# ---- lists of providers ------------------------------------------------------------------------------


def _listed(models: list[Any]) -> Iterator[tuple[str, Any, Fact]]:
    for model in models:
        if not isinstance(model, dict):
            continue
        abilities, reasoning = model.get("capabilities"), model.get("reasoning")
        if isinstance(abilities, dict) and "type" not in abilities:
            yield "anthropic", model.get("id"), _of_anthropic(abilities)
        elif isinstance(reasoning, dict):
            yield "openrouter", model.get("id"), _of_openrouter(reasoning)


def _of_anthropic(abilities: dict[str, Any]) -> Fact:
    types = _supported(abilities, "thinking", "types")
    fact = Fact()
    fact.set("control", "anthropic-adaptive" if "adaptive" in types else "anthropic-enabled")
    fact.set_efforts(_supported(abilities, "effort"))
    off = "between_tools" if "between_tools" in types else "never"
    fact.set("off", "value" if "disabled" in types else off)
    return fact


def _supported(value: Any, *path: str) -> list[str]:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        return []
    return [
        name for name, item in value.items() if isinstance(item, dict) and item.get("supported")
    ]


def _of_openrouter(facts: dict[str, Any]) -> Fact:
    fact = Fact()
    fact.set("off", "never" if facts.get("mandatory") else "value")
    fact.set_efforts(facts.get("supported_efforts") or [])
    if facts.get("supports_max_tokens") is False:
        fact.set("budget", None)
    fact.set_default(facts.get("default_effort"))
    return fact
