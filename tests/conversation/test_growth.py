"""What is new in a request: the longest beginning that was seen before, and the messages after it."""

import json

import pytest

import innervoice as iv
from gateway.harness import BEHIND, body_of
from innervoice.canon.bounded import Bounded
from innervoice.conversation.body import SplitBody
from innervoice.conversation.growth import Beginnings, growth_of, is_plain, result_ids

ITEMS = [{"role": "user", "content": str(number)} for number in range(5)]


def split(items):
    return SplitBody(json.dumps({"model": "m", "messages": items}).encode(), "anthropic")


@pytest.fixture
def known():
    beginnings = Beginnings(Bounded(10))
    beginnings.add(split(ITEMS[:1]), b"me", "one")
    beginnings.add(split(ITEMS[:3]), b"me", "three")
    return beginnings


def test_the_longest_beginning_is_found(known):
    assert (3, "three") == known.longest(split(ITEMS), b"me", answered=True)
    assert (1, "one") == known.longest(split(ITEMS[:2]), b"me", answered=True)
    assert known.longest(split(ITEMS), b"you", answered=True) is None
    assert known.longest(split(ITEMS[1:]), b"me", answered=False) is None


def test_an_answer_must_follow(known):
    assert (1, "one") == known.longest(split(ITEMS[:3]), b"me", answered=True)
    assert (3, "three") == known.longest(split(ITEMS[:3]), b"me", answered=False)


def test_a_part_of_a_conversation_can_be_known(known):
    known.add(split(ITEMS), b"me", "four", 4)

    assert (4, "four") == known.longest(split(ITEMS), b"me", answered=False)
    assert 3 == len(known)


def test_what_is_known_can_be_forgotten(known):
    known.forget(split(ITEMS[:3]), b"you")
    assert 2 == len(known)
    known.forget(split(ITEMS[:2]), b"me")
    assert (3, "three") == known.longest(split(ITEMS), b"me", answered=True)
    known.forget(split(ITEMS), b"me")
    assert 0 == len(known)
    known.add(split(ITEMS), b"me", "all")
    known.clear()
    assert known.longest(split(ITEMS), b"me", answered=False) is None


def test_the_last_ones_are_kept(known):
    for number in range(20):
        known.add(split([{"role": "user", "content": f"other {number}"}]), b"me", "other")
        assert (1, "one") == known.longest(split(ITEMS[:2]), b"me", answered=True), "it is used"

    assert 10 == len(known)
    assert (1, "one") == known.longest(split(ITEMS), b"me", answered=True), "three items were not"


CALL = iv.ToolCall("call_a1b2c3d4e5", "get_weather", '{"city":"Oslo"}')
OTHER = iv.ToolCall("call_f6g7h8i9j0", "get_weather", '{"city":"Rome"}')
TURN = iv.assistant([iv.Text("Let me see."), CALL, OTHER])
RESULTS = [iv.tool_result(call.id, "Sunshine") for call in (CALL, OTHER)]


def new_in(dialect, messages):
    _, body = body_of(dialect, BEHIND[dialect], [iv.user("What is the weather?"), *messages])
    whole = SplitBody(json.dumps(body).encode(), dialect, BEHIND[dialect])
    first = next(
        number
        for number, item in enumerate(whole.items)
        if json.loads(bytes(item)).get("role") not in ("user", "system")
        and json.loads(bytes(item)).get("type") != "user_input"
    )
    return growth_of(whole, first)


@pytest.mark.parametrize("dialect", BEHIND)
def test_an_answer_and_what_follows_is_read_in_every_dialect(dialect):
    growth = new_in(dialect, [TURN, *RESULTS, iv.user("And now?")])

    assert "Let me see." == growth.turn.text
    assert ["get_weather"] * 2 == [call.name for call in growth.turn.tool_calls]
    assert growth.is_answered
    assert "And now?" == growth.rest[-1].text


@pytest.mark.parametrize("results", [RESULTS[:1], [*RESULTS, RESULTS[0]]], ids=["one", "three"])
def test_each_call_has_one_result(results):
    body = split([{"role": "user", "content": "hi"}])
    growth = new_in("anthropic", [TURN, *RESULTS])

    assert growth.is_answered
    assert not growth._replace(rest=tuple(results)).is_answered
    assert growth_of(body, 0) is None, "no answer comes first"
    assert growth_of(body, 1) is None


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        (iv.user("hi"), True),
        (iv.user(" \n"), False),
        (RESULTS[0], True),
        (iv.tool_result("a", [iv.Text("one"), iv.Text("two")]), True),
        (iv.tool_result("a", [iv.Text("one"), iv.Media("image/png", "iVBORw0KGgo=")]), False),
        (iv.user([iv.Text("look"), iv.Media("image/png", "iVBORw0KGgo=")]), False),
        (iv.system("Be brief."), False),
        (iv.assistant("hi"), False),
    ],
)
def test_plain_messages_go_to_every_model_unchanged(message, plain):
    assert plain == is_plain(message)


def test_a_message_that_is_not_plain_needs_the_whole_request():
    picture = iv.user([iv.Text("Look."), iv.Media("image/png", "iVBORw0KGgo=")])

    assert new_in("anthropic", [TURN, *RESULTS, picture]) is None
    assert ["call_a1b2c3d4e5", "call_f6g7h8i9j0"] == result_ids(RESULTS)
