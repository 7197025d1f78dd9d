"""The keys of a turn: the same for every way in which programs write a conversation, different for every other conversation."""

import pytest

import innervoice as iv
from innervoice.conversation.digest import (
    ConversationDigest,
    TurnKeys,
    conversation_start,
    keys_of_turns,
)

SECRET = b"0" * 32
CALL = iv.ToolCall("call_a1b2c3d4e5", "read", '{"path":"a"}')
TURN = iv.assistant([iv.Text("I read it."), CALL])
HISTORY = (iv.user("What is in a?"), TURN, iv.tool_result(CALL.id, "Words."), iv.user("So?"))


def keys(messages, turn=TURN, *, system=None, tenant="me", secret=SECRET) -> TurnKeys:
    digest = ConversationDigest(tenant, secret, system)
    for message in messages:
        digest.add(message)
    return digest.keys(turn)


WRITTEN_OTHERWISE = {
    "in several turns": [
        HISTORY[0],
        iv.assistant("I read it."),
        iv.assistant([CALL]),
        *HISTORY[2:],
    ],
    "with thoughts": [
        HISTORY[0],
        iv.assistant([iv.Thinking("Hm."), *TURN.parts]),
        *HISTORY[2:],
    ],
    "a result twice": [*HISTORY[:3], HISTORY[2], HISTORY[3]],
    "other ids": [
        HISTORY[0],
        iv.assistant([iv.Text("I read it."), CALL.replace(id="x")]),
        iv.tool_result("x", "Words."),
        HISTORY[3],
    ],
    "results without ids": [*HISTORY[:2], iv.tool_result("lost", "Words."), HISTORY[3]],
    "blanks around a text": [iv.user(" What is in a?\n"), *HISTORY[1:]],
}
OTHER_CONVERSATIONS = {
    "another question": [iv.user("What is in b?"), *HISTORY[1:]],
    "other words": [HISTORY[0], iv.assistant([iv.Text("I did."), CALL]), *HISTORY[2:]],
    "other arguments": [
        HISTORY[0],
        iv.assistant([iv.Text("I read it."), CALL.replace(arguments='{"path":"b"}')]),
        *HISTORY[2:],
    ],
    "another result": [*HISTORY[:2], iv.tool_result(CALL.id, "Others."), HISTORY[3]],
    "no result": [*HISTORY[:2], HISTORY[3]],
    "less": HISTORY[:3],
    "more": [*HISTORY, iv.user("And?")],
    "a picture": [iv.user([HISTORY[0].parts[0], iv.Media("image/png", "AAAA")]), *HISTORY[1:]],
}


@pytest.mark.parametrize("messages", WRITTEN_OTHERWISE.values(), ids=WRITTEN_OTHERWISE)
def test_the_same_conversation_written_otherwise(messages):
    assert keys(HISTORY) == keys(messages)


@pytest.mark.parametrize("messages", OTHER_CONVERSATIONS.values(), ids=OTHER_CONVERSATIONS)
def test_another_conversation(messages):
    one, other = keys(HISTORY), keys(messages)

    assert {one.place, one.follows}.isdisjoint((other.place, other.follows))
    assert one.calls == other.calls, "the calls of the turn are the same"


def test_the_system_prompt_is_part_of_the_place_alone():
    one, other = keys(HISTORY), keys(HISTORY, system="Be brief.")

    assert one.place != other.place
    assert one[1:] == other[1:]
    assert other == keys([iv.system("Be brief."), *HISTORY])
    billed = iv.system([iv.Text("x-anthropic-billing-header: 5;"), iv.Text("Be brief.")])
    assert other == keys([billed, *HISTORY])


@pytest.mark.parametrize("change", [{"tenant": "you"}, {"secret": b"1" * 32}])
def test_nothing_is_shared_between_owners_and_keys(change):
    assert set(keys(HISTORY).all).isdisjoint(keys(HISTORY, **change).all)


def test_the_turn_itself_counts():
    other = iv.assistant([iv.Text("I look."), CALL])
    one, two = keys(HISTORY), keys(HISTORY, other)

    assert one.place != two.place
    assert one[1:] == two[1:]
    assert (None, None) == keys(HISTORY, iv.assistant("Words."))[2:]


@pytest.mark.parametrize("name", ["call_1", "functions.read:0", "0"])
def test_ids_that_count_up_identify_nothing(name):
    turn = iv.assistant([CALL.replace(id=name)])

    assert keys(HISTORY, turn).calls is None
    assert keys(HISTORY, turn).question is not None


def test_calls_are_found_in_any_order_and_one_by_one():
    second = iv.ToolCall("call_k1l2m3n4o5", "read", '{"path":"b"}')
    digest = ConversationDigest("me", SECRET)
    digest.add(HISTORY[0])
    both = digest.keys(iv.assistant([CALL, second])).calls

    assert both == digest.keys(iv.assistant([second, CALL])).calls
    stored = digest.keys_to_store(iv.assistant([CALL, second]))
    assert digest.keys(iv.assistant([CALL])).calls in stored
    assert digest.keys(iv.assistant([second])).calls not in stored
    assert 4 == len(digest.keys_to_store(iv.assistant([CALL])))


def test_the_question_is_found_without_the_beginning():
    assert keys(HISTORY).question == keys(HISTORY[3:]).question
    assert keys(HISTORY).question != keys([iv.user("Why?")]).question


def test_a_copy_goes_on_by_itself():
    digest = ConversationDigest("me", SECRET)
    for message in HISTORY[:2]:
        digest.add(message)
    copy = digest.copy()
    copy.add(HISTORY[2])
    copy.add(HISTORY[3])

    assert keys(HISTORY) == copy.keys(TURN)
    assert keys(HISTORY[:2]) == digest.keys(TURN)


def test_the_keys_of_all_turns():
    digest = ConversationDigest("me", SECRET)

    found = keys_of_turns([*HISTORY, TURN], digest)

    assert [None, keys(HISTORY[:1]), None, None, keys(HISTORY)] == found
    assert digest.keys(TURN) == keys([*HISTORY, TURN])


def test_all_requests_of_a_conversation_start_alike():
    def start(messages, system="Be brief."):
        return conversation_start(iv.Request("a/b", messages, system=system), "me", SECRET)

    assert start(HISTORY) == start(HISTORY[:1])
    assert start(HISTORY) != start(HISTORY, "Be long.")
    assert start(HISTORY) != start(HISTORY[3:])
