"""What one call takes in place of the client's own: how long it waits, and headers."""

import asyncio
import time

import httpx2
import pytest

import innervoice as iv
from client.faulty import SILENCE, THOUGHT, WORDS, Faulty, chunk, head, stream, whole
from client.harness import KEY, VERBS

SILENT = [head(kind="text/event-stream") + chunk(THOUGHT) + chunk(WORDS), SILENCE]
PATIENT = {"provider": "deepseek", "api_key": KEY, "retries": 0, "timeout": 20, "idle_timeout": 20}


@pytest.mark.parametrize(
    ("verb", "fields", "limit"),
    [
        ("ask", {"timeout": 0.2}, "total"),
        ("stream", {"timeout": 0.2}, "total"),
        ("stream", {"idle_timeout": 0.2}, "idle"),
        ("ask", {"idle_timeout": 0.2, "stream": True}, "idle"),
    ],
)
def test_a_call_in_a_hurry(verb, fields, limit, kind):
    with Faulty(SILENT if fields != {"timeout": 0.2} or verb == "stream" else [SILENCE]) as server:
        start = time.monotonic()
        error = VERBS[verb](kind, {**PATIENT, "base_url": server.url}, **fields).error

    assert isinstance(error, iv.TimedOutError)
    assert (limit, "0.2 s" in str(error)) == (error.limit, True)
    assert time.monotonic() - start < 10


def test_a_call_with_time(kind):
    """None lifts the limit of the client, for this call alone."""
    slow = [*stream(THOUGHT, WORDS)[:-1], 0.4, *stream()[1:]]
    hasty = {**PATIENT, "timeout": 0.1, "idle_timeout": 0.1}
    with Faulty(slow) as server:
        outcome = VERBS["stream"](
            kind, {**hasty, "base_url": server.url}, timeout=None, idle_timeout=5
        )

    assert not isinstance(outcome.error, iv.TimedOutError)
    assert any(isinstance(event, iv.TextDelta) for event in outcome.events)


@pytest.mark.parametrize("seconds", [0, -1, "5", True])
@pytest.mark.parametrize("name", ["timeout", "idle_timeout"])
def test_seconds_are_checked(name, seconds):
    client = iv.Client(**PATIENT, base_url="http://127.0.0.1:1")
    with pytest.raises(iv.UsageError, match=f"{name} must be a number of seconds"):
        client.ask("deepseek-v4", "Hi", **{name: seconds})


def sent_headers(settings, **fields):
    """The headers that leave."""
    seen = []

    def handle(request):
        seen.append(request.headers)
        return httpx2.Response(200, content=whole()[0].partition(b"\r\n\r\n")[2])

    with httpx2.Client(transport=httpx2.MockTransport(handle)) as http:
        client = iv.Client(**{**PATIENT, **settings}, http=http)
        client.ask("deepseek-v4", "Hi", **fields)
        client.ask("deepseek-v4", "Hi")
    return seen


def test_headers_of_a_call():
    """They stand beside the client's, win over them, and are gone with the next call."""
    with_them, without = sent_headers(
        {"headers": {"x-team": "a", "x-one": "1"}}, headers={"X-Team": "b", "x-trace": "t"}
    )
    assert ("b", "1", "t") == tuple(with_them[name] for name in ("x-team", "x-one", "x-trace"))
    assert ("a", "1", None) == tuple(without.get(name) for name in ("x-team", "x-one", "x-trace"))


def test_a_key_of_a_call():
    """Who calls for somebody else sends their key, and the client's own stays at home."""
    with_it, without = sent_headers({}, headers={"authorization": "Bearer theirs"})
    assert ("Bearer theirs", f"Bearer {KEY}") == (
        with_it["authorization"],
        without["authorization"],
    )


def test_headers_are_checked():
    client = iv.Client(**PATIENT, base_url="http://127.0.0.1:1")
    with pytest.raises(iv.UsageError, match="'x-key' must be text") as error:
        client.ask("deepseek-v4", "Hi", headers={"x-key": "secret\n"})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("headers", [["x-a"], "x-a: b", 5])
def test_headers_are_a_dict(headers):
    client = iv.Client(**PATIENT, base_url="http://127.0.0.1:1")
    with pytest.raises(iv.UsageError, match="headers must be a dict of names and values, not"):
        client.ask("deepseek-v4", "Hi", headers=headers)


def test_misspelled_arguments_are_named():
    """With the one that was probably meant, and all that there are; of a client, a call and a conversation."""
    client = iv.Client(**PATIENT, base_url="http://127.0.0.1:1")
    misspelled = [
        lambda: iv.Client(time_out=3),
        lambda: iv.AsyncClient(time_out=3),
        lambda: client.ask("deepseek-v4", "Hi", time_out=5),
        lambda: client.stream("deepseek-v4", "Hi", time_out=5),
        lambda: client.answer_now("deepseek-v4", "Hi", think_at_most=9, time_out=5),
        lambda: client.conversation("deepseek-v4", time_out=5),
        lambda: client.conversation("deepseek-v4").ask("Hi", time_out=5),
        lambda: client.conversation("deepseek-v4").plan(time_out=5),
    ]
    for call in misspelled:
        with pytest.raises(
            iv.UsageError,
            match=r"'time_out' \(did you mean 'timeout'\?\); accepted are .*idle_timeout",
        ):
            call()


def test_a_conversation_in_a_hurry():
    """Settings of a conversation may be those of its calls; a plan has no use for them."""
    with Faulty([SILENCE]) as server, iv.Client(**PATIENT, base_url=server.url) as client:
        chat = client.conversation("deepseek-v4", timeout=0.2)
        with pytest.raises(iv.TimedOutError):
            chat.ask("Hi")

    assert chat.history == []


def test_an_async_conversation_in_a_hurry():
    async def main(url):
        async with iv.AsyncClient(**PATIENT, base_url=url) as client:
            chat = client.conversation("deepseek-v4")
            with pytest.raises(iv.TimedOutError):
                await chat.ask("Hi", timeout=0.2)

    with Faulty([SILENCE]) as server:
        asyncio.run(main(server.url))
