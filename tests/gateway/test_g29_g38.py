"""G29 to G38: what outlives a restart, long reasoning, and streams as clients read them."""

import asyncio
import json
import random
import time

import pytest

import innervoice as iv
from gateway.harness import (
    BEHIND,
    QUESTION,
    TOOLS,
    Client,
    Served,
    Upstream,
    body_of,
    read,
    thoughts,
)
from gateway.situations import (
    ASKED,
    FOUR,
    beginning_of,
    complaints,
    events,
    noted,
    recorded,
    serve,
    signs_of_life,
    sse,
    words,
)
from gateway.upstreams import Answer, BrokenError, Scripted, Wait, frames
from innervoice.canon.messages import tool_result
from innervoice.emulator.core import Emulator
from innervoice.gateway.config import NamedModel
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.wire.dialects import DIALECTS

KEY = b"the key of a gateway, 32 bytes.."


@pytest.mark.parametrize(
    ("front", "behind", "stream"),
    [(front, behind, stream) for front in FOUR for behind in DIALECTS for stream in (False, True)],
)  # fmt: skip
def test_g29_a_restart_loses_nothing_that_the_client_carries(front, behind, stream):
    """G29. After a restart, with an empty store, a client that returns its blocks goes on with its reasoning.

    Elsewhere: the cache is in the memory of one process, and the transcript of the client lives for weeks.
    Here: a foreign seal rides in an envelope that any process with the same key opens.
    Seen failing: EnvelopeSealer with a key of its own for each process.
    """
    upstream = Upstream()

    async def go_on():
        client = Client(Served(upstream=upstream, key=KEY), front, BEHIND[behind], stream=stream)
        client.history.append(iv.user(QUESTION))
        (call,) = (await client.turn()).tool_calls
        client.history.append(tool_result(call.id, "Lisbon: sunshine"))
        client.served = Served(upstream=upstream, key=KEY)
        answer = await client.turn()
        return client.served.reports[-1], answer

    report, answer = asyncio.run(go_on())
    assert [200, 200] == upstream.statuses
    assert report.kept >= 1
    assert 0 == report.restored
    assert ["Oslo"] == [json.loads(call.arguments)["city"] for call in answer.tool_calls]


