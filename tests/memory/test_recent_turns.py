"""The turns that a process remembers: what is kept, and what is forgotten."""

import threading

import pytest

import innervoice as iv
from innervoice.conversation.digest import CROWD
from innervoice.memory.recent_turns import RecentTurns
from innervoice.memory.restoring import TurnRestorer

SECRET = b"a secret of the test, 32 bytes.."


def turn(number, size=1):
    call = iv.ToolCall(f"call_{number:012}", "f", "{}")
    return iv.Message("assistant", (iv.Thinking("R" * size), call))


def restorer(number, *messages, tenant="a"):
    request = iv.Request("x/y", (iv.user(f"Which, {number}?"), *messages))
    return TurnRestorer(request, tenant, SECRET)


def put(recent, number, size=1):
    recent.put(*restorer(number).record(turn(number, size)))


def found(recent, number, tenant="a"):
    """The turn that is put back where a program sends its calls."""
    bare = iv.Message("assistant", turn(number).tool_calls)
    asked = restorer(number, bare, tenant=tenant)
    request = asked.restored(recent.get(tenant, asked.wanted)).request
    return request.messages[1] if request.messages[1] != bare else None


@pytest.mark.parametrize(
    ("recent", "size"), [(RecentTurns(turns=2), 1), (RecentTurns(size=5000), 2000)], ids=["turns", "bytes"]
)  # fmt: skip
def test_the_oldest_turns_are_forgotten(recent, size):
    for number in range(50):
        put(recent, number, size)

    assert len(recent) == 2
    assert [None, turn(48, size), turn(49, size)] == [found(recent, number) for number in (47, 48, 49)]  # fmt: skip


def test_a_turn_that_was_used_stays():
    recent = RecentTurns(turns=2)
    put(recent, 1)
    put(recent, 2)
    assert found(recent, 1)
    put(recent, 3)

    assert found(recent, 1)
    assert not found(recent, 2)


def test_a_turn_that_is_too_large():
    """It is not kept, and those that are there stay."""
    recent = RecentTurns(size=5000)
    put(recent, 1)
    put(recent, 2, 9000)

    assert found(recent, 2) is None
    assert found(recent, 1)


def test_none_at_all():
    recent = RecentTurns(turns=0)
    put(recent, 1)
    assert len(recent) == 0


def test_callers():
    recent = RecentTurns()
    put(recent, 1)

    assert (turn(1), None) == (found(recent, 1), found(recent, 1, tenant="b"))
    assert (0, 1) == (recent.forget("b"), recent.forget("a"))
    assert found(recent, 1) is None


def test_a_key_that_a_crowd_has():
    """One question asked a thousand times: its turns are found by their ids alone, and a look-up does not read them all."""
    recent = RecentTurns()
    for number in range(1000):
        recent.put(*restorer("all").record(turn(number)))
    bare = iv.Message("assistant", turn(7).tool_calls)
    asked = restorer("all", bare)
    found = recent.get("a", asked.wanted)

    assert turn(7) == asked.restored(found).request.messages[1]
    assert max(map(len, found.values())) == CROWD + 1


@pytest.mark.parametrize("count", [CROWD, CROWD + 1])
def test_a_place_where_a_crowd_of_turns_stands(count):
    """The system prompt is another, so all answers to the question are looked through, unless there are too many."""
    recent = RecentTurns()
    answers = [iv.Message("assistant", (iv.Thinking("R"), iv.Text(f"Answer {n}."))) for n in range(count)]  # fmt: skip
    for answer in answers:
        recent.put(*restorer("all").record(answer))
    request = iv.Request("x/y", (iv.user("Which, all?"), iv.assistant("Answer 3.")), system="New.")
    asked = TurnRestorer(request, "a", SECRET)
    sent = asked.restored(recent.get("a", asked.wanted)).request.messages[1]

    assert sent == (answers[3] if count <= CROWD else iv.assistant("Answer 3."))


def test_threads_share_it():
    recent = RecentTurns(turns=20)

    def work(start):
        for number in range(start, start + 150):
            put(recent, number)
            found(recent, number)
            recent.forget("nobody")

    threads = [threading.Thread(target=work, args=(start * 1000,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(recent) == 20
    assert recent.forget() == 20
    assert len(recent) == 0
