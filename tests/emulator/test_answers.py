"""What the emulator answers: every dialect and host, whole and streamed, and how it can be told to behave."""

import json
import re
from itertools import groupby

import pytest

import innervoice as iv
from emulator.talk import TOOL, Refused, converse, send
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls, route_of

HOSTS = [
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-5-5",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "bedrock/openai.gpt-oss-120b-1:0",
    "gemini/gemini-3.5-flash",
    "gemini/gemini-2.5-pro",
    "vertex/gemini-3.5-flash",
    "vertex/claude-opus-5-5",
    "vertex/claude-sonnet-4-5@20250929",
    "openai/gpt-5.6",
    "xai/grok-4.5",
    "azure/gpt-5.6",
    "deepseek/deepseek-v4-pro",
    "moonshot/kimi-k3",
    "zai/glm-5.2",
    "groq/openai/gpt-oss-120b",
    "cerebras/gpt-oss-120b",
    "openrouter/anthropic/claude-sonnet-4.5",
    "openrouter/openai/gpt-5.6",
    "minimax/MiniMax-M2",
    "minimax/MiniMax-M3",
    "alibaba/qwen3.5-plus",
    "vllm/qwen3-8b",
    "mistral/mistral-small-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/qwen3",
]
SHOWN = iv.Reasoning("high", show="summary")


def asked(model, text="What is 15 * 23?", *, stream=False, behave="", **settings):
    settings = {"reasoning": SHOWN, **settings}
    request = iv.Request(model, [iv.user(text)], stream=stream, **settings)
    return send(Emulator(), model, iv.encode(request), behave=behave).response


@pytest.mark.parametrize("model", HOSTS)
def test_whole_is_streamed(model):
    """I1 through a server: the same blocks, seals included, whichever way they come."""
    whole, streamed = asked(model), asked(model, stream=True)

    assert "15 * 23 = 345." == whole.text == streamed.text
    assert whole.thinking == streamed.thinking
    # Gemini sends the signature of a streamed text behind it, on an empty part.
    kinds = [
        [kind for kind, _ in groupby(part.type for part in r.parts)] for r in (whole, streamed)
    ]
    assert kinds[0] == kinds[1]
    assert "answered" == whole.status == streamed.status
    assert whole.usage.output_tokens == streamed.usage.output_tokens


@pytest.mark.parametrize("model", HOSTS)
def test_a_tool_loop(model):
    """Two calls at once, then one, then the answer."""
    history: list[iv.Message] = []
    question = "What is the weather in Paris and Rome, then the weather in Oslo?"
    turns = converse(Emulator(), model, history, question, reasoning=SHOWN)

    assert [2, 1, 0] == [len(turn.response.tool_calls) for turn in turns]
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == turns[-1].response.text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
class TestBehaviour:
    def test_redacted(self, stream):
        response = asked("anthropic/claude-sonnet-4-5", behave="redact", stream=stream)
        forms = [part.form for part in response.parts if isinstance(part, iv.Thinking)]
        assert ["hidden", "full"] == forms

    def test_in_pieces(self, stream):
        response = asked("anthropic/claude-sonnet-4-5", behave="pieces=4", stream=stream)
        assert 4 == sum(isinstance(part, iv.Thinking) for part in response.parts)

    def test_hidden_and_summarised(self, stream):
        assert not asked("openai/gpt-5.6", behave="hide", stream=stream).has_thinking
        assert asked("anthropic/claude-opus-5-5", behave="full", stream=stream).has_thinking

    @pytest.mark.parametrize(
        "behave", ["inline", "inline=thinking", "inline, stutter", "inline, unclosed"]
    )
    def test_inline(self, stream, behave):
        response = asked("vllm/some-model", behave=behave, stream=stream)
        if "unclosed" in behave:
            assert "" == response.text
        else:
            assert response.text.endswith("15 * 23 = 345.")
            assert "<" not in response.text
        assert "The user asks" in (response.thinking or "")

    def test_silent(self, stream):
        response = asked("deepseek/deepseek-v4-pro", behave="silent", stream=stream)
        assert ("", "empty") == (response.text, response.status)
        assert response.has_thinking

    def test_mirrored(self, stream):
        response = asked("deepseek/deepseek-v4-pro", behave="mirror", stream=stream)
        plain = asked("deepseek/deepseek-v4-pro", stream=stream)
        assert plain.thinking == response.thinking

    def test_a_small_limit(self, stream):
        response = asked("deepseek/deepseek-v4-pro", max_tokens=5, stream=stream)
        assert "budget_exhausted" == response.status

    def test_refused(self, stream):
        with pytest.raises(Refused, match="529"):
            asked("anthropic/claude-sonnet-4-5", behave="fail=0", stream=stream)


