"""Calls of chat hosts that write them in ways of their own."""

import pytest

import innervoice as iv
from wire.streams import sse

FUNCTION = {"name": "f", "arguments": '{"a":1}'}


def whole(message):
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def called(response):
    return [(call.id, call.name, call.arguments) for call in response.tool_calls]


@pytest.mark.parametrize(
    "call",
    [
        {"id": "x", "type": "function", "function": FUNCTION, "custom": {}},
        {"id": "x", "type": "function", "function": FUNCTION, "custom": None},
        {"id": "x", "type": "function", "function": FUNCTION, "custom": {"name": "g", "input": "i"}},
        {"id": "x", "function": FUNCTION, "custom": {}},
        {"id": "x", "type": "custom", "function": FUNCTION, "custom": {}},
        {"id": "x", "type": ["odd"], "function": FUNCTION, "custom": {}},
        {"id": "x", **FUNCTION},
    ],
)  # fmt: skip
def test_a_call_is_in_the_member_that_its_type_names(call):
    """Snowflake sends an empty `custom` beside the function."""
    response = iv.decode(whole({"role": "assistant", "content": None, "tool_calls": [call]}))

    assert [("x", "f", '{"a":1}')] == called(response)


@pytest.mark.parametrize(
    "call",
    [
        {"id": "x", "type": "custom", "custom": {"name": "g", "input": "go"}, "function": {}},
        {"id": "x", "custom": {"name": "g", "input": "go"}, "function": {}},
    ],
)
def test_a_custom_call_beside_an_empty_function(call):
    response = iv.decode(whole({"role": "assistant", "tool_calls": [call]}))

    assert [("x", "g", "go")] == called(response)
    assert "function" not in response.tool_calls[0].origin.block


def test_the_same_in_a_stream():
    first = {"index": 0, "id": "x", "type": "function", "function": {"name": "f"}, "custom": {}}
    pieces = [
        {"index": 0, "function": {"arguments": text}, "custom": {}} for text in ('{"a"', ":1}")
    ]
    chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in (first, *pieces)]
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    response = iv.fold(iv.decode_stream([sse(*chunks, end)]))

    assert [("x", "f", '{"a":1}')] == called(response)


@pytest.mark.parametrize(
    "members",
    [
        {"function_call": {}},
        {"function_call": None},
        {"function_call": ""},
        {"function_call": {"name": "", "arguments": ""}},
        {"function_call": {"name": None, "arguments": None}},
        {"tool_calls": []},
        {"tool_calls": {}},
        {"tool_calls": ""},
        {"tool_calls": [{}]},
        {"tool_calls": [{"index": 0, "type": "function", "function": {}, "custom": {}}]},
    ],
)
def test_an_empty_call_is_no_call(members):
    response = iv.decode(whole({"role": "assistant", "content": "Hi", **members}))

    assert ["text"] == [part.type for part in response.parts]
    assert ("Hi", "answered", ()) == (response.text, response.status, response.notes)
