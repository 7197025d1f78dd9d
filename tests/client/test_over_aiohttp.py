"""aiohttp as the road: the same answers, the same errors. Where aiohttp is not installed, all but the first are skipped."""

import asyncio
import sys
from importlib.util import find_spec

import pytest

import innervoice as iv
from client.faulty import (
    CLOSE,
    COMMENT,
    FRAMES,
    SILENCE,
    THOUGHT,
    Faulty,
    chunk,
    free_port,
    head,
    stream,
    whole,
    zipped,
)
from client.harness import KEY
from innervoice.client.over_aiohttp import OverAiohttp

MODEL = "deepseek/deepseek-v4"
ONCE = {"provider": "deepseek", "api_key": KEY, "retries": 0, "idle_timeout": 5.0, "timeout": 10.0}
needs_aiohttp = pytest.mark.skipif(not find_spec("aiohttp"), reason="aiohttp is not installed")


def asked(url, *, http=True, streamed=True, **settings):
    """What an `AsyncClient` gives, over aiohttp or not: the events, and the response or the error."""

    async def main():
        road = OverAiohttp() if http else None
        events, response, error = [], None, None
        async with iv.AsyncClient(**{**ONCE, "base_url": url, **settings}, http=road) as client:
            try:
                if streamed:
                    async with client.stream(MODEL, "hi") as answer:
                        events = [event async for event in answer]
                        response = answer.response
                else:
                    response = await client.ask(MODEL, "hi")
            except iv.InnervoiceError as problem:
                error = problem
        if road:
            await road.aclose()
        return events, response, error

    return asyncio.run(main())


def test_what_is_missing_is_said(monkeypatch):
    """Without aiohttp an error says what to install."""
    monkeypatch.setitem(sys.modules, "aiohttp", None)

    with pytest.raises(iv.UsageError, match=r"innervoice\[aiohttp\]"):
        OverAiohttp()


@needs_aiohttp
@pytest.mark.parametrize(
    "script", [stream(*FRAMES), stream(THOUGHT, COMMENT, *FRAMES[1:]), zipped(*FRAMES)]
)
def test_stream(script):
    """Events and response are those that httpx2 brings."""
    with Faulty(script) as server:
        expected = asked(server.url, http=False)
        given = asked(server.url)

    assert expected[1:] == given[1:]
    assert expected[0] == given[0]
    assert "Hmm." == given[1].thinking


@needs_aiohttp
def test_ask():
    with Faulty(whole()) as server:
        _, response, error = asked(server.url, streamed=False)

    assert error is None
    assert ("Hmm.", "It is 345.") == (response.thinking, response.text)
    assert f"Bearer {KEY}" == server.requests[0][1]["authorization"]


@needs_aiohttp
def test_silence():
    """The limit on a silence holds, though nobody but aiohttp watches it."""
    with Faulty([head(kind="text/event-stream"), chunk(THOUGHT), SILENCE]) as server:
        _, _, error = asked(server.url, idle_timeout=0.1)

    assert isinstance(error, iv.TimedOutError)
    assert "idle" == error.limit
    assert "Hmm." == error.response.thinking


@needs_aiohttp
def test_total():
    """The limit on all waiting holds to the moment."""
    with Faulty([head(kind="text/event-stream"), chunk(THOUGHT), SILENCE]) as server:
        _, _, error = asked(server.url, idle_timeout=5.0, timeout=0.2)

    assert isinstance(error, iv.TimedOutError)
    assert "total" == error.limit


@needs_aiohttp
def test_broken_off():
    with Faulty([head(kind="text/event-stream"), chunk(THOUGHT), CLOSE]) as server:
        _, _, error = asked(server.url)

    assert isinstance(error, iv.AnswerInterruptedError)
    assert "Hmm." == error.response.thinking


@needs_aiohttp
def test_nobody_answers():
    _, _, error = asked(f"http://127.0.0.1:{free_port()}")

    assert isinstance(error, iv.ConnectionFailedError)


@needs_aiohttp
def test_address_that_is_none():
    _, _, error = asked("nowhere")

    assert isinstance(error, iv.UsageError)


@needs_aiohttp
def test_refusal():
    body = b'{"error": {"message": "no", "type": "invalid_request_error"}}'
    with Faulty([head(400, len(body)), body]) as server:
        _, _, error = asked(server.url)

    assert isinstance(error, iv.BadRequestError)


@needs_aiohttp
def test_key_is_not_shown():
    request = OverAiohttp().build_request(
        "POST", "http://x", headers={"authorization": KEY}, content=b"", extensions={}
    )

    assert KEY not in repr(request)
