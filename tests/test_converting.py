"""Any form into any other: what can be read is read, and what is home stays whole."""

import json

import pytest

import innervoice as iv
from innervoice.emulator import emulated_client
from innervoice.wire.dialects import DIALECTS

HOMES = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "openai-chat": "deepseek/deepseek-v4-pro",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "gemini-interactions": "gemini/gemini-3.5-flash",
    "bedrock-converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral/mistral-small-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3",
}
TOOL = iv.Tool("get_weather", "Weather.", {"type": "object", "properties": {"city": {"type": "string"}}})  # fmt: skip
SHOWN = iv.Reasoning("high", show="summary")


def response(dialect, question="What is 2 + 2?"):
    return emulated_client().ask(
        HOMES[dialect], question, tools=[TOOL], reasoning=SHOWN, dialect=dialect
    )


@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_responses(dialect, to):
    """The body of one API as the body of another, read by both."""
    given = response(dialect)
    body = iv.convert(given, to=to)
    back = iv.convert(json.loads(json.dumps(body)))

    assert isinstance(back, iv.Response)
    assert "2 + 2 = 4." == back.text
    assert given.thinking == back.thinking


@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls(dialect, to):
    given = response(dialect, "The weather in Paris and Rome?")
    back = iv.convert(iv.convert(given, to=to))
    assert [(call.name, json.loads(call.arguments)) for call in given.tool_calls] == [
        (call.name, json.loads(call.arguments)) for call in back.tool_calls
    ]


@pytest.mark.parametrize("to", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_histories(to):
    """A whole history as the list that another library keeps, and back."""
    given = response("anthropic", "The weather in Paris?")
    call = given.tool_calls[0]
    history = [iv.user("The weather in Paris?"), given.message, iv.tool_result(call.id, "fog"), iv.assistant("Fog.")]  # fmt: skip
    items = json.loads(json.dumps(iv.convert(history, to=to)))
    back = iv.convert(items)
    said = [part for message in back for part in message.parts if isinstance(part, iv.Text)]
    assert ["The weather in Paris?", "Fog."] == [part.text for part in said]
    calls = [call for message in back for call in message.tool_calls]
    assert ["get_weather"] == [call.name for call in calls]
    if to != "gemini":
        results = [p for m in back for p in m.parts if isinstance(p, iv.ToolResult)]
        assert [(calls[0].id, "fog")] == [(p.call_id, p.content if isinstance(p.content, str) else p.content[0].text) for p in results]  # fmt: skip


def test_home_keeps_its_seals_and_elsewhere_has_none():
    given = response("anthropic").message
    home = iv.convert(given, to="anthropic")
    assert home["content"][0] == given.parts[0].origin.block
    elsewhere = iv.convert(given, to="openai-chat")
    assert given.parts[0].origin.block["signature"] not in json.dumps(elsewhere)
    assert given.thinking == elsewhere["reasoning_content"]


def test_ours_is_the_default():
    given = response("anthropic")
    assert given is iv.convert(given)
    assert isinstance(iv.convert({"role": "user", "content": "Hi."}), iv.Message)
    assert isinstance(iv.convert({"messages": [{"role": "user", "content": "Hi."}]}), list)


def test_what_cannot_be_done_is_said():
    with pytest.raises(iv.UsageError, match="to must be one of"):
        iv.convert(iv.user("x"), to="smoke signals")
    with pytest.raises(iv.UsageError, match="has no system messages"):
        iv.convert(iv.system("x"), to="anthropic")
    with pytest.raises(iv.DecodeError):
        iv.convert(["no", "messages"])


@pytest.mark.parametrize("to", DIALECTS)
def test_reasoning_in_tags_is_reasoning_elsewhere(to):
    """Tags are how one host writes its reasoning; in its own dialect they stay, in another they would be the answer."""
    text = "<think>a</think>b"
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}  # fmt: skip

    answer = iv.convert(iv.decode(body, provider="together"), to=to)

    if to == "openai-chat":
        assert text == answer["choices"][0]["message"]["content"]
    else:
        back = iv.decode(answer, dialect=to, inline="off")
        assert ("a", "b") == (back.thinking, back.text)
