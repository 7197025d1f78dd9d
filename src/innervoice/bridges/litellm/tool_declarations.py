"""Tools -> the TypeScript declarations that OpenAI shows to its models, for counting their tokens.

OpenAI does not document the format; it was reverse-engineered (https://github.com/hmarr/openai-chat-tokens, read 2026-11-15).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.wire.json_access import as_dict, as_list

__all__ = ["tool_declarations"]


def tool_declarations(tools: Sequence[Any]) -> str:
    """The declarations of all tools, as one text."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        function = as_dict(as_dict(tool).get("function")) or as_dict(tool)
        if description := function.get("description"):
            lines.append(f"// {description}")
        name, schema = function.get("name"), as_dict(function.get("parameters"))
        members = _members(schema, 0) if as_dict(schema.get("properties")) else None
        if members is None:
            lines.append(f"type {name} = () => any;")
        else:
            lines += [f"type {name} = (_: {{", members, "}) => any;"]
        lines.append("")
    lines.append("} // namespace functions")
    return "\n".join(lines)


def _members(schema: dict[str, Any], depth: int) -> str:
    required = as_list(schema.get("required"))
    lines = []
    for name, value in as_dict(schema.get("properties")).items():
        member = as_dict(value)
        if description := member.get("description"):
            lines.append(f"// {description}")
        mark = "" if name in required else "?"
        lines.append(f"{name}{mark}: {_type(member, depth)},")
    return "\n".join(" " * max(0, depth) + line for line in lines)


def _type(schema: dict[str, Any], depth: int) -> str:
    kind = schema.get("type")
    if values := as_list(schema.get("enum")):
        return " | ".join(f'"{value}"' if kind == "string" else str(value) for value in values)
    match kind:
        case "array":
            return (
                f"{_type(as_dict(schema.get('items')), depth)}[]" if "items" in schema else "any[]"
            )
        case "object":
            return f"{{\n{_members(schema, depth + 2)}\n}}"
        case "string" | "boolean" | "null":
            return str(kind)
        case "integer" | "number":
            return "number"
        case _:
            return "any"
