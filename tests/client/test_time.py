"""`timeout` ends a call at about its time, whatever the server sends in the meantime and however it sends it."""

import time
import zlib

import httpx2
import pytest

import innervoice as iv
from client.faulty import (
    COMMENT,
    DONE,
    STOP,
    WORDS,
    Endless,
    Faulty,
    chunk,
    delta,
    head,
)
from client.harness import KEY, VERBS

TIMEOUT = 0.4
LONGEST = 8.0
"""Seconds; far more than a call takes on a busy machine, and far less than forever."""

STREAM = head(kind="text/event-stream")
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
SIGNS_OF_LIFE = {
    "comments": COMMENT,
    "pings": PING,
    "blank lines": b"\n\n",
    "carriage returns": b"\r\n",
    "empty deltas": delta(),
}


def late(verb, kind, script, **settings):
    """The error of a call that takes too long."""
    asked = {"provider": "deepseek", "api_key": KEY, "retries": 0, "timeout": TIMEOUT, **settings}
    with Faulty(script) as server:
        begun = time.monotonic()
        outcome = VERBS[verb](kind, {**asked, "base_url": server.url})
        took = time.monotonic() - begun
    assert isinstance(outcome.error, iv.TimedOutError), outcome
    assert took < LONGEST
    return outcome.error


@pytest.mark.parametrize("pause", [0.01, 0.0], ids=["slow", "flood"])
@pytest.mark.parametrize("sign", SIGNS_OF_LIFE)
def test_signs_of_life_forever(sign, pause, kind):
    """They end a silence, and not the time in all, even if the client never waits for one."""
    again = [chunk(SIGNS_OF_LIFE[sign]), pause] if pause else [chunk(SIGNS_OF_LIFE[sign]) * 500]
    error = late("stream", kind, Endless(STREAM + chunk(WORDS), again=again))

    assert error.limit == "total"
    assert error.response.text == "It is "


HEADERS = b"HTTP/1.1 200 OK\r\nx-long: "
BREAKS = zlib.compressobj(wbits=31)
NOTHING = BREAKS.compress(b"") + BREAKS.flush(zlib.Z_SYNC_FLUSH)
MORE_NOTHING = BREAKS.flush(zlib.Z_FULL_FLUSH) or b"\x00\x00\x00\xff\xff"
DROPS = {
    "headers": Endless(HEADERS, again=[b"a", 0.02]),
    "interim responses": Endless(again=[b"HTTP/1.1 100 Continue\r\n\r\n", 0.02]),
    "early hints at once": Endless(again=[b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100]),
    "chunk extension": Endless(STREAM + b"5;name=", again=[b"a", 0.02]),
    "trailers": Endless(STREAM + chunk(WORDS) + b"0\r\nx-long: ", again=[b"a", 0.02]),
    "compressed nothing": Endless(
        head(kind="text/event-stream", content_encoding="gzip") + chunk(NOTHING),
        again=[chunk(MORE_NOTHING), 0.02],
    ),
    "body": Endless(head(length=10_000_000) + b'{"id": "', again=[b"a", 0.02]),
}


@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize("place", DROPS)
def test_one_byte_after_another(place, verb, kind):
    """Bytes of which the reader of an answer sees nothing."""
    assert late(verb, kind, DROPS[place]).limit == "total"


@pytest.mark.parametrize("status", [429, 500])
def test_refusal_that_does_not_end(status, kind):
    """Its status is known, so it is the error of that status; and it comes in time."""
    script = Endless(head(status, 10_000_000) + b'{"error": "', again=[b"a", 0.02])
    settings = {"provider": "deepseek", "api_key": KEY, "retries": 2, "timeout": TIMEOUT}
    with Faulty(script) as server:
        begun = time.monotonic()
        error = VERBS["ask"](kind, {**settings, "base_url": server.url}).error
        took = time.monotonic() - begun

    assert error.status == status
    assert took < LONGEST


def test_time_of_the_caller_does_not_count():
    """Only the reading counts: who takes a long time for each event loses nothing."""

    class Slow(httpx2.SyncByteStream):
        def __iter__(self):
            yield from [WORDS, WORDS, WORDS, STOP, DONE]

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Slow()))
    http = httpx2.Client(transport=transport)
    client = iv.Client(http=http, keys={"deepseek": KEY}, timeout=0.3)
    with client.stream("deepseek/deepseek-v4", "Hi") as events:
        for _ in events:
            time.sleep(0.15)

    assert events.response.status == "answered"
