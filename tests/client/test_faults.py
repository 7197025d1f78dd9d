"""Whatever the road does: a typed error with what came, or a complete answer; no hang, nothing left open."""

import json

import pytest

import innervoice as iv
from client.faulty import (
    CLOSE,
    COMMENT,
    DONE,
    FRAMES,
    RESET,
    REST,
    SILENCE,
    STOP,
    THOUGHT,
    WHOLE,
    WORDS,
    Faulty,
    chunk,
    delta,
    free_port,
    head,
    stream,
    whole,
    zipped,
)
from client.harness import KEY, VERBS

BODY = json.dumps(WHOLE).encode()
STREAM_HEAD = head(kind="text/event-stream")
ONCE = {"provider": "deepseek", "api_key": KEY, "retries": 0, "idle_timeout": 5.0, "timeout": 10.0}
HASTE = {"idle_timeout": 0.05, "timeout": 0.1}


def going(word):
    """A reset takes with it what nobody has read yet, so there is time to read."""
    return [0.1, word] if word is RESET else [word]


def run(verb, kind, *scripts, **settings):
    with Faulty(*scripts) as server:
        outcome = VERBS[verb](kind, {**ONCE, "base_url": server.url, **settings})
    assert (outcome.response is None) != (outcome.error is None)
    if outcome.error:
        shown = f"{outcome.error!r} {outcome.error} {outcome.error.args} {outcome.error.__cause__}"
        assert KEY not in shown + str(getattr(outcome.error, "body", ""))
        assert outcome.error.provider == "deepseek"
    outcome.server = server
    return outcome


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_connection_refused(verb, kind):
    settings = {**ONCE, "base_url": f"http://127.0.0.1:{free_port()}"}
    error = VERBS[verb](kind, settings).error

    assert isinstance(error, iv.ConnectionFailedError)
    assert error.response is None


@pytest.mark.parametrize("word", [RESET, CLOSE])
@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize(
    "sent",
    [b"", b"HT", b"HTTP/1.1 200 OK\r\ncontent-t"],
    ids=["before the headers", "in the first line", "in the headers"],
)
def test_broken_before_an_answer(sent, verb, word, kind):
    error = run(verb, kind, [sent, word]).error

    assert isinstance(error, iv.ConnectionFailedError)


@pytest.mark.parametrize("word", [RESET, CLOSE])
@pytest.mark.parametrize("sent", [b"", BODY[:40], BODY[:-1]], ids=["nothing", "some", "almost all"])
def test_whole_answer_broken_off(sent, word, kind):
    error = run("ask", kind, [head(length=len(BODY)) + sent, *going(word)]).error

    assert isinstance(error, iv.AnswerInterruptedError)
    assert error.status == 200
    assert error.response.status == "interrupted"
    assert error.body.encode() == sent or word is RESET


@pytest.mark.parametrize("word", [RESET, CLOSE])
@pytest.mark.parametrize(
    ("last", "text", "thinking"),
    [
        (b"", "", None),
        (chunk(THOUGHT), "", "Hmm."),
        (chunk(THOUGHT) + chunk(WORDS), "It is ", "Hmm."),
        (chunk(THOUGHT) + chunk(WORDS)[:-9], "", "Hmm."),
        (chunk(THOUGHT + WORDS + REST[:30]), "It is ", "Hmm."),
    ],
    ids=["before the first event", "in reasoning", "in text", "half a chunk", "half a frame"],
)
def test_stream_broken_off_keeps_what_came(last, text, thinking, word, kind):
    outcome = run("stream", kind, [STREAM_HEAD + last, *going(word)])
    error = outcome.error

    assert isinstance(error, iv.AnswerInterruptedError)
    assert error.response.text == text
    assert error.response.thinking == thinking
    assert error.response.status == "interrupted"
    assert error.response.provider == "deepseek"
    assert iv.fold(outcome.events).text == text
    assert not any(isinstance(event, iv.Finish) for event in outcome.events)


def test_stream_without_an_end(kind):
    """The connection is fine and the stream is over, but the model's answer is not."""
    error = run("stream", kind, stream(THOUGHT, WORDS)).error

    assert isinstance(error, iv.AnswerInterruptedError)
    assert error.response.text == "It is "


@pytest.mark.parametrize("word", [RESET, CLOSE])
def test_broken_after_the_end_is_complete(word, kind):
    response = run("stream", kind, [STREAM_HEAD + chunk(b"".join(FRAMES)), *going(word)]).response

    assert response.text == "It is 345."
    assert response.status == "answered"
    assert [note.code for note in response.notes] == ["broken_after_end", "field_thinking"]


@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\ncontent-"], ids=["no headers", "half"])
def test_slow_headers(sent, verb, kind):
    error = run(verb, kind, [sent, SILENCE], **HASTE).error

    assert isinstance(error, iv.TimedOutError)
    assert error.limit == ("total" if verb == "ask" else "idle")


