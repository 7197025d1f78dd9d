"""The refusals of APIs for an answer schema that they do not accept.

Claude's words were collected by the package matrx-ai from claude-opus-5-5 on 2026-09-27; OpenAI's are in many public error
reports ("is required to be supplied and to be false", "is not permitted"). Both were read on 2026-11-15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Refusal
from innervoice.wire.response_schema import CLAUDE, OPENAI_STRICT
from innervoice.wire.rules import refused

__all__ = ["claude_schema", "strict_schema"]

_BESIDE = {"additionalProperties", "allOf", "discriminator", "properties", "required", "type"}
_PLACES = ("properties", "$defs", "definitions")


def claude_schema(schema: Any) -> Iterator[Refusal]:
    """Why Claude would refuse a schema."""
    start = "output_config.format.schema"
    for _, place in _places(schema, ()):
        kind = place.get("type", "unknown")
        if "oneOf" in place:
            yield refused(f"{start}: Schema type 'oneOf' is not supported")
        if "anyOf" in place and (beside := sorted(place.keys() & _BESIDE)):
            yield refused(f"{start}: For 'anyOf', '{', '.join(beside)}' is not supported")
        for keyword in sorted(place.keys() - CLAUDE.keywords - {"oneOf"}):
            yield refused(f"{start}: For '{kind}' type, property '{keyword}' is not supported")
        if place.keys() <= {"title", "description", "default"}:
            yield refused(
                f"{start}: Empty schema ({{}}) that accepts any JSON value is not supported."
            )
        if "format" in place and place["format"] not in (CLAUDE.formats or ()):
            yield refused(f"{start}: String format '{place['format']}' is not supported")
        if _is_object(place) and place.get("additionalProperties") is not False:
            yield refused(
                f"{start}: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )


def strict_schema(name: Any, schema: Any) -> Iterator[Refusal]:
    """Why OpenAI would refuse a schema in strict mode."""
    start = f"Invalid schema for response_format '{name}'"
    if as_dict(schema).get("type") != "object":
        kind = as_dict(schema).get("type")
        yield _strict(
            f"{start}: schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
        )
    for path, place in _places(schema, ()):
        where = f"{start}: In context={path!r}"
        for keyword in sorted(place.keys() - OPENAI_STRICT.keywords):
            yield _strict(f"{where}, '{keyword}' is not permitted.")
        if not _is_object(place):
            continue
        if place.get("additionalProperties") is not False:
            yield _strict(
                f"{where}, 'additionalProperties' is required to be supplied and to be false."
            )
        missing = [
            key
            for key in as_dict(place.get("properties"))
            if key not in as_list(place.get("required"))
        ]
        if missing:
            yield _strict(
                f"{where}, 'required' is required to be supplied and to be an array including every key in "
                f"properties. Missing '{missing[0]}'."
            )


def _strict(text: str) -> Refusal:
    return refused(text, code="invalid_json_schema", param="response_format")


def _is_object(place: dict[str, Any]) -> bool:
    return place.get("type") == "object" or "properties" in place


def _places(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every place of a schema that is a schema itself."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name in _PLACES:
        for key, inner in as_dict(schema.get(name)).items():
            yield from _places(inner, (*path, name, key))
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for number, inner in enumerate(as_list(schema.get(name))):
            yield from _places(inner, (*path, name, str(number)))
    for name in ("items", "additionalProperties"):
        yield from _places(schema.get(name), (*path, name))
