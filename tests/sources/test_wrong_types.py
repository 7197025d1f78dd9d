"""Histories with values of wrong types: an error of ours that names the place, or a history, and never another exception."""

import copy
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.sources.stored import history_from
from planning.conversations import SOURCES

ODD = [None, True, 3, 2.5, "x", "", [], ["x"], [None], [[]], {}, {"type": {}}, {"x": ["y"]}]
MEMBERS = {"gemini": "contents", "openai-responses": "input"}


def places(value, path=()):
    """The paths of all values in a JSON value."""
    yield path
    held = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in held:
        yield from places(item, (*path, key))


def mutated(source, path, odd):
    """The conversation with another value at a path."""
    body = copy.deepcopy(SOURCES[source]())
    holder = body
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = odd
    return body


PLACES = {source: [path for path in places(make()) if path] for source, make in SOURCES.items()}


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_any_value_anywhere(source, data):
    path = data.draw(st.sampled_from(PLACES[source]))
    body = mutated(source, path, data.draw(st.sampled_from(ODD)))
    items = body if source == "langchain" else body.get(MEMBERS.get(source, "messages"))
    readings = [lambda: history_from(items if items is not None else {})]
    if source != "langchain":
        readings.append(lambda: iv.decode_request(body, source))
    for reading in readings:
        try:
            messages = reading().messages
        except iv.InnervoiceError:
            continue
        for target in (
            "anthropic/claude-opus-5-5",
            "openai/gpt-5.6",
            "gemini/gemini-3-pro",
            "ollama/qwen3:8b",
        ):
            iv.plan(messages, target)
            with suppress(iv.InnervoiceError):
                iv.encode(iv.Request(target, tuple(messages)))


@pytest.mark.parametrize(
    ("source", "path", "odd", "place"),
    [
        ("openai-chat", ("messages", 1, "role"), ["user"], r"messages\[1\]\.role must be a string, not list"),
        ("openai-chat", ("messages", 2, "tool_calls"), "x", r"messages\[2\]\.tool_calls must be a list, not str"),
        ("openai-chat", ("messages", 1, "content"), 3, r"messages\[1\]\.content must be .*, not int"),
        ("openai-chat", ("messages", 1, "content", 0, "type"), {}, r"messages\[1\]\.content\[0\]\.type must be a string, not dict"),
        ("anthropic", ("messages", 0, "content", 1, "type"), {}, r"messages\[0\]\.content\[1\]\.type"),
        ("anthropic", ("messages", 2, "content", 0, "tool_use_id"), 5, r"messages\[2\]\.content\[0\]\.tool_use_id"),
        ("openai-responses", ("input", 3, "type"), [], r"input\[3\]\.type must be a string, not list"),
        ("openai-responses", ("input", 7, "call_id"), 7, r"input\[7\]\.call_id must be a string, not int"),
        ("gemini", ("contents", 0, "parts"), 3, r"contents\[0\]\.parts must be"),
        ("gemini", ("contents", 1, "role"), {}, r"contents\[1\]\.role must be a string, not dict"),
        ("bedrock-converse", ("messages", 0, "content"), 1, r"messages\[0\]\.content must be"),
        ("bedrock-converse", ("messages", 2, "content", 0), 1, r"messages\[2\]\.content\[0\] must be an object"),
        ("mistral", ("messages", 1, "role"), {}, r"messages\[1\]\.role"),
        ("cohere", ("messages", 2, "tool_calls"), {}, r"messages\[2\]\.tool_calls must be a list, not dict"),
        ("ollama", ("messages", 2, "tool_calls", 0), "x", r"messages\[2\]\.tool_calls\[0\] must be an object"),
        ("ollama", ("messages", 7, "images"), "x", r"messages\[7\]\.images must be a list, not str"),
    ],
)  # fmt: skip
def test_the_error_names_the_place(source, path, odd, place):
    with pytest.raises(iv.DecodeError, match=place):
        iv.decode_request(mutated(source, path, odd), source)


@pytest.mark.parametrize(
    ("path", "odd", "place"),
    [
        ((1, "data", "content"), 3, r"message 1: content must be .*, not int"),
        ((2, "data", "tool_calls"), "x", r"message 2: tool_calls must be a list, not str"),
        ((2, "data", "tool_calls", 0), "x", r"message 2: tool_calls\[0\] must be an object, not str"),
        ((1, "data", "content", 0, "type"), [], r"message 1: content\[0\]\.type must be a string, not list"),
        ((3, "data", "tool_call_id"), 3, r"message 3: tool_call_id must be a string, not int"),
    ],
)  # fmt: skip
def test_the_error_names_the_langchain_message(path, odd, place):
    with pytest.raises(iv.DecodeError, match=place):
        history_from(mutated("langchain", path, odd))


def test_a_message_of_no_kind():
    """A list in which one item is not a message of its kind is refused as a whole, and not read as another kind."""
    with pytest.raises(iv.DecodeError, match=r"messages\[1\] must be an object, not int"):
        history_from([{"role": "user", "content": "x"}, 3])
    with pytest.raises(iv.DecodeError, match="message 1"):
        history_from([{"type": "human", "data": {"content": "x"}}, {"type": "alien", "data": {}}])
