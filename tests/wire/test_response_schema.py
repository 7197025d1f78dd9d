"""Schemas as each API accepts them, place by place."""

import pytest

from innervoice.wire.response_schema import CLAUDE, GEMINI, OPENAI_STRICT, fit_schema

TEXT = {"type": "string"}
PROFILES = {"claude": CLAUDE, "strict": OPENAI_STRICT, "gemini": GEMINI}


def of(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


def closed(**properties):
    return {**of(**properties), "additionalProperties": False}


@pytest.mark.parametrize(
    ("profile", "schema", "fitted"),
    [
        # Objects are closed wherever they stand.
        ("claude", of(a=of(b=TEXT)), closed(a=closed(b=TEXT))),
        ("claude", of(a={"type": "array", "items": of(b=TEXT)}), closed(a={"type": "array", "items": closed(b=TEXT)})),
        ("claude", of(a={"anyOf": [of(b=TEXT), {"type": "null"}]}), closed(a={"anyOf": [closed(b=TEXT), {"type": "null"}]})),
        ("gemini", of(a=of(b=TEXT)), of(a=of(b=TEXT))),
        # Keywords that an API does not accept are in descriptions.
        ("claude", of(a={"type": "integer", "minimum": 1}), closed(a={"type": "integer", "description": "(minimum: 1)"})),
        ("strict", of(a={"type": "integer", "minimum": 1}), closed(a={"type": "integer", "minimum": 1})),
        ("claude", of(a={**TEXT, "description": "A name.", "maxLength": 3}), closed(a={**TEXT, "description": "A name.\n(maxLength: 3)"})),
        ("gemini", of(a={**TEXT, "pattern": "x"}), of(a={**TEXT, "description": "(pattern: x)"})),
        ("claude", of(a={**TEXT, "format": "date"}, b={**TEXT, "format": "x"}), closed(a={**TEXT, "format": "date"}, b={**TEXT, "description": "(format: x)"})),
        ("strict", of(a={**TEXT, "format": "uuid"}, b={**TEXT, "format": "uri"}), closed(a={**TEXT, "format": "uuid"}, b={**TEXT, "description": "(format: uri)"})),
        ("claude", of(a={"type": "array", "items": TEXT, "minItems": 1}), closed(a={"type": "array", "items": TEXT, "minItems": 1})),
        ("claude", of(a={"type": "array", "items": TEXT, "minItems": 2}), closed(a={"type": "array", "items": TEXT, "description": "(minItems: 2)"})),
        ("strict", of(a={**TEXT, "default": None}), closed(a=TEXT)),
        # Other words for the same.
        ("claude", of(a={"type": ["string", "null"], "title": "A"}), closed(a={"title": "A", "anyOf": [TEXT, {"type": "null"}]})),
        ("claude", of(a={"oneOf": [TEXT, {"type": "null"}], "discriminator": {}}), closed(a={"anyOf": [TEXT, {"type": "null"}]})),
        ("gemini", of(a={"const": 3}), of(a={"enum": [3]})),
        ("strict", of(a={"const": 3}), closed(a={"const": 3})),
        ("claude", of(a={"type": "string", "anyOf": [TEXT]}), closed(a={"anyOf": [TEXT]})),
        ("claude", {"allOf": [of(a=TEXT), of(b=TEXT)]}, closed(b=TEXT, a=TEXT)),
    ],
)  # fmt: skip
def test_fitted(profile, schema, fitted):
    made = fit_schema(schema, PROFILES[profile])

    assert (_unordered(fitted), None) == (_unordered(made.schema), made.obstacle)


def _unordered(schema):
    if isinstance(schema, dict) and isinstance(schema.get("required"), list):
        schema = {**schema, "required": sorted(schema["required"])}
    return schema


@pytest.mark.parametrize(
    ("optional", "fitted"),
    [
        (TEXT, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"anyOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"anyOf": [TEXT, of(x=TEXT)]}, {"anyOf": [TEXT, closed(x=TEXT), {"type": "null"}]}),
        ({**TEXT, "enum": ["a"], "description": "D"}, {"description": "D", "anyOf": [{**TEXT, "enum": ["a"]}, {"type": "null"}]}),
    ],
)  # fmt: skip
def test_an_optional_member_in_strict_mode_accepts_null(optional, fitted):
    made = fit_schema({"type": "object", "properties": {"a": optional}}, OPENAI_STRICT).schema

    assert (["a"], fitted) == (made["required"], made["properties"]["a"])


def test_references():
    """A reference stands alone; what stood beside it is joined with its target."""
    kind = {"type": "string", "enum": ["big"]}
    schema = {**of(a={"$ref": "#/$defs/Kind"}, b={"$ref": "#/$defs/Kind", "description": "D"}), "$defs": {"Kind": kind}}  # fmt: skip

    made = fit_schema(schema, CLAUDE)
    assert {"$ref": "#/$defs/Kind"} == made.schema["properties"]["a"]
    assert {**kind, "description": "D"} == made.schema["properties"]["b"]
    kept = fit_schema(schema, GEMINI).schema["properties"]["b"]
    assert {"$ref": "#/$defs/Kind", "description": "D"} == kept


def test_a_reference_at_the_root_is_followed():
    made = fit_schema({"$defs": {"A": of(a=TEXT)}, "$ref": "#/$defs/A"}, OPENAI_STRICT).schema

    assert ("object", {"a": TEXT}, False) == (
        made["type"],
        made["properties"],
        made["additionalProperties"],
    )


@pytest.mark.parametrize(
    ("schema", "claude", "strict"),
    [
        ({"type": "object", "additionalProperties": TEXT}, True, True),
        ({"type": "object"}, True, True),
        (of(a={}), True, True),
        (of(a={"title": "Any"}), True, True),
        (of(a={"type": "array"}), True, True),
        (of(a={"type": "array", "prefixItems": [TEXT]}), True, True),
        (of(a={"anyOf": [TEXT], "properties": {"x": TEXT}}), True, True),
        ({"$defs": {"N": of(n={"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]})}, "$ref": "#/$defs/N"}, True, False),
        (of(a={"$ref": "#"}), True, False),
        (of(a=TEXT), False, False),
    ],
)  # fmt: skip
def test_what_an_api_cannot_say(schema, claude, strict):
    assert claude is (fit_schema(schema, CLAUDE).obstacle is not None)
    assert strict is (fit_schema(schema, OPENAI_STRICT).obstacle is not None)


def test_many_optional_members():
    """Claude's grammar is too large with more than 24 of them; then each is required and accepts null."""
    few = {"type": "object", "properties": {f"m{n}": TEXT for n in range(24)}}
    many = {"type": "object", "properties": {f"m{n}": TEXT for n in range(25)}}

    assert "required" not in fit_schema(few, CLAUDE).schema
    assert 25 == len(fit_schema(many, CLAUDE).schema["required"])


def test_the_callers_schema_is_not_changed():
    schema = of(a={"type": "integer", "minimum": 1})
    copy = of(a={"type": "integer", "minimum": 1})
    for profile in PROFILES.values():
        fit_schema(schema, profile)

    assert copy == schema


def test_removed_keywords_are_named():
    schema = of(a={"type": "integer", "minimum": 1, "multipleOf": 2})

    assert ("minimum", "multipleOf") == fit_schema(schema, CLAUDE).removed
