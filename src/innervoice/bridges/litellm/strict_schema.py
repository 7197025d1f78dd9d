"""A JSON schema -> the same schema for OpenAI's strict mode: no additional properties, every property required.

`wire/response_schema.py` lets a property that was optional be null instead. Here the caller validates the answer with the class that it
passed, which may not accept null, so such a property must have a value.
"""

from __future__ import annotations

from typing import Any

__all__ = ["strict_schema"]


def strict_schema(schema: Any) -> Any:
    """The strict schema; defaults are removed, because every property is required."""
    if isinstance(schema, list):
        return [strict_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        name: _members(value) if name in ("properties", "$defs") else strict_schema(value)
        for name, value in schema.items()
        if name != "default"
    }
    if isinstance(closed.get("properties"), dict):
        closed |= {"additionalProperties": False, "required": list(closed["properties"])}
    return closed


def _members(members: Any) -> Any:
    """A map of names to schemas; a name such as `default` is not a keyword here."""
    if not isinstance(members, dict):
        return members
    return {name: strict_schema(value) for name, value in members.items()}