@pytest.mark.parametrize("model", HOSTS)
def test_an_error_in_mid_stream(model):
    response = asked(model, behave="fail=3", stream=True)
    assert "interrupted" == response.status
    assert response.error is not None


@pytest.mark.parametrize("model", HOSTS)
def test_a_stream_that_breaks_off(model):
    response = asked(model, behave="cut=2", stream=True)
    assert "interrupted" == response.status


def test_the_name_of_the_model_tells_it_too():
    request = iv.Request("deepseek/deepseek-v4-pro+silent", [iv.user("What is 2 + 2?")])
    assert "empty" == send(Emulator(), "deepseek/x", iv.encode(request)).response.status


def test_the_same_again_is_the_same():
    one, other = asked("anthropic/claude-opus-5-5"), asked("anthropic/claude-opus-5-5")
    assert iv.to_json(one) == iv.to_json(other)


class TestSeals:
    def test_another_emulator_has_another_key(self):
        history = [iv.user("The weather in Paris?")]
        model = "anthropic/claude-sonnet-4-5"
        settings = {"tools": [TOOL], "reasoning": "high"}
        first = send(Emulator(b"a"), model, iv.encode(iv.Request(model, history, **settings)))
        history += [first.response.message, iv.tool_result(first.response.tool_calls[0].id, "sun")]
        wire = iv.encode(iv.Request(model, history, **settings))
        with pytest.raises(Refused, match="Invalid `signature`"):
            send(Emulator(b"b"), model, wire)
        send(Emulator(b"a"), model, wire)

    def test_a_model_that_cannot_read_it_drops_it(self):
        """Fable 5.1 reads Opus 5, and not the other way round; neither is an error."""
        emulator = Emulator()
        history: list[iv.Message] = []
        converse(emulator, "anthropic/claude-fable-5-1", history, "What is 2 + 2?")
        planned = iv.plan([*history, iv.user("x")], "anthropic/claude-opus-5", tools=[TOOL])
        assert ["omitted"] == [item.action for item in planned.decisions]
        planned = iv.plan([*history, iv.user("x")], "anthropic/claude-fable-5-1", tools=[TOOL])
        assert ["kept"] == [item.action for item in planned.decisions]


@pytest.mark.parametrize("provider", base_urls("http://x"))
def test_every_provider_has_a_url(provider):
    """The base URL with the path that we write behind it is a route to that provider."""
    url = base_urls("http://127.0.0.1:1")[provider]
    wire = iv.encode(iv.Request(f"{provider}/some-model", [iv.user("x")], base_url=url))
    route = route_of(wire.url.removeprefix("http://127.0.0.1:1"))
    assert route is not None
    assert (provider, wire.dialect) == (route.provider, route.dialect)


def test_what_is_not_served():
    reply = Emulator().reply("GET", "/v1/nothing", {}, b"")
    assert 404 == reply.status
    reply = Emulator().reply("POST", "/v1/messages", {}, b"no json")
    assert 400 == reply.status
    assert re.search("not a valid request", json.loads(reply.body)["error"]["message"])
