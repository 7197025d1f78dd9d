"""A tool reaches every dialect as a function of that dialect, in whichever form it was written down."""

import pytest

import innervoice as iv
from innervoice.canon.target import Target
from innervoice.catalog.lookup import host_of, model_row_of
from innervoice.wire.dialects import rules_of

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAMED = {"name": "weather", "description": "The weather."}
FORMS = {
    "plain": iv.Tool("weather", "The weather.", SCHEMA),
    "fields": {**NAMED, "parameters": SCHEMA},
    "chat": {"type": "function", "function": {**NAMED, "parameters": SCHEMA, "strict": True}},
    "responses": {"type": "function", **NAMED, "parameters": SCHEMA, "strict": True},
    "anthropic": {**NAMED, "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}, "defer_loading": True},
    "anthropic custom": {"type": "custom", **NAMED, "input_schema": SCHEMA, "strict": True},
    "gemini": {**NAMED, "parametersJsonSchema": SCHEMA},
    "gemini capitals": {
        **NAMED,
        "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
    },
    "gemini list": {"functionDeclarations": [{**NAMED, "parametersJsonSchema": SCHEMA}]},
    "converse": {"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}},
}  # fmt: skip
# Of each dialect: a model, and the function as its wire has it, without further members.
TARGETS = {
    "anthropic": ("anthropic/claude-opus-4-6", {**NAMED, "input_schema": SCHEMA}),
    "openai-chat": ("groq/openai/gpt-oss-120b", {**NAMED, "parameters": SCHEMA}),
    "openai-responses": ("openai/gpt-5.6", {"type": "function", **NAMED, "parameters": SCHEMA}),
    "gemini": ("gemini/gemini-3-flash-preview", {**NAMED, "parametersJsonSchema": SCHEMA}),
    "bedrock-converse": (
        "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
        {**NAMED, "inputSchema": {"json": SCHEMA}},
    ),
    "mistral": ("mistral/mistral-small-latest", {**NAMED, "parameters": SCHEMA}),
    "cohere": ("cohere/command-a-reasoning-08-2025", {**NAMED, "parameters": SCHEMA}),
    "ollama": ("ollama/qwen3", {**NAMED, "parameters": SCHEMA}),
}
OPEN = {"anthropic", "openai-chat", "openai-responses", "mistral"}
STRICT = {*OPEN, "bedrock-converse"}
PLACES = {
    "strict": STRICT,
    "cache_control": {"anthropic"},  # Converse has a block of its own for it
    "defer_loading": {"anthropic", "openai-responses"},
}


def encoded(tool, dialect):
    wire = iv.encode(iv.Request(TARGETS[dialect][0], [iv.user("Rome?")], tools=[tool]))
    assert dialect == wire.dialect
    return wire


def function_in(body):
    """The one function that a body offers, out of what its dialect puts around it."""
    tools = body["toolConfig"]["tools"] if "toolConfig" in body else body["tools"]
    (tool,) = (tool for tool in tools if "cachePoint" not in tool)
    match tool:
        case {"functionDeclarations": [function]} | {"toolSpec": function} | {"function": function}:
            return function
        case _:
            return tool


def members_of(form):
    given = FORMS[form]
    inner = given.get("function", given) if isinstance(given, dict) else {}
    return {name: inner[name] for name in PLACES if name in inner}


def dropped(wire):
    return {note.detail for note in wire.notes if note.code == "tool_member_dropped"}


@pytest.mark.parametrize("dialect", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_reaches_every_dialect(form, dialect):
    wire = encoded(FORMS[form], dialect)
    members = members_of(form)
    kept = {name: value for name, value in members.items() if dialect in PLACES[name]}

    assert {**TARGETS[dialect][1], **kept} == function_in(wire.body)
    points = {"cache_control"} if "cachePoint" in str(wire.body) else set()
    assert members.keys() - kept.keys() - points == dropped(wire)
    assert points == (
        members.keys() & {"cache_control"} if dialect == "bedrock-converse" else set()
    )
    host = host_of(TARGETS[dialect][0].partition("/")[0])
    model = TARGETS[dialect][0].partition("/")[2]
    row = model_row_of(model, host.id, dialect)
    target = Target(row=row, model=model, host=host, dialect=dialect)
    assert [] == list(rules_of(dialect)(wire.body, target))


def test_members_that_nobody_lists():
    """A member that a host has of its own reaches the dialects that may have such, and is noted elsewhere."""
    tool = {**NAMED, "parameters": SCHEMA, "x-rank": 1}
    for dialect in TARGETS:
        wire = encoded(tool, dialect)
        assert ("x-rank" in function_in(wire.body)) == (dialect in OPEN)
        assert (set() if dialect in OPEN else {"x-rank"}) == dropped(wire)


def test_members_beside_the_function():
    """Some write `cache_control` beside OpenAI's function, not in it."""
    tool = {"type": "function", "function": {**NAMED, "parameters": SCHEMA}, "cache_control": {"type": "ephemeral"}}  # fmt: skip
    assert {"type": "ephemeral"} == function_in(encoded(tool, "anthropic").body)["cache_control"]
    assert {"cache_control"} == dropped(encoded(tool, "openai-chat"))


def test_functions_of_one_declaration_dict():
    """Each is a tool, and what stands beside them is Gemini's own."""
    both = {"functionDeclarations": [NAMED, {**NAMED, "name": "clock"}], "googleSearch": {}}
    tools = iv.Request("x/y", [iv.user("x")], tools=[both]).tools
    assert ["weather", "clock", "tool"] == [tool.name for tool in tools]
    assert {"googleSearch": {}} == tools[2].own
    body = encoded(both, "gemini").body
    assert [["functionDeclarations"], ["googleSearch"]] == [list(tool) for tool in body["tools"]]


def test_schemas_of_gemini():
    """Its types are in capitals, and null is a member: elsewhere that is not JSON Schema."""
    schema = {
        "type": "OBJECT",
        "properties": {
            "days": {"type": "ARRAY", "items": {"type": "INTEGER"}},
            "unit": {"type": "STRING", "nullable": True},
            "place": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
        },
    }
    tool = iv.Tool.of({**NAMED, "parameters": schema})
    assert {
        "type": "object",
        "properties": {
            "days": {"type": "array", "items": {"type": "integer"}},
            "unit": {"type": ["string", "null"]},
            "place": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        },
    } == tool.parameters
    assert "OBJECT" == schema["type"]


@pytest.mark.parametrize("dialect", TARGETS)
@pytest.mark.parametrize(
    "own",
    [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "custom", "name": "grammar", "format": {"type": "text"}},
        {"googleSearch": {}},
        {"cachePoint": {"type": "default"}},
    ],
)
def test_a_providers_own_tool_passes_as_it_is(own, dialect):
    body = encoded(own, dialect).body
    assert [own] == (body["toolConfig"]["tools"] if "toolConfig" in body else body["tools"])


def test_what_is_no_tool():
    with pytest.raises(iv.UsageError, match="a tool must be a Tool or a dict, not int"):
        iv.Tool.of(1)
