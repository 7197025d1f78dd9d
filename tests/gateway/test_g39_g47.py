"""G39 to G47: how answers end, errors, silences, what is asked for, and clients that leave."""

import asyncio
import json

import pytest

import innervoice as iv
from gateway.harness import BEHIND, TOOLS, Served, body_of, read
from gateway.situations import (
    ASKED,
    FOUR,
    beginning_of,
    complaints,
    events,
    noted,
    played,
    recorded,
    serve,
    signs_of_life,
    words,
)
from gateway.upstreams import Answer, BrokenError, Scripted, Wait, frames
from innervoice.gateway.config import NamedModel, UpstreamSettings
from innervoice.planning.encode import decode_request
from innervoice.wire.dialects import DIALECTS

# ---- answers as providers end them -----------------------------------------------------------------

CALL = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}


def _anthropic(stop, *content):
    text = {"type": "text", "text": "Well."}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": list(content) or [text],
        "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip


def _interactions(status, *steps):
    said = {"type": "model_output", "content": [{"type": "text", "text": "Yes."}]}
    return {"id": "v1_a", "object": "interaction", "status": status, "steps": [said, *steps]}


def _gemini(stop, *parts):
    content = {"role": "model", "parts": list(parts) or [{"text": "Well."}]}
    return {
        "candidates": [{"content": content, "finishReason": stop, "index": 0}], "modelVersion": "gemini-3.5-flash", "responseId": "r",
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8},
    }  # fmt: skip


def _converse(stop):
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": "Well."}]}}, "stopReason": stop,
        "usage": {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}, "metrics": {"latencyMs": 1},
    }  # fmt: skip


def _chat(stop, **members):
    choice = {"index": 0, "message": {"role": "assistant", "content": "Well.", **members}, "finish_reason": stop}  # fmt: skip
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}  # fmt: skip


def _responses(reason):
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "incomplete", "content": [{"type": "output_text", "text": "Well.", "annotations": []}]}  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "incomplete", "model": "gpt-5.6", "output": [item],
        "incomplete_details": {"reason": reason}, "error": None, "usage": {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8},
    }  # fmt: skip


USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
ENDS = [
    ("anthropic", _anthropic("end_turn"), "stop"),
    ("anthropic", _anthropic("stop_sequence"), "stop"),
    ("anthropic", _anthropic("max_tokens"), "length"),
    ("anthropic", _anthropic("model_context_window_exceeded"), "length"),
    ("anthropic", _anthropic("refusal"), "refusal"),
    ("anthropic", _anthropic("pause_turn"), "pause"),
    ("anthropic", _anthropic("tool_use", USE), "tool_calls"),
    ("anthropic", _anthropic("end_turn", USE), "tool_calls"),
    ("gemini-interactions", _interactions("completed"), "stop"),
    ("gemini-interactions", _interactions("incomplete"), "length"),
    ("gemini-interactions", _interactions("requires_continuation"), "pause"),
    ("gemini-interactions", _interactions("requires_action", {"type": "function_call", "id": "c", "name": "get_weather", "arguments": {"city": "Oslo"}}), "tool_calls"),
    ("gemini", _gemini("STOP"), "stop"),
    ("gemini", _gemini("MAX_TOKENS"), "length"),
    ("gemini", _gemini("SAFETY"), "content_filter"),
    ("gemini", _gemini("RECITATION"), "content_filter"),
    ("gemini", _gemini("PROHIBITED_CONTENT"), "content_filter"),
    ("gemini", _gemini("STOP", {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}), "tool_calls"),
    ("bedrock-converse", _converse("guardrail_intervened"), "content_filter"),
    ("bedrock-converse", _converse("content_filtered"), "content_filter"),
    ("bedrock-converse", _converse("model_context_window_exceeded"), "length"),
    ("openai-chat", _chat("stop"), "stop"),
    ("openai-chat", _chat("length"), "length"),
    ("openai-chat", _chat("content_filter"), "content_filter"),
    ("openai-chat", _chat("stop", tool_calls=[{"id": "call_1", "type": "function", "function": CALL}]), "tool_calls"),
    ("openai-responses", _responses("max_output_tokens"), "length"),
    ("openai-responses", _responses("content_filter"), "content_filter"),
]  # fmt: skip
WORDS = {
    "anthropic": {
        "stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "refusal": "refusal", "pause": "pause_turn",
        "tool_calls": "tool_use",
    },
    "openai-chat": {
        "stop": "stop", "length": "length", "content_filter": "content_filter", "refusal": "stop", "pause": "stop",
        "tool_calls": "tool_calls",
    },
    "openai-responses": {
        "stop": None, "length": "max_output_tokens", "content_filter": "content_filter", "refusal": None, "pause": "steered",
        "tool_calls": None,
    },
    "gemini": {
        "stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "refusal": "SAFETY", "pause": "CONTINUATION",
        "tool_calls": "STOP",
    },
    "gemini-interactions": {
        "stop": "completed", "length": "incomplete", "content_filter": "incomplete", "refusal": "completed",
        "pause": "requires_continuation", "tool_calls": "requires_action",
    },
    "bedrock-converse": {
        "stop": "end_turn", "length": "max_tokens", "content_filter": "content_filtered", "refusal": "refusal", "pause": "end_turn",
        "tool_calls": "tool_use",
    },
    "mistral": {
        "stop": "stop", "length": "length", "content_filter": "stop", "refusal": "stop", "pause": "stop", "tool_calls": "tool_calls",
    },
    "cohere": {
        "stop": "COMPLETE", "length": "MAX_TOKENS", "content_filter": "ERROR_TOXIC", "refusal": "COMPLETE", "pause": "COMPLETE",
        "tool_calls": "TOOL_CALL",
    },
    "ollama": {
        "stop": "stop", "length": "length", "content_filter": "stop", "refusal": "stop", "pause": "stop", "tool_calls": "stop",
    },
}  # fmt: skip


PLACES = {
    "anthropic": ("stop_reason",),
    "openai-chat": ("choices", 0, "finish_reason"),
    "openai-responses": ("incomplete_details", "reason"),
    "gemini": ("candidates", 0, "finishReason"),
    "gemini-interactions": ("status",),
    "bedrock-converse": ("stopReason",),
    "mistral": ("choices", 0, "finish_reason"),
    "cohere": ("finish_reason",),
    "ollama": ("done_reason",),
}


def _word(front, body):
    """How an answer says why it ended."""
    for step in PLACES[front]:
        body = body[step] if body is not None else None
    return body


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize(("behind", "body", "kind"), ENDS, ids=lambda value: value if isinstance(value, str) else _id(value))  # fmt: skip
def test_g39_why_an_answer_ended(front, behind, body, kind):
    """G39. The reason why an answer ended is a word of the client's dialect that means the same; calls are always announced.

    Elsewhere: refusals, pauses and full contexts become a plain stop, and a turn with calls ends with "stop", so that nobody runs them.
    Here: a total table, both ways; within one dialect the provider's own word stays.
    Seen failing: AnswerEncoder._end without its first lines.
    """
    served = played(body)
    path, asked = body_of(front, BEHIND[behind], [iv.user(ASKED)], tools=TOOLS)
    reply = served.ask("POST", path, asked)
    own = _word(behind, body)

    assert 200 == reply.status, reply.body
    assert (own if front == behind else WORDS[front][kind]) == _word(front, reply.json)
    if kind == "tool_calls":
        assert ["get_weather"] == [call.name for call in read(reply, front).tool_calls]


def _id(body):
    return next(str(_word(name, body)) for name in DIALECTS if _fits(name, body))


def _fits(name, body):
    try:
        return bool(_word(name, body))
    except (KeyError, TypeError):
        return False


