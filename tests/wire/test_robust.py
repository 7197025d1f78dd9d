"""Whatever comes: a decoder reads it or says so, and never fails in another way."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.wire.dialects import DIALECTS
from wire.fixtures import ANSWERS
from wire.streams import aws, aws_message, sse
from wire.test_answers import hints

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "thinking", "index", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    changed = copy.deepcopy(value)
    here = changed
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = new
    return changed


@settings(max_examples=800, deadline=None)
@given(st.data(), st.sampled_from(ANSWERS), json_values)
def test_any_value_anywhere_in_a_whole_answer(data, answer, value):
    """I9: a wrong type at any place never raises anything but our own errors, and is stored and shown."""
    path = data.draw(st.sampled_from(list(places(answer.whole))))
    try:
        response = iv.decode(replaced(answer.whole, path, value), **hints(answer))
    except (iv.DecodeError, iv.ProviderError):
        return

    assert response == iv.from_json(iv.to_json(response))
    assert isinstance(response.text, str)
    assert response.status


def messages_of(answer):
    """The messages of a stream, as the reader gets them."""
    if answer.dialect == "bedrock-converse":
        return None
    lines = answer.stream.decode().splitlines()
    texts = [line.removeprefix("data: ") for line in lines if line.startswith(("data: {", "{"))]
    return [json.loads(text) for text in texts]


STREAMED = [answer for answer in ANSWERS if messages_of(answer)]


@settings(max_examples=800, deadline=None)
@given(st.data(), st.sampled_from(STREAMED), json_values)
def test_any_value_anywhere_in_a_stream(data, answer, value):
    """I9, in any message of a stream, which ends in Finish all the same."""
    messages = messages_of(answer)
    number = data.draw(st.integers(0, len(messages) - 1))
    path = data.draw(st.sampled_from(list(places(messages[number]))))
    messages[number] = replaced(messages[number], path, value)
    events = list(iv.decode_stream(messages, **hints(answer)))

    assert isinstance(events[-1], iv.Finish)
    assert iv.from_json(iv.to_json(events[-1].response)) == events[-1].response
    iv.fold(events[:-1])


@settings(max_examples=500, deadline=None)
@given(json_values, st.none() | st.sampled_from(DIALECTS))
def test_any_json_is_an_answer_or_none(value, dialect):
    with suppress(iv.DecodeError, iv.ProviderError):
        assert iv.decode(json.dumps(value), dialect=dialect).status


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=80), st.none() | st.sampled_from(DIALECTS))
def test_random_bytes(data, dialect):
    """Bytes that are no answer raise DecodeError from `decode`, and end in Finish from `decode_stream`."""
    with suppress(iv.DecodeError, iv.ProviderError):
        iv.decode(data, dialect=dialect)
    *_, last = iv.decode_stream([data[:9], data[9:]], dialect=dialect)
    assert isinstance(last, iv.Finish)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(ANSWERS))
def test_a_damaged_byte(data, answer):
    """One wrong byte anywhere: a Finish, and never another exception."""
    at = data.draw(st.integers(0, len(answer.stream) - 1))
    damaged = answer.stream[:at] + bytes([data.draw(st.integers(0, 255))]) + answer.stream[at + 1 :]
    *_, last = iv.decode_stream([damaged], **hints(answer))

    assert isinstance(last, iv.Finish)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no answer was received"),
        (b"   \n", "no answer was received"),
        (b"<html>502 Bad Gateway</html>", "502 Bad Gateway"),
        (b"{}", "none of the members"),
        (b"[]", "none of the members"),
        (b"3", "3"),
        (b'{"a": 1}', "none of the members"),
        (b'{"choices": [', "JSON"),
    ],
)
def test_what_is_no_answer(body, says):
    with pytest.raises(iv.DecodeError, match=says):
        iv.decode(body)
    *_, last = iv.decode_stream([body])
    assert "interrupted" == last.response.status
    assert last.response.error


@pytest.mark.parametrize("value", [None, object(), 3.5, {1, 2}])
def test_objects_that_are_nothing(value):
    with pytest.raises(iv.DecodeError):
        iv.decode(value)


@pytest.mark.parametrize(
    ("provider", "body", "error"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, ("overloaded_error", None, "Overloaded")),
        ("openai", {"error": {"message": "No.", "type": "invalid_request_error", "code": "bad"}}, ("invalid_request_error", "bad", "No.")),
        ("gemini", {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT"}}, ("INVALID_ARGUMENT", 400, "No.")),
        ("gemini", [{"error": {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"}}], ("RESOURCE_EXHAUSTED", 429, "Slow.")),
        ("bedrock", {"message": "No such model"}, (None, None, "No such model")),
        ("cohere", {"message": "invalid api token"}, (None, None, "invalid api token")),
        ("ollama", {"error": "model not found"}, (None, None, "model not found")),
        ("databricks", {"error_code": "BAD_REQUEST", "message": "No."}, (None, None, "No.")),
        (None, {"error": {"message": "No.", "type": "x"}}, ("x", None, "No.")),
    ],
)  # fmt: skip
def test_an_error_of_the_provider(provider, body, error):
    with pytest.raises(iv.ProviderError) as raised:
        iv.decode(body, provider=provider)

    assert error == (raised.value.type, raised.value.code, raised.value.message)


def test_errors_in_mid_stream():
    """What came before the error is readable, and the error is told."""
    begun = {"id": "1", "choices": [{"index": 0, "delta": {"content": "So ", "reasoning": "Hm"}}]}
    failed = {
        "error": {"code": 502, "message": "upstream"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
    }
    response = iv.fold(iv.decode_stream([sse(begun, failed)], provider="openrouter"))

    assert ("So ", "Hm", "interrupted") == (response.text, response.thinking, response.status)
    assert ("upstream", 502) == (response.error.message, response.error.code)


def test_an_error_without_data_in_a_gemini_stream():
    """Gemini writes it as plain, pretty-printed JSON lines."""
    begun = {"candidates": [{"content": {"parts": [{"text": "So "}]}}]}
    failed = json.dumps(
        [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}], indent=2
    )
    stream = sse(begun, end="\r\n\r\n") + failed.encode()
    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        response = iv.fold(iv.decode_stream(pieces, provider="gemini"))
        assert ("So ", "UNAVAILABLE", "interrupted") == (
            response.text,
            response.error.type,
            response.status,
        )


def test_an_exception_in_an_event_stream():
    stream = aws(("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "So "}}))
    stream += aws_message("throttlingException", b'{"message": "Too many"}', kind="exception")
    response = iv.fold(iv.decode_stream([stream], provider="bedrock"))

    assert ("So ", "throttlingException", "Too many") == (
        response.text,
        response.error.type,
        response.error.message,
    )
    assert not response.parts[0].complete


def test_a_wrong_checksum_is_said():
    good = aws(("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "So "}}))
    response = iv.fold(iv.decode_stream([good, good[:-1] + b"\x00"], provider="bedrock"))

    assert "So " == response.text
    assert "checksum" in response.error.message


def test_an_oversized_frame_ends_the_stream():
    decoder = iv.StreamDecoder(provider="openai", limit=1000)
    decoder.feed(sse({"choices": [{"index": 0, "delta": {"content": "So "}}]}))
    decoder.feed(b"data: " + b"x" * 2000)
    *_, last = decoder.finish()

    assert ("So ", "interrupted") == (last.response.text, last.response.status)
    assert "1000 bytes" in last.response.error.message


def test_a_decoder_reads_one_answer():
    decoder = iv.StreamDecoder()
    decoder.finish()
    for again in (decoder.finish, lambda: decoder.feed(b"")):
        with pytest.raises(iv.UsageError, match="one answer"):
            again()
    with pytest.raises(iv.UsageError, match="anthropic"):
        iv.decode({}, dialect="klingon")
    with pytest.raises(iv.UsageError, match="off"):
        iv.decode({}, inline="sometimes")
