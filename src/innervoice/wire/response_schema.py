"""A JSON schema for an answer -> the same schema as an API accepts it, and what was changed.

APIs that enforce a schema accept only a part of JSON Schema, each a different one. A `SchemaProfile` describes it:

  - keywords that are not in `keywords` are removed from the schema and appended to the description of their place, where
    the model still reads them;
  - `closed`: every object has `additionalProperties: false`, as Claude and OpenAI's strict mode require;
  - `all_required`: every property is required, and one that was optional accepts null instead (OpenAI's strict mode);
  - `type_lists`: whether `type` may be a list; otherwise it becomes `anyOf`;
  - `maps`: whether an object may have members with any name, like `dict[str, int]`; `recursive`: whether a schema may
    refer to itself. If a profile cannot express a schema at all, `FittedSchema.obstacle` says why; the caller then has to use another way.

Sources: Claude platform.claude.com/docs structured-outputs, and what Opus 5.5 refused one keyword at a time on 2026-09-27 (tests of
the package matrx-ai); OpenAI platform.openai.com/docs structured-outputs; Gemini ai.google.dev/api/generate-content
(responseJsonSchema). Read 2026-11-15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.schema import target_of
from innervoice.canon.value import Value
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import refused

__all__ = [
    "CLAUDE",
    "GEMINI",
    "OPENAI_STRICT",
    "FittedSchema",
    "SchemaProfile",
    "claude_schema",
    "fit_schema",
    "strict_schema",
]

_STRUCTURE = frozenset({
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum", "items", "properties",
    "required", "title", "type",
})  # fmt: skip


_ABOUT = ("title", "description", "default")


class SchemaProfile(Value, frozen=True, kw_only=True):
    """The part of JSON Schema that an API accepts."""

    keywords: frozenset[str]
    formats: frozenset[str] | None = None
    """Values of `format` that it accepts; None: any."""
    closed: bool = False
    all_required: bool = False
    type_lists: bool = True
    const: bool = True
    maps: bool = True
    recursive: bool = True
    least_items: int | None = None
    """The highest `minItems` it accepts; None: any."""
    anything: bool = True
    """Whether any JSON value may be accepted at some place."""
    most_optional: int | None = None
    """With more optional members than this, all are made required and accept null."""


CLAUDE = SchemaProfile(
    keywords=_STRUCTURE | {"default", "format", "minItems"},
    formats=frozenset(
        {
            "date",
            "date-time",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "time",
            "uri",
            "uuid",
        }
    ),
    closed=True,
    type_lists=False,
    maps=False,
    recursive=False,
    least_items=1,
    anything=False,
    most_optional=24,
)
OPENAI_STRICT = SchemaProfile(
    keywords=_STRUCTURE
    | {
        "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
    },
    formats=frozenset(
        {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
    ),
    closed=True,
    all_required=True,
    maps=False,
    anything=False,
)  # fmt: skip
GEMINI = SchemaProfile(
    keywords=_STRUCTURE
    | {
        "$anchor", "$id", "format", "maxItems", "maximum", "minItems", "minimum", "oneOf", "prefixItems", "propertyOrdering",
    },
    const=False,
)  # fmt: skip


class FittedSchema(Value, frozen=True, kw_only=True):
    """A schema as an API accepts it."""

    schema: Any
    removed: tuple[str, ...] = ()
    """Keywords that the API does not accept, each once; they are now in descriptions."""
    obstacle: str | None = None
    """Why the API cannot enforce this schema at all."""


def fit_schema(schema: Any, profile: SchemaProfile) -> FittedSchema:
    """The schema as the profile accepts it. The input is not changed."""
    if not isinstance(schema, dict):
        return FittedSchema(schema=schema)
    fitter = _Fitter(schema, profile)
    fitted = fitter.fitted(_rooted(schema))
    return FittedSchema(
        schema=fitted, removed=tuple(sorted(fitter.removed)), obstacle=fitter.obstacle
    )


class _Fitter:
    def __init__(self, root: dict[str, Any], profile: SchemaProfile) -> None:
        self._root = root
        self._profile = profile
        most = profile.most_optional
        self._all_required = profile.all_required or (most is not None and _optional(root) > most)
        self._inlined: list[str] = []
        """References that are being replaced by their target, so that none is replaced inside itself."""
        self.removed: set[str] = set()
        self.obstacle: str | None = None
        if not profile.recursive and _is_recursive(root):
            self.obstacle = "the schema refers to itself"

    def fitted(self, schema: Any) -> Any:
        """One place of the schema, and everything below it."""
        if not isinstance(schema, dict):
            return schema
        depth = len(self._inlined)
        schema = self._plain(schema)
        accepted = {key: value for key, value in schema.items() if self._accepts(key, value)}
        dropped = {key: value for key, value in schema.items() if key not in accepted}
        self.removed |= dropped.keys()
        fitted_schema = {key: self._below(key, value) for key, value in accepted.items()}
        del self._inlined[depth:]
        if "anyOf" in fitted_schema and self._profile.closed:
            fitted_schema = self._union(fitted_schema)
        elif _is_object(fitted_schema):
            fitted_schema = self._object(fitted_schema)
        if not self._profile.anything and self._is_anything(fitted_schema):
            self.obstacle = self.obstacle or "a member may be any JSON value"
        if isinstance(fitted_schema.get("type"), list) and not self._profile.type_lists:
            fitted_schema = _without_type_list(fitted_schema)
        limits = {key: value for key, value in dropped.items() if (key, value) != ("default", None)}
        if limits:
            fitted_schema["description"] = _described(fitted_schema.get("description"), limits)
        return fitted_schema

    def _plain(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The place with other keywords for those that the profile does not accept but can express differently."""
        keywords = self._profile.keywords
        schema = dict(schema)
        if "oneOf" in schema and "oneOf" not in keywords and "anyOf" not in schema:
            schema["anyOf"] = schema.pop("oneOf")
            schema.pop("discriminator", None)
        if "allOf" in schema and "allOf" not in keywords:
            parts = schema.pop("allOf")
            for part in parts if isinstance(parts, list) else []:
                schema = _merged(self._resolved(part), schema)
        beside = schema.keys() - {"$ref", "$defs", "definitions"}
        if "$ref" in schema and beside and self._profile.closed:
            # A reference must be alone: keywords next to it are merged with the schema that it refers to.
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            inner = self._resolved({"$ref": schema["$ref"]})
            schema = inner if set(inner) == {"$ref"} else {**inner, **rest}
        if "const" in schema and not self._profile.const:
            schema["enum"] = [schema.pop("const")]
        return schema

    def _resolved(self, schema: Any) -> dict[str, Any]:
        """The schema that a reference refers to; anything else, and a reference that is already being replaced, unchanged."""
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        target = target_of(self._root, reference) if set(schema) == {"$ref"} else None
        if target is None or reference in self._inlined:
            return schema
        self._inlined.append(str(reference))
        return target

    def _accepts(self, key: str, value: Any) -> bool:
        profile = self._profile
        if key == "format" and profile.formats is not None:
            return value in profile.formats
        if key == "minItems" and profile.least_items is not None:
            return isinstance(value, int) and value <= profile.least_items
        return key in profile.keywords

    def _below(self, key: str, value: Any) -> Any:
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            return {name: self.fitted(inner) for name, inner in value.items()}
        if key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
            return [self.fitted(inner) for inner in value]
        if key in ("items", "additionalProperties") and isinstance(value, dict):
            return self.fitted(value)
        return value

    def _union(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A union has only descriptions next to its branches; the branches have the types."""
        beside = schema.keys() - {"anyOf", "$defs", "definitions", "type", *_ABOUT}
        if beside:
            self.obstacle = self.obstacle or f"{min(beside)} is next to anyOf"
        return {key: value for key, value in schema.items() if key != "type"}

    def _is_anything(self, schema: dict[str, Any]) -> bool:
        if schema.get("type") == "array":
            return not isinstance(schema.get("items"), dict)
        return schema.keys() <= {"$defs", "definitions", *_ABOUT}

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        profile = self._profile
        # An object without named members accepts any members, unless it says otherwise.
        more = schema.get("additionalProperties", not schema.get("properties"))
        if more is not False and not profile.maps:
            self.obstacle = self.obstacle or "an object may have members of any name"
        if not profile.closed:
            return schema
        properties = as_dict(schema.get("properties"))
        schema = {**schema, "properties": properties, "additionalProperties": False}
        if self._all_required:
            required = _required(schema)
            schema["properties"] = {
                name: inner if name in required else _nullable(inner)
                for name, inner in properties.items()
            }
            schema["required"] = list(properties)
        return schema


def _is_object(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    return (
        kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema
    )


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A schema that requires what both require, as far as members of objects go; of two values for a keyword, the other's."""
    merged = {**one, **other}
    for name in ("properties", "$defs"):
        if isinstance(one.get(name), dict) and isinstance(other.get(name), dict):
            merged[name] = {**one[name], **other[name]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        merged["required"] = list(_required(one) | _required(other))
    return merged


def _optional(schema: Any) -> int:
    """How many members of objects may be left out, in a schema and everything below it."""
    if isinstance(schema, list):
        return sum(map(_optional, schema))
    if not isinstance(schema, dict):
        return 0
    properties = schema.get("properties")
    names = properties.keys() if isinstance(properties, dict) else set()
    count = len(names - _required(schema).keys())
    return count + sum(map(_optional, schema.values()))


def _required(schema: dict[str, Any]) -> dict[str, None]:
    """The names of the members that must be there, in their order."""
    names = as_list(schema.get("required"))
    return {name: None for name in names if isinstance(name, str)}


def _nullable(schema: Any) -> Any:
    """A schema that also accepts null, for a member that may be absent."""
    if not isinstance(schema, dict) or not schema:
        return schema
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    branches = schema.get("anyOf")
    if "null" in kinds or (isinstance(branches, list) and {"type": "null"} in branches):
        return schema
    if isinstance(branches, list):
        return {**schema, "anyOf": [*branches, {"type": "null"}]}
    if kind is not None and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [*kinds, "null"]}
    description = {"description": schema["description"]} if "description" in schema else {}
    inner = {key: value for key, value in schema.items() if key != "description"}
    return {**description, "anyOf": [inner, {"type": "null"}]}


def _without_type_list(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose `type` is a list, with a branch for each of its types."""
    about: dict[str, Any] = {key: schema[key] for key in _ABOUT if key in schema}
    rest = {key: value for key, value in schema.items() if key not in about and key != "type"}
    branches = [
        {"type": kind} if kind == "null" else {"type": kind, **rest} for kind in schema["type"]
    ]
    return {**about, "anyOf": branches}


def _described(description: Any, dropped: dict[str, Any]) -> str:
    """A description that says what the schema no longer expresses."""
    words = ", ".join(f"{key}: {_as_text(value)}" for key, value in dropped.items())
    return (
        f"{description}\n({words})"
        if isinstance(description, str) and description
        else f"({words})"
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value).decode()


def _references(schema: Any) -> Iterator[str]:
    """The references in a schema, without those inside its definitions."""
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            elif key not in ("$defs", "definitions"):
                yield from _references(value)


def _is_recursive(root: dict[str, Any]) -> bool:
    """Whether a reference leads back to itself."""

    def leads_back(start: str) -> bool:
        pending, seen = [start], set[str]()
        while pending:
            here = pending.pop()
            for reference in _references(target_of(root, here)):
                if reference == start:
                    return True
                if reference not in seen:
                    seen.add(reference)
                    pending.append(reference)
        return False

    return any(map(leads_back, sorted(set(_all_references(root)))))


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose root is an object, not a reference to one."""
    target = target_of(schema, schema.get("$ref"))
    if target is None:
        return schema
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _all_references(schema: Any) -> Iterator[str]:
    yield from _references(schema)
    if isinstance(schema, dict):
        for name in ("$defs", "definitions"):
            inner = schema.get(name)
            for target in (inner if isinstance(inner, dict) else {}).values():
                yield from _references(target)


# ---- The refusals of APIs for an answer schema that they do not accept.
#
# Claude's words were collected by the package matrx-ai from claude-opus-5-5 on 2026-09-27; OpenAI's are in many public error
# reports ("is required to be supplied and to be false", "is not permitted"). Both were read on 2026-11-15.


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
        if "format" in place and as_text(place["format"]) not in (CLAUDE.formats or ()):
            yield refused(f"{start}: String format '{place['format']}' is not supported")
        if _has_object_type(place) and place.get("additionalProperties") is not False:
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
        if not _has_object_type(place):
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


def _has_object_type(place: dict[str, Any]) -> bool:
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
