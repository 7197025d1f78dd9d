"""A turn goes home as it came, and elsewhere without what only its home can read."""

import json

import pytest

import innervoice as iv
from innervoice.catalog.lookup import family_of
from wire.fixtures import ANSWERS
from wire.test_answers import body, hints, streamed

HOMES = [answer for answer in ANSWERS if answer.name != "inline"]


def sent(response, model, **more):
    history = [iv.user("Weather?"), iv.from_json(iv.to_json(response.message))]
    history += [iv.tool_result(call.id, "rain") for call in response.tool_calls]
    return iv.encode(iv.Request(model, history, max_tokens=9000, **more))


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.name for answer in ANSWERS])
def test_home(answer):
    """I2: whole or streamed, through storage, every seal is back in the body, and no name of the wire is ours."""
    for response in (iv.decode(body(answer), **hints(answer)), streamed(answer)):
        wire = sent(response, f"{answer.provider}/{answer.model}", dialect=answer.dialect)
        text = json.dumps(wire.body, ensure_ascii=False)
        for seal in answer.seals:
            assert 1 == text.count(seal), (answer.name, seal)
        assert "weather" in text
        assert "markup" not in text


@pytest.mark.parametrize("answer", HOMES, ids=[answer.name for answer in HOMES])
@pytest.mark.parametrize(
    "target",
    [
        "anthropic/claude-opus-4-6",
        "openai/gpt-5.6",
        "gemini/gemini-3-flash-preview",
        "deepseek/deepseek-v4-pro",
        "groq/openai/gpt-oss-120b",
        "mistral/mistral-small-latest",
        "cohere/command-a-reasoning-08-2025",
        "ollama/qwen3",
        "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    ],
)
def test_abroad(answer, target):
    """I5: seals go home only; text and calls go everywhere."""
    if target.startswith(f"{answer.provider}/"):
        return
    wire = sent(iv.decode(body(answer), **hints(answer)), target)
    text = json.dumps(wire.body, ensure_ascii=False)
    for seal in answer.seals:
        assert seal not in text
    assert answer.text in text
    assert "weather" in text
    assert "Rome is in Italy" not in text
    assert "thinking_omitted" in {note.code for note in wire.notes}


def test_the_content_of_inline_reasoning_is_rebuilt():
    answer = next(answer for answer in ANSWERS if answer.name == "inline")
    wire = sent(iv.decode(body(answer), **hints(answer)), "sglang/qwen3:8b")
    assert answer.whole["choices"][0]["message"]["content"] == wire.body["messages"][1]["content"]


def test_deepseek_wants_the_key():
    """P05: empty where it is unknown, and said."""
    history = [
        iv.user("x"),
        iv.Message("assistant", (iv.ToolCall("c", "f", "{}"),)),
        iv.tool_result("c", "y"),
    ]
    wire = iv.encode(iv.Request("deepseek/deepseek-v4-pro", history))
    assert "" == wire.body["messages"][1]["reasoning_content"]
    assert "reasoning_filled" in {note.code for note in wire.notes}


def test_groq_gets_no_key_it_refuses():
    """P08: its own name, and never reasoning_content."""
    response = iv.decode(
        {"choices": [{"message": {"content": "A", "reasoning": "R"}, "finish_reason": "stop"}]},
        provider="groq",
        model="openai/gpt-oss-120b",
    )
    message = iv.encode(
        iv.Request("groq/openai/gpt-oss-120b", [iv.user("x"), response.message, iv.user("y")])
    ).body["messages"][1]
    assert {"role": "assistant", "content": "A", "reasoning": "R"} == message


def test_an_incomplete_block_is_not_sent():
    """I4, P13"""
    answer = next(answer for answer in ANSWERS if answer.name == "anthropic")
    torn = streamed(answer, [answer.stream[: answer.stream.index(b"signature_delta")]])
    wire = iv.encode(
        iv.Request(
            "anthropic/claude-opus-4-6", [iv.user("x"), torn.message, iv.user("y")], max_tokens=9000
        )
    )
    assert "thinking" not in json.dumps(wire.body["messages"])


def test_foreign_text():
    """P17: opt in, and refused for Claude."""
    response = iv.decode(
        {"choices": [{"message": {"content": "A", "reasoning_content": "R"}}]}, provider="deepseek"
    )
    history = [iv.user("x"), response.message, iv.user("y")]
    made = iv.encode(iv.Request("openai/gpt-5.6", history, foreign="text"))
    assert "Reasoning of an earlier turn" in json.dumps(made.body)
    with pytest.raises(iv.RuleError, match="Claude"):
        iv.encode(iv.Request("anthropic/claude-opus-5", history, foreign="text", max_tokens=9))


STRICT = {
    "groq/openai/gpt-oss-120b": {"model", "messages", "max_completion_tokens", "max_tokens", "temperature", "top_p", "stop", "tools", "tool_choice", "response_format", "stream", "stream_options", "reasoning_effort", "reasoning_format"},
    "cerebras/gpt-oss-120b": {"model", "messages", "max_completion_tokens", "max_tokens", "temperature", "top_p", "stop", "tools", "tool_choice", "response_format", "stream", "stream_options", "reasoning_effort"},
    "mistral/mistral-small-latest": {"model", "messages", "max_tokens", "temperature", "top_p", "stop", "tools", "tool_choice", "response_format", "stream", "reasoning_effort"},
    "fireworks/deepseek-v4-pro": {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "tools", "tool_choice", "response_format", "stream", "stream_options", "reasoning_effort", "thinking"},
}  # fmt: skip
MEMBERS = {"role", "content", "tool_calls", "tool_call_id", "name"}


@pytest.mark.parametrize("target", STRICT)
def test_no_unknown_key_for_strict_hosts(target):
    """Neither in the body nor in a message, whoever the turn came from."""
    for answer in HOMES:
        wire = sent(
            iv.decode(body(answer), **hints(answer)),
            target,
            reasoning="high",
            stream=True,
            tools=[iv.Tool("weather")],
        )
        assert wire.body.keys() <= STRICT[target]
        for message in wire.body["messages"]:
            assert message.keys() <= MEMBERS


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("us.anthropic.claude-sonnet-4-5-v1:0", "claude"),
        ("anthropic/claude-opus-5", "claude"),
        ("gpt-5.6-sol", "gpt"),
        ("openai.gpt-oss-20b", "gpt-oss"),
        ("deepseek-v4-pro", "deepseek"),
        ("moonshot.kimi-k2-thinking", "kimi"),
        ("qwen3:8b", "qwen"),
        ("o3", "o"),
    ],
)
def test_family(model, family):
    assert family == family_of(model)


def test_another_model_of_the_family_and_one_of_another():
    """H1: Claude reads Claude; through one host, what Claude signed does not go to GPT, and is back at home."""
    details = [
        {
            "type": "reasoning.text",
            "text": "R",
            "signature": "sig",
            "format": "anthropic-claude-v1",
            "index": 0,
        }
    ]
    answer = {
        "choices": [
            {"message": {"content": "A", "reasoning_details": details}, "finish_reason": "stop"}
        ]
    }
    turn = iv.decode(answer, provider="openrouter", model="anthropic/claude-opus-5").message

    def sent_to(model):
        history = [iv.user("x"), turn, iv.user("y")]
        return iv.encode(iv.Request(f"openrouter/{model}", history)).body["messages"][1]

    assert details == sent_to("anthropic/claude-sonnet-5")["reasoning_details"]
    assert "reasoning_details" not in sent_to("openai/gpt-5.6")
    assert details == sent_to("anthropic/claude-opus-5")["reasoning_details"]
