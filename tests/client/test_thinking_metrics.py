"""How long an answer thought, how much of it, and for how many dollars: what a user of a client reads."""

import asyncio
import json
import statistics
from decimal import Decimal

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from gateway.calling import prices
from innervoice.emulator.embedded import emulated_async_client, emulated_client
from shared import SHARED, needs_shared
from ticking import Ticking, ticking

__all__ = ["ticking"]

MODELS = [
    "anthropic/claude-opus-5-5",
    "openai/gpt-5.6",
    "deepseek/deepseek-v4-pro",
    "gemini/gemini-3.5-flash",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral/magistral-medium-latest",
    "cohere/command-a-reasoning-08-2025",
    "ollama/qwen3:8b",
    "sglang/qwen3-32b",
]
UNCOUNTED = {"bedrock", "mistral", "ollama"}
"""Providers that count only the sum."""
QUESTION = "What is 15 * 23?"


def asked(kind, server, model, *, stream, show):
    """A response, and when the caller saw the first thought, the first answer, and the end, if it was streamed."""
    reasoning = iv.Reasoning("high", show=show)
    seen = {}

    def see(event):
        match event:
            case iv.PartStart(type="thinking"):
                seen.setdefault("thought", server.now)
            case iv.TextDelta(text=text) if text.strip():
                seen.setdefault("answer", server.now)
            case _:
                pass

    if kind == "sync":
        client = emulated_client(server)
        if not stream:
            return client.ask(model, QUESTION, reasoning=reasoning), seen
        with client.stream(model, QUESTION, reasoning=reasoning) as events:
            for event in events:
                see(event)
            return events.response, seen

    async def main():
        client = emulated_async_client(server)
        if not stream:
            return await client.ask(model, QUESTION, reasoning=reasoning)
        async with client.stream(model, QUESTION, reasoning=reasoning) as events:
            async for event in events:
                see(event)
            return events.response

    return asyncio.run(main()), seen


@pytest.mark.parametrize("show", ["auto", "hidden"])
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("model", MODELS)
def test_times_of_a_stream_are_those_at_which_its_pieces_came(ticking, model, kind, show):
    begun = ticking.now
    response, seen = asked(kind, ticking, model, stream=True, show=show)
    metrics = response.thinking_metrics()

    thought = seen["thought"] - begun if "thought" in seen else None
    answer = seen["answer"] - begun
    assert (thought, answer) == (metrics.first_thought_seconds, metrics.first_answer_seconds)
    assert (None if thought is None else answer - thought) == metrics.thinking_seconds
    assert ticking.now - begun == metrics.total_seconds
    assert ("gemini" in model and show == "hidden") == (thought is None)


