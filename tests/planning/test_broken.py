"""Histories that programs break in ordinary ways: planned so that no host refuses them, each change with a note."""

import pytest

import innervoice as iv
from innervoice.emulator import emulated_client
from innervoice.planning import turns as ids
from planning.test_matrix import TARGETS

CLIENT = emulated_client()


def call(name):
    return iv.ToolCall(name, "f", "{}")


def turn(*parts):
    return iv.Message("assistant", parts)


A, B = call("a"), call("b")
BROKEN = {
    "an empty turn": ([iv.user("x"), iv.assistant(""), iv.user("y")], {"blank_omitted", "turn_removed"}),
    "a blank turn": ([iv.user("x"), iv.assistant(" \n"), iv.user("y")], {"blank_omitted", "turn_removed"}),
    "a blank text before a call": (
        [iv.user("x"), turn(iv.Text(" "), A), iv.tool_result("a", "1"), iv.user("y")], {"blank_omitted"},
    ),
    "two results": (
        [iv.user("x"), turn(A), iv.tool_result("a", "1"), iv.tool_result("a", "2"), iv.user("y")], {"result_repeated"},
    ),
    "open calls at the end": ([iv.user("x"), turn(A, B)], {"result_filled"}),
    "an open call beside a result": ([iv.user("x"), turn(A, B), iv.tool_result("b", "1")], {"result_filled"}),
    "a turn twice": ([iv.user("x"), turn(A), turn(A), iv.tool_result("a", "1")], {"turn_repeated"}),
    "a text twice": ([iv.user("x"), iv.assistant("So."), iv.assistant("So."), iv.user("y")], {"turn_repeated"}),
    "an id twice": (
        [iv.user("x"), turn(A), iv.tool_result("a", "1"), iv.user("y"), turn(A), iv.tool_result("a", "2")], set(),
    ),
    "an id twice in a turn": (
        [iv.user("x"), turn(A, A), iv.Message("tool", (iv.ToolResult("a", "1"), iv.ToolResult("a", "2")))], set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BROKEN)
def test_no_host_refuses(name, target):
    history, notes = BROKEN[name]
    response = CLIENT.ask(target, history)
    assert response.ended
    found = {note.code for note in iv.encode(iv.Request(target, history)).notes}
    assert notes <= found


def body_of(history, target="openai/gpt-5.6", dialect="openai-chat"):
    return iv.encode(iv.Request(target, history, dialect=dialect)).body["messages"]


def test_the_first_result_is_kept():
    history, _ = BROKEN["two results"]
    assert [item["content"] for item in body_of(history) if item["role"] == "tool"] == ["1"]


def test_results_of_calls_that_share_an_id_keep_their_order():
    history, _ = BROKEN["an id twice in a turn"]
    sent = body_of(history)
    names = [item["id"] for item in sent[1]["tool_calls"]]
    assert len(set(names)) == 2
    assert [(item["tool_call_id"], item["content"]) for item in sent[2:]] == [
        (names[0], "1"),
        (names[1], "2"),
    ]


def test_a_history_that_goes_on_keeps_its_open_calls():
    """`lint` and `repair` leave the calls of the last turn to the caller."""
    history, _ = BROKEN["open calls at the end"]
    assert "call_without_result" not in {item.code for item in iv.lint(history, "ollama/qwen3:8b")}
    assert iv.repair(history, "ollama/qwen3:8b") == history


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("an empty turn", {"blank_omitted", "turn_removed"}),
        ("two results", {"result_repeated"}),
        ("a turn twice", {"turn_repeated"}),
    ],
)
def test_lint_and_repair(name, codes):
    history, _ = BROKEN[name]
    history = [*history, iv.user("z")]
    assert {item.code for item in iv.lint(history, "ollama/qwen3:8b")} == codes
    assert iv.lint(iv.repair(history, "ollama/qwen3:8b"), "ollama/qwen3:8b") == []


def received(name):
    """A turn of Claude with one call."""
    block = {"type": "tool_use", "id": name, "name": "f", "input": {}}
    body = {"type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    return iv.decode(body, provider="anthropic", model="claude-opus-5-5")


def test_an_id_that_occurs_twice_in_received_blocks():
    history = [iv.user("x"), received("a"), iv.tool_result("a", "1"), iv.user("y"), received("a")]
    history.append(iv.tool_result("a", "2"))
    wire = iv.encode(iv.Request("anthropic/claude-opus-5-5", history))
    blocks = [block for item in wire.body["messages"] for block in item["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert calls == results
    assert calls[0] == "a" != calls[1]
    assert "id_mapped" in {note.code for note in wire.notes}


def test_results_of_an_interrupted_call_do_not_take_later_ones_along():
    cut = iv.ToolCall("call_0", "f", "{", complete=False)
    history = [
        iv.user("x"),
        turn(iv.Text("A"), cut),
        iv.user("y"),
        turn(call("call_0")),
        iv.tool_result("call_0", "1"),
    ]
    assert body_of(history)[-1]["content"] == "1"


def test_calls_that_share_one_id_take_linear_time(monkeypatch):
    """One digest for each call, however many have the same id."""
    made = []
    short = ids._short
    monkeypatch.setattr(ids, "_short", lambda given: made.append(given) or short(given))
    history = [iv.user("x")]
    for number in range(300):
        history += [turn(call("call_0")), iv.tool_result("call_0", str(number)), iv.user("y")]
    iv.plan(history, "anthropic/claude-opus-5-5")
    assert len(made) == 299
