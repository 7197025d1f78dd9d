"""A JSON schema -> a small value that fits it, for answers that must have a form."""

from __future__ import annotations

from typing import Any

from innervoice.canon.json_schema import target_of
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["instance_of"]

_DEEPEST = 12
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def instance_of(schema: Any, text: str = "text") -> Any:
    """A value of a schema; `text` is what its strings say."""
    return _value(as_dict(schema), as_dict(schema), text, 0)


def _value(schema: dict[str, Any], root: dict[str, Any], text: str, depth: int) -> Any:
    schema = _target(schema, root)
    if "const" in schema:
        return schema["const"]
    if as_list(schema.get("enum")):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf"):
        branches = [as_dict(branch) for branch in as_list(schema.get(name))]
        if branches:
            deep = depth >= _DEEPEST
            nulls = [branch for branch in branches if branch.get("type") == "null"]
            return _value(nulls[0] if deep and nulls else branches[0], root, text, depth + 1)
    for part in as_list(schema.get("allOf")):
        schema = {**_target(as_dict(part), root), **schema}
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((word for word in kind if word != "null"), "null")
    return _of_kind(
        str(kind or ("object" if "properties" in schema else "string")), schema, root, text, depth
    )


def _of_kind(kind: str, schema: dict[str, Any], root: dict[str, Any], text: str, depth: int) -> Any:
    match kind:
        case "object":
            members = as_dict(schema.get("properties")) if depth < _DEEPEST else {}
            return {
                name: _value(as_dict(inner), root, text, depth + 1)
                for name, inner in members.items()
            }
        case "array":
            least = schema.get("minItems")
            count = least if isinstance(least, int) else 0 if depth >= _DEEPEST else 1
            item = as_dict(schema.get("items"))
            return [_value(item, root, text, depth + 1) for _ in range(min(count, 8))]
        case "integer" | "number":
            least = schema.get("minimum", schema.get("exclusiveMinimum"))
            return least + 1 if isinstance(least, (int, float)) else 1
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _FORMATS.get(str(schema.get("format")), text)


def _target(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the definition that it refers to; nothing is known of one that is not there."""
    return target_of(root, schema["$ref"]) or {} if "$ref" in schema else schema
