"""Stored turns in the messages of programs that speak Chat Completions."""

import json

import pytest

import innervoice as iv
from innervoice.bridges.chat_turns import ChatTurns, with_sent_ids
from innervoice.bridges.sdk import Relay

QUESTION = {"role": "user", "content": "Which?"}
URL = "https://api.deepseek.com/chat/completions"


def turn(*numbers, text=""):
    calls = (iv.ToolCall(f"call_{number}", "f", "{}") for number in numbers)
    texts = (iv.Text(text),) if text else ()
    return iv.Message("assistant", (iv.Thinking(f"R{text}{numbers}"), *texts, *calls))


def shown(*numbers, text=None):
    calls = [{"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for number in numbers]  # fmt: skip
    message = {"role": "assistant", "content": text}
    return {**message, "tool_calls": calls} if calls else message


def result(number):
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": "A"}


def kept(turns, message, before=(QUESTION,), scope="a"):
    turns.keep(turns.recall(before, scope).position, message)


def recalled(turns, *messages, scope="a"):
    return turns.recall([QUESTION, *messages], scope).messages[1:]


def test_callers():
    turns = ChatTurns()
    kept(turns, turn(1))

    assert [(shown(1), turn(1))] == recalled(turns, shown(1))
    assert [(shown(1), None)] == recalled(turns, shown(1), scope="b")
    turns.clear()
    assert [(shown(1), None)] == recalled(turns, shown(1))


def test_the_position_needs_no_look_up():
    """Where the response will stand is the same, whether turns are looked for or not."""
    turns = ChatTurns()
    history = [QUESTION, shown(1), result(1)]
    turns.keep(turns.position(history, "a"), turn(text="Done."))

    assert turn(text="Done.") == recalled(turns, *history[1:], shown(text="Done."))[-1][1]


def test_a_conversation_whose_beginning_was_cut_off():
    """The question and the calls identify the turn; if two turns match, neither is used."""
    turns, system = ChatTurns(), {"role": "system", "content": "Be brief."}
    hello = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    kept(turns, turn(1), [*hello, QUESTION])
    assert turn(1) == turns.recall([system, QUESTION, shown(1)], "a").messages[-1][1]

    kept(turns, turn(1).replace(parts=(iv.Thinking("Other."), *turn(1).tool_calls)))
    assert turns.recall([system, *hello[1:], QUESTION, shown(1)], "a").messages[-1][1] is None


@pytest.mark.parametrize("calls", [[1], [1, 3], [2, 1], [1, 2], [1, 2, 3]])
@pytest.mark.parametrize("text", ["", "Let me see."])
@pytest.mark.parametrize("is_kept", [True, False])
def test_calls_that_were_made_turns(calls, text, is_kept):
    """A turn that was split is joined only if all of its calls are there, in their order; its text may be lost."""
    turns = ChatTurns()
    both = turn(1, 2, text=text)
    kept(turns, both)
    messages = [message for number in calls for message in (shown(number), result(number))]
    if is_kept:
        messages[0]["content"] = text or None
    found = recalled(turns, *messages)
    whole = calls[:2] == [1, 2]

    assert (both if whole else None) == found[0][1]
    calls_of = [call["id"] for call in found[0][0]["tool_calls"]]
    assert (["call_1", "call_2"] if whole else [f"call_{calls[0]}"]) == calls_of
    assert len(messages) - whole == len(found)
    sent = [message for message, _ in found if message["role"] == "tool"]
    assert sent == [result(number) for number in calls]


def test_two_turns_in_one_message():
    turns = ChatTurns()
    one, two = turn(text="First."), turn(1, text="Second.")
    kept(turns, one)
    kept(turns, two, [QUESTION, shown(text="First.")])
    merged = shown(1, text="First.\n\nSecond.")

    assert [(shown(text="First."), one), (shown(1, text="Second."), two), (result(1), None)] == recalled(turns, merged, result(1))  # fmt: skip
    odd = {**merged, "reasoning_content": "Mine."}
    assert [(odd, None)] == recalled(turns, odd), "of which of the two it is, nobody knows"


def test_a_turn_in_two_messages():
    turns = ChatTurns()
    kept(turns, turn(1, text="I look."))
    found = recalled(turns, shown(text="I look. "), {**shown(1), "name": "me"}, result(1))

    assert [({**shown(1, text="I look."), "name": "me"}, turn(1, text="I look.")), (result(1), None)] == found  # fmt: skip


def test_a_text_in_two_messages():
    """A message without calls gets no empty list of them, which hosts refuse."""
    turns = ChatTurns()
    kept(turns, turn(text="I look around."))

    assert [(shown(text="I look around."), turn(text="I look around."))] == recalled(turns, shown(text="I look"), shown(text=" around."))  # fmt: skip


def test_two_turns_with_the_same_calls():
    """The ids say which of them it is, also if its text is another."""
    turns = ChatTurns()
    for number in (1, 2):
        kept(turns, turn(number, text="Let me see."))

    assert [(shown(2, text="Mine."), turn(2, text="Let me see."))] == recalled(turns, shown(2, text="Mine."))  # fmt: skip
    assert [(shown(3, text="Mine."), None)] == recalled(turns, shown(3, text="Mine."))


def test_results_follow_their_calls():
    """Where the calls get the ids of their host back, so do the results, up to the next call of that id."""
    given = [shown(1), result(1), shown(1), result(1)]
    sent = [shown(9), result(1), shown(1), result(1)]

    assert [shown(9), result(9), shown(1), result(1)] == with_sent_ids(given, sent)


@pytest.mark.parametrize(
    "odd",
    [None, "text", {}, {"role": "assistant", "content": object()}, {"role": "assistant", "tool_calls": 3},
     {"role": "user", "content": [{"type": "x", "of": object()}]}, {"role": "user", "content": 7}],
)  # fmt: skip
def test_odd_messages_pass(odd):
    """What is wrong with a message is for others to say."""
    assert [(odd, None), (shown(1), None)] == recalled(ChatTurns(), odd, shown(1))


def relayed(relay, messages, answer):
    body = json.dumps({"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]})
    asked = json.dumps({"model": "deepseek-v4-pro", "messages": messages})
    relay.incoming(URL, "deepseek-v4-pro", body.encode(), request_body=asked.encode())


def sent_by(relay, *messages):
    body = json.dumps({"model": "deepseek-v4-pro", "messages": messages}).encode()
    return json.loads(relay.outgoing(URL, body))["messages"]


@pytest.mark.parametrize(("text", "sent"), [("Let me look.", "Let me look."), (None, "Let me see."), ("Let me  see.\n", "Let me see.")])  # fmt: skip
def test_a_text_beside_calls_that_was_edited(text, sent):
    """The reasoning comes back; an edited text stays, a lost one comes back too."""
    relay = Relay("deepseek")
    relayed(relay, [QUESTION], {**shown(1, text="Let me see."), "reasoning_content": "R"})
    message = sent_by(relay, QUESTION, shown(1, text=text), result(1))[1]

    assert ("R", sent) == (message["reasoning_content"], message["content"])


def test_ids_that_the_program_renamed():
    relay = Relay("deepseek")
    relayed(relay, [QUESTION], {**shown(1), "reasoning_content": "R"})
    _, call, answer = sent_by(relay, QUESTION, shown(5), result(5))

    assert ("R", "call_1", "call_1") == (call["reasoning_content"], call["tool_calls"][0]["id"], answer["tool_call_id"])  # fmt: skip
