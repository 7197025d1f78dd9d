"""P57 to P64, without P60 and P61 (`test_p27_p60_p61.py`): tools, parameters, tokens, caches, timeouts and spans."""

import json
import sys
from contextlib import nullcontext
from decimal import Decimal
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import pytest

import innervoice as iv
from client.faulty import COMMENT, FRAMES, Faulty, chunk, head
from emulator.talk import TOOL, converse
from field.situations import completion, noted
from innervoice.bridges import otel
from innervoice.emulator import Emulator, emulated_client
from innervoice.pricing import cost

QUESTION = "What is 15 * 23?"
WEATHER = "What is the weather in Paris?"


@pytest.mark.parametrize(
    ("model", "policy"),
    [
        ("anthropic/claude-sonnet-4-5", "reasoning_off_for_tools"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-v1:0", "reasoning_off_for_tools"),
        ("deepseek/deepseek-v4-pro", "reasoning_off_for_tools"),
        ("anthropic/claude-opus-5-5", "tool_choice_relaxed"),
        ("moonshot/kimi-k3", "tool_choice_relaxed"),
        ("anthropic/claude-opus-4-6", None),
        ("openai/gpt-5.6", None),
    ],
)
@pytest.mark.parametrize("choice", ["required", "get_weather"])
def test_p57_a_forced_tool_beside_reasoning(model, policy, choice):
    """P57. If a model refuses a forced tool while it reasons, a documented policy decides, with a note.

    Elsewhere: a forced tool with thinking is refused, or silently becomes auto and breaks code that needs a call
    (https://github.com/mastra-ai/mastra/issues/7507, https://github.com/can1357/oh-my-pi/issues/341).
    Here: reasoning is switched off if possible, else the tool choice is relaxed, each with a note; mode strict raises an
    error.
    Seen failing: FittedRequest._fit_tools changing nothing; bend writing no note.
    """
    asked = {"tools": [TOOL], "tool_choice": choice, "reasoning": "high", "max_tokens": 9000}
    response = emulated_client().ask(model, WEATHER, **asked)
    request = iv.Request(model, [iv.user(WEATHER)], **asked)

    assert ["get_weather"] == [call.name for call in response.tool_calls]
    assert ({policy} if policy else set()) == noted(response) & {"reasoning_off_for_tools", "tool_choice_relaxed"}  # fmt: skip
    assert ("none" if policy == "reasoning_off_for_tools" else "high") == response.reasoning_report.effective.effort  # fmt: skip
    if policy:
        with pytest.raises(iv.RuleError) as refused:
            iv.encode(request.replace(mode="strict"))
        assert refused.value.rule in (policy, "effort_as_budget")


def test_p57_a_schema_is_no_reason_to_stop_reasoning():
    """P57. A response schema is sent in the model's own form, together with reasoning.

    Elsewhere: a schema becomes a forced tool, which is refused with thinking (https://github.com/tickernelz/opencode-mem/issues/253).
    Here: response_format becomes the dialect's own member, and reasoning stays on.
    Seen failing: the writers of Anthropic and Responses without response_format.
    """
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    schema["additionalProperties"] = False  # as Claude demands
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    for model in ("anthropic/claude-opus-5-5", "openai/gpt-5.6", "gemini/gemini-3.5-flash"):
        request = iv.Request(model, [iv.user(QUESTION)], reasoning="high", response_format=wanted)
        wire = iv.encode(request)
        assert json.dumps(schema) in json.dumps(wire.body), model
        assert "high" == wire.reasoning_report.effective.effort
        assert "tool_choice" not in wire.body


def _sampling(wire):
    inner = wire.body.get("generationConfig", wire.body)
    return inner.get("temperature"), inner.get("top_p", inner.get("topP"))


@pytest.mark.parametrize(
    ("model", "reasoning", "kept"),
    [
        ("anthropic/claude-sonnet-4-5", "high", False),
        ("anthropic/claude-sonnet-4-5", "none", True),
        ("anthropic/claude-opus-5-5", "high", False),
        ("openai/gpt-5.1", "high", False),
        ("openai/gpt-5.1", "none", True),
        ("openai/gpt-5", "low", False),
        ("gemini/gemini-3.5-flash", "high", True),
    ],
)
def test_p58_sampling_beside_reasoning(model, reasoning, kept):
    """P58. Temperature and top_p are sent if the model accepts them, and left out with a note otherwise.

    Elsewhere: a default temperature that the user never set is refused with thinking
    (https://github.com/danny-avila/LibreChat/issues/11949, https://github.com/n8n-io/n8n/issues/14288).
    Here: it depends on the model's row and on whether it reasons: GPT-5.1 accepts them with reasoning off.
    Seen failing: FittedRequest._leave_out_refused removing nothing; removing without a note; removing always.
    """
    asked = {"reasoning": reasoning, "temperature": 0.3, "top_p": 0.5}
    wire = iv.encode(iv.Request(model, [iv.user(QUESTION)], **asked))

    assert ((0.3, 0.5) if kept else (None, None)) == _sampling(wire)
    assert ([] if kept else ["temperature", "top_p"]) == [
        note.detail for note in wire.notes if note.code == "parameter_removed"
    ]
    assert "15 * 23 = 345." == emulated_client().ask(model, QUESTION, **asked).text


def test_p59_tools_and_an_effort_need_another_endpoint():
    """P59. Tools with an effort use Responses where Chat Completions refuses them, and are never silently downgraded.

    Elsewhere: tools with an effort are refused since GPT-5.4, or a workaround silently sends effort none
    (https://github.com/openai/openai-openapi/issues/541, https://github.com/danny-avila/LibreChat/issues/14231).
    Here: openai uses Responses; with dialect="openai-chat" reasoning is switched off with a note, or an error in mode strict.
    Seen failing: FittedRequest._fit_tools looking at forced choices only; switching off without a note.
    """
    asked = {"tools": [TOOL], "reasoning": "high"}
    for model in ("openai/gpt-5.4", "openai/gpt-5.6"):
        response = emulated_client().ask(model, WEATHER, **asked)
        assert ("tool_calls", "high") == (
            response.status,
            response.reasoning_report.effective.effort,
        )
        assert iv.encode(iv.Request(model, [iv.user(WEATHER)], **asked)).url.endswith("/responses")

        chat = emulated_client().ask(model, WEATHER, dialect="openai-chat", **asked)
        assert ("tool_calls", "none") == (chat.status, chat.reasoning_report.effective.effort)
        assert "reasoning_off_for_tools" in noted(chat)
        request = iv.Request(model, [iv.user(WEATHER)], dialect="openai-chat", **asked)
        with pytest.raises(iv.RuleError, match="reasoning_off_for_tools"):
            iv.encode(request.replace(mode="strict"))
    silent = iv.Request("openai/gpt-5.6", [iv.user(WEATHER)], dialect="openai-chat", tools=[TOOL])
    assert "reasoning_off_for_tools" in noted(iv.encode(silent))


def _chat(usage):
    return {**completion("Hi."), "usage": usage}


# Ten tokens in, four of them from a cache; a hundred out, sixty of them reasoning: as each provider counts.
COUNTED = {
    "openai-chat": ("openai", _chat({"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 60}})),
    "xai": ("xai", _chat({"prompt_tokens": 10, "completion_tokens": 40, "total_tokens": 110, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 60}})),
    "deepseek": ("deepseek", _chat({"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6, "completion_tokens_details": {"reasoning_tokens": 60}})),
    "responses": ("openai", {"object": "response", "status": "completed", "model": "gpt-5.6", "output": [], "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 100, "output_tokens_details": {"reasoning_tokens": 60}, "total_tokens": 110}}),
    "gemini": ("gemini", {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 40, "thoughtsTokenCount": 60, "totalTokenCount": 110}}),
    "anthropic": ("anthropic", {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 100, "output_tokens_details": {"thinking_tokens": 60}}}),
}  # fmt: skip


@pytest.mark.parametrize(("provider", "body"), COUNTED.values(), ids=list(COUNTED))
def test_p62_tokens_in_one_arithmetic(provider, body, monkeypatch):
    """P62. The same exchange has the same token counts and the same cost at every provider, however each one counts.

    Elsewhere: reasoning is counted twice, or not at all
    (https://github.com/latitude-dev/latitude-llm/pull/4051, https://github.com/ccusage/ccusage/pull/1499).
    Here: output includes reasoning, input includes the cache, total is their sum; a count that was not reported is None.
    Seen failing: Gemini's thoughts left out of the output; xAI's chat read as OpenAI's; Anthropic's cached input not added;
    cost adding reasoning to the output.
    """
    price = SimpleNamespace(model=SimpleNamespace(id="x"))
    prices = ModuleType("genai_prices")
    prices.Usage = SimpleNamespace
    prices.calc_price = lambda usage, **_: SimpleNamespace(
        input_price=Decimal(usage.input_tokens),
        output_price=Decimal(usage.output_tokens),
        total_price=Decimal(usage.input_tokens + usage.output_tokens),
        **vars(price),
    )
    monkeypatch.setitem(sys.modules, "genai_prices", prices)
    response = iv.decode(body, provider=provider, model="some-model")
    usage, paid = response.usage, cost(response.replace(model="x"))

    assert (10, 4, 100, 60, 110) == (
        usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.total_tokens,
    )  # fmt: skip
    assert (110, 100, 60) == (paid.total, paid.output, paid.reasoning)


def test_p62_unknown_is_not_nothing():
    """P62. A count that was not reported is None and not 0, and a conversation counts each response once.

    Elsewhere: hidden reasoning shows as 0 tokens (https://github.com/NousResearch/hermes-agent/issues/68081).
    Here: an unknown count is None; in a stream later counts replace earlier ones, and chat.usage is the sum of all responses.
    Seen failing: Usage with 0 for a default; AnthropicReader adding up the counts of a stream; Talk.usage counting twice.
    """
    bare = iv.decode(_chat({"prompt_tokens": 10, "completion_tokens": 100}), provider="groq")
    assert (None, None, 110) == (bare.usage.reasoning_tokens, bare.usage.cached_input_tokens, bare.usage.total_tokens)  # fmt: skip
    untold = iv.decode(completion("Hi.")).usage
    assert (None, None, None) == (untold.output_tokens, untold.reasoning_tokens, untold.total_tokens)  # fmt: skip

    client = emulated_client()
    for model in ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"):
        whole = client.ask(model, QUESTION, reasoning="high").usage
        streamed = client.ask(model, QUESTION, reasoning="high", stream=True).usage
        assert whole.output_tokens == streamed.output_tokens
        assert 0 < whole.reasoning_tokens <= whole.output_tokens
    talk = client.conversation("deepseek/deepseek-v4-pro")
    counts = [talk.ask(question).usage.output_tokens for question in (QUESTION, "What is 2 + 2?")]
    assert sum(counts) == talk.usage.output_tokens


def _said(wire) -> list:
    names = ("messages", "contents", "input")
    return next(wire.body[name] for name in names if name in wire.body)


@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-opus-5-5", "openai/gpt-5.6", "gemini/gemini-3.5-flash", "deepseek/deepseek-v4-pro"],
)  # fmt: skip
def test_p63_replay_only_appends(model):
    """P63. Each request of a tool loop begins with exactly the bytes of the previous one, reasoning included.

    Elsewhere: old reasoning is removed between turns, and the prompt cache is lost
    (https://github.com/zeroclaw-labs/zeroclaw/issues/10786, https://github.com/gptme/gptme/issues/2724).
    Here: reasoning is sent back in its place (rule H1), so the prompt cache stays valid.
    Seen failing: ReasoningRules.fitted omitting what is not of the last turn.
    """
    emulator, history = Emulator(), []
    turns = []
    for question in ("What is the weather in Paris, then the weather in Oslo?", QUESTION):
        turns += converse(emulator, model, history, question, reasoning="high")
    sent = [json.dumps(_said(turn.wire))[:-1] for turn in turns]

    assert 4 == len(sent)
    for earlier, later in pairwise(sent):
        assert later.startswith(earlier)
    plans = [iv.plan(history[:end], model, tools=[TOOL], reasoning="high") for end in (3, 5)]
    again = iv.plan(history[:5], model, last=plans[0], tools=[TOOL], reasoning="high")
    assert again.cache.message is None


def test_p63_what_breaks_a_cache_is_told():
    """P63. A plan says where two requests first differ, to the byte, and why.

    Elsewhere: changing the effort or removing reasoning invalidates the cache unnoticed
    (https://github.com/nibor1896/Crow/issues/60, https://github.com/zeroclaw-labs/zeroclaw/issues/10786).
    Here: iv.plan with last= returns the message, the byte offset, and the cause: reasoning, setting, system, tools, an edit.
    Seen failing: cache_effect without the setting; without the byte; comparing texts only.
    """
    model, settings = "anthropic/claude-sonnet-4-5", {"reasoning": "high", "max_tokens": 9000}
    history: list[iv.Message] = []
    converse(Emulator(), model, history, WEATHER, **settings)
    history.append(iv.user(QUESTION))
    last = iv.plan(history, model, tools=[TOOL], **settings)

    def effect(messages=history, **changed):
        return iv.plan(messages, model, last=last, **{"tools": [TOOL], **settings, **changed}).cache

    assert (0, 0) == (effect(reasoning="low").message, effect(reasoning="low").byte)
    assert "the reasoning setting changed" in effect(reasoning="low").why
    assert "the reasoning setting changed" in effect(reasoning=None).why
    assert (0, "the system prompt changed") == (effect(system="x").message, effect(system="x").why)
    assert (0, "the tools changed") == (effect(tools=[]).message, effect(tools=[]).why)

    answer = history[3]
    stripped = [*history[:3], answer.replace(parts=answer.parts[1:]), *history[4:]]
    found = effect(stripped)
    assert (3, "its reasoning changed") == (found.message, found.why)
    one, other = (
        json.dumps(
            _said(iv.encode(iv.Request(model, messages, tools=[TOOL], **settings))),
            separators=(",", ":"),
        )
        for messages in (history, stripped)
    )
    assert one[: found.byte] == other[: found.byte]
    assert one[found.byte] != other[found.byte]
    assert f"byte {found.byte}" in str(found)


@pytest.fixture
def _no_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("_no_proxies")
def test_p64_a_long_thought_is_not_a_dead_connection():
    """P64. A model may think for longer than the idle timeout, as long as any bytes arrive.

    Elsewhere: watchdogs on visible tokens kill the run, and SDKs hide the pings
    (https://github.com/ayunis-core/ayunis-core/pull/1245, https://github.com/2389-research/tracker/issues/577).
    Here: comments and pings are Heartbeat events, any byte resets the idle timeout, and TimedOutError names the timeout.
    Seen failing: Decoder giving no Heartbeat; Deadline counting all of the call as silence.
    """
    pings = [step for _ in range(4) for step in (chunk(COMMENT), 0.1)]
    script = [head(kind="text/event-stream"), *pings, *map(chunk, FRAMES), chunk(b"")]
    silent = [head(kind="text/event-stream"), chunk(FRAMES[0]), 0.6, chunk(b"")]
    with Faulty(script, silent) as server:
        known = {"provider": "deepseek", "api_key": "any", "base_url": server.url, "retries": 0}
        with iv.Client(**known, idle_timeout=0.25) as client:
            with client.stream("deepseek-v4-pro", QUESTION) as events:
                kinds = [type(event).__name__ for event in events]
            assert "answered" == events.response.status
            with (
                pytest.raises(iv.TimedOutError) as late,
                client.stream("deepseek-v4-pro", QUESTION) as events,
            ):
                list(events)

    assert 4 == kinds.count("Heartbeat")
    assert ("idle", "Hmm.") == (late.value.limit, late.value.response.thinking)


def test_p64_spans_tell_of_reasoning_and_not_what_was_thought(monkeypatch):
    """P64. A span has the level and the tokens of reasoning, and content only if it is enabled.

    Elsewhere: spans have neither effort nor reasoning tokens (https://github.com/google/adk-python/issues/4829).
    Here: bridges.otel.instrument writes both as GenAI attributes; content only if the standard variable enables it, signatures never.
    Seen failing: response_attributes without reasoning tokens; instrument capturing content by default.
    """
    told: dict[str, object] = {}
    span = SimpleNamespace(set_attributes=told.update, is_recording=lambda: True, end=lambda: None)

    def start_span(_name, *, attributes, **_):
        told.update(attributes)
        return span

    trace = ModuleType("opentelemetry.trace")
    trace.get_tracer = lambda *_, **__: SimpleNamespace(start_span=start_span)
    trace.SpanKind = SimpleNamespace(CLIENT=1)
    trace.use_span = lambda *_, **__: nullcontext()
    monkeypatch.setitem(sys.modules, "opentelemetry", ModuleType("opentelemetry"))
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", trace)
    asked = {"reasoning": iv.Reasoning("high", show="summary")}
    model = "anthropic/claude-opus-5-5"

    response = otel.instrument(emulated_client(), environ={}).ask(model, QUESTION, **asked)
    assert "high" == told["gen_ai.request.reasoning.level"]
    assert response.usage.reasoning_tokens == told["gen_ai.usage.reasoning.output_tokens"] > 0
    assert "The user asks" not in str(told)
    assert "15 * 23" not in str(told)

    environ = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}
    otel.instrument(emulated_client(), environ=environ).ask(model, QUESTION, **asked)
    (reasoning, _) = json.loads(told["gen_ai.output.messages"])[0]["parts"]
    assert ("reasoning", True) == (reasoning["type"], "The user asks" in reasoning["content"])
    assert response.parts[0].origin.block["signature"] not in str(told)
