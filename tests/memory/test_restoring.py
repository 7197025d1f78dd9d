"""Turns that a program sends back in part get back what they lost, and only that."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Text, Thinking, ToolCall, ToolResult
from innervoice.conversation.turns import seals_of
from innervoice.memory.recent_turns import RecentTurns
from innervoice.memory.records import TurnRecord
from innervoice.memory.restoring import TurnRestorer

SECRET = b"a secret of the test, 32 bytes.."
MODEL = "anthropic/claude-opus-5-5"


def sealed(text="I look it up.", seal="c2VhbA=="):
    block = {"type": "thinking", "thinking": text, "signature": seal}
    origin = Origin(
        provider="anthropic",
        model="claude-opus-5-5",
        dialect="anthropic",
        block=block,
        seals=("signature",),
    )
    return Thinking(text, origin=origin)


def call(number=1, **arguments):
    return ToolCall(
        f"toolu_0123456789{number}ab", "read", json.dumps(arguments or {"path": "a.txt", "line": 1})
    )


def turn(*parts):
    return Message("assistant", parts)


def results(*texts, start=1):
    return Message(
        "user", tuple(ToolResult(call(n).id, text) for n, text in enumerate(texts, start))
    )


class Memory:
    """A store, asked as the gateway asks it."""

    def __init__(self):
        self.store = RecentTurns()

    def remember(self, before, message, tenant="me", system=None):
        restorer = TurnRestorer(iv.Request(MODEL, tuple(before), system=system), tenant, SECRET)
        record, keys = restorer.record(message)
        self.store.put(record, keys)

    def restored(self, messages, tenant="me", system=None, opened=lambda _text, _slot: None):
        request = iv.Request(MODEL, tuple(messages), system=system)
        restorer = TurnRestorer(request, tenant, SECRET, opened)
        found = self.store.get(tenant, restorer.wanted)
        return restorer.restored(found)


ASKED = iv.user("What is in a.txt?")
TURN = turn(sealed(), Text("Let me see."), call())
SHOWN = turn(Text("Let me see."), call())


def test_a_turn_without_its_reasoning_gets_it_back():
    memory = Memory()
    memory.remember([ASKED], TURN)
    request, places = memory.restored([ASKED, SHOWN, results("hello")])
    assert request.messages == (ASKED, TURN, results("hello"))
    assert places == {(1, 0)}


def test_a_turn_that_kept_its_reasoning_counts_as_kept():
    memory = Memory()
    memory.remember([ASKED], TURN)
    _, places = memory.restored([ASKED, TURN, results("hello")])
    assert not places


# What programs do to a history that is still the same history.
SAME = {
    "white space around the text": turn(Text("  Let me see.\n"), call()),
    "the text in pieces": turn(Text("Let me "), Text("see."), call()),
    "arguments in another order": turn(Text("Let me see."), call(line=1, path="a.txt")),
    "another id of the call": turn(Text("Let me see."), ToolCall("x1", "read", call().arguments)),
}


@pytest.mark.parametrize("shown", SAME.values(), ids=SAME.keys())
def test_the_same_turn_in_other_words(shown):
    memory = Memory()
    memory.remember([ASKED], TURN)
    answered = Message("user", (ToolResult(shown.tool_calls[0].id, "hello"),))
    request, places = memory.restored([ASKED, shown, answered])
    assert places
    assert request.messages[1] == TURN
    assert request.messages[2].parts[0].call_id == TURN.tool_calls[0].id, (
        "results follow their calls"
    )


BEFORE = {
    "the beginning is cut off": [],
    "the system prompt is another": [iv.system("Be brief.")],
    "a summary stands before": [iv.user("Summary of what happened."), iv.assistant("Good.")],
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE.keys())
def test_a_conversation_that_begins_otherwise(before):
    memory = Memory()
    long_ago = [iv.system("Be kind."), iv.user("Hello!"), iv.assistant("Hello.")]
    memory.remember([*long_ago, ASKED], TURN)
    request, places = memory.restored([*before, ASKED, SHOWN, results("hello")])
    assert places, "its calls, or the question, find it"
    assert TURN in request.messages


EDITED = {
    "other words": turn(Text("Let me look."), call()),
    "another call": turn(Text("Let me see."), call(path="b.txt")),
    "one call more": turn(Text("Let me see."), call(), call(2)),
    "another's seal": turn(sealed("Other.", "b3RoZXI="), Text("Let me see."), call()),
}


@pytest.mark.parametrize("shown", EDITED.values(), ids=EDITED.keys())
def test_who_edits_a_turn_means_it(shown):
    memory = Memory()
    memory.remember([ASKED], TURN)
    request, places = memory.restored([ASKED, shown])
    assert not places
    assert request.messages == (ASKED, shown)


def test_a_text_turn_is_found_by_its_place_alone():
    memory = Memory()
    answer = turn(sealed(), Text("Hello!"))
    memory.remember([iv.user("Say hello.")], answer)
    _, places = memory.restored([iv.user("Say hello."), iv.assistant("Hello!"), iv.user("Again.")])
    assert places == {(1, 0)}
    _, elsewhere = memory.restored(
        [iv.user("Greet me."), iv.assistant("Hello!"), iv.user("Again.")]
    )
    assert not elsewhere, "the same words somewhere else are another turn"


def test_of_two_at_the_same_place_the_newest_is_right():
    """Everything that the program sent is equal, so each of them is a true turn of this conversation."""
    memory = Memory()
    for seal in ("b25l", "dHdv"):
        memory.remember([iv.user("Say hello.")], turn(sealed(seal=seal), Text("Hello!")))
    request, places = memory.restored([iv.user("Say hello."), iv.assistant("Hello!")])
    assert places
    assert ["dHdv"] == [seal for part in request.messages[1].parts for seal in seals_of(part)]


def test_a_turn_follows_the_one_before_it():
    """Two runs with the same words: where the first turn shows which run it is, the second is of the same, though another is newer."""
    recent, first, second = RecentTurns(), iv.user("One?"), iv.user("Two?")

    def answered(history, answer):
        restorer = TurnRestorer(iv.Request(MODEL, tuple(history)), "me", SECRET)
        restorer.restored(recent.get("me", restorer.wanted))
        recent.put(*restorer.record(answer))

    def answers(run):
        return [turn(sealed(seal=f"{run}{number}=="), Text("Yes.")) for number in (1, 2)]

    for run in ("ab", "cd"):
        one, two = answers(run)
        answered([first], one)
        answered([first, one, second], two)
    one, two = answers("ab")
    request = iv.Request(MODEL, (first, one, second, turn(Text("Yes.")), iv.user("Three?")))
    restorer = TurnRestorer(request, "me", SECRET)
    messages = restorer.restored(recent.get("me", restorer.wanted)).request.messages

    assert (one, two) == (messages[1], messages[3])
    assert "several_turns_match" not in {note.code for note in restorer.notebook.notes()}


def test_of_two_elsewhere_none_is_used():
    """The beginning was cut off: both were answers to the same question, in different conversations."""
    memory = Memory()
    counted = ToolCall("call_1", "read", '{"path":"a.txt"}')
    for seal, before in (("b25l", "One."), ("dHdv", "Two.")):
        history = [iv.user(before), iv.assistant("Yes."), iv.user("Read it.")]
        memory.remember(history, turn(sealed(seal=seal), counted))
    _, places = memory.restored([iv.user("Read it."), turn(counted)])
    assert not places


def test_the_same_turn_twice_is_one():
    memory = Memory()
    for _ in range(2):
        memory.remember([ASKED], TURN)
    assert len(memory.store) == 1
    assert memory.restored([ASKED, SHOWN]).places


def test_counted_ids_of_other_conversations_do_not_meet():
    """`call_1` of one conversation is not `call_1` of another."""
    memory = Memory()
    counted = ToolCall("call_1", "read", '{"path":"a.txt"}')
    memory.remember([iv.user("One.")], turn(sealed(), counted))
    _, places = memory.restored([iv.user("Two."), turn(counted)])
    assert not places


def test_parallel_results_in_another_order():
    memory = Memory()
    both = turn(sealed(), call(1, path="a"), call(2, path="b"))
    memory.remember([ASKED], both)
    answered = results("A", "B")
    memory.remember([ASKED, both, answered], turn(sealed("Done.", "ZG9uZQ=="), Text("A and B.")))
    swapped = Message("user", answered.parts[::-1])
    bare = turn(*both.tool_calls)
    _, places = memory.restored([ASKED, bare, swapped, iv.assistant("A and B.")])
    assert places == {(1, 0), (3, 0)}


# ---- tenants ---------------------------------------------------------------------------------------


words = st.text(max_size=8)
parts = st.one_of(
    st.builds(Text, words),
    st.builds(lambda data: Media("image/png", data), words),
    st.builds(sealed, words),
)
calls = st.builds(ToolCall, st.sampled_from(["call_1", "toolu_0123456789ab"]), words, words)
turns = st.builds(
    lambda held, made: turn(*held, *made), st.lists(parts, max_size=3), st.lists(calls, max_size=2)
)


@settings(deadline=None)
@given(st.lists(st.builds(iv.user, words), max_size=3), turns, st.text(), st.text())
def test_tenants_never_meet(before, message, one, other):
    memory = Memory()
    if message.parts and TurnRestorer(iv.Request(MODEL, tuple(before)), one, SECRET).record(
        message
    ):
        memory.remember(before, message, tenant=one)
        bare = turn(*(part for part in message.parts if not isinstance(part, Thinking)))
        _, places = memory.restored([*before, bare], tenant=other)
        assert not places or one == other


def test_a_full_store_forgets_the_oldest():
    store = RecentTurns(size=2000)
    for number in range(50):
        record = TurnRecord(
            id=str(number), tenant="me", message=turn(sealed(str(number))), created=0.0
        )
        store.put(record, [bytes([number])])
    assert 0 < len(store) < 50
    assert store.get("me", [bytes([49])])
    assert not store.get("me", [bytes([0])])
    assert store.forget("you") == 0
    assert store.forget("me")
    assert not store.get("me", [bytes([49])])