@pytest.mark.parametrize("days", [0, 20, 31])
@pytest.mark.parametrize("behind", FOUR)
def test_g29_a_restart_loses_nothing_that_the_client_drops(behind, days, tmp_path):
    """G29. The same for a client that drops its reasoning, and goes on weeks later; what was not used for 30 days is gone.

    Elsewhere: the cache lives for minutes or hours.
    Here: the store is on disk, for 30 days after the last use.
    Seen failing: Turns.put storing nothing; Retention of an hour.
    """
    upstream, now = Upstream(), time.time()

    async def go_on():
        store = SqliteStore(tmp_path / "gateway.db")
        client = Client(Served(upstream=upstream, key=KEY, store=store), "openai-chat", BEHIND[behind], loses=True)  # fmt: skip
        client.history.append(iv.user(QUESTION))
        (call,) = (await client.turn()).tool_calls
        await store.close()
        client.history.append(tool_result(call.id, "Lisbon: sunshine"))
        store = SqliteStore(tmp_path / "gateway.db", now=lambda: now + days * 86_400)
        client.served = Served(upstream=upstream, key=KEY, store=store)
        await client.turn()
        await store.close()
        return client.served.reports[-1]

    report = asyncio.run(go_on())
    assert [200, 200] == upstream.statuses
    assert (days <= 30) == (report.restored >= 1)


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize("size", [20_000, 300_000])
@pytest.mark.parametrize("front", FOUR)
@pytest.mark.parametrize("behind", ["openai-chat", "gemini"])
def test_g30_long_reasoning_goes_back_whole(front, behind, size, loses):
    """G30. Reasoning of any length goes back to its model as it was, or not at all.

    Elsewhere: what is stored is cut at 10 kB.
    Here: envelopes carry up to 64 kB, the store has all of it, and nothing is ever shortened.
    Seen failing: TurnRestorer.record with a text of at most 10,000 characters.
    """
    draw = random.Random(7)
    thought = " ".join(f"{draw.getrandbits(40):x}" for _ in range(size // 11))
    call = {"name": "get_weather", "arguments": {"city": "Lisbon"}}
    script = [{"think": thought, "call": call}, {"think": "Done.", "answer": "Sunshine."}]
    upstream = Upstream(Emulator(script=script))
    served = Served(upstream=upstream)
    client = Client(served, front, BEHIND[behind], loses=loses)
    client.max_tokens = 128_000

    assert "Sunshine." == asyncio.run(client.say(QUESTION)).text
    assert thought in words(upstream.requests[-1]["messages" if behind == "openai-chat" else "contents"]) or (
        behind == "gemini" and served.reports[-1].kept >= 1
    )  # fmt: skip


# ---- streams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("behave", ["", "+pieces=3", "+redact+pieces=2"])
def test_g31_every_stream_is_legal(front, behind, behave):
    """G31. Thinking stands in thinking blocks and text in text blocks, each opened and closed once, for every pair of dialects.

    Elsewhere: thinking in a text block, a second segment that is never opened, a first block that is opened before its kind is known.
    Here: every stream obeys its dialect's grammar, and reads as the whole answer does.
    Seen failing: AnswerEncoder._open leaving the earlier block open.
    """
    served, settings = Served(), {"reasoning": iv.Reasoning("high", show="summary"), "max_tokens": 8000}  # fmt: skip
    replies = []
    for stream in (False, True):
        path, body = body_of(front, BEHIND[behind] + behave, [iv.user(ASKED)], stream=stream, **settings)  # fmt: skip
        replies.append(served.ask("POST", path, body))
    whole, streamed = (read(reply, front) for reply in replies)

    assert [] == complaints(front, replies[1].body)
    assert "15 * 23 = 345." == streamed.text == whole.text
    assert streamed.thinking == whole.thinking
    assert streamed.thinking


CHUNKS = [
    {"role": "assistant", "content": None, "reasoning_content": None},
    {"content": "", "reasoning_content": "First "},
    {"content": "It ", "reasoning_content": "the tens."},
    {"content": "is 345."},
]


def _chunk(delta, finish=None, **members):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "deepseek-v4-pro", "choices": [choice], **members}  # fmt: skip


@pytest.mark.parametrize("front", DIALECTS)
def test_g31_a_chunk_with_both_kinds(front):
    """G31. A chunk that ends the reasoning and begins the answer is read as both.

    Elsewhere: a chunk with thinking and a signature, or with thinking and text, is a 500 or loses one of them.
    Here: both go out, each in its own block.
    Seen failing: AnswerEncoder._open leaving the earlier block open.
    """
    data = sse(*map(_chunk, CHUNKS), _chunk({}, "stop"), done=True)
    served = serve(Scripted(Answer(*frames(data))))
    path, body = body_of(front, BEHIND["openai-chat"], [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)
    answer = read(reply, front)

    assert [] == complaints(front, reply.body)
    assert ("First the tens.", "It is 345.") == (answer.thinking, answer.text)


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
def test_g32_parallel_calls_stay_apart(front, behind):
    """G32. Two calls in one turn are two calls for the client, with their own ids and arguments, and their results find them.

    Elsewhere: all in one slot, fragments behind the end of a block, calls of one name merged.
    Here: a slot is a call's identity; where a dialect forbids interleaving, later calls wait.
    Seen failing: AnswerEncoder._open numbering all blocks 0.
    """
    served = Served()
    client = Client(served, front, BEHIND[behind], stream=True)
    answer = asyncio.run(client.say("What is the weather in Lisbon and Oslo?"))
    calls = client.answers[0].tool_calls

    assert [] == complaints(front, client.replies[0].body)
    assert ["Lisbon", "Oslo"] == [json.loads(call.arguments)["city"] for call in calls]
    assert 2 == len({call.id for call in calls})
    assert "Lisbon: sunshine" in answer.text
    assert "Oslo: sunshine" in answer.text
    assert {200} == set(served.upstream.statuses)


def _gemini(*parts, finish=None):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-3.5-flash", "responseId": "r-1"}


CITIES = ["Lisbon", "Oslo", "Rome"]


def _one_chunk_each():
    """Gemini sends each call as the first part of a chunk of its own, without an id."""
    calls = [{"functionCall": {"name": "get_weather", "args": {"city": city}}} for city in CITIES]
    calls[0]["thoughtSignature"] = "c2ln"
    return sse(*map(_gemini, calls), _gemini({"text": ""}, finish="STOP"))


def _fragments_in_turns():
    """A chat host that sends the arguments of three calls a few characters at a time, in turns."""
    starts = [
        {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": "get_weather", "arguments": ""}}
        for at in range(3)
    ]  # fmt: skip
    texts = [json.dumps({"city": city}) for city in CITIES]
    pieces = [
        {"index": at, "function": {"arguments": texts[at][start : start + 4]}}
        for start in range(0, max(map(len, texts)), 4)
        for at in range(3)
    ]
    deltas = [{"role": "assistant", "content": None}]
    deltas += [{"tool_calls": [entry]} for entry in (*starts, *pieces)]
    return sse(*map(_chunk, deltas), _chunk({}, "tool_calls"), done=True)


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize(
    ("behind", "data"), [("gemini", _one_chunk_each()), ("openai-chat", _fragments_in_turns())]
)
def test_g32_calls_that_come_in_turns(front, behind, data):
    """G32. The same where the provider sends the calls mixed, or all in the same place.

    Elsewhere: same-named calls of Gemini merge into one, fragments of a chat host mix.
    Here: three calls, in their order, each with its own arguments.
    Seen failing: AnswerEncoder._open numbering all blocks 0.
    """
    served = serve(Scripted(Answer(*frames(data))))
    path, body = body_of(front, BEHIND[behind], [iv.user(ASKED)], stream=True, tools=TOOLS)
    reply = served.ask("POST", path, body)
    answer = read(reply, front)

    assert [] == complaints(front, reply.body)
    assert CITIES == [json.loads(call.arguments)["city"] for call in answer.tool_calls]
    assert 3 == len({call.id for call in answer.tool_calls})
    assert "tool_calls" == answer.finish_reason


# ---- counts ----------------------------------------------------------------------------------------

COUNTED = {
    "anthropic": ("/v1/messages/count_tokens", "input_tokens"),
    "gemini": ("/v1beta/models/{}:countTokens", "totalTokens"),
    "openai-responses": ("/v1/responses/input_tokens", "input_tokens"),
}
SYSTEM = "Be brief. " * 400


def _count(served, front, model, **settings):
    path, member = COUNTED[front]
    _, body = body_of(front, model, [iv.user(ASKED)], system=SYSTEM, **settings)
    reply = served.ask("POST", path.format(model), body)
    return reply, reply.json.get(member)


@pytest.mark.parametrize("front", COUNTED)
@pytest.mark.parametrize("behind", DIALECTS)
def test_g33_tokens_are_counted_for_every_model(front, behind):
    """G33. A client gets a count of all that is sent, system and tools too, for every model; an estimate says that it is one.

    Elsewhere: a 404 that suspends the model for hours, 48 of 728 tokens, or 0, which breaks what clients show.
    Here: the provider's own counter where it has one, else an estimate with a header; tools make it more.
    Seen failing: estimate without the system prompt; counted without ESTIMATED.
    """
    served = Served()
    reply, count = _count(served, front, BEHIND[behind])
    _, more = _count(served, front, BEHIND[behind], tools=TOOLS)

    assert 200 == reply.status
    assert count > len(SYSTEM) / 8
    assert more > count
    has_counter = behind in ("anthropic", "gemini", "openai-responses")
    assert (None if has_counter else "estimate") == reply.headers.get("x-innervoice-count")
    assert has_counter == bool(served.upstream.requests)


@pytest.mark.parametrize("status", [404, 429, 500, None])
@pytest.mark.parametrize(("front", "behind"), [("anthropic", "anthropic"), ("openai-responses", "gemini")])  # fmt: skip
def test_g33_a_counter_that_fails_is_no_failure_of_the_model(front, behind, status):
    """G33. If the provider's counter fails, the client gets an estimate, and the model is asked for answers as before.

    Elsewhere: a count that fails counts as a failure of the model, which is not asked for hours.
    Here: an estimate, marked as one, and no circuit hears of it.
    Seen failing: _asked without its except.
    """
    failing = BrokenError("refused") if status is None else Answer(b"{}", status=status)
    served = serve(Scripted(failing))
    for _ in range(7):
        reply, count = _count(served, front, BEHIND[behind])
        assert (200, "estimate") == (reply.status, reply.headers.get("x-innervoice-count"))
        assert count > len(SYSTEM) / 8

    assert [] == asyncio.run(served.gateway.readiness())["upstreams"]


@pytest.mark.parametrize("behind", DIALECTS)
def test_g34_the_context_is_known_from_the_first_event(behind):
    """G34. `message_start` has an estimate of the input, and `message_delta` the provider's own count.

    Elsewhere: 0 in message_start makes Claude Code show 0 % and never compact.
    Here: never 0, and in the end the truth.
    Seen failing: StreamedAnswer with an estimate of 0.
    """
    served = Served()
    path, body = body_of("anthropic", BEHIND[behind], [iv.user(ASKED)], stream=True, system=SYSTEM)
    reply = served.ask("POST", path, body)
    told = {event["type"]: event for event in events(reply)}
    start = told["message_start"]["message"]["usage"]["input_tokens"]
    end = told["message_delta"]["usage"]["input_tokens"]

    assert start > len(SYSTEM) / 8
    assert served.reports[-1].usage.input_tokens == end > len(SYSTEM) / 8


# ---- flags -----------------------------------------------------------------------------------------

LONG, INTERLEAVED, UNKNOWN = "context-1m-2025-08-07", "interleaved-thinking-2025-05-14", "feature-of-2027-01-01"  # fmt: skip
FLAGS = f"{LONG}, {INTERLEAVED},{UNKNOWN}"


@pytest.mark.parametrize(
    ("model", "header", "member"),
    [
        ("anthropic/claude-opus-5-5", [LONG, INTERLEAVED, UNKNOWN], None),
        ("vertex/claude-opus-5-5", [LONG, INTERLEAVED], None),
        ("bedrock/us.anthropic.claude-sonnet-4-5-v1:0", [], [LONG]),
        ("bedrock-invoke/us.anthropic.claude-sonnet-4-5-v1:0", [], [LONG]),
        ("bedrock/amazon.nova-2-lite-v1:0", [], None),
        ("minimax/MiniMax-M3", [], None),
        ("openai/gpt-5.6", [], None),
        ("gemini/gemini-3.5-flash", [], None),
        ("deepseek/deepseek-v4-pro", [], None),
    ],
)
def test_g35_flags_go_where_they_are_known(model, header, member):
    """G35. A flag of `anthropic-beta` goes to the hosts that know it, in the form that they want; the others are noted.

    Elsewhere: dropped (200k in place of 1M), or forwarded to Bedrock and Vertex, which answer 400.
    Here: a table of hosts and flags. What nobody knows goes to Anthropic alone.
    Seen failing: known_betas returning all flags.
    """
    served = Served()
    path, body = body_of("anthropic", model, [iv.user(ASKED)], max_tokens=4000)
    reply = served.ask("POST", path, body, {"anthropic-beta": FLAGS})
    (sent,), (request,) = served.upstream.headers, served.upstream.requests
    kept = [*header, *(member or [])]

    assert 200 == reply.status, reply.body
    assert ",".join(header) == sent.get("anthropic-beta", "")
    assert member == request.get("additionalModelRequestFields", request).get("anthropic_beta")
    assert [flag for flag in (LONG, INTERLEAVED, UNKNOWN) if flag not in kept] == noted(served).get("header_dropped", [])  # fmt: skip


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", "vertex/claude-opus-5-5", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"])  # fmt: skip
def test_g35_no_flag_is_added(front, model):
    """G35. The gateway asks for no feature that its client did not ask for.

    Elsewhere: a retired flag that the gateway adds is a 400 in every request.
    Here: without a flag of the client there is none.
    Seen failing: passed_on beginning with a flag of its own.
    """
    served = Served()
    path, body = body_of(front, model, [iv.user(ASKED)], reasoning="high", max_tokens=4000)

    assert 200 == served.ask("POST", path, body).status
    assert "anthropic-beta" not in served.upstream.headers[0]
    assert "anthropic_beta" not in words(served.upstream.requests[0])


def test_g35_flags_of_a_converse_client():
    """G35. The flags in the body of a Converse client are a header at Anthropic, and not an unknown member.

    Elsewhere: "Extra inputs are not permitted".
    Here: the same flags, where the host wants them; at Bedrock they stay as they came.
    Seen failing: asked_betas without the members of bodies.
    """
    path, body = body_of("bedrock-converse", "anthropic/claude-opus-5-5", [iv.user(ASKED)], max_tokens=4000)  # fmt: skip
    body["additionalModelRequestFields"] = {"anthropic_beta": [LONG]}
    served = Served()
    assert 200 == served.ask("POST", path, body).status
    assert LONG == served.upstream.headers[0]["anthropic-beta"]
    assert "anthropic_beta" not in words(served.upstream.requests[0])
    assert not noted(served).keys() & {"extra_dropped", "header_dropped"}

    model = BEHIND["bedrock-converse"]
    at_home = Served()
    assert 200 == at_home.ask("POST", path.replace("anthropic/claude-opus-5-5", model), body).status
    assert body == at_home.upstream.requests[0]


def test_g35_flags_outlive_a_refusal():
    """G35. A request that is sent again without a refused seal keeps its flags.

    Elsewhere: a retry is made from something else than the request.
    Here: what was added stays added.
    Seen failing: GatewayExchange.rewritten without with_members.
    """
    served, model = Served(), BEHIND["bedrock-converse"]
    history = [iv.user(ASKED)]
    for emulator in (served.upstream.emulator, Emulator(key=b"of another account")):
        served.upstream.emulator = emulator
        path, body = body_of("anthropic", model, history, reasoning="high", max_tokens=4000)
        reply = served.ask("POST", path, body, {"anthropic-beta": LONG})
        history += [read(reply, "anthropic").message, iv.user("And 2 * 2?")]

    # The first refusal is of what was appended to last time's bytes: it is read as a whole, and only then reduced.
    assert [200, 400, 400, 200] == served.upstream.statuses
    added = [request["additionalModelRequestFields"]["anthropic_beta"] for request in served.upstream.requests]  # fmt: skip
    assert [[LONG]] * 4 == added


# ---- ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", FOUR)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.95])
def test_g36_a_cut_ends_in_a_legal_end(front, behind, share):
    """G36. A stream that breaks off upstream ends for the client with an error in its own words, wherever it broke.

    Elsewhere: silence; "stream closed before response.completed", and clients that ask again and again.
    Here: one legal terminal event, always; or a status, if nothing had been sent.
    Seen failing: _broken returning an answer that ended well.
    """
    data = recorded(behind)
    http = Scripted(Answer(data[: int(len(data) * share)], BrokenError("reset by peer")))
    served = serve(http, retries=0)
    path, body = body_of(front, BEHIND[behind], [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)

    if reply.status != 200:
        assert 502 == reply.status
        return
    assert [] == complaints(front, reply.body)
    try:
        answer = read(reply, front)
    except iv.ProviderError:
        return
    is_complete = answer.error is None and answer.ended
    assert is_complete == (answer.text == "15 * 23 = 345." and served.reports[-1].error is None)


@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_g36_codex_finds_every_count(behind, stream):
    """G36. A Responses client gets all counts that its parser demands, from every provider.

    Elsewhere: `reasoning_tokens` is missing in usage, which Codex cannot parse.
    Here: input, output, total, cached and reasoning tokens, always numbers.
    Seen failing: the usage of Responses without output_tokens_details.
    """
    served = Served()
    path, body = body_of("openai-responses", BEHIND[behind], [iv.user(ASKED)], stream=stream, reasoning="high", max_tokens=4000)  # fmt: skip
    reply = served.ask("POST", path, body)
    response = events(reply)[-1]["response"] if stream else reply.json
    usage = response["usage"]

    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert isinstance(usage["input_tokens_details"]["cached_tokens"], int)
    assert isinstance(usage["output_tokens_details"]["reasoning_tokens"], int)


def test_g36_codex_finds_counts_that_nobody_made():
    """G36. The same where the provider counts nothing.

    Elsewhere: `usage: null` is a parse error.
    Here: the members are there or the object is not; no count is invented.
    Seen failing: the usage of Responses without output_tokens_details.
    """
    data = sse(*map(_chunk, CHUNKS), _chunk({}, "stop"), done=True)
    served = serve(Scripted(Answer(data)))
    path, body = body_of("openai-responses", BEHIND["openai-chat"], [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)
    last = events(reply)[-1]

    assert "response.completed" == last["type"]
    usage = last["response"]["usage"]
    assert usage is None or isinstance(usage["output_tokens_details"]["reasoning_tokens"], int)


OVERLOADED = {
    "anthropic": sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "openai-responses": sse({"type": "error", "code": "server_is_overloaded", "message": "Overloaded", "param": None, "sequence_number": 2}),
    "openai-chat": sse({"error": {"message": "Overloaded", "type": "server_error", "code": 503}}),
    "gemini": sse({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
}  # fmt: skip
HANDSHAKE = {"anthropic": 1, "openai-responses": 2, "openai-chat": 1, "gemini": 0}
"""How many events of a stream say nothing yet."""


@pytest.mark.parametrize("front", FOUR)
@pytest.mark.parametrize("behind", OVERLOADED)
def test_g37_an_overload_behind_the_handshake(front, behind):
    """G37. A provider that opens a stream and is then overloaded is asked again, or another is; the client sees one answer.

    Elsewhere: the handshake was passed on, so there is no way back, and the client gets an error.
    Here: nothing leaves before something was said; signs of life meanwhile.
    Seen failing: StreamedAnswer.take without has_output; Serving._ask taking a sign of life for an answer.
    """
    data = recorded(behind)
    overloaded = Answer(beginning_of(data, HANDSHAKE[behind]), Wait(0.1), OVERLOADED[behind])
    http = Scripted(overloaded, overloaded, Answer(data))
    route = NamedModel(name="agent", to=(BEHIND[behind], BEHIND["openai-chat"]))
    if behind == "openai-chat":
        route = NamedModel(name="agent", to=(BEHIND[behind],))
    served = serve(http, models=(route,), ping_seconds=0.03, retries=2)
    if behind != "openai-chat":
        http.answers[2] = Answer(recorded("openai-chat"))
    path, body = body_of(front, "agent", [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)
    answer = read(reply, front)

    assert 3 == len(http.requests)
    assert [] == complaints(front, reply.body)
    assert ("15 * 23 = 345.", None) == (answer.text, answer.error)
    assert b"verloaded" not in reply.body
    assert signs_of_life(reply)


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_g38_reasoning_is_shown_once(front, behind, stream):
    """G38. What the model thought stands in one place of the answer, whole and streamed.

    Elsewhere: in a field and in blocks at once, so that interfaces show it twice.
    Here: one channel for each dialect; what a host repeats (`mirror`) is read once.
    Seen failing: ChatWriter with another name of `reasoning_content`.
    """
    served = Served()
    path, body = body_of(
        front, BEHIND[behind] + "+mirror+size=9999", [iv.user(ASKED)], stream=stream,
        reasoning=iv.Reasoning("high", show="summary"), max_tokens=4000,
    )  # fmt: skip
    reply = served.ask("POST", path, body)
    answer = read(reply, front)
    first = answer.thinking.splitlines()[0]

    assert 1 == " ".join(part.text for part in thoughts(answer.message)).count(first)
    if served.reports[-1].way == "bytes" or (front == "openai-responses" and stream):
        return  # the provider's own bytes; and Responses says an item again when it is done
    assert 1 == reply.body.decode("utf-8", "replace").count(json.dumps(first)[1:-1])
