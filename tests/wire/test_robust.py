"""Whatever comes: a decoder reads it or says so, and never fails in another way."""

import copy
import inspect
import json
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.client.error_mapping import failure_error, refusal_error
from innervoice.wire.dialects import DIALECTS
from innervoice.wire.refusals import status_of
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


odd_values = st.sampled_from(
    [None, True, False, 0, -1, 10**30, 1.5, "", "\u00b2", "9" * 5000, "x", [], [[]], {}, {"type": {}}, [None], {"": None}]
)  # fmt: skip


def dropped(value, path):
    """The value without one member or item."""
    changed = copy.deepcopy(value)
    here = changed
    for step in path[:-1]:
        here = here[step]
    del here[path[-1]]
    return changed


def doubled(value, path):
    """The value with one item of a list twice; a member of an object stays."""
    changed = copy.deepcopy(value)
    here = changed
    for step in path[:-1]:
        here = here[step]
    if isinstance(here, list):
        here.insert(path[-1], copy.deepcopy(here[path[-1]]))
    return changed


def mutated(data, value):
    """The value after up to three changes: a member replaced, dropped or doubled."""
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(value))))
        if not path:
            continue
        match data.draw(st.sampled_from(["replace", "drop", "double"])):
            case "replace":
                value = replaced(value, path, data.draw(odd_values | json_values))
            case "drop":
                value = dropped(value, path)
            case _:
                value = doubled(value, path)
    return value


