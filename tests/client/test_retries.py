"""What is tried again, after how long, and what is not."""

import time
from email.utils import formatdate

import pytest

import innervoice as iv
from client.faulty import (
    CLOSE,
    COMMENT,
    FRAMES,
    RESET,
    THOUGHT,
    WHOLE,
    Faulty,
    chunk,
    head,
    stream,
    whole,
)
from client.harness import KEY, VERBS
from innervoice.client.error_mapping import Backoff, is_transient, retry_after

BUSY = {"error": {"type": "rate_limit_error", "message": "slow down"}}
FINE = {"ask": whole(), "stream": stream(*FRAMES)}


def run(verb, kind, *scripts, **settings):
    with Faulty(*scripts) as server:
        known = {"provider": "deepseek", "api_key": KEY, "base_url": server.url}
        outcome = VERBS[verb](kind, {**known, **settings})
    outcome.requests = server.requests
    outcome.connections = server.connections
    return outcome


@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize(
    "script",
    [
        whole({"error": {"message": "?"}}, 500),
        whole({"error": {"message": "?"}}, 502),
        whole({"error": {"message": "?"}}, 529),
        whole({"error": {"message": "?"}}, 408),
        whole({"error": {"message": "?"}}, 409),
        whole(BUSY, 429),
        whole(b"<html>Bad gateway</html>", 502),
        [RESET],
        [CLOSE],
        [b"HTTP/1.1 20", RESET],
        whole(b""),
        whole(BUSY),
    ],
    ids=["500", "502", "529", "408", "409", "429", "html", "reset", "closed", "half", "empty", "busy in 200"],
)  # fmt: skip
def test_tried_again(script, verb, kind):
    outcome = run(verb, kind, script, FINE[verb])

    assert outcome.response.text == "It is 345."
    assert len(outcome.requests) == 2
    assert len(outcome.naps) == 1
    assert 0 <= outcome.naps[0] <= 0.5
    assert outcome.response.notes[0].code == "retried"


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_two_retries_and_no_more(verb, kind):
    outcome = run(verb, kind, whole(BUSY, 429))

    assert isinstance(outcome.error, iv.RateLimitError)
    assert outcome.error.message == "slow down"
    assert len(outcome.requests) == 3
    assert len(outcome.naps) == 2


@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 418, 501, 302])
def test_not_tried_again(status, verb, kind):
    outcome = run(verb, kind, whole({"error": {"message": "no"}}, status), FINE[verb])

    assert isinstance(outcome.error, iv.ProviderError)
    assert outcome.error.status == status
    assert len(outcome.requests) == 1


def test_no_money_is_not_tried_again(kind):
    error = {"error": {"code": "insufficient_quota", "message": "pay"}}
    outcome = run("ask", kind, whole(error, 429), FINE["ask"])

    assert isinstance(outcome.error, iv.RateLimitError)
    assert len(outcome.requests) == 1


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry_after": "3"}, 3.0),
        ({"retry_after": "0.25"}, 0.25),
        ({"retry_after_ms": "120", "retry_after": "9"}, 0.12),
    ],
)
def test_retry_after_is_obeyed(headers, expected, kind):
    outcome = run("ask", kind, whole(BUSY, 429, **headers), whole())

    assert outcome.naps == [expected]
    assert outcome.response.text == "It is 345."


@pytest.mark.parametrize("told", ["7200", formatdate(time.time() + 86_400, usegmt=True)])
def test_too_late_is_told_and_not_waited_for(told, kind):
    outcome = run("ask", kind, whole(BUSY, 429, retry_after=told), whole())

    assert isinstance(outcome.error, iv.RateLimitError)
    assert outcome.error.retry_after > 3000
    assert outcome.naps == []


def test_no_wait_beyond_the_time_in_all(kind):
    outcome = run("ask", kind, whole(BUSY, 429, retry_after=30), whole(), timeout=10.0)

    assert outcome.error.retry_after == 30
    assert outcome.naps == []


