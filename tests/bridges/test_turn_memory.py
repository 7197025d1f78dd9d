"""The memory of turns: what it finds, and what it forgets."""

import pytest

import innervoice as iv
from innervoice.bridges.turn_memory import TurnMemory

QUESTION = {"role": "user", "content": "Which?"}


def turn(number, size=1):
    return iv.Message("assistant", (iv.Thinking("R" * size), iv.ToolCall(f"call_{number}", "f", "{}")))  # fmt: skip


def shown(*numbers):
    calls = [{"id": f"call_{number}", "function": {"name": "f", "arguments": "{}"}} for number in numbers]  # fmt: skip
    return {"role": "assistant", "content": None, "tool_calls": calls}


def found(memory, number, before=(QUESTION,), scope="a"):
    return memory.recall([*before, shown(number)], scope).messages[-1][1]


def kept(memory, *turns, scope="a"):
    position = memory.recall([QUESTION], scope).position
    for message in turns:
        memory.keep(position, message)


@pytest.mark.parametrize(
    ("memory", "size"), [(TurnMemory(turns=2), 1), (TurnMemory(size=5000), 2000)], ids=["turns", "bytes"]
)  # fmt: skip
def test_the_oldest_turns_are_forgotten(memory, size):
    kept(memory, *(turn(number, size) for number in range(50)))

    assert [None, turn(48, size), turn(49, size)] == [found(memory, number) for number in (47, 48, 49)]  # fmt: skip


def test_a_turn_that_is_too_large():
    memory = TurnMemory(size=5000)
    kept(memory, turn(1, 9000))

    assert found(memory, 1) is None


def test_callers():
    memory = TurnMemory()
    kept(memory, turn(1))

    assert (turn(1), None) == (found(memory, 1), found(memory, 1, scope="b"))


def test_a_conversation_whose_beginning_was_cut_off():
    """The question and the calls identify the turn; if two turns match, neither is used."""
    memory, system = TurnMemory(), {"role": "system", "content": "Be brief."}
    kept(memory, turn(1))
    assert turn(1) == found(memory, 1, [system, QUESTION])

    kept(memory, turn(1, 2))
    assert found(memory, 1, [system, QUESTION]) is None


@pytest.mark.parametrize("calls", [[1], [1, 3], [2, 1], [1, 2, 3]])
def test_other_calls_are_not_joined(calls):
    """A turn that was split is joined only if all of its calls are there, in their order."""
    memory = TurnMemory()
    both = iv.Message("assistant", (iv.Thinking("R"), *turn(1).tool_calls, *turn(2).tool_calls))
    kept(memory, both)
    messages = [QUESTION]
    for number in calls:
        messages += [shown(number), {"role": "tool", "tool_call_id": f"call_{number}", "content": "A"}]  # fmt: skip
    recalled = memory.recall(messages, "a").messages
    whole = calls[:2] == [1, 2]

    assert (both if whole else None) == recalled[1][1]
    assert (shown(1, 2) if whole else shown(calls[0])) == recalled[1][0]
    assert len(messages) - whole == len(recalled)