def test_silence_in_a_stream(kind):
    script = [STREAM_HEAD + chunk(THOUGHT) + chunk(WORDS), SILENCE]
    error = run("stream", kind, script, idle_timeout=0.2).error

    assert isinstance(error, iv.TimedOutError)
    assert error.limit == "idle"
    assert "no data for 0.2 s" in str(error)
    assert error.response.text == "It is "


def test_silence_in_a_whole_answer(kind):
    """Only the time in all ends it: a model that thinks says nothing before it is done."""
    error = run("ask", kind, [head(length=len(BODY)) + BODY[:9], SILENCE], **HASTE).error

    assert isinstance(error, iv.TimedOutError)
    assert error.limit == "total"


def test_any_byte_ends_a_silence(kind):
    """A model that thinks longer than the limit on a silence is healthy if its host says so."""
    alive = [piece for _ in range(5) for piece in (chunk(COMMENT[:9]), 0.06, chunk(COMMENT[9:]))]
    script = [*stream(THOUGHT)[:-1], *alive, *stream(*FRAMES[1:])[1:]]
    response = run("stream", kind, script, idle_timeout=0.2).response

    assert response.text == "It is 345."


def test_total_time_of_a_stream(kind):
    """One that never ends is ended, however alive it is."""
    drops = [piece for _ in range(6) for piece in (chunk(COMMENT), 0.05)]
    error = run("stream", kind, [STREAM_HEAD + chunk(WORDS), *drops, SILENCE], timeout=0.2).error

    assert isinstance(error, iv.TimedOutError)
    assert error.limit == "total"
    assert error.response.text == "It is "


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_garbage_instead_of_http(verb, kind):
    assert isinstance(
        run(verb, kind, [b"\x16\x03\x01 rubbish\r\n\r\n", CLOSE]).error, iv.ConnectionFailedError
    )


@pytest.mark.parametrize("verb", ["ask", "stream"])
@pytest.mark.parametrize(
    "body", [b"\xff\xfe\x00rubbish", b"<html>Log in</html>", b"[1, 2", b"null"]
)
def test_garbage_instead_of_an_answer(body, verb, kind):
    error = run(verb, kind, whole(body, kind="text/html")).error

    assert isinstance(error, iv.DecodeError)
    assert error.status == 200
    assert error.body


def test_garbage_inside_a_stream(kind):
    error = run("stream", kind, stream(THOUGHT, WORDS, b"data: {rubbish\n\n", REST)).error

    assert isinstance(error, iv.DecodeError)
    assert error.response.text == "It is "


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_wrong_content_type_does_not_matter(verb, kind):
    """The shape of what comes says what it is, also a whole answer where a stream was asked for."""
    assert run(verb, kind, whole(kind="text/html")).response.text == "It is 345."


def test_stream_where_none_was_asked_for(kind):
    assert run("ask", kind, stream(*FRAMES)).response.text == "It is 345."


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_compressed(verb, kind):
    assert run(verb, kind, zipped(*FRAMES)).response.text == "It is 345."


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_not_compressed_as_it_says(verb, kind):
    data = b"".join(FRAMES)
    error = run(verb, kind, [head(length=len(data), content_encoding="gzip") + data]).error

    assert isinstance(error, iv.DecodeError)


def test_compressed_and_broken_off(kind):
    script = zipped(THOUGHT, *[delta(content=str(number)) for number in range(500)])
    error = run("stream", kind, [script[0], script[1] + script[2][:-40], 0.02, CLOSE]).error

    assert isinstance(error, iv.InnervoiceError)
    assert error.response.status == "interrupted"


def test_huge_line(kind):
    text = "x" * 3_000_000
    frame = delta(content=text)
    pieces = [frame[at : at + 60_000] for at in range(0, len(frame), 60_000)]
    response = run("stream", kind, stream(*pieces, STOP, DONE)).response

    assert response.text == text


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_empty_answer(verb, kind):
    assert isinstance(run(verb, kind, whole(b"")).error, iv.AnswerInterruptedError)


def test_error_inside_a_stream(kind):
    """An error after output is raised with what came, typed by the provider's own words."""
    failing = b'data: {"error": {"type": "server_error", "message": "it broke"}}\n\n'
    outcome = run("stream", kind, stream(THOUGHT, WORDS, failing), retries=2)

    assert isinstance(outcome.error, iv.ServerError)
    assert outcome.error.message == "it broke"
    assert outcome.error.response.text == "It is "
    assert len(outcome.server.requests) == 1


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_huge_refusal_is_not_read_to_its_end(verb, kind):
    script = [head(500, 10_000_000), b"x" * 1_500_000, SILENCE]
    error = run(verb, kind, script).error

    assert isinstance(error, iv.ServerError)
    assert len(error.body) == 4000


@pytest.mark.parametrize("verb", ["ask", "stream"])
def test_refusal_broken_off(verb, kind):
    error = run(verb, kind, [head(401, 500) + b'{"error": {"mess', CLOSE]).error

    assert isinstance(error, iv.AuthenticationError)