def test_stream_that_breaks_before_output_is_tried_again(kind):
    """Signs of life and an error as the first event are no output."""
    overloaded = b'data: {"error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    broken = [head(kind="text/event-stream") + chunk(COMMENT), 0.1, RESET]
    outcome = run("stream", kind, stream(COMMENT, overloaded), broken, stream(*FRAMES))

    assert outcome.response.text == "It is 345."
    assert len(outcome.requests) == 3
    assert iv.fold(outcome.events) == outcome.response
    assert [event.index for event in outcome.events if isinstance(event, iv.PartStart)] == [0, 1]


def test_stream_that_breaks_after_output_is_not(kind):
    broken = [head(kind="text/event-stream") + chunk(THOUGHT), 0.1, RESET]
    outcome = run("stream", kind, broken, stream(*FRAMES))

    assert isinstance(outcome.error, iv.AnswerInterruptedError)
    assert len(outcome.requests) == 1


def test_whole_answer_that_breaks_is_tried_again(kind):
    """Nothing of it was given out."""
    outcome = run("ask", kind, [head(length=500) + b'{"id"', 0.1, RESET], whole())

    assert outcome.response.text == "It is 345."


def test_streamed_ask_is_not_tried_again_after_output(kind):
    broken = [head(kind="text/event-stream") + chunk(THOUGHT), 0.1, RESET]
    with Faulty(broken, stream(*FRAMES)) as server:
        known = {"provider": "deepseek", "api_key": KEY, "base_url": server.url}
        outcome = VERBS["ask"](kind, known, stream=True)

    assert outcome.error.response.thinking == "Hmm."
    assert server.requests[0][2]["stream"] is True
    assert len(server.requests) == 1


def test_connections_are_used_again(kind):
    """After a refusal as after an answer."""
    outcome = run("ask", kind, whole(BUSY, 429), whole(BUSY, 500), whole())

    assert outcome.response.text == "It is 345."
    assert outcome.connections == 1


def test_waits_grow_and_are_drawn():
    backoff = Backoff(9, draw=lambda: 1.0)
    halves = Backoff(9, draw=lambda: 0.5)

    assert [0.5, 1.0, 2.0, 4.0, 8.0, 8.0] == [backoff.wait(tries, None) for tries in range(6)]
    assert halves.wait(3, None) == 2.0
    assert backoff.wait(9, None) is None
    assert backoff.wait(0, 60.0) == 60.0
    assert backoff.wait(0, 60.1) is None


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({}, None, None),
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": "-7"}, None, None),
        ({"retry-after": "nan"}, None, None),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:50 GMT"}, None, 10.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, None, 0.0),
        ({"retry-after-ms": "1500"}, None, 1.5),
        ({}, {"error": {"details": [{"@type": "x"}, {"retryDelay": "34s"}]}}, 34.0),
        ({}, [1], None),
    ],
)
def test_hints(headers, body, expected):
    assert expected == retry_after(headers, 1000.0, body)


def test_hosts_may_say_whether():
    assert is_transient(400, {"x-should-retry": "true"})
    assert not is_transient(500, {"x-should-retry": "false"})


def test_error_of_a_whole_answer_keeps_what_it_has(kind):
    """Responses says in a whole answer that it failed."""
    failed = {
        "id": "resp_1",
        "object": "response",
        "status": "failed",
        "error": {"code": "server_error", "message": "it broke"},
        "output": [],
    }
    with Faulty(whole(failed)) as server:
        known = {"provider": "openai", "api_key": KEY, "base_url": server.url, "retries": 0}
        outcome = VERBS["ask"](kind, known, model="gpt-5.6")

    assert isinstance(outcome.error, iv.ServerError)
    assert outcome.error.response.id == "resp_1"


def test_answers_are_the_same_after_retries(kind):
    plain = run("ask", kind, whole()).response
    retried = run("ask", kind, whole(BUSY, 429), whole()).response

    assert retried.parts == plain.parts
    assert retried.replace(notes=()) == plain.replace(notes=())
    assert WHOLE["usage"]["total_tokens"] == retried.usage.total_tokens
