"""Streams through the gateway: silences, breaks, clients that are slow or leave."""

import asyncio
import json
from contextlib import suppress

import pytest

import innervoice as iv
from gateway.harness import BEHIND, HOMES, URLS, Served, body_of, read
from gateway.upstreams import Answer, BrokenError, Scripted, Wait, frames
from innervoice.conversation.turns import seals_of
from innervoice.emulator.core import Emulator
from innervoice.errors import TimedOutError
from innervoice.frames.sniff import AnyFraming
from innervoice.gateway.config import (
    GatewayConfig,
    ModelReasoning,
    NamedModel,
    ServerSettings,
)
from innervoice.wire.dialects import DIALECTS, dialect_named

ASKED = "What is 15 * 23?"


def recorded(dialect) -> bytes:
    """A stream of the emulator in a dialect."""
    model = HOMES[dialect]
    request = iv.Request(
        model, (iv.user(ASKED),), stream=True, reasoning="high", max_tokens=4000, dialect=dialect,
        base_url=URLS[model.partition("/")[0]],
    )  # fmt: skip
    wire = iv.encode(request)
    path = wire.url.removeprefix("http://emulator")
    reply = Emulator().reply(
        "POST", path, {"authorization": "Bearer x"}, json.dumps(wire.body).encode()
    )
    assert reply.status == 200, reply.body
    return reply.body


def config(models=(), **server):
    return GatewayConfig(server=ServerSettings(**server), models=models)


def serve(http, **server):
    served = Served(config(**server), http=http)
    served.gateway.pings._step = 0.01
    return served


def ask(served, dialect, model, **how):
    path, body = body_of(dialect, model, [iv.user(ASKED)], stream=True)
    return served.call("POST", path, body, **how)


def complaints(dialect, data):
    framing = AnyFraming()
    frames = [*framing.feed(data), *framing.finish()]
    return [str(found) for found in dialect_named(dialect).grammar(None).check(frames)]


