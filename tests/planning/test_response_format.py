"""Response formats: a schema as people and their libraries write it, for every target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.target import Target
from innervoice.catalog.lookup import host_of, model_row_of
from innervoice.wire.dialects import rules_of

TARGETS = {
    "anthropic/claude-opus-5-5": "anthropic",
    "openai/gpt-5.6": "openai-responses",
    "openai/gpt-4o": "openai-chat",
    "gemini/gemini-3.5-flash": "gemini",
    "bedrock/us.anthropic.claude-haiku-4-5-v1:0": "bedrock-converse",
    "mistral/magistral-small-latest": "mistral",
    "cohere/command-a-reasoning-08-2025": "cohere",
    "ollama/qwen3": "ollama",
    "deepseek/deepseek-v4": "openai-chat",
}
# What pydantic makes of a model with limits, defaults, a union, a map, a tuple and a reference to itself.
DOG = {
    "$defs": {"Kind": {"enum": ["big", "small"], "title": "Kind", "type": "string"}},
    "properties": {
        "name": {"maxLength": 20, "minLength": 1, "title": "Name", "type": "string"},
        "age": {"anyOf": [{"minimum": 0, "type": "integer"}, {"type": "null"}], "default": None},
        "kind": {"$ref": "#/$defs/Kind", "description": "its size"},
        "toys": {"items": {"type": "string"}, "maxItems": 3, "title": "Toys", "type": "array"},
        "born": {"format": "date", "type": "string"},
    },
    "required": ["name", "kind"],
    "title": "Dog",
    "type": "object",
}
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
LOOP = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
    "$ref": "#/$defs/Node",
}


def wire(model, schema, *, strict=True, **fields):
    form = {"type": "json_schema", "json_schema": {"name": "Dog", "schema": schema}}
    if strict is not None:
        form["json_schema"]["strict"] = strict
    return iv.encode(
        iv.Request(model, [iv.user("?")], response_format=form, dialect=TARGETS[model], **fields)
    )


def refusals(made, model):
    """What the API would say of a body."""
    provider, name = model.split("/", 1)
    row = model_row_of(name, provider, made.dialect)
    target = Target(
        provider=provider, model=name, row=row, host=host_of(provider), dialect=made.dialect
    )
    return [refusal.text for refusal in rules_of(made.dialect)(made.body, target)]


def codes(made):
    return {note.code for note in made.notes}


def leaves():
    limits = st.dictionaries(
        st.sampled_from(["minLength", "maxLength", "pattern", "default", "title"]), st.just("1")
    )
    string = limits.map(lambda more: {"type": "string", **more})
    number = st.sampled_from(
        [
            {"type": "integer", "minimum": 0},
            {"type": ["number", "null"]},
            {"const": "a"},
            {"enum": [1, 2]},
        ]
    )
    return string | number | st.just({}) | st.just({"$ref": "#/$defs/Kind"})


def schemas():
    def deeper(inner):
        properties = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
        objects = properties.flatmap(
            lambda members: st.builds(
                lambda required, more: {
                    "type": "object",
                    "properties": members,
                    "required": sorted(required),
                    **more,
                },
                st.sets(st.sampled_from(sorted(members) or ["a"])) if members else st.just(set()),
                st.sampled_from([{}, {"additionalProperties": True}, {"title": "X"}]),
            )
        )
        lists = inner.map(lambda item: {"type": "array", "items": item, "maxItems": 2})
        unions = st.lists(inner, min_size=1, max_size=3).map(lambda items: {"anyOf": items})
        return objects | lists | unions | inner.map(lambda item: {"allOf": [item], "title": "T"})

    root = st.recursive(leaves(), deeper, max_leaves=8)
    return root.map(
        lambda inner: {
            "type": "object",
            "properties": {"value": inner},
            "$defs": {"Kind": {"enum": ["x"], "type": "string"}},
        }
    )


@pytest.mark.parametrize("model", TARGETS)
@given(schema=schemas(), strict=st.sampled_from([True, False, None]))
def test_no_schema_is_refused(model, schema, strict):
    """Whatever library made the schema, what is sent passes the rules of the API."""
    made = wire(model, schema, strict=strict)

    assert [] == refusals(made, model)


@pytest.mark.parametrize("schema", [DOG, MAP, LOOP], ids=["dog", "map", "loop"])
@pytest.mark.parametrize("model", TARGETS)
def test_pydantic(model, schema):
    made = wire(model, schema)

    assert [] == refusals(made, model)


def test_unfitted_schemas_are_refused_by_the_rules():
    """The rules see what they are for."""
    for model in ("anthropic/claude-opus-5-5", "openai/gpt-5.6", "openai/gpt-4o"):
        made = wire(model, DOG, mode="passthrough")
        assert refusals(made, model)


def test_claude_objects_are_closed_and_limits_are_words():
    made = wire("anthropic/claude-opus-5-5", DOG)
    schema = made.body["output_config"]["format"]["schema"]

    assert schema["additionalProperties"] is False
    assert ["name", "kind"] == schema["required"]
    assert "maxLength: 20" in schema["properties"]["name"]["description"]
    assert "its size" == schema["properties"]["kind"]["description"]
    assert ["big", "small"] == schema["properties"]["kind"]["enum"]
    assert "date" == schema["properties"]["born"]["format"]
    assert "schema_rewritten" in codes(made)
    assert "additionalProperties" not in DOG


def test_strict_members_are_all_required():
    schema = wire("openai/gpt-5.6", DOG).body["text"]["format"]["schema"]

    assert set(DOG["properties"]) == set(schema["required"])
    assert ["array", "null"] == schema["properties"]["toys"]["type"]


def test_strict_survives_in_responses():
    form = wire("openai/gpt-5.6", DOG).body["text"]["format"]

    assert (True, "Dog") == (form["strict"], form["name"])


def test_without_strict_openai_is_sent_the_schema_as_it_is():
    made = wire("openai/gpt-5.6", DOG, strict=None)

    assert DOG == made.body["text"]["format"]["schema"]
    assert not codes(made) & {"schema_rewritten", "schema_not_strict"}


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "openai/gpt-4o"])
def test_a_map_is_not_strict(model):
    made = wire(model, MAP)

    assert "schema_not_strict" in codes(made)
    assert "integer" in str(made.body)


@pytest.mark.parametrize(
    ("model", "schema"),
    [
        ("anthropic/claude-opus-5-5", MAP),
        ("anthropic/claude-opus-5-5", LOOP),
        ("bedrock/us.anthropic.claude-haiku-4-5-v1:0", DOG),
        ("deepseek/deepseek-v4", DOG),
    ],
)
def test_what_cannot_be_enforced_is_asked_for(model, schema):
    """The schema stands in the system prompt, behind what the caller wrote there."""
    made = wire(model, schema, system="Be brief.")

    assert "schema_as_instruction" in codes(made)
    assert "Be brief." in str(made.body)
    assert "JSON schema" in str(made.body)


def test_mode_strict_changes_nothing_silently():
    with pytest.raises(iv.RuleError, match="schema_rewritten"):
        wire("anthropic/claude-opus-5-5", DOG, mode="strict")


def test_plain_json():
    form = {"type": "json_object"}
    claude = iv.encode(
        iv.Request("anthropic/claude-opus-5-5", [iv.user("?")], response_format=form)
    )

    assert "output_config" not in claude.body
    assert "JSON object" in claude.body["system"]
    assert (
        form
        == iv.encode(iv.Request("deepseek/deepseek-v4", [iv.user("?")], response_format=form)).body[
            "response_format"
        ]
    )
