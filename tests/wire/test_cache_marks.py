"""Cache marks of clients: they stay with what they mark wherever the target has such marks, and are noted elsewhere."""

import json

import pytest

import innervoice as iv
from innervoice.catalog.targets import target_of
from innervoice.wire.dialects import rules_of

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
ANTHROPIC = {
    "model": "m",
    "max_tokens": 2000,
    "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", **LONG}],
    "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, **MARK}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "c"}, {**PNG, **MARK}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r", **MARK}]},
    ],
}  # fmt: skip
POINT = {"cachePoint": {"type": "default"}}
CONVERSE = {
    "system": [{"text": "a"}, {"text": "b"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}, POINT]},
    "messages": [
        {"role": "user", "content": [{"text": "c"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}, POINT]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}]}}, POINT]},
    ],
}  # fmt: skip
CLAUDE_AT_BEDROCK = "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"


def encoded(body, dialect, target):
    model, _, other = target.partition("@")
    request = iv.decode_request(json.dumps(body), dialect).replace(
        model=model, dialect=other or None
    )
    wire = iv.encode(request)
    assert [] == [refusal.text for refusal in rules_of(wire.dialect)(wire.body, target_of(request))]
    return wire


def dropped(wire):
    return sum(note.count for note in wire.notes if note.code == "cache_mark_dropped")


def test_from_anthropic_to_bedrock():
    wire = encoded(ANTHROPIC, "anthropic", CLAUDE_AT_BEDROCK)
    assert {name: wire.body[name] for name in CONVERSE} == CONVERSE
    assert 0 == dropped(wire)


def test_from_bedrock_to_anthropic():
    wire = encoded(CONVERSE, "bedrock-converse", "anthropic/claude-opus-5-5")
    assert ANTHROPIC["tools"] == wire.body["tools"]
    assert 4 == json.dumps(wire.body).count("cache_control")
    assert wire.body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert wire.body["system"][-1]["cache_control"]["type"] == "ephemeral"


def test_to_a_chat_host_with_marks():
    wire = encoded(ANTHROPIC, "anthropic", "openrouter/anthropic/claude-sonnet-4.6")
    system, user, _, result = wire.body["messages"]
    assert LONG["cache_control"] == system["content"][-1]["cache_control"]
    assert MARK["cache_control"] == user["content"][-1]["cache_control"]
    assert [{"type": "text", "text": "r", **MARK}] == result["content"]


def test_from_a_chat_host_to_anthropic():
    chat = encoded(ANTHROPIC, "anthropic", "openrouter/anthropic/claude-sonnet-4.6").body
    body = encoded(chat, "openai-chat", "anthropic/claude-opus-5-5").body
    assert ANTHROPIC["system"] == body["system"]
    assert (
        MARK["cache_control"] == body["messages"][-1]["content"][0]["content"][0]["cache_control"]
    )


@pytest.mark.parametrize(
    "target",
    [
        "openai/gpt-5.6", "openai/gpt-5.1@openai-chat", "deepseek/deepseek-v4-pro", "gemini/gemini-3-pro-preview", "mistral/mistral-small-latest",
        "cohere/command-a-vision-07-2025", "ollama/gpt-oss", "bedrock/openai.gpt-oss-120b-1:0",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("dialect", "body"), [("anthropic", ANTHROPIC), ("bedrock-converse", CONVERSE)]
)
def test_elsewhere_they_are_noted(dialect, body, target):
    wire = encoded(body, dialect, target)
    text = json.dumps(wire.body)
    assert "cache_control" not in text
    at_home = dialect == "bedrock-converse" and wire.dialect == dialect
    assert at_home or ("cachePoint" not in text and dropped(wire) >= 3)


def test_a_strict_host_of_the_same_dialect():
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x", **MARK}]}],
    }
    wire = encoded(body, "openai-chat", "openai/gpt-5.1@openai-chat")
    assert [{"role": "user", "content": "x"}] == wire.body["messages"]
    assert 1 == dropped(wire)
    assert (
        body["messages"]
        == encoded(body, "openai-chat", "deepseek/deepseek-v4-pro").body["messages"]
    )


def test_marks_do_not_change_what_reasoning_is_bound_to():
    """Clients move the mark with every request."""
    plain = {
        **ANTHROPIC,
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
    }
    one, other = (
        encoded(body, "anthropic", "anthropic/claude-opus-5-5").prefix
        for body in (ANTHROPIC, plain)
    )
    assert one == other


@pytest.mark.parametrize("said", [{}, {"is_error": False}, {"is_error": True}])
def test_a_result_is_the_same_after_its_mark_has_moved_on(said):
    """Claude Code marks the last result and writes `is_error: false`; a result that changes ends the seals that are bound to it."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "r", **said}
    first, second = (
        {
            **ANTHROPIC,
            "messages": [*ANTHROPIC["messages"][:2], {"role": "user", "content": [block]}],
        }
        for block in ({**result, **MARK}, result)
    )
    marked, plain = (
        encoded(body, "anthropic", "anthropic/claude-opus-5-5").body["messages"][-1]["content"][0]
        for body in (first, second)
    )
    assert {**result, **MARK} == marked
    assert result == plain