# ---- errors ----------------------------------------------------------------------------------------

TOO_LONG = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"
REFUSALS = {
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": TOO_LONG}},
    "openai-chat": {"error": {"message": TOO_LONG, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}},
    "openai-responses": {"error": {"message": TOO_LONG, "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"}},
    "gemini": {"error": {"code": 400, "message": TOO_LONG, "status": "INVALID_ARGUMENT"}},
    "gemini-interactions": {"error": {"message": TOO_LONG, "code": "invalid_request"}},
    "bedrock-converse": {"message": TOO_LONG},
    "mistral": {"object": "error", "message": TOO_LONG, "type": "invalid_request_error", "param": None, "code": "3051"},
    "cohere": {"id": "e-1", "message": TOO_LONG},
    "ollama": {"error": TOO_LONG},
}  # fmt: skip


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("stream", [False, True])
def test_g40_the_words_of_a_refusal_arrive(front, behind, status, stream):
    """G40. A refusal keeps its wording and its status in every client's dialect, and no other upstream is asked.

    Elsewhere: "All target providers failed" hides the numbers that Claude Code shortens a request by.
    Here: the same words; one request; no circuit hears of it, however often it happens.
    Seen failing: _of_provider without the message; _may_go_elsewhere returning True.
    """
    http = Scripted(Answer(json.dumps(REFUSALS[behind]).encode(), status=status))
    route = NamedModel(name="agent", to=(BEHIND[behind], "openai/gpt-5.5"))
    served = serve(http, models=(route,))
    path, body = body_of(front, "agent", [iv.user(ASKED)], stream=stream)
    for count in range(1, 7):
        reply = served.ask("POST", path, body)
        assert count == len(http.requests)

    assert status == reply.status
    assert TOO_LONG in _texts(reply.json)
    assert [] == asyncio.run(served.gateway.readiness())["upstreams"]
    if front == behind and status == 400:
        known = {key: value for key, value in REFUSALS[behind].items() if key != "id"}
        assert known.items() <= reply.json.items()


