"""Whether two turns are the same: what every program keeps of a turn, what only its provider can read, and which calls it makes."""

import pytest

import innervoice as iv
from innervoice.conversation.turns import (
    RenamedCalls,
    call_ids,
    is_same_message,
    seals_in,
    seals_of,
    shown_turn,
    without_blanks,
    without_seals,
)


def call(name="read", arguments="{}", call_id="call_abcdefghij"):
    return iv.ToolCall(call_id, name, arguments)


def sealed(text="", seal="c2VhbA==", seals=("signature",), **more):
    block = {"type": "thinking", "thinking": text, "signature": seal, **more}
    return iv.Thinking(text, origin=iv.Origin(dialect="anthropic", block=block, seals=seals))


SAME = {
    "thinking": (iv.assistant("Hi"), iv.assistant([sealed("Hm."), iv.Text("Hi")])),
    "blanks around it": (iv.assistant("Hi"), iv.assistant("\n Hi ")),
    "several blocks": (iv.assistant("Hi there"), iv.assistant([iv.Text("Hi "), iv.Text("there")])),
    "a tag before it": (iv.assistant("Hi"), iv.assistant("<think>Hm.</think>Hi")),
    "composed letters": (iv.assistant("é"), iv.assistant("e\u0301")),
    "order of arguments": (
        iv.assistant([call(arguments='{"a":1,"b":{"c":2,"d":3}}')]),
        iv.assistant([call(arguments='{ "b": {"d": 3, "c": 2}, "a": 1 }')]),
    ),
    "no arguments": (iv.assistant([call(arguments="")]), iv.assistant([call(arguments="{}")])),
    "ids of calls": (iv.assistant([call(call_id="a")]), iv.assistant([call(call_id="b")])),
}
OTHERS = {
    "words": (iv.assistant("Hi"), iv.assistant("Hi!")),
    "a tag later": (iv.assistant("Hi"), iv.assistant("Hi <think>Hm.</think>")),
    "a name": (iv.assistant([call()]), iv.assistant([call("write")])),
    "arguments": (iv.assistant([call()]), iv.assistant([call(arguments='{"a":1}')])),
    "order in a list": (
        iv.assistant([call(arguments="[1,2]")]),
        iv.assistant([call(arguments="[2,1]")]),
    ),
    "a further call": (iv.assistant([call()]), iv.assistant([call(), call()])),
    "words as a call": (iv.assistant("read"), iv.assistant([call()])),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_turns_that_show_the_same(one, other):
    assert shown_turn(one)[:3] == shown_turn(other)[:3]


@pytest.mark.parametrize(("one", "other"), OTHERS.values(), ids=OTHERS)
def test_turns_that_show_something_else(one, other):
    assert shown_turn(one).data != shown_turn(other).data


def test_it_is_not_confused_by_turns_that_come_and_go():
    """What the last messages show is remembered by identity, which Python gives to others later."""
    for number in range(2_000):
        assert str(number) == shown_turn(iv.assistant(str(number))).text


def test_seals_are_what_only_the_provider_can_read():
    signed = sealed(id="rs_1", seals=("id", "signature"))

    assert ["c2VhbA=="] == list(seals_of(signed))
    assert ["rs_1"] == list(seals_of(sealed(id="rs_1", seals=("id",))))
    assert [] == list(seals_of(iv.Thinking("Hm.")))
    assert [] == list(seals_of(sealed(seal="")))
    assert [] == list(seals_of(sealed(seal="skip_thought_signature_validator")))
    nested = iv.Origin(block={"a": {"b": "deep"}, "c": 5}, seals=("a.b", "c", "nothing.b"))
    assert ["deep"] == list(seals_of(iv.Text("", origin=nested)))


def test_refused_seals_are_left_out_with_their_reasoning():
    one, other = sealed("one", "b25l"), sealed("other", "b3RoZXI=")
    signed_text = iv.Text("Hi", origin=one.origin)
    messages = [iv.user("hi"), iv.assistant([one, other, signed_text]), iv.assistant([other])]

    assert {"b25l", "b3RoZXI="} == seals_in(messages)
    rest = without_seals(messages, frozenset({"b25l"}))
    assert [(), (other, signed_text), (other,)] == [(), *(turn.parts for turn in rest[1:])]
    assert rest[0] is messages[0]
    assert rest[2] is messages[2]


def test_results_name_the_calls_of_the_host():
    turn, sent = iv.assistant([call(call_id="host")]), iv.assistant([call(call_id="mine")])
    ids = RenamedCalls()
    assert not ids
    ids.add(call_ids([sent]), call_ids([turn]))

    assert ids
    assert "host" == ids.with_host_ids(iv.tool_result("mine", "x")).parts[0].call_id
    other = iv.tool_result("other", "x")
    assert ids.with_host_ids(other) is other
    assert ids.with_host_ids(sent) is sent, "a later turn has a call of its own with this id"
    assert "mine" == ids.host_id("mine")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (iv.user("hi"), iv.user(" hi"), True),
        (iv.user("hi"), iv.assistant("hi"), False),
        (iv.user("hi"), iv.user("ho"), False),
        (iv.assistant([call(call_id="a")]), iv.assistant([call(call_id="b")]), True),
        (
            iv.assistant([call(call_id="a")]),
            iv.assistant([call(call_id="a", arguments='{"b":1}')]),
            True,
        ),
        (
            iv.assistant([call(call_id="a")]),
            iv.assistant([call(call_id="b", arguments='{"b":1}')]),
            False,
        ),
        (iv.assistant([call(call_id="a")]), iv.assistant([call("write", call_id="a")]), False),
        (iv.tool_result("a", "x"), iv.tool_result("a", "y"), True),
        (iv.tool_result("a", "x"), iv.tool_result("b", "x"), True),
        (iv.tool_result("a", "x"), iv.tool_result("b", "y"), False),
        (
            iv.tool_result("a", [iv.Text("x")]),
            iv.tool_result("b", [iv.Text("x", origin=iv.Origin())]),
            True,
        ),
        (iv.tool_result("a", "x"), iv.Message("user", iv.tool_result("a", "x").parts), True),
        (iv.tool_result("a", "x"), iv.user("x"), False),
    ],
)
def test_messages_of_two_recordings(one, other, same):
    assert same == is_same_message(one, other) == is_same_message(other, one)


def test_texts_are_compared_without_blanks():
    assert "abc" == without_blanks(" a\nb\t c ")
