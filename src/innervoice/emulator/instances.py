"""A JSON schema -> a small value that matches it, for answers in a required form."""

from __future__ import annotations

from typing import Any

from innervoice.canon.schema import target_of
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["instance_of"]

_DEEPEST = 12
_MOST_VALUES = 2000
"""A schema may refer to itself in many places; values beyond these are left out."""
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
    """A value of a schema; `text` is the content of its strings."""
    return _Maker(as_dict(schema), text).value(as_dict(schema), 0)


class _Maker:
    def __init__(self, root: dict[str, Any], text: str) -> None:
        self._root, self._text, self._made = root, text, 0

    def value(self, schema: dict[str, Any], depth: int) -> Any:
        self._made += 1
        schema = _target(schema, self._root)
        if "const" in schema:
            return schema["const"]
        if as_list(schema.get("enum")):
            return schema["enum"][0]
        for name in ("anyOf", "oneOf"):
            branches = [as_dict(branch) for branch in as_list(schema.get(name))]
            if branches and depth < 2 * _DEEPEST:
                nulls = [branch for branch in branches if branch.get("type") == "null"]
                chosen = nulls[0] if nulls and self._is_full(depth) else branches[0]
                return self.value(chosen, depth + 1)
        for part in as_list(schema.get("allOf")):
            schema = {**_target(as_dict(part), self._root), **schema}
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((word for word in kind if word != "null"), "null")
        return self._of_kind(
            str(kind or ("object" if "properties" in schema else "string")), schema, depth
        )

    def _is_full(self, depth: int) -> bool:
        return depth >= _DEEPEST or self._made >= _MOST_VALUES

    def _of_kind(self, kind: str, schema: dict[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                members = {}
                for name, inner in as_dict(schema.get("properties")).items():
                    if self._is_full(depth):
                        break
                    members[name] = self.value(as_dict(inner), depth + 1)
                return members
            case "array":
                least = schema.get("minItems")
                count = least if isinstance(least, int) else 0 if self._is_full(depth) else 1
                item = as_dict(schema.get("items"))
                count = min(count, 0 if self._made >= _MOST_VALUES else 8)
                return [self.value(item, depth + 1) for _ in range(count)]
            case "integer" | "number":
                least = schema.get("minimum", schema.get("exclusiveMinimum"))
                return least + 1 if isinstance(least, (int, float)) else 1
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return _FORMATS.get(str(schema.get("format")), self._text)


def _target(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the definition that it refers to; an empty schema for a missing one."""
    return target_of(root, schema["$ref"]) or {} if "$ref" in schema else schema
