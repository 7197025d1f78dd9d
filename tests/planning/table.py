"""Every row of models.toml against every setting: what is sent, and what the rules say of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import innervoice as iv
from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_model_rows, dialect_at, host_of, model_row_of
from innervoice.wire.dialects import rules_of

__all__ = ["SETTINGS", "cases", "compiled", "lines"]

TOOL = iv.Tool("look", "Looks something up.", {"type": "object", "properties": {}})
SETTINGS: dict[str, dict[str, Any]] = {
    "none": {"reasoning": "none"},
    "minimal": {"reasoning": "minimal"},
    "low": {"reasoning": "low"},
    "medium": {"reasoning": "medium"},
    "high": {"reasoning": "high"},
    "xhigh": {"reasoning": "xhigh"},
    "max": {"reasoning": "max"},
    "budget 500": {"reasoning": 500},
    "budget 8000": {"reasoning": 8000},
    "budget 10^6": {"reasoning": 10**6},
    "show": {"reasoning": iv.Reasoning("low", show="summary")},
    "hide": {"reasoning": iv.Reasoning("low", show="hidden")},
    "tools": {"reasoning": "high", "tools": [TOOL]},
    "forced tool": {"reasoning": "high", "tools": [TOOL], "tool_choice": "required"},
    "temperature": {"reasoning": "high", "temperature": 0.3},
    "small limit": {"reasoning": "high", "max_tokens": 600},
    "nothing": {},
}


def cases() -> Iterator[tuple[ModelRow, str, str, str]]:
    """A row, and a host, a dialect and a model's name that it is the row for."""
    for row in all_model_rows():
        host = next((name for name in row.hosts if name != "*"), "custom")
        usual = host_of(host)
        assert usual is not None, host
        model = row.match[0].replace("*", "x") if row.match[0] != "*" else "some-model"
        dialect = row.dialects[0] if row.dialects else dialect_at(usual, model)
        if model_row_of(model, host, dialect) is row:
            yield row, host, dialect, model


def compiled(
    host: str, dialect: str, model: str, setting: dict[str, Any], mode: str = "clamp"
) -> iv.Wire:
    request = iv.Request(
        f"{host}/{model}", [iv.user("Hello")], dialect=dialect, mode=mode, **setting
    )
    return iv.encode(request)


_LEFT_OUT = (
    "messages",
    "contents",
    "input",
    "model",
    "model_id",
    "tools",
    "toolConfig",
    "stream",
    "store",
    "include",
)


def lines() -> Iterator[str]:
    """The table, a line for each row and setting, for people to read in a review."""
    for row, host, dialect, model in cases():
        yield f"{host}/{model} ({dialect}, {row.control})"
        for name, setting in SETTINGS.items():
            try:
                wire = compiled(host, dialect, model, setting)
            except iv.RuleError as error:
                yield f"  {name:12} refused here: {error}"
                continue
            said = {key: value for key, value in wire.body.items() if key not in _LEFT_OUT}
            notes = " ".join(note.code for note in wire.notes)
            yield f"  {name:12} {json.dumps(said)}" + (f"  [{notes}]" if notes else "")


def refused(wire: iv.Wire, row: ModelRow, host: str, model: str) -> list[str]:
    target = Target(provider=host, model=model, row=row, host=host_of(host), dialect=wire.dialect)
    return [refusal.text for refusal in rules_of(wire.dialect)(wire.body, target)]
