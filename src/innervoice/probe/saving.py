"""Results -> tables at the end of the user's own catalog, where the catalog differs from what was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of
from innervoice.catalog.user_catalog import catalog_file
from innervoice.errors import UsageError
from innervoice.probe.run import ProbeResult

__all__ = ["save", "toml_of"]

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def toml_of(results: Iterable[ProbeResult], target: Target, today: date) -> str:
    """The tables for a catalog; empty if nothing differs that a column can say."""
    columns: dict[str, dict[str, Any]] = {}
    for result in results:
        if result.status == "differs" and result.column is not None:
            table, name, value = result.column
            columns.setdefault(table, {})[name] = _joined(columns, table, name, value)
    card = card_of(target.model)
    heads: dict[str, dict[str, Any]] = {
        "model": {
            "match": [_name(target)],
            "hosts": [target.provider],
            "dialects": [target.dialect],
        },
        "host": {"id": target.provider},
        "markup": {"family": card.family if card else ""},
    }
    source = f"innervoice probe, {today.isoformat()}"
    return "".join(
        _table(table, {**heads[table], **members, "source": source})
        for table, members in columns.items()
    )


def save(text: str) -> Path:
    """Appends tables to the user's own catalog; returns the file."""
    file = catalog_file()
    if file is None:
        raise UsageError("there is no catalog to save to: INNERVOICE_CATALOG is empty")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text("utf-8") if file.exists() else ""
        gap = "\n" if before and not before.endswith("\n\n") else ""
        file.write_text(before + gap + text.lstrip("\n"), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    return file


def _joined(columns: dict[str, dict[str, Any]], table: str, name: str, value: Any) -> Any:
    """A column that two facts are about: the bounds of a budget."""
    before = columns.get(table, {}).get(name)
    if name == "budget" and before is not None:
        return (max(before[0], value[0]), min(before[1], value[1]))
    return value


def _name(target: Target) -> str:
    return target.model.rpartition("/")[2].lower()


def _table(name: str, members: dict[str, Any]) -> str:
    lines = [
        f"{_key(key)} = {_value(value)}" for key, value in members.items() if value is not None
    ]
    return f"\n[[{name}]]\n" + "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
            return f"{{ {inner} }}"
        case _:
            return dump_json(str(value)).decode()  # a string of JSON is one of TOML


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else dump_json(key).decode()
