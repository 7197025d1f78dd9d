"""Response formats of every dialect, and of chat hosts, at every target: the schema arrives, or a note says so; nothing foreign is sent."""

import json

import pytest

import innervoice as iv
from conformance.planted import BODIES, TARGETS
from innervoice.catalog.targets import target_of
from innervoice.wire.dialects import dialect_named

SCHEMA = {
    "type": "object",
    "properties": {"planted_city": {"type": "string"}},
    "required": ["planted_city"],
    "additionalProperties": False,
}
GOOGLE = {"type": "OBJECT", "properties": {"planted_city": {"type": "STRING"}}}
WITH_SCHEMA = {
    "chat": ("openai-chat", {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}}),
    "chat, flat": ("openai-chat", {"response_format": {"type": "json_schema", "schema": SCHEMA}}),
    "chat, beside the type": ("openai-chat", {"response_format": {"type": "json_object", "schema": SCHEMA}}),
    "mistral": ("mistral", {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}}),
    "responses": ("openai-responses", {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}}),
    "anthropic": ("anthropic", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    "anthropic, older": ("anthropic", {"output_format": {"type": "json_schema", "schema": SCHEMA}}),
    "gemini": ("gemini", {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}}),
    "gemini, Google's": ("gemini", {"generationConfig": {"responseMimeType": "application/json", "responseSchema": GOOGLE}}),
    "interactions": ("gemini-interactions", {"response_format": {"type": "text", "mime_type": "application/json", "schema": SCHEMA}}),
    "interactions, older": ("gemini-interactions", {"response_format": SCHEMA, "response_mime_type": "application/json"}),
    "cohere": ("cohere", {"response_format": {"type": "json_object", "schema": SCHEMA}}),
    "cohere's SDK": ("cohere", {"response_format": {"type": "json_object", "json_schema": SCHEMA}}),
    "ollama": ("ollama", {"format": SCHEMA}),
}  # fmt: skip
PLAIN = {
    "chat": ("openai-chat", {"response_format": {"type": "json_object"}}),
    "responses": ("openai-responses", {"text": {"format": {"type": "json_object"}}}),
    "gemini": ("gemini", {"generationConfig": {"responseMimeType": "application/json"}}),
    "interactions": ("gemini-interactions", {"response_format": {"type": "text", "mime_type": "application/json"}}),
    "cohere": ("cohere", {"response_format": {"type": "json_object"}}),
    "ollama": ("ollama", {"format": "json"}),
}  # fmt: skip
UNKNOWN = {
    "chat, a grammar": ("openai-chat", {"response_format": {"type": "grammar", "grammar": "planted ::= [a-z]+"}}),
    "chat, a text": ("openai-chat", {"response_format": "planted"}),
    "mistral, a regex": ("mistral", {"response_format": {"type": "regex", "pattern": "planted"}}),
    "responses": ("openai-responses", {"text": {"format": {"type": "grammar", "definition": "planted"}}}),
    "anthropic": ("anthropic", {"output_config": {"format": {"type": "regex", "pattern": "planted"}}}),
    "interactions": ("gemini-interactions", {"response_format": {"type": "audio", "voice": "planted"}}),
    "cohere": ("cohere", {"response_format": {"type": "regex", "pattern": "planted"}}),
    "ollama": ("ollama", {"format": "planted"}),
}  # fmt: skip
MEMBERS = (
    "response_format",
    "text",
    "output_config",
    "output_format",
    "generationConfig",
    "format",
)


def encoded(dialect, members, target):
    body = {name: value for name, value in BODIES[dialect].items() if name not in MEMBERS}
    body.pop("response_mime_type", None)
    request = iv.decode_request(json.dumps({**body, **members}), dialect)
    request = request.replace(model=TARGETS[target], dialect=target, stream=False)
    return request, iv.encode(request)


def refusals(request, wire):
    problems = dialect_named(wire.dialect).shape_rules(wire.body, target_of(request))
    return [refusal.text for refusal in problems]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_a_schema_arrives(name, target):
    dialect, members = WITH_SCHEMA[name]
    request, wire = encoded(dialect, members, target)

    assert "planted_city" in json.dumps(wire.body)
    assert [] == refusals(request, wire)
    if (
        target == dialect and name != "chat, flat"
    ):  # which only Responses has: chat gets its own form
        assert {key: wire.body.get(key) for key in members} == members
    elif target != "bedrock-converse":
        # It is where the API has a place for it, and not in the prompt.
        assert "schema_as_instruction" not in [note.code for note in wire.notes]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PLAIN)
def test_plain_json_arrives(name, target):
    dialect, members = PLAIN[name]
    request, wire = encoded(dialect, members, target)
    words = json.dumps(wire.body).lower()

    assert (
        "json_object" in words
        or "application/json" in words
        or '"format": "json"' in words
        or "json object" in words
    )
    assert [] == refusals(request, wire)
    if target == dialect:
        assert {key: wire.body.get(key) for key in members} == members


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_format_that_is_not_understood_is_noted(name, target):
    dialect, members = UNKNOWN[name]
    _, wire = encoded(dialect, members, target)

    if target == dialect:
        assert {key: wire.body.get(key) for key in members} == members
    else:
        assert "planted" not in json.dumps(wire.body)
        assert any(
            "format" in (note.detail or "") for note in wire.notes if note.code == "extra_dropped"
        )