@pytest.mark.parametrize("show", ["auto", "hidden"])
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("model", MODELS)
def test_of_an_answer_in_one_piece_only_the_whole_time_is_known(ticking, model, kind, show):
    response, _ = asked(kind, ticking, model, stream=False, show=show)
    metrics = response.thinking_metrics()

    assert len(ticking.pieces) == metrics.total_seconds
    assert (None, None, None) == (
        metrics.first_thought_seconds,
        metrics.first_answer_seconds,
        metrics.thinking_seconds,
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("show", ["auto", "hidden"])
@pytest.mark.parametrize("model", MODELS)
def test_tokens_are_the_provider_s_or_marked(model, show, stream):
    response, _ = asked("sync", Ticking(), model, stream=stream, show=show)
    metrics, usage = response.thinking_metrics(), response.usage

    assert usage.output_tokens == metrics.output_tokens
    if model.partition("/")[0] not in UNCOUNTED:
        assert (usage.reasoning_tokens, False) == (metrics.thinking_tokens, metrics.estimated)
        assert usage.reasoning_tokens / usage.output_tokens == metrics.share
        return
    assert usage.reasoning_tokens is None
    # The catalog says that Claude shows only summaries; the others cannot hide.
    is_estimated = not model.startswith("bedrock")
    assert is_estimated == metrics.estimated
    assert is_estimated == (metrics.thinking_tokens is not None)
    if is_estimated:
        assert abs(metrics.thinking_tokens - 22) <= 4  # what the emulator would have counted


def test_a_model_that_does_not_think_has_no_time_of_it(ticking):
    metrics = asked("sync", ticking, "openai/gpt-4o", stream=True, show=None)[0].thinking_metrics()

    assert (0, 0.0, False, 0.0) == (
        metrics.thinking_tokens,
        metrics.thinking_seconds,
        metrics.estimated,
        metrics.share,
    )
    assert metrics.first_thought_seconds is None


def test_they_are_no_part_of_the_value():
    """Responses are equal, stored and read as before."""
    measured = emulated_client().ask("ollama/qwen3:8b", QUESTION, reasoning="high", stream=True)
    stored = iv.from_json(iv.to_json(measured))

    assert stored == measured
    assert b"seconds" not in iv.to_json(measured)
    assert "seconds" not in repr(measured)
    assert measured.thinking_metrics().total_seconds is not None
    assert stored.thinking_metrics() == iv.ThinkingMetrics(thinking_tokens=18, output_tokens=26, estimated=True)  # fmt: skip


def test_a_conversation_keeps_them():
    """Also where it adds a note of its own to the response."""

    def get_weather(city: str):
        return f"{city}: fog"

    chat = emulated_client().conversation(
        "deepseek/deepseek-v4-pro", tools=[get_weather], max_rounds=1
    )
    response = chat.ask("The weather in Bonn?")

    assert "rounds_used_up" in [note.code for note in response.notes]
    assert response.thinking_metrics().total_seconds is not None


# ---- streams of one's own --------------------------------------------------------------------------


def streamed(server, frames, model="deepseek/deepseek-v4", **fields):
    """The response to these frames, each of which is a second later."""
    body = [f"data: {json.dumps(frame)}\n\n".encode() for frame in frames]

    class Stream(httpx2.SyncByteStream):
        def __iter__(self):
            return server.tick([*body, b"data: [DONE]\n\n"])

    head = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=head, stream=Stream()))
    http = httpx2.Client(transport=transport, trust_env=False)
    client = iv.Client(base_url="http://x", api_key="k", http=http, retries=0)
    return client.ask(model, "hi", stream=True, **fields)


