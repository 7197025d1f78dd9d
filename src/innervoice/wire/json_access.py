"""Reads JSON of unknown shape: a value of an unexpected type is treated as absent."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json, load_json

__all__ = [
    "arguments_of",
    "as_count",
    "as_dict",
    "as_list",
    "as_number",
    "as_text",
    "members_of",
    "parsed",
]


def as_dict(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The string, or None."""
    return value if isinstance(value, str) else None


def as_count(value: Any) -> int | None:
    """A number of tokens, or None for anything else."""
    if type(value) is int:  # nearly always
        return value if 0 <= value < 2**53 else None
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**53 else None


def as_number(value: Any) -> float | None:
    """A number that a float holds, such as seconds or dollars, or None for anything else; JSON has integers of any size."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -(2**53) < value < 2**53 else None


def arguments_of(value: Any) -> str:
    """A call's arguments as text: a string as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return value
    return dump_json({} if value is None else value).decode()


def parsed(text: str) -> Any:
    """The JSON value of a text, or the text itself if it is not valid JSON."""
    try:
        return load_json(text)
    except ValueError:
        return text


def members_of(value: Any) -> str:
    """The names of an object's members, for an error."""
    names = [f"{name!r:.40}" for name in as_dict(value)]
    return f"it has {', '.join(names[:8])}" if names else f"it is {type(value).__name__}"
