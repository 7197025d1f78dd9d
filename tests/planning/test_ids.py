"""H6: ids of calls that the target accepts."""

import json
import re

import pytest

import innervoice as iv
from planning.turns import calling, decided


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("mistral/mistral-small-latest", r"^[A-Za-z0-9]{9}$"),
        ("anthropic/claude-opus-4-6", r"^[A-Za-z0-9_-]{1,64}$"),
    ],
)
def test_ids_fit(target, pattern):
    """H6, P04"""
    name = "call.with spaces/" + "x" * 900
    history = [
        iv.user("x"),
        iv.Message("assistant", (iv.ToolCall(name, "f", "{}"),)),
        iv.tool_result(name, "1"),
    ]
    text = json.dumps(iv.encode(iv.Request(target, history, max_tokens=9)).body)
    ids = re.findall(r'"(?:id|tool_call_id|tool_use_id)": "([^"]*)"', text)
    assert 2 == len(ids)
    assert 1 == len(set(ids))
    assert re.match(pattern, ids[0])
    assert name == history[1].parts[0].id


NINE = "mistral/mistral-small-latest"


def ids(history, target):
    """The ids of calls and results, in the order in which they are sent."""
    parts = [part for message in iv.plan(history, target).messages for part in message.parts]
    return [
        part.id if isinstance(part, iv.ToolCall) else part.call_id
        for part in parts
        if isinstance(part, (iv.ToolCall, iv.ToolResult))
    ]


@pytest.mark.parametrize("name", ["a", "call_1-B", "x" * 64])
def test_an_id_that_is_accepted_stays(name):
    assert [name, name] == ids(calling(call_id=name), "openai/gpt-5.6")
    assert [] == decided(calling(call_id=name), "openai/gpt-5.6")


@pytest.mark.parametrize("name", ["a b", "x" * 65, "ä", "a.b", "\ud800"])
def test_an_id_that_is_refused_is_mapped(name):
    call, result = ids(calling(call_id=name), "openai/gpt-5.6")
    assert call == result != name
    assert re.fullmatch(r"call_[0-9A-Za-z]{9}", call)
    assert [call, result] == ids(calling(call_id=name), "openai/gpt-5.6")
    assert [(1, 0, "tool_call", "converted", "H6", "id_mapped")] == decided(calling(call_id=name), "openai/gpt-5.6")  # fmt: skip


def test_mistral_takes_nine():
    assert ["abcdefgh1"] * 2 == ids(calling(call_id="abcdefgh1"), NINE)
    for name in ("abcdefgh", "abcdefgh12", "abcdefg_1"):
        call, result = ids(calling(call_id=name), NINE)
        assert call == result
        assert re.fullmatch(r"[0-9A-Za-z]{9}", call)


def test_an_id_that_comes_twice():
    """Each call has one of its own, and each result that of the call before it."""
    history = [*calling(), *calling(), *calling()]
    found = ids(history, "openai/gpt-5.6")
    assert found[::2] == found[1::2]
    assert 3 == len(set(found))
    assert "a" == found[0]
    assert [4, 7] == [row[0] for row in decided(history, "openai/gpt-5.6")]


def test_ids_that_are_mapped_to_the_same():
    """What was mapped is taken, too."""
    (taken, _) = ids(calling(call_id="a b"), "openai/gpt-5.6")
    found = ids([*calling(call_id="a b"), *calling(call_id=taken)], "openai/gpt-5.6")
    assert taken == found[0]
    assert found[2] == found[3] not in (taken, "a b")


def test_a_received_block_keeps_its_id():
    """It goes home as it came, whatever its id is."""
    block = {"type": "tool_use", "id": "a b", "name": "f", "input": {}}
    origin = iv.Origin(dialect="anthropic", provider="anthropic", model="claude-opus-4-6", block=block)  # fmt: skip
    turn = iv.Message("assistant", (iv.ToolCall("a b", "f", "{}", origin=origin),))
    history = [iv.user("x"), turn, iv.tool_result("a b", "1")]
    assert ["a b", "a b"] == ids(history, "anthropic/claude-opus-4-6")
    call, result = ids(history, "openai/gpt-5.6")
    assert call == result != "a b"


def test_only_what_changes_is_copied():
    history = [*calling(), *calling(call_id="a b")]
    planned = iv.plan(history, "openai/gpt-5.6").messages
    assert [True] * 4 + [False] * 2 == [one is other for one, other in zip(history, planned, strict=True)]  # fmt: skip


def test_digests_are_the_same_everywhere():
    """Sessions are stored, and go on in another process."""
    assert ["call_H6io2mfNG"] * 2 == ids(calling(call_id="a b"), "openai/gpt-5.6")