def delta(finish=None, **members):
    choice = {"index": 0, "delta": members, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


def test_thoughts_between_answers_are_added_up(ticking):
    """Thinking in seconds 1 to 3 and 5 to 6; what is blank is no answer."""
    frames = [
        delta(reasoning_content="a"),  # 1
        delta(reasoning_content="b"),
        delta(content="x"),  # 3
        delta(content="y"),
        delta(reasoning_content="c"),  # 5
        delta(content="z"),  # 6
        delta("stop"),
    ]
    metrics = streamed(ticking, frames).thinking_metrics()

    assert (1, 3, 3) == (metrics.first_thought_seconds, metrics.first_answer_seconds, metrics.thinking_seconds)  # fmt: skip


def test_blank_text_is_no_answer_and_a_call_is_one(ticking):
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{"}}
    rest = {"index": 0, "function": {"arguments": "}"}}
    frames = [
        delta(content="\n"),  # 1
        delta(reasoning_content="a"),  # 2
        delta(content="\n\n"),
        delta(tool_calls=[call]),  # 4
        delta(tool_calls=[rest]),
        delta("tool_calls"),
    ]
    metrics = streamed(ticking, frames).thinking_metrics()

    assert (2, 4, 2) == (metrics.first_thought_seconds, metrics.first_answer_seconds, metrics.thinking_seconds)  # fmt: skip


def test_a_thought_that_nothing_follows_lasts_to_the_end(ticking):
    frames = [delta(reasoning_content="a"), delta(reasoning_content="b"), delta("length")]
    metrics = streamed(ticking, frames).thinking_metrics()

    assert (1, None) == (metrics.first_thought_seconds, metrics.first_answer_seconds)
    assert metrics.total_seconds - 1 == metrics.thinking_seconds


def test_text_that_turned_out_to_be_reasoning_was_thought_from_its_beginning(ticking):
    """A closing tag whose opening tag was in the prompt."""
    texts = ["Let me", " see.", "</think>", "It is 3.", " Yes."]
    frames = [*(delta(content=text) for text in texts), delta("stop")]
    response = streamed(ticking, frames, "sglang/qwen3-32b")
    metrics = response.thinking_metrics()

    assert ("Let me see.", "It is 3. Yes.") == (response.thinking, response.text)
    assert (1, 4, 3) == (metrics.first_thought_seconds, metrics.first_answer_seconds, metrics.thinking_seconds)  # fmt: skip


def test_redacted_thoughts_have_no_time(ticking):
    """They are sent when they are over, so that nobody saw them begin."""
    block = {"type": "redacted_thinking", "data": "c2VhbA=="}
    frames = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    ]  # fmt: skip
    metrics = streamed(ticking, frames, "anthropic/claude-3-7-sonnet-latest").thinking_metrics()

    assert (2, 5, None) == (metrics.first_thought_seconds, metrics.first_answer_seconds, metrics.thinking_seconds)  # fmt: skip
    assert (None, False) == (metrics.thinking_tokens, metrics.estimated)


def test_the_wait_before_a_retry_counts(ticking):
    """Seconds are those of the caller."""
    answers = [httpx2.Response(529), None]

    def handle(request):
        ticking.now += 10
        return answers.pop(0) or httpx2.Response(
            200, content=b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
            headers={"content-type": "text/event-stream"},
        )  # fmt: skip

    http = httpx2.Client(transport=httpx2.MockTransport(handle), trust_env=False)
    client = iv.Client(base_url="http://x", api_key="k", http=http, retries=1)
    client._sleep = lambda seconds: setattr(ticking, "now", ticking.now + 100)
    metrics = client.ask("deepseek/deepseek-v4", "hi", stream=True).thinking_metrics()

    assert 120 == metrics.first_answer_seconds


def test_an_answer_without_the_rest_of_a_thought_counts_both_requests(ticking):
    """`answer_now` leaves a thought, and asks again without it: the first thought is that of the first request."""
    begun = ticking.now
    client = emulated_client(ticking, headers={"x-innervoice-emulate": "pieces=40"})
    response = client.answer_now("deepseek/deepseek-v4-pro", QUESTION, think_at_most=20)
    metrics = response.thinking_metrics()

    assert "thinking_cut_short" in [note.code for note in response.notes]
    assert metrics.first_thought_seconds < metrics.first_answer_seconds <= metrics.total_seconds
    assert ticking.now - begun == metrics.total_seconds
    assert 0 < metrics.thinking_seconds <= metrics.first_answer_seconds


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_body_that_ends_in_a_line_break_is_no_stream(ticking, end):
    message = {"role": "assistant", "thinking": "Let me see.", "content": "It is 3."}
    body = {"model": "qwen3:8b", "message": message, "done": True, "done_reason": "stop"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text=json.dumps(body) + end))
    http = httpx2.Client(transport=transport, trust_env=False)
    client = iv.Client(base_url="http://x", http=http, retries=0)
    metrics = client.ask("ollama/qwen3:8b", "hi").thinking_metrics()

    assert (None, None) == (metrics.first_thought_seconds, metrics.first_answer_seconds)
    assert 0 == metrics.total_seconds


# ---- cost ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reasoning_tokens", [40, None])
def test_the_cost_of_reasoning_is_that_of_its_share(monkeypatch, reasoning_tokens):
    prices(monkeypatch)
    usage = iv.Usage(input_tokens=100, output_tokens=100, reasoning_tokens=reasoning_tokens)
    parts = (iv.Thinking("word " * 60), iv.Text("word " * 40))
    response = iv.Response(parts=parts, usage=usage, ended=True, provider="deepseek", model="deepseek-v4")  # fmt: skip
    metrics = response.thinking_metrics()

    counted = response.replace(usage=usage.replace(reasoning_tokens=metrics.thinking_tokens))
    assert counted.cost().reasoning == metrics.cost
    assert isinstance(metrics.cost, Decimal)
    assert (reasoning_tokens is None) == metrics.estimated


# ---- the estimate ----------------------------------------------------------------------------------


texts = st.text(max_size=200) | st.text("ab \n数", max_size=2000)
parts = st.lists(
    st.one_of(
        st.builds(iv.Text, texts),
        st.builds(iv.Thinking, texts, st.sampled_from(["full", "full", "summary", "hidden"]), st.booleans()),
        st.builds(iv.ToolCall, st.just("c"), texts, texts),
        st.builds(iv.Opaque, st.just({"type": "x"})),
    ),
    max_size=4,
).map(tuple)  # fmt: skip