ERRORS = [
    {"error": {"message": "No.", "type": "t", "code": "c", "details": [{"retryDelay": "3s"}]}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    [{"error": {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"}}],
    {"object": "error", "message": "No.", "code": 40303},
    {"custom_id": "1", "response": {"status_code": 400, "body": {"error": {"code": "c"}}}, "error": None},
    {"custom_id": "1", "result": {"type": "errored", "error": {"type": "error", "error": {"type": "t"}}}},
    {"recordId": "1", "error": {"errorCode": 400, "errorMessage": "No."}},
    {"request": {}, "status": "Bad: {}", "response": {}},
    {"messages": [], "response": None, "status": "failure", "error_information": {"error_code": "429"}},
    {"result": None, "success": False, "errors": [{"code": 7, "message": "No"}]},
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.data(), st.sampled_from(ANSWERS), st.booleans())
def test_mutated_answers(data, answer, enveloped):
    """I9: members of other types, missing ones and items that come twice, in every dialect, with and without an envelope."""
    value = {
        "custom_id": "1",
        "response": {"status_code": 200, "body": answer.whole},
        "error": None,
    }
    value = mutated(data, value if enveloped else answer.whole)
    with suppress(iv.DecodeError, iv.ProviderError):
        response = iv.decode(value, **data.draw(st.sampled_from([hints(answer), {}])))
        assert response.parts or response.ended
        assert response == iv.from_json(iv.to_json(response))


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(ANSWERS))
def test_mutated_streams(data, answer):
    messages = messages_of(answer)
    if messages is None:
        return
    messages = mutated(data, messages)
    *events, last = iv.decode_stream(messages, **data.draw(st.sampled_from([hints(answer), {}])))

    assert isinstance(last, iv.Finish)
    assert iv.from_json(iv.to_json(last.response)) == last.response
    iv.fold(events)


@settings(max_examples=500, deadline=None)
@given(st.data(), st.sampled_from(ERRORS), st.none() | st.sampled_from(DIALECTS))
def test_mutated_errors(data, error, dialect):
    """An error of any shape is one of ours, and its code a text, a number or None."""
    raised = None
    try:
        iv.decode(mutated(data, error), dialect=dialect)
    except iv.ProviderError as found:
        raised = found
    except iv.DecodeError:
        pass
    if raised is not None:
        failure = iv.Failure(type=raised.type, code=raised.code, message=raised.message)
        assert raised.code is None or type(raised.code) in (str, int)
        assert status_of(failure) < 600
        assert iv.from_json(iv.to_json(iv.Response(error=failure)))


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("\u00b2", "\u00b2"),
        ("9" * 5000, "9" * 5000),
        (10**100, None),
        (True, None),
        ([429], None),
        ({"a": 1}, None),
        (429.0, 429),
        (-32000, -32000),
        ("429", "429"),
        (None, None),
    ],
)
def test_codes_of_any_shape(code, kept):
    with pytest.raises(iv.ProviderError) as raised:
        iv.decode({"error": {"message": "No.", "code": code}})

    assert kept == raised.value.code
    assert str(raised.value)
    body = json.dumps({"error": {"message": "No.", "code": code}})
    error = refusal_error(429, {}, body.encode(), now=0, secrets=())
    assert isinstance(error, iv.RateLimitError)
    failure = iv.Failure(message="No.", code=kept)
    assert isinstance(failure_error(failure, ()), iv.ProviderError)


# ---- nesting -----------------------------------------------------------------------------------------


def deep(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return value


def at_depth(levels, work):
    """The work, called from so deep a stack."""
    return work() if levels <= 0 else at_depth(levels - 1, work)


NESTED = {
    "a call": lambda value: {
        "choices": [
            {
                "message": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": value}}]},
                "finish_reason": "tool_calls",
            }
        ]
    },
    "usage": lambda value: {"choices": [{"message": {"content": "a"}}], "usage": {"x": value}},
    "an item": lambda value: {"object": "response", "output": [{"type": "odd", "x": value}]},
    "an envelope": lambda value: {"custom_id": "1", "response": {"body": value}},
    "an error": lambda value: {"error": {"message": value}},
    "parts": lambda value: {"candidates": [{"content": {"parts": [{"odd_name": value}]}}]},
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_from_a_deep_stack(name):
    """Near Python's limit on recursion, an answer is read or is a DecodeError."""
    used = len(inspect.stack())
    room = sys.getrecursionlimit() - used
    for levels in (10, 100, 300, 900, 5000):
        value = NESTED[name](deep(levels))
        text = "[" * levels + "1" + "]" * levels
        body = json.dumps(NESTED[name]("@")).replace('"@"', text).encode()
        for left in (60, 120, 300, room - 10):

            def work(value=value, body=body):
                for came in (value, body):
                    with suppress(iv.DecodeError, iv.ProviderError):
                        iv.decode(came)
                    *_, last = iv.decode_stream([came])
                    assert isinstance(last, iv.Finish)

            at_depth(room - left, work)


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
        (b"{}", "not an answer of a known API"),
        (b"[]", "not an answer of a known API"),
        (b"3", "3"),
        (b'{"a": 1}', "not an answer of a known API"),
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


def test_an_index_of_any_length_in_the_path_of_an_argument():
    piece = {"jsonPath": f"$.a[{'9' * 5000}]", "numberValue": 1}
    call = {"name": "f", "partialArgs": [piece]}
    parts = [{"functionCall": call}]
    response = iv.decode({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})

    assert "f" == response.tool_calls[0].name


class Piece(bytes):
    """Bytes as some HTTP libraries hand them over."""


@pytest.mark.parametrize("kind", [bytes, Piece, bytearray, memoryview, bytes.decode])
def test_chunks_of_any_kind(kind):
    body = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
    decoder = iv.StreamDecoder(provider="deepseek")
    for start in range(0, len(body), 7):
        decoder.feed(kind(body[start : start + 7]))
    decoder.finish()

    assert "Hi" == decoder.response.text


@pytest.mark.parametrize("content", ["Sunny.", "", None, {"a": {"b": [1]}}, [5], 5])
def test_a_tool_message_of_ollama_with_images_and_any_content(content):
    """Its images go on beside its text; content of another type is refused in words."""
    call = {"function": {"name": "f", "arguments": {}}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "f", "content": content, "images": ["iVBORw0KGgo="]},
    ]
    try:
        request = iv.decode_request({"model": "x", "messages": messages}, "ollama")
        body = iv.encode(request.replace(model="ollama/gpt-oss")).body
    except iv.InnervoiceError:
        assert not isinstance(content, str | None)
    else:
        assert (content or "", ["iVBORw0KGgo="]) == (body["messages"][-1]["content"], body["messages"][-1]["images"])  # fmt: skip
