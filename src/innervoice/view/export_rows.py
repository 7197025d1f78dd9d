"""Rows for an exported file: only what the policy shows, and no secret. Nothing else may be exported."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from innervoice.show.policy import Policy
from innervoice.show.secrets import redacted
from innervoice.view.row_types import Fact, Head, Row

__all__ = ["head_for_file", "rows_for_file"]

Json = TypeVar("Json")

_ABOUT_REASONING = re.compile("reason|think|thought|seal", re.IGNORECASE)
_LEFT_AS_IT_IS = ("image",)
"""Members whose text is data, where a match of a key pattern would only be an accident."""


def rows_for_file(rows: list[Row], show: Policy) -> list[Row]:
    """The rows, renumbered if some are left out."""
    shown = [made for row in rows if (made := _shown(row, show)) is not None]
    numbers = {row["n"]: number for number, row in enumerate(shown)}
    for row in shown:
        row["n"] = numbers[row["n"]]
        if "call" in row:
            if row["call"] in numbers:
                row["call"] = numbers[row["call"]]
            else:
                del row["call"]
    return [_without_secrets(row) for row in shown]


def head_for_file(head: Head, show: Policy) -> Head:
    """The head above the rows."""
    made = Head(**head)
    made["facts"] = _facts(head["facts"], show)
    return _without_secrets(made)


def _shown(row: Row, show: Policy) -> Row | None:
    made = row.copy()
    if show == "none":
        is_opaque = row["kind"] == "opaque" and _ABOUT_REASONING.search(row["title"])
        if row["kind"] == "thinking" or is_opaque:
            return None
        if row["kind"] == "remark" and _ABOUT_REASONING.search(row["text"]):
            made["text"] = made["title"] = "no answer"
            made.pop("first", None)
        made["facts"] = _facts(row["facts"], show)
        made["notes"], made["seals"] = [], []
        made.pop("empty", None)
        return made
    if row["kind"] == "thinking" and show != "full":
        made["text"] = row.get("opening", "") if show == "summary" else ""
        made["first"] = made["text"].partition("\n")[0]
        made.pop("opening", None)
        made.pop("cut", None)
    return made


def _facts(facts: list[Fact], show: Policy) -> list[Fact]:
    if show != "none":
        return facts
    return [
        fact
        for fact in facts
        if not _ABOUT_REASONING.search(f"{fact['label']} {fact.get('why', '')}")
    ]


def _without_secrets(value: Json) -> Json:
    made: Any = value
    match value:
        case str():
            made = redacted(value)
        case list():
            made = [_without_secrets(item) for item in value]
        case dict():
            made = {
                name: item if name in _LEFT_AS_IT_IS else _without_secrets(item)
                for name, item in value.items()
            }
    return made  # type: ignore[no-any-return]
