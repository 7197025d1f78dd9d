"""A schema as OpenAI takes it in strict mode: every object closed, and all its members required."""

from __future__ import annotations

from typing import Any

__all__ = ["strict"]


def strict(schema: Any) -> Any:
    """The schema, closed at every level; a default makes no sense where all is required."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        name: _members(value) if name in ("properties", "$defs") else strict(value)
        for name, value in schema.items()
        if name != "default"
    }
    if isinstance(closed.get("properties"), dict):
        closed |= {"additionalProperties": False, "required": list(closed["properties"])}
    return closed


def _members(members: Any) -> Any:
    """Schemas by name, whatever the names are."""
    if not isinstance(members, dict):
        return members
    return {name: strict(value) for name, value in members.items()}
