"""A schema as OpenAI takes it in strict_schema mode: every object closed, and all its members required."""

from __future__ import annotations

from typing import Any

__all__ = ["strict_schema"]


def strict_schema(schema: Any) -> Any:
    """The schema, closed at every level; a default makes no sense where all is required."""
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
    """Schemas by name, whatever the names are."""
    if not isinstance(members, dict):
        return members
    return {name: strict_schema(value) for name, value in members.items()}
