"""Which calls and results belong together, by their order and their ids."""

import pytest

import innervoice as iv
from planning.turns import codes

A, B = iv.ToolCall("a", "f", "{}"), iv.ToolCall("b", "g", "{}")
OPEN = "call_without_result"
STRAY = "result_without_call"


def turn(*calls):
    return iv.Message("assistant", calls)


def results(*names):
    return iv.Message("tool", tuple(iv.ToolResult(name, "1") for name in names))


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([turn(A, B), results("a", "b")], []),
        ([turn(A, B), results("b"), results("a")], []),
        ([turn(A, B), results("b")], [(OPEN, 1, 0)]),
        ([turn(A, B)], [(OPEN, 1, 0), (OPEN, 1, 1)]),
        ([results("a"), turn(A)], [(STRAY, 1, 0), (OPEN, 2, 0)]),
        ([turn(A), results("b", "a")], [(STRAY, 2, 0)]),
        # Ids that come again, as where a host sends none.
        ([turn(A), results("a"), turn(A), results("a")], []),
        ([turn(A), turn(A, B), results("a", "b")], [(OPEN, 1, 0)]),
        ([turn(A), turn(A), results("a")], []),  # the same turn twice is sent once
        ([turn(A), results("a"), turn(A)], [(OPEN, 3, 0)]),
        # A second result for the same call has a problem of its own.
        ([turn(A), results("a"), results("a")], []),
    ],
)
def test_calls_and_results(messages, expected):
    history = [iv.user("x"), *messages, iv.user("y")]
    found = codes(history, "ollama/qwen3")
    structure = [(code, *place) for code, _, *place in found if code in (OPEN, STRAY)]
    assert expected == structure


def test_the_last_turn_may_wait():
    assert [] == [row for row in codes([iv.user("x"), turn(A)], "ollama/qwen3") if row[0] == OPEN]
