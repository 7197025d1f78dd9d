"""Newer facts about models -> rows that override the built-in ones.

Three formats are read: models.dev's `api.json`, Anthropic's list of models with their capabilities, and OpenRouter's list of
models. What a list does not mention is copied from the model's current row. The caller does all input and output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.rows import ModelRow
from innervoice.catalog.lookup import dialect_at, host_of, model_row_of
from innervoice.errors import DecodeError

__all__ = ["rows_from"]

_WORDS = ("minimal", "low", "medium", "high", "xhigh", "max")


def rows_from(data: Any, source: str) -> list[ModelRow]:
    """A row for every reasoning model in the data."""
    if isinstance(data, dict) and isinstance(data.get("data"), list):
        rows = [*_from_anthropic(data["data"], source), *_from_openrouter(data["data"], source)]
    elif isinstance(data, dict) and any(
        isinstance(item, dict) and "models" in item for item in data.values()
    ):
        rows = list(_from_models_dev(data, source))
    else:
        raise DecodeError(
            "expected models.dev's api.json, or a list of models of Anthropic or OpenRouter"
        )
    return rows


def _row(host: str, model: str, source: str, changes: dict[str, Any]) -> ModelRow | None:
    """The current row of a model with changes; None for a model without a row."""
    found = host_of(host)
    known = model_row_of(model, found.id, dialect_at(found, model)) if found else None
    if found is None or known is None:
        return None
    name = model.rsplit("/", 1)[-1].lower()
    return known.replace(match=(name,), hosts=(found.id,), source=source, **changes)


def _from_models_dev(data: dict[str, Any], source: str) -> Iterator[ModelRow]:
    for provider, entry in data.items():
        models = entry.get("models") if isinstance(entry, dict) else None
        for name, model in (models if isinstance(models, dict) else {}).items():
            if not isinstance(model, dict) or not model.get("reasoning"):
                continue
            row = _row(provider, str(name), source, _changes(model))
            if row:
                yield row


def _changes(model: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    options = [
        option for option in model.get("reasoning_options") or [] if isinstance(option, dict)
    ]
    kinds = {option.get("type") for option in options}
    for option in options:
        values = option.get("values") or []
        if option.get("type") == "effort" and values:
            changes["efforts"] = tuple(word for word in _WORDS if word in values)
            changes["off"] = "value" if "none" in values or "toggle" in kinds else "never"
        least, most = option.get("min"), option.get("max")
        if (
            option.get("type") == "budget_tokens"
            and isinstance(least, int)
            and isinstance(most, int)
        ):
            changes["budget"] = (max(least, 0), most)
    if "toggle" in kinds:
        changes["off"] = "value"
    output = (model.get("limit") or {}).get("output")
    if isinstance(output, int) and output > 0:
        changes["max_output"] = output
    field = (
        (model.get("interleaved") or {}).get("field")
        if isinstance(model.get("interleaved"), dict)
        else None
    )
    if isinstance(field, str):
        changes["replay_field"] = field
    return changes


def _from_anthropic(models: list[Any], source: str) -> Iterator[ModelRow]:
    for model in models:
        abilities = model.get("capabilities") if isinstance(model, dict) else None
        if not isinstance(abilities, dict):
            continue
        types = {
            name for name, item in _items(abilities, "thinking", "types") if item.get("supported")
        }
        efforts = [name for name, item in _items(abilities, "effort") if item.get("supported")]
        off = (
            "value"
            if "disabled" in types
            else "between_tools"
            if "between_tools" in types
            else "never"
        )
        changes: dict[str, Any] = {
            "control": "anthropic-adaptive" if "adaptive" in types else "anthropic-enabled",
            "efforts": tuple(word for word in _WORDS if word in efforts),
            "off": off,
        }
        row = _row("anthropic", str(model.get("id")), source, changes)
        if row:
            yield row


def _items(value: dict[str, Any], *path: str) -> list[tuple[str, dict[str, Any]]]:
    here: Any = value
    for step in path:
        here = here.get(step) if isinstance(here, dict) else None
    return (
        [(name, item) for name, item in (here or {}).items() if isinstance(item, dict)]
        if isinstance(here, dict)
        else []
    )


def _from_openrouter(models: list[Any], source: str) -> Iterator[ModelRow]:
    for model in models:
        facts = model.get("reasoning") if isinstance(model, dict) else None
        if not isinstance(facts, dict):
            continue
        efforts = facts.get("supported_efforts") or []
        changes: dict[str, Any] = {"off": "never" if facts.get("mandatory") else "value"}
        if efforts:
            changes["efforts"] = tuple(word for word in _WORDS if word in efforts)
        if facts.get("supports_max_tokens") is False:
            changes["budget"] = None
        if isinstance(facts.get("default_effort"), str):
            changes["default"] = facts["default_effort"]
        row = _row("openrouter", str(model.get("id")), source, changes)
        if row:
            yield row
