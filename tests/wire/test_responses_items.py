"""The items of a Responses stream are told apart by index or id, and the terminal response is matched by id."""

import pytest

import innervoice as iv

REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "Hm"}],
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "A"}],
}
# llama.cpp's calls have no id; their deltas name the id of the call.
CALL = {"type": "function_call", "call_id": "fc_1", "name": "f", "arguments": "{}"}
OTHER_CALL = {"type": "function_call", "call_id": "fc_2", "name": "g", "arguments": '{"a":1}'}
ITEMS = [REASONING, MESSAGE, CALL, OTHER_CALL]


def event(kind, **members):
    return {"type": f"response.{kind}", **members}


def deltas():
    """As llama.cpp's server writes them, without `output_index`; the two calls come in turns."""
    yield event("output_item.added", item={**REASONING, "content": []})
    yield event("reasoning_text.delta", delta="Hm", item_id="rs_1")
    yield event("output_item.added", item={**MESSAGE, "content": []})
    yield event("output_text.delta", delta="A", item_id="msg_1")
    yield event("output_item.added", item={**CALL, "arguments": ""})
    yield event("output_item.added", item={**OTHER_CALL, "arguments": ""})
    yield event("function_call_arguments.delta", delta='{"a":', item_id="fc_2")
    yield event("function_call_arguments.delta", delta="{}", item_id="fc_1")
    yield event("function_call_arguments.delta", delta="1}", item_id="fc_2")


def done():
    return [event("output_item.done", item=item) for item in ITEMS]


def completed(*output):
    return event("completed", response={"id": "r", "status": "completed", "output": list(output)})


def read(*events):
    response = iv.fold(iv.decode_stream(list(events)))
    calls = [(call.name, call.arguments) for call in response.tool_calls]
    return response.text, response.thinking, calls, response.status


@pytest.mark.parametrize(
    "output",
    [
        ITEMS,
        ITEMS[::-1],
        ITEMS[1:],
        ITEMS[:1],
        [MESSAGE],
        [MESSAGE, MESSAGE],
        [],
        [{**item, "id": f"new_{item['type']}"} for item in ITEMS],
        [OTHER_CALL, {**MESSAGE, "id": "new"}, REASONING],
    ],
    ids=["all", "reversed", "without the first", "first", "one", "twice", "none", "ids", "mixed"],
)  # fmt: skip
@pytest.mark.parametrize("ends", [done(), []], ids=["done", "not done"])
def test_items_without_an_index(output, ends):
    expected = "A", "Hm", [("f", "{}"), ("g", '{"a":1}')], "tool_calls"

    assert expected == read(*deltas(), *ends, completed(*output))


def indexed(item, index, delta):
    place = {"output_index": index}
    yield event("output_item.added", **place, item={**item, "content": []})
    yield event("output_text.delta", **place, delta=delta, item_id=item["id"])
    yield event("output_item.done", **place, item=item)


def test_a_terminal_response_with_an_item_before_the_one_that_came():
    """Seen failing: the reasoning took the place of the message, and the text came a second time."""
    came = list(indexed(MESSAGE, 1, "A"))

    assert ("A", "Hm", [], "answered") == read(*came, completed(REASONING, MESSAGE))


def test_a_terminal_response_in_another_order():
    other = {**MESSAGE, "id": "msg_2", "content": [{"type": "output_text", "text": "B"}]}
    came = [*indexed(MESSAGE, 0, "A"), *indexed(other, 1, "B")]

    for output in ([other, MESSAGE], [other], [MESSAGE]):
        response = iv.fold(iv.decode_stream([*came, completed(*output)]))
        assert ["A", "B"] == [part.text for part in response.parts]


def test_a_message_that_did_not_come_is_added():
    other = {**MESSAGE, "id": "msg_2", "content": [{"type": "output_text", "text": "B"}]}
    came = list(indexed(MESSAGE, 0, "A"))
    response = iv.fold(iv.decode_stream([*came, completed(other, MESSAGE)]))

    assert ["A", "B"] == [part.text for part in response.parts]


def test_deltas_without_any_name_go_on_with_the_last_item():
    events = [event("output_text.delta", delta=text) for text in "AB"]
    whole = {**MESSAGE, "content": [{"type": "output_text", "text": "AB"}]}

    assert ("AB", None, [], "answered") == read(*events, completed(whole))