@pytest.mark.parametrize("front", ["anthropic", "openai-chat", "openai-responses", "gemini"])
@pytest.mark.parametrize("behind", ["anthropic", "openai-chat", "gemini"])
def test_silences_have_signs_of_life(front, behind):
    pieces = frames(recorded(behind))
    half = len(pieces) // 2
    http = Scripted(Answer(Wait(0.2), *pieces[:half], Wait(0.2), *pieces[half:]))
    reply = asyncio.run(ask(serve(http, ping_seconds=0.05), front, BEHIND[behind]))
    # Google's SDKs take a comment for a broken message, and one a blank line: theirs is the beginning of the next event.
    signs = [
        piece
        for piece in reply.pieces
        if piece.startswith((b": ", b":\n", b"event: ping")) or piece in (b"data: ", b" ")
    ]
    assert len(signs) >= 2
    assert reply.pieces.index(signs[0]) == 0, "the first silence is before the answer"
    answer = read(reply, front)
    assert answer.text == "15 * 23 = 345."
    assert answer.ended


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
def test_a_cut_has_a_legal_end(front, behind):
    data = recorded(behind)
    http = Scripted(Answer(data[: len(data) * 2 // 3], BrokenError("reset by peer")))
    served = serve(http, retries=0)
    reply = asyncio.run(ask(served, front, BEHIND[behind]))
    if reply.status == 200:
        assert complaints(front, reply.body) == []
        with suppress(iv.ProviderError):
            assert read(reply, front).error is not None, "an answer that was cut says so"
    else:
        assert reply.status == 502, "nothing had been sent"
    assert served.reports[-1].error == "AnswerInterruptedError"


@pytest.mark.parametrize("behind", ["anthropic", "openai-chat"])
def test_a_client_that_leaves_ends_the_answer_upstream(behind):
    pieces = frames(recorded(behind))

    async def leave():
        gone = asyncio.Event()
        answer = Answer(*pieces[:4], Wait())
        served = serve(Scripted(answer))
        asking = asyncio.ensure_future(ask(served, "anthropic", BEHIND[behind], leaves=gone))
        await answer.waits.wait()
        gone.set()
        await asyncio.wait_for(asking, 2)
        return served, answer

    served, answer = asyncio.run(leave())
    assert answer.is_closed
    assert served.reports[-1].status == 499


def test_a_slow_client_slows_the_upstream():
    pieces = frames(recorded("anthropic"))

    async def crawl():
        answer = Answer(*pieces)
        served = serve(Scripted(answer))
        stuck = asyncio.Event()

        async def reads(message):
            if message["type"] == "http.response.body":
                await stuck.wait()

        asking = asyncio.ensure_future(ask(served, "openai-chat", BEHIND["anthropic"], reads=reads))
        await asyncio.sleep(0.1)
        given = answer.given
        stuck.set()
        await asking
        return given, answer.given

    given, in_the_end = asyncio.run(crawl())
    assert given < in_the_end, "the upstream is read only as fast as the client reads"
    assert given <= 5


@pytest.mark.parametrize(
    ("steps", "limit", "words"),
    [
        ((Wait(),), {"first_byte_seconds": 0.1}, "no answer within 0.1 s"),
        ((b"", Wait()), {"idle_seconds": 0.1}, "no data for 0.1 s"),
        ((Wait(),), {"total_seconds": 0.1}, "not finished within 0.1 s"),
    ],
)
def test_limits_are_apart(steps, limit, words):
    first, *_ = frames(recorded("anthropic"))
    answer = Answer(*(first if step == b"" else step for step in steps))
    reply = asyncio.run(
        ask(serve(Scripted(answer), retries=0, **limit), "anthropic", BEHIND["anthropic"])
    )
    assert words in reply.body.decode()
    assert answer.is_closed
    assert reply.status == 504


@pytest.mark.parametrize("stream", [False, True])
def test_whole_and_streamed_answers_have_the_same_notes(stream):
    """What the client's API has no place for, and counts that are estimates, are noted in both."""
    signed = {"text": "", "thoughtSignature": "c2VhbA=="}
    parts = [{"executableCode": {"code": "1", "language": "PYTHON"}}, {"text": "Two."}, signed]
    body = {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]}
    data = json.dumps(body).encode()
    served = serve(Scripted(Answer(b"data: " + data + b"\n\n" if stream else data)))
    path, request = body_of("openai-chat", BEHIND["gemini"], [iv.user(ASKED)], stream=stream)
    reply = served.ask("POST", path, request)

    assert "Two." == read(reply, "openai-chat").text
    codes = {note.code for note in served.reports[-1].notes}
    assert {"part_without_place", "tokens_estimated"} <= codes
    assert read(reply, "openai-chat").usage.output_tokens


@pytest.mark.parametrize(
    ("asked", "sent", "is_noted"),
    [("low", "low", False), ("high", "high", False), ("max", "high", True)],
)
def test_the_limit_of_an_effort(asked, sent, is_noted):
    """An effort up to the limit goes on as it is; only one above it is limited, and noted."""
    limited = NamedModel(
        name="agent", to=(BEHIND["anthropic"],), reasoning=ModelReasoning(at_most="high")
    )
    http = Scripted(Answer(recorded("anthropic")))
    served = serve(http, models=(limited,))
    path, body = body_of("anthropic", "agent", [iv.user(ASKED)], stream=True, reasoning=asked)
    served.ask("POST", path, body)

    assert sent == json.loads(http.requests[-1]["body"])["output_config"]["effort"]
    codes = {note.code for note in served.reports[-1].notes}
    assert is_noted == ("effort_limited" in codes)


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (TimedOutError("5 s", "connect"), 2),
        (TimedOutError("300 s", "idle"), 1),
        (TimedOutError("600 s", "first byte"), 1),
    ],
)
def test_only_a_connection_that_was_never_there_goes_elsewhere(error, calls):
    """A model that thinks for too long would be paid twice if another were asked as well."""
    http = Scripted(error, Answer(recorded("openai-chat")))
    route = NamedModel(name="agent", to=(BEHIND["anthropic"], BEHIND["openai-chat"]))
    served = serve(http, models=(route,), retries=0)
    path, body = body_of("anthropic", "agent", [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path, body)

    assert calls == len(http.requests)
    assert (200 if calls == 2 else 504) == reply.status


class Late(Scripted):
    """An upstream that sends even the head of an answer late."""

    async def send(self, request, *, stream=True):
        await asyncio.sleep(0.2)
        return await super().send(request, stream=stream)


FAILURES = {
    429: b'{"error":{"message":"slow down"}}',
    400: b'{"error":{"message":"bad"}}',
    500: b'{"error":{"message":"broken"}}',
}


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("front", ["anthropic", "openai-chat", "gemini"])
def test_a_failure_after_a_ping_is_logged_with_its_status(front, status):
    """The head was sent with the ping: the client sees a 200, the operator what happened."""
    http = Late(Answer(FAILURES[status], status=status))
    served = serve(http, ping_seconds=0.02, retries=0)
    reply = asyncio.run(ask(served, front, BEHIND["anthropic"]))

    assert 200 == reply.status
    assert status == served.reports[-1].status
    assert served.reports[-1].error


def whole_body(dialect) -> bytes:
    """A whole answer of the emulator in a dialect."""
    model = HOMES[dialect]
    url = URLS[model.partition("/")[0]]
    request = iv.Request(model, (iv.user(ASKED),), reasoning="high", max_tokens=4000, dialect=dialect, base_url=url)  # fmt: skip
    wire = iv.encode(request)
    path, body = wire.url.removeprefix("http://emulator"), json.dumps(wire.body).encode()
    return Emulator().reply("POST", path, {"authorization": "Bearer x"}, body).body


def _sealed(answer):
    return [(type(part).__name__, *seals_of(part)) for part in answer.parts]


@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("front", ["the same", "anthropic", "openai-responses"])
@pytest.mark.parametrize("blanks", [b"", b"\n \n"])
def test_a_whole_body_in_answer_to_a_stream_is_a_stream(front, behind, blanks):
    """Seen failing: JSON as text/event-stream, where the bytes are forwarded."""
    front = behind if front == "the same" else front
    body = blanks + whole_body(behind)
    headers = {"content-type": "application/json"}
    served = serve(Scripted(Answer(body[:70], body[70:], headers=headers)))
    reply = asyncio.run(ask(served, front, BEHIND[behind]))
    answer = read(reply, front)

    assert 200 == reply.status, reply.body
    assert dialect_named(front).media_type == reply.headers["content-type"]
    assert [] == complaints(front, reply.body)
    assert ("15 * 23 = 345.", "stop", None) == (answer.text, answer.finish_reason, answer.error)
    if front == behind:
        sent = iv.decode(body, dialect=behind, model=HOMES[behind])
        assert _sealed(sent) == _sealed(answer)


def test_a_whole_body_in_answer_to_a_list_of_chunks_is_a_list():
    body = whole_body("gemini")
    served = serve(Scripted(Answer(body, headers={"content-type": "application/json"})))
    path, asked = body_of("gemini", BEHIND["gemini"], [iv.user(ASKED)], stream=True)
    reply = served.ask("POST", path.partition("?")[0], asked)

    assert isinstance(reply.json, list)
    assert "15 * 23 = 345." == iv.decode(reply.body, dialect="gemini").text
