"""P49 to P56: hostile and unusual text, and reasoning settings that are applied or reported."""

import json
import time
import tracemalloc

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from cli.runs import run
from field.situations import completion, noted, read_both_ways
from innervoice.bridges import sdk
from innervoice.bridges.sdk import Relay
from innervoice.emulator import emulated_client
from planning.table import cases

QUESTION = "What is 15 * 23?"
OPENER = "<think>"


def _seconds(size: int) -> float:
    text = OPENER * (size // len(OPENER))
    before = time.process_time()
    assert "" == iv.split(text).text
    return time.process_time() - before


def test_p49_ten_megabytes_of_opening_tags():
    """P49. Ten megabytes of opening tags take ten times as long as one, and memory stays proportional.

    Elsewhere: a regular expression reads the rest of the text again for each opening tag, which is CVE-2026-67987
    (https://github.com/crmne/ruby_llm).
    Here: each character is read a bounded number of times, at most one tag's length is held back, and memory grows with the
    text.
    Seen failing: Scanner copying a share of what it has read at every marker.
    """
    small, large = _seconds(1_000_000), _seconds(10_000_000)
    assert large < 25 * small  # a hundred times, if it were quadratic

    splitter, size = iv.Splitter(), 1_000_000
    tracemalloc.start()
    for _ in range(size // 700):
        splitter.feed(OPENER * 100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * size

    held = iv.Splitter()
    held.feed("Words. ")
    events = held.feed("<think " + "a" * 300)
    assert 300 <= sum(len(event.text) for event in events if isinstance(event, iv.TextDelta))


HARMONY = [
    "<|channel|>analysis<|message|>Multiply.<|end|><|start|>assistant<|channel|>final<|message|>It is 345.<|return|>",
    "<|start|>assistant<|channel|>analysis<|message|>Multiply.<|end|><|start|>assistant<|channel|>final<|message|>It is 345.",
    "analysisMultiply.assistantfinalIt is 345.",
]


@pytest.mark.parametrize("text", HARMONY, ids=["with markers", "from the start", "stripped"])
def test_p50_only_the_final_channel_is_the_answer(text):
    """P50. Of the harmony channels only the final one is the answer, with and without its special tokens.

    Elsewhere: "analysis...assistantfinal..." is shown to the user
    (https://github.com/ml-explore/mlx-lm/pull/1867, https://github.com/odysseus-dev/odysseus/issues/4522).
    Here: analysis is reasoning and final is the answer. Commentary without a recipient is also text (rule S1).
    Seen failing: the row of harmony with analysis as text; without its bare headers.
    """
    response = read_both_ways(text, provider="vllm", model="openai/gpt-oss-20b")

    assert ("It is 345.", "Multiply.") == (response.text, response.thinking)


@pytest.mark.parametrize(
    "text",
    [
        '<|channel|>analysis<|message|>Ask.<|end|><|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"at": 1}<|call|>',
        'analysisAsk.assistantcommentary to=functions.look json{"at": 1}',
    ],
    ids=["with markers", "stripped"],
)
def test_p50_commentary_to_a_function_is_a_call(text):
    """P50. Commentary to a function is a tool call, and none of it is text.

    Elsewhere: the JSON of the call ends up in the answer (https://github.com/Augustas11/macprovider/issues/743).
    Here: it is an opaque part with the note call_in_text; it is not run, and is sent back unchanged.
    Seen failing: the row of harmony without its recipient.
    """
    response = read_both_ways(text, provider="vllm", model="gpt-oss:20b")

    assert ("", "Ask.") == (response.text, response.thinking)
    assert ["thinking", "opaque"] == [part.type for part in response.parts]
    assert "call_in_text" in noted(response)
    assert text == iv.restore(response.parts)


EMPTY_BLOCK = [
    {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi."}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
]  # fmt: skip
ITEM = {"type": "reasoning", "id": "rs_1", "summary": []}
SAID = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}  # fmt: skip
EMPTY_ITEM = [
    {"type": "response.created", "response": {"object": "response", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
    {"type": "response.output_item.added", "output_index": 1, "item": {**SAID, "content": []}},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Hi."},
    {"type": "response.output_item.done", "output_index": 1, "item": SAID},
    {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": [ITEM, SAID]}},
]  # fmt: skip
EMPTY = {
    "tags": [
        {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        for word in ("<think>", "</think>", "Hi.")
    ],
    "a blank block": [
        {"choices": [{"index": 0, "delta": {"content": "<think>\n\n</think>\n\nHi."}}]}
    ],
    "an empty field": [
        {"choices": [{"index": 0, "delta": {"reasoning_content": "", "content": "Hi."}}]}
    ],
    "a block without a delta": EMPTY_BLOCK,
    "an item without a summary": EMPTY_ITEM,
}


@pytest.mark.parametrize("stream", EMPTY.values(), ids=list(EMPTY))
def test_p51_an_empty_block_of_reasoning_is_no_accident(stream):
    """P51. Reasoning that is opened and closed without content gives a valid sequence of events.

    Elsewhere: an empty block ends the stream with "reasoning part reasoning-0 not found"
    (https://github.com/vercel/ai/issues/12054, https://github.com/superagent-ai/grok-cli/issues/274).
    Here: a start and an end, or neither, with deltas only in between; fold reads the events even without Finish.
    Seen failing: Composer.start giving no PartStart for reasoning until its first character.
    """
    *events, finish = iv.decode_stream(stream)
    is_open: list[int] = []
    started = 0
    for event in events:
        match event:
            case iv.PartStart():
                assert started == event.index
                started += 1
                is_open.append(event.index)
            case iv.TextDelta() | iv.ThinkingDelta():
                assert event.index in is_open
                assert event.text
            case iv.PartEnd():
                is_open.remove(event.index)

    assert [] == is_open
    assert "Hi." == iv.fold(events).text == finish.response.text
    told = [[(part.type, part.text, part.complete) for part in response.parts] for response in (iv.fold(events), finish.response)]  # fmt: skip
    assert told[0] == told[1]
    assert not finish.response.has_thinking


def test_p52_tags_that_were_meant_as_text():
    """P52. The search for tags can be switched off; hosts that separate reasoning themselves are searched before the answer only.

    Elsewhere: a gateway turns the tags of a role-play into reasoning, and this cannot be disabled
    (https://github.com/router-for-me/CLIProxyAPI/issues/2803).
    Here: decode, streams, the splitter, clients and the SDK transport accept inline="off"; a host's row has the default.
    Seen failing: Decoder._looks_inside always true; Exchange and Relay not handing inline= on.
    """
    text = "<think>*ponders*</think>Well met, traveller."
    mention = f"She said: {text}"
    for provider in ("anthropic", "openai", "deepseek"):
        assert mention == iv.decode(completion(mention), provider=provider).text
        assert text == iv.decode(completion(text), provider=provider, inline="off").text
    assert text != iv.decode(completion(text), provider="vllm").text
    assert text == read_both_ways(text, provider="vllm", inline="off").text
    assert text == iv.split(text, inline="off").text

    told = {"x-innervoice-emulate": "inline"}
    for inline, starts in (("off", "<think>"), (None, "15 * 23")):
        client = emulated_client(headers=told, inline=inline)
        assert client.ask("vllm/qwen3-8b", QUESTION).text.startswith(starts)
        with client.stream("vllm/qwen3-8b", QUESTION) as events:
            assert "".join(events.text()).lstrip().startswith(starts)
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, json=completion(text)))
    for inline, content in (("off", text), (None, "Well met, traveller.")):
        http = sdk.client(relay=Relay("vllm", inline=inline), transport=inner)
        answer = http.post("http://gpu-1/v1/chat/completions", json={"model": "m", "messages": []})
        assert content == answer.json()["choices"][0]["message"]["content"]


BUDGETED = [
    "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-5", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "gemini/gemini-2.5-flash", "gemini/gemini-2.5-pro", "alibaba/qwen3-max", "cohere/command-a-reasoning-08-2025",
]  # fmt: skip
LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "maxTokens")
BUDGETS = ("budget_tokens", "thinkingBudget", "thinking_budget", "token_budget")


def _number(body, names):
    """The first number under one of these names, however deep."""
    found = [value for name, value in body.items() if name in names and isinstance(value, int)]
    inner = (_number(value, names) for value in body.values() if isinstance(value, dict))
    return next(iter(found), None) or next((value for value in inner if value), None)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(BUDGETED),
    st.sampled_from(["minimal", "low", "medium", "high", "xhigh", "max"]) | st.integers(1, 300_000),
    st.none() | st.integers(1, 70_000),
)
def test_p53_a_budget_leaves_room_for_the_answer(model, asked, limit):
    """P53. For any effort, budget and max_tokens, a valid combination is sent that leaves room for the answer.

    Elsewhere: budgets at or above max_tokens are refused, even for a title of twenty tokens
    (https://github.com/BerriAI/litellm/issues/9001, https://github.com/OpenHands/software-agent-sdk/issues/596).
    Here: at least 5 % of max_tokens is left, changes are noted and recorded, and mode strict raises an error that names the rule.
    Seen failing: Compiler._fitted without its room.
    """
    fields = {"reasoning": asked, "max_tokens": limit}
    request = iv.Request(model, [iv.user(QUESTION)], **fields)
    wire = iv.encode(request)
    sent, budget = _number(wire.body, LIMITS), _number(wire.body, BUDGETS)

    if sent and budget:
        assert 0.049 * sent <= sent - budget
    effective = wire.reasoning_report.effective
    assert (request.reasoning, budget) == (wire.reasoning_report.requested, effective.budget)
    kept = asked in (effective.effort, effective.budget) and limit in (None, sent)
    assert kept or noted(wire) - {"max_tokens_filled"}
    assert emulated_client().ask(model, QUESTION, **fields).status in ("answered", "truncated", "budget_exhausted")  # fmt: skip
    if noted(wire) - {"max_tokens_filled"}:
        with pytest.raises(iv.RuleError) as refused:
            iv.encode(request.replace(mode="strict"))
        assert refused.value.rule in noted(wire)


def test_p54_one_request_for_the_whole_catalogue():
    """P54. Every model of the catalog accepts the same request; on is on, and off is off or reported as impossible.

    Elsewhere: each generation of Claude needs another setting, and an effort alone leaves thinking off while the log says high
    (https://github.com/decolua/9router/pull/2635, https://github.com/lis186/ccxray/issues/450).
    Here: the model's row selects enabled, adaptive, between_tools or disabled; a note reports a model that cannot reason.
    Seen failing: adaptive models sent enabled; an effort sent without thinking; off_impossible and reasoning_impossible unsaid.
    """
    client = emulated_client()
    excused = {"reasoning_impossible", "reasoning_off_unstreamed"}
    for row, host, dialect, model in cases():
        if row.guess:  # a fallback, for names that the provider itself does not have
            continue
        name = f"{host}/{model}"
        on = client.ask(name, QUESTION, dialect=dialect, reasoning="high")
        reasoned = any(part.type == "thinking" for part in on.parts) or on.usage.reasoning_tokens
        assert bool(reasoned) != bool(excused & noted(on)), name
        off = client.ask(name, QUESTION, dialect=dialect, reasoning=False)
        assert "off_impossible" in noted(off) or not (off.has_thinking or off.usage.reasoning_tokens), name  # fmt: skip


@pytest.mark.parametrize(
    ("model", "asked", "nearest"),
    [
        ("openai/gpt-5.6", "minimal", "low"),
        ("openai/gpt-5.1", "max", "high"),
        ("gemini/gemini-3.7-flash", "minimal", "low"),
        ("mistral/mistral-small-latest", "low", "high"),
        ("groq/openai/gpt-oss-120b", "xhigh", "high"),
    ],
)
def test_p55_words_for_an_effort(model, asked, nearest):
    """P55. An unsupported effort is an error, becomes the closest one with a note, or is sent unchanged; never silently another.

    Elsewhere: an unsupported effort is dropped silently, or refused by the provider
    (https://github.com/theopenco/llmgateway/pull/3028, https://github.com/vercel-labs/fx/issues/276).
    Here: the modes strict, clamp (with a note, and in wire.reasoning_report) and passthrough.
    Seen failing: Compiler.bend writing no note; bend raising in no mode; passthrough clamping.
    """
    request = iv.Request(model, [iv.user(QUESTION)], reasoning=asked)
    wire = iv.encode(request)
    assert nearest == wire.reasoning_report.effective.effort
    assert "effort_clamped" in noted(wire)
    assert nearest in json.dumps(wire.body).lower()

    with pytest.raises(iv.RuleError) as refused:
        iv.encode(request.replace(mode="strict"))
    assert "effort_clamped" == refused.value.rule
    passed = iv.encode(request.replace(mode="passthrough"))
    assert asked in json.dumps(passed.body).lower()
    with pytest.raises(iv.BadRequestError):
        emulated_client().ask(model, QUESTION, reasoning=asked, mode="passthrough")


OFF = [
    ("ollama/qwen3:8b", {"think": False}),
    ("deepseek/deepseek-v4-pro", {"thinking": {"type": "disabled"}}),
    ("alibaba/qwen3-max", {"enable_thinking": False}),
    ("vllm/qwen3-8b", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("vllm/deepseek-v3.1", {"chat_template_kwargs": {"thinking": False}}),
    ("groq/qwen/qwen3-32b", {"reasoning_effort": "none"}),
    ("openrouter/openai/gpt-5.6", {"reasoning": {"effort": "none"}}),
    ("together/deepseek-ai/DeepSeek-V3.1", {"reasoning": {"enabled": False}}),
    ("anthropic/claude-opus-5", {"thinking": {"type": "disabled"}}),
    ("cohere/command-a-reasoning-08-2025", {"thinking": {"type": "disabled"}}),
]


@pytest.mark.parametrize(("model", "switch"), OFF, ids=[row[0] for row in OFF])
def test_p56_off_is_said_as_each_host_hears_it(model, switch):
    """P56. Off is sent as the setting that this host supports, and a response with reasoning is reported.

    Elsewhere: each server has another setting and ignores the others
    (https://github.com/ollama/ollama/issues/17969, https://github.com/freelensapp/freelens-ai-extension/issues/279).
    Here: reasoning=False for all; a response that still reasons has the note setting_ignored, a model that always does off_impossible.
    Seen failing: asking.fields_of with one switch for all; decoding's _is_ignored without its case for off.
    """
    request = iv.Request(model, [iv.user(QUESTION)], reasoning=False)
    body = iv.encode(request).body
    assert switch == {name: body.get(name) for name in switch}
    obeyed = emulated_client().ask(model, QUESTION, reasoning=False)
    assert not obeyed.has_thinking
    assert "setting_ignored" not in noted(obeyed)

    stubborn = completion("Hi.", reasoning_content="Hm.")
    assert "setting_ignored" in noted(iv.decode(stubborn, dialect="openai-chat", request=request))
    counted = {**completion("Hi."), "usage": {"prompt_tokens": 1, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}}  # fmt: skip
    assert "setting_ignored" in noted(iv.decode(counted, dialect="openai-chat", request=request))


def test_p56_what_cannot_be_switched_off_says_so():
    """P56. If reasoning cannot be switched off, this is reported before anything is sent.

    Elsewhere: the setting is accepted, and the model still reasons (https://github.com/Layr-Labs/d-inference/issues/639).
    Here: the note off_impossible and the lowest effort, or an error in mode strict; `innervoice models` shows it too.
    Seen failing: Compiler._off without its note.
    """
    for model in ("minimax/MiniMax-M2", "groq/openai/gpt-oss-120b", "anthropic/claude-opus-5-5"):
        request = iv.Request(model, [iv.user(QUESTION)], reasoning=False)
        assert "off_impossible" in noted(iv.encode(request))
        with pytest.raises(iv.RuleError, match="off_impossible"):
            iv.encode(request.replace(mode="strict"))
    assert b"can be switched off: no" in run("models", "groq/openai/gpt-oss-120b").stdout