@given(parts, st.none() | st.integers(0, 3000), st.none() | st.integers(0, 3000), st.booleans())
def test_a_share_is_between_0_and_1_and_never_estimated_where_it_is_counted(
    parts, output, reasoned, ended
):
    usage = iv.Usage(output_tokens=output, reasoning_tokens=reasoned)
    response = iv.Response(parts=parts, usage=usage, ended=ended)
    metrics = response.thinking_metrics()

    assert metrics.share is None or 0 <= metrics.share <= 1
    if reasoned is not None:
        assert (reasoned, False) == (metrics.thinking_tokens, metrics.estimated)
    if metrics.estimated:
        thoughts = [part for part in parts if isinstance(part, iv.Thinking)]
        assert all(part.form == "full" and part.complete for part in thoughts)
        assert any(part.text for part in thoughts)
        assert ended
        assert not any(isinstance(part, iv.Opaque) for part in parts)
    assert response.usage is usage


FULL = iv.Thinking("Let me see. " * 20)


@pytest.mark.parametrize(
    "changes",
    [
        {"ended": False},
        {"error": iv.Failure(type="x")},
        {"alternatives": (iv.Response(),)},
        {"parts": (iv.Thinking("Let me see.", "summary"), iv.Text("It is 3. " * 30))},
        {"parts": (FULL, iv.Thinking("", "hidden"), iv.Text("It is 3."))},
        {"parts": (FULL, iv.Opaque({"type": "server_tool_use"}), iv.Text("It is 3."))},
        {"parts": (FULL.replace(complete=False),)},
        {"parts": (iv.Text("It is 3. " * 30),)},
        {"usage": iv.Usage(output_tokens=4000)},
        {"usage": iv.Usage(output_tokens=3)},
        {"usage": iv.Usage(output_tokens=0)},
        {"usage": iv.Usage()},
    ],
)
def test_nothing_is_estimated(changes):
    """Of an answer that was cut off, is not there in full, or does not fit its count."""
    response = iv.Response(parts=(FULL, iv.Text("It is 3.")), usage=iv.Usage(output_tokens=70), ended=True)  # fmt: skip
    assert response.thinking_metrics().estimated

    metrics = response.replace(**changes).thinking_metrics()
    assert (None, None, False) == (metrics.thinking_tokens, metrics.share, metrics.estimated)


@needs_shared
def test_the_estimate_is_as_far_off_as_the_page_says():
    """On recorded answers with a full text and a count: 3.9 points in the median, 18.9 at the 90th percentile."""
    errors = []
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        body = exchange["response"].get("json") or exchange["response"].get("sse")
        if not body or exchange["dialect"] == "other":
            continue
        try:
            response = iv.decode(body, provider=exchange["provider"], model=exchange["model"], dialect=exchange["dialect"])  # fmt: skip
        except iv.InnervoiceError:
            continue
        usage = response.usage
        if not usage.reasoning_tokens:
            continue
        uncounted = response.replace(usage=usage.replace(reasoning_tokens=None))
        share = uncounted.thinking_metrics().share
        if share is not None:
            errors.append((abs(share - usage.reasoning_tokens / usage.output_tokens), usage))

    assert 58 == len(errors)
    assert (3.9, 18.9) == spread([error for error, _ in errors])
    assert (1.6, 13.5) == spread([error for error, usage in errors if usage.output_tokens >= 100])


def spread(errors):
    """The median and the 90th percentile, in percentage points."""
    ordered = sorted(errors)
    last = ordered[-(-9 * len(ordered) // 10) - 1]
    return round(100 * statistics.median(ordered), 1), round(100 * last, 1)


# ---- sums ------------------------------------------------------------------------------------------


def test_two_answers_in_a_row():
    first = iv.ThinkingMetrics(first_thought_seconds=1, thinking_seconds=2, total_seconds=4, thinking_tokens=5, output_tokens=10, cost=Decimal(1))  # fmt: skip
    second = iv.ThinkingMetrics(first_thought_seconds=1, first_answer_seconds=2, thinking_seconds=1, total_seconds=3, thinking_tokens=1, output_tokens=10, cost=Decimal(2), estimated=True)  # fmt: skip

    assert first + second == iv.ThinkingMetrics(first_thought_seconds=1, first_answer_seconds=6, thinking_seconds=3, total_seconds=7, thinking_tokens=6, output_tokens=20, cost=Decimal(3), estimated=True)  # fmt: skip
    assert (first + iv.ThinkingMetrics()).thinking_tokens is None