def _texts(value):
    """All texts in a body."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in items for text in _texts(item)]


# ---- sending again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("front", FOUR)
@pytest.mark.parametrize("behind", FOUR)
def test_g41_nothing_is_sent_again_after_the_first_byte(front, behind):
    """G41. An answer that broke off after the client got something of it is not asked for again, here or elsewhere.

    Elsewhere: the second answer is glued to the first, and both are paid.
    Here: the client gets an error, and decides.
    Seen failing: Exchange.end with `delivered` always False.
    """
    data = recorded(behind)
    http = Scripted(Answer(data[: len(data) * 2 // 3], BrokenError("reset")), Answer(data))
    route = NamedModel(name="agent", to=(BEHIND[behind], "openai/gpt-5.5"))
    served = serve(http, models=(route,), retries=2)
    path, body = body_of(front, "agent", [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)

    assert 1 == len(http.requests)
    assert 200 == reply.status
    assert "AnswerInterruptedError" == served.reports[-1].error


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("behind", FOUR)
def test_g41_before_the_first_byte_it_is(behind, stream):
    """G41. Before that, a connection that fails is tried again, and then the next upstream; the client sees one answer.

    Elsewhere: a failed connection is an error of the client.
    Here: two tries at the first, the next one answers; all of it is noted.
    Seen failing: RewrittenRequest._report dropping the note of the move.
    """
    data = recorded(behind)
    if not stream:
        data = json.dumps({"anthropic": _anthropic("end_turn"), "openai-chat": _chat("stop"), "gemini": _gemini("STOP"), "openai-responses": _responses("max_output_tokens")}[behind]).encode()  # fmt: skip
    http = Scripted(BrokenError("refused"), BrokenError("refused"), Answer(data))
    route = NamedModel(name="agent", to=("mistral/mistral-small-latest", BEHIND[behind]))
    served = serve(http, models=(route,), retries=2)
    path, body = body_of("anthropic", "agent", [iv.user(ASKED)], stream=stream)
    reply = served.ask("POST", path, body)

    assert 200 == reply.status
    assert ("15 * 23 = 345." if stream else "Well.") == read(reply, "anthropic").text
    assert 3 == len(http.requests) == served.reports[-1].attempts
    assert ["mistral/mistral-small-latest: ConnectionFailedError"] == noted(served)["moved_on"]


# ---- silences --------------------------------------------------------------------------------------

PINGS = {
    "anthropic": (b"event: ping\n", b":"),
    "openai-chat": (b":",),
    "openai-responses": (b":",),
    # Google's SDKs take a comment for a broken message, and one of them a blank line: the next event is begun.
    "gemini": (b"data: ", b" "),
    "mistral": (b":",),
    "cohere": (b":",),
}


@pytest.mark.parametrize("front", PINGS)
@pytest.mark.parametrize("behind", [*FOUR, "bedrock-converse"])
def test_g42_silences_have_signs_of_life(front, behind):
    """G42. While a model thinks, before the first byte and in the middle, the client's connection gets signs of life in its dialect.

    Elsewhere: load balancers cut the connection after 30 to 60 seconds of silence.
    Here: a ping of the dialect, or a comment; proxies are told not to buffer, to change or to compress.
    Seen failing: ClientStream.look without _ping; _UNBUFFERED empty; a comment for Gemini.
    """
    data = recorded(behind)
    half = data.rfind(b"\n\n", 0, len(data) // 2) + 2 if behind != "bedrock-converse" else len(data)
    http = Scripted(Answer(Wait(0.15), data[:half], Wait(0.15), data[half:]))
    served = serve(http, ping_seconds=0.04)
    path, body = body_of(front, BEHIND[behind], [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)
    signs = signs_of_life(reply)

    assert all(sign.startswith(PINGS[front]) for sign in signs)
    assert reply.pieces[0] in signs
    inside = reply.pieces[reply.pieces.index(signs[0]) : -1]
    assert len([piece for piece in inside if piece in signs]) >= (4 if behind != "bedrock-converse" else 2)  # fmt: skip
    assert [] == complaints(front, reply.body)
    assert "15 * 23 = 345." == read(reply, front).text
    assert "no-transform" in reply.headers["cache-control"]
    assert "no" == reply.headers["x-accel-buffering"]
    assert "content-encoding" not in reply.headers


@pytest.mark.parametrize("front", ["anthropic", "openai-chat", "openai-responses", "gemini", "ollama"])  # fmt: skip
@pytest.mark.parametrize("is_array", [False, True])
def test_g42_white_space_keeps_json_alive(front, is_array):
    """G42. With `whole_ping_seconds`, a whole answer, and Gemini's stream as an array, get white space while they are waited for.

    Elsewhere: nothing; a long thought behind nginx ends in a 504.
    Here: line breaks before the body, which JSON allows, for those who ask for them: the status is spent by the first one.
    Seen failing: silent_ping returning nothing for JSON.
    """
    if is_array and front != "gemini":
        pytest.skip("only Gemini streams an array")
    answer = recorded("anthropic") if is_array else json.dumps(_anthropic("end_turn")).encode()
    served = serve(Scripted(Answer(Wait(0.15), answer)), whole_ping_seconds=0.04)
    path, body = body_of(front, BEHIND["anthropic"], [iv.user(ASKED)], stream=is_array)
    reply = served.ask("POST", path.partition("?")[0], body)

    assert reply.body.startswith(b"\n")
    assert len(signs_of_life(reply)) >= 2
    assert json.loads(reply.body)
    assert ("15 * 23 = 345." if is_array else "Well.") == read(reply, front).text


@pytest.mark.parametrize("front", FOUR)
def test_g43_pings_of_the_provider_are_pings_of_the_client(front):
    """G43. While the provider only sends pings, the client gets pings, and no empty piece of an answer.

    Elsewhere: they are swallowed, or become an empty chunk, which clients take for text.
    Here: a ping in the client's dialect; in the same dialect the very bytes.
    Seen failing: the encoder writing an empty event for a Heartbeat; ClientStream.look without _ping.
    """
    data = recorded("anthropic")
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    start = beginning_of(data, 4)
    pings = [step for _ in range(12) for step in (ping, Wait(0.02))]
    http = Scripted(Answer(start, *pings, data[len(start) :]))
    served = serve(http, ping_seconds=0.05)
    path, body = body_of(front, BEHIND["anthropic"], [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)
    signs = reply.body.count(ping) if front == "anthropic" else len(signs_of_life(reply))

    assert signs >= (12 if front == "anthropic" else 2)
    assert [] == complaints(front, reply.body)
    answer = read(reply, front)
    assert "15 * 23 = 345." == answer.text
    quiet = serve(Scripted(Answer(start, data[len(start) :]))).ask("POST", path, body)
    counts = [len([one for one in events(got) if one != {"type": "ping"}]) for got in (quiet, reply)]  # fmt: skip
    assert counts[0] == counts[1]


# ---- what is asked for -----------------------------------------------------------------------------


def _messages(**members):
    messages = [{"role": "user", "content": "What is the weather in Lisbon?"}]
    tool = {"name": "get_weather", "input_schema": TOOLS[0]["parameters"]}
    return {"max_tokens": 8000, "messages": messages, "tools": [tool], **members}


ODD = {
    "off, with an effort": {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}},
    "forced, with adaptive thinking": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}, "tool_choice": {"type": "any"}},
    "forced, with a budget": {"thinking": {"type": "enabled", "budget_tokens": 2000}, "tool_choice": {"type": "tool", "name": "get_weather"}},
    "on, without a budget": {"thinking": {"type": "enabled"}},
    "temperature beside thinking": {"thinking": {"type": "enabled", "budget_tokens": 2000}, "temperature": 0.3},
}  # fmt: skip
OTHERS = [
    *BEHIND.values(),
    "anthropic/claude-sonnet-4-5",
    "moonshot/kimi-k3",
    "vertex/claude-opus-5-5",
]


@pytest.mark.parametrize("model", OTHERS)
@pytest.mark.parametrize("odd", ODD)
def test_g44_settings_that_do_not_fit_together(model, odd):
    """G44. What a client combines for its own provider is settled for the model that is asked, and no provider refuses it.

    Elsewhere: sub-agents send thinking disabled and an effort, which is a 400 at DeepSeek; forced tools beside thinking are, too.
    Here: settled by the model's row, with notes; off stays off where the model can be off.
    Seen failing: RewrittenRequest._is_changed without _SETTINGS.
    """
    served = Served()
    reply = served.ask("POST", "/v1/messages", _messages(model=model, **ODD[odd]))

    assert 200 == reply.status, reply.body
    assert [200] == served.upstream.statuses
    if odd == "off, with an effort" and not noted(served).keys() & {"off_impossible"}:
        assert None is read(reply, "anthropic").thinking
    if odd.startswith("forced"):
        assert ["get_weather"] == [call.name for call in read(reply, "anthropic").tool_calls]


CHAT_CLIENTS = ("openai-chat", "mistral", "cohere", "ollama")
HIDING = (
    "anthropic/claude-opus-5-5",
    "vertex/claude-opus-5-5",
    "gemini/gemini-3.5-flash",
    "openai/gpt-5.6",
    "bedrock/us.anthropic.claude-opus-5-5-v1:0",
)


@pytest.mark.parametrize("front", CHAT_CLIENTS)
@pytest.mark.parametrize("model", HIDING)
@pytest.mark.parametrize("stream", [False, True])
def test_g45_who_asks_for_an_effort_sees_the_reasoning(front, model, stream):
    """G45. A chat client that asks for an effort gets readable reasoning from models that show it only if asked.

    Elsewhere: the effort is mapped and `display` is not, so that reasoning is empty for all chat clients of Claude.
    Here: a summary is asked for, and noted.
    Seen failing: shown_to_client returning the request as it came.
    """
    served = Served()
    path, body = body_of(front, model, [iv.user(ASKED)], stream=stream, reasoning="high", max_tokens=4000)  # fmt: skip
    answer = read(served.ask("POST", path, body), front)

    assert "15 * 23" in answer.thinking
    assert "15 * 23 = 345." == answer.text
    assert "reasoning_shown" in noted(served)


@pytest.mark.parametrize(
    ("front", "model", "settings"),
    [
        ("openai-chat", "anthropic/claude-opus-5-5", {}),
        ("openai-chat", "anthropic/claude-opus-5-5", {"reasoning": "none"}),
        ("anthropic", "openai/gpt-5.6", {"reasoning": iv.Reasoning("high", show="hidden")}),
        ("anthropic", "anthropic/claude-opus-5-5", {"reasoning": "high"}),
        ("anthropic", "anthropic/claude-opus-5-5", {"reasoning": iv.Reasoning("high", show="hidden")}),
        ("openai-responses", "anthropic/claude-opus-5-5", {"reasoning": "high"}),
        ("gemini", "anthropic/claude-opus-5-5", {"reasoning": "high"}),
        ("openai-chat", "deepseek/deepseek-v4-pro", {"reasoning": "high"}),
    ],
)  # fmt: skip
def test_g45_nobody_else_is_shown_more(front, model, settings):
    """G45. A client that asks for no effort, or says what to show, or whose API hides what nobody asked to show, gets what it asked for.

    Elsewhere: summaries are forced on everybody.
    Here: only the silence of clients whose API shows the thinking that is asked for is read as a wish (`test_asked_thinking.py`).
    Seen failing: shown_to_client without its first condition.
    """
    served = Served()
    path, body = body_of(front, model, [iv.user(ASKED)], max_tokens=4000, **settings)

    assert 200 == served.ask("POST", path, body).status
    assert "reasoning_shown" not in noted(served)
    sent = words(served.upstream.requests[0])
    assert [] == [word for word in ("summarized", '"summary"', "includeThoughts") if word in sent]


@pytest.mark.parametrize("stream", [False, True])
def test_g45_an_organization_that_may_not_see_summaries(stream):
    """G45. If OpenAI refuses summaries to an organization, the client gets the answer without them, as before.

    Elsewhere: a default that is refused breaks every request.
    Here: sent again without the wish, once, and noted.
    Seen failing: recover without _UNSHOWN.
    """
    served = Served()
    path, body = body_of("openai-chat", "openai/gpt-5.6+unverified", [iv.user(ASKED)], stream=stream, reasoning="high")  # fmt: skip
    reply = served.ask("POST", path, body)

    assert "15 * 23 = 345." == read(reply, "openai-chat").text
    assert [400, 200] == served.upstream.statuses
    assert "high" == served.upstream.requests[-1]["reasoning"]["effort"]
    assert "recovered_after_refusal" in noted(served)


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
def test_g46_tools_do_not_cost_the_effort(front, behind):
    """G46. A request with tools asks for as much reasoning as one without.

    Elsewhere: the effort is dropped, or becomes none, when there are tools.
    Here: the same setting, at an endpoint that takes both.
    Seen failing: FittedRequest._fit_tools switching reasoning off for all tools.
    """
    asked = []
    for tools in ([], TOOLS):
        served = Served()
        path, body = body_of(front, BEHIND[behind], [iv.user(ASKED)], tools=tools, reasoning="high", max_tokens=8000)  # fmt: skip
        assert 200 == served.ask("POST", path, body).status
        (sent,) = served.upstream.requests
        assert "reasoning_off_for_tools" not in noted(served)
        asked.append(decode_request({"model": "m", **sent}, behind).reasoning)

    assert asked[0] == asked[1] is not None
    assert "none" != asked[0].effort


def test_g46_an_endpoint_that_takes_only_one():
    """G46. Where the operator chose Chat Completions for OpenAI, which takes tools or an effort, the loss is told.

    Elsewhere: a silent downgrade to none.
    Here: a note in the report, and Responses where the operator chose nothing.
    Seen failing: bend without its note.
    """
    path, body = body_of("openai-chat", "openai/gpt-5.6", [iv.user(ASKED)], tools=TOOLS, max_tokens=8000)  # fmt: skip
    body["reasoning_effort"] = "high"
    free = Served()
    assert 200 == free.ask("POST", path, body).status
    assert ["/openai/v1/responses"] == free.upstream.paths
    assert "high" == free.upstream.requests[0]["reasoning"]["effort"]

    chosen = serve(upstreams={"openai": UpstreamSettings(dialect="openai-chat")})
    assert 200 == chosen.ask("POST", path, body).status
    assert ["/openai/v1/chat/completions"] == chosen.upstream.paths
    assert "reasoning_off_for_tools" in noted(chosen)


# ---- clients that leave ----------------------------------------------------------------------------


def _leaves(front, behind, steps, **server):
    """A client that leaves when its upstream falls silent."""

    async def leave():
        gone, answer = asyncio.Event(), Answer(*steps, Wait())
        served = serve(Scripted(answer), **server)
        path, body = body_of(front, BEHIND[behind], [iv.user(ASKED)], stream=True)
        asking = asyncio.ensure_future(served.call("POST", path, body, leaves=gone))
        await answer.waits.wait()
        gone.set()
        return served, answer, await asyncio.wait_for(asking, 5)

    return asyncio.run(leave())


@pytest.mark.parametrize("front", FOUR)
@pytest.mark.parametrize("behind", FOUR)
@pytest.mark.parametrize("count", [0, 6])
def test_g47_a_client_that_leaves(front, behind, count):
    """G47. When the client leaves, the upstream is left at once, and what it cost is booked, as an estimate where nobody counted.

    Elsewhere: the upstream goes on and is paid, or a cancelled request costs nothing.
    Here: closed at once; never no tokens.
    Seen failing: _unless_gone not cancelling; Serving.left booking response.usage as it is.
    """
    steps = frames(recorded(behind))[:count]
    served, answer, _ = _leaves(front, behind, steps)
    report = served.reports[-1]

    assert answer.is_closed
    assert 499 == report.status
    assert report.usage.input_tokens > 0
    assert report.usage.output_tokens is not None
    assert report.usage.output_tokens > 0 or not count
    assert "tokens_estimated" in noted(served) or behind == "anthropic"


def test_g47_what_was_complete_is_kept():
    """G47. What the model had thought before the client left is still there when the client goes on from what it saw.

    Elsewhere: an interrupted turn is forgotten, or its half is stored as a whole.
    Here: the turn as far as it came, found by what the client saw of it; its complete blocks go back.
    Seen failing: Serving.left without remember.
    """
    pieces = frames(recorded("anthropic"))
    text = next(at for at, piece in enumerate(pieces) if b"text_delta" in piece)
    served, _, reply = _leaves("openai-chat", "anthropic", pieces[: text + 1])
    said = read(reply, "openai-chat").text
    served.gateway.http.answers = [Answer(json.dumps(_anthropic("end_turn")).encode())]
    history = [iv.user(ASKED), iv.assistant(said), iv.user("Go on.")]
    path, body = body_of("openai-chat", BEHIND["anthropic"], history)
    served.ask("POST", path, body)
    sent = json.loads(served.gateway.http.requests[-1]["body"])

    assert said
    assert "thinking" == sent["messages"][1]["content"][0]["type"]
    assert sent["messages"][1]["content"][0]["signature"]
    assert 1 == served.reports[-1].restored
