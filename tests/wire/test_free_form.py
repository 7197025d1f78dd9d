"""OpenAI's free-form tools at other providers: a function with one string argument there, and free-form calls again for the client."""

import json

import pytest

import innervoice as iv

INPUT = '*** Begin Patch\n+a "quoted" line\n*** End Patch'
FLAT = {
    "type": "custom", "name": "patch", "description": "Patches.", "format": {"type": "grammar", "syntax": "lark", "definition": "start: LINE"},
}  # fmt: skip
NESTED = {
    "type": "custom",
    "custom": {"name": "patch", "description": "Patches.", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: LINE"}}},
}  # fmt: skip
RESPONSES = {
    "model": "m",
    "input": [
        {"role": "user", "content": "x"},
        {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": INPUT},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
    ],
    "tools": [FLAT],
    "tool_choice": {"type": "custom", "name": "patch"},
}
CHAT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "patch", "input": INPUT}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ],
    "tools": [NESTED],
    "tool_choice": {"type": "custom", "custom": {"name": "patch"}},
}  # fmt: skip
BODIES = {"openai-responses": RESPONSES, "openai-chat": CHAT}
HOMES = {
    "openai-responses": ("openai/gpt-5.6", None),
    "openai-chat": ("openai/gpt-5.1", "openai-chat"),
}


@pytest.mark.parametrize("dialect", BODIES)
def test_at_home_they_are_what_they_were(dialect):
    model, other = HOMES[dialect]
    body = iv.encode(
        iv.decode_request(BODIES[dialect], dialect).replace(model=model, dialect=other)
    ).body
    assert {name: body[name] for name in ("tools", "tool_choice")} == {
        name: BODIES[dialect][name] for name in ("tools", "tool_choice")
    }
    history = "input" if "input" in body else "messages"
    assert BODIES[dialect][history][1] == body[history][1]
    assert BODIES[dialect][history][2] == body[history][2]


@pytest.mark.parametrize("dialect", BODIES)
def test_elsewhere_they_are_functions(dialect):
    request = iv.decode_request(BODIES[dialect], dialect)
    body = iv.encode(request.replace(model="anthropic/claude-opus-4-6", dialect=None)).body
    (tool,) = body["tools"]
    assert ("patch", ["input"]) == (tool["name"], tool["input_schema"]["required"])
    assert tool["description"].startswith("Patches.")
    assert "start: LINE" in tool["description"]
    assert {"type": "tool_use", "id": "c1", "name": "patch", "input": {"input": INPUT}} == body[
        "messages"
    ][1]["content"][0]
    chat = iv.encode(request.replace(model="deepseek/deepseek-v4-pro", dialect=None)).body
    called = chat["messages"][1]["tool_calls"][0]
    assert ("function", {"input": INPUT}) == (
        called["type"],
        json.loads(called["function"]["arguments"]),
    )
    assert "function" == chat["tools"][0]["type"]


def test_an_input_that_is_json():
    items = [
        RESPONSES["input"][0],
        {**RESPONSES["input"][1], "input": '{"a": 1}'},
        RESPONSES["input"][2],
    ]
    request = iv.decode_request({**RESPONSES, "input": items}, "openai-responses")
    body = iv.encode(request.replace(model="anthropic/claude-opus-4-6", dialect=None)).body
    assert {"input": '{"a": 1}'} == body["messages"][1]["content"][0]["input"]


ARGUMENTS = json.dumps({"input": INPUT})
ANSWER = iv.Response(
    parts=(iv.Text("I patch."), iv.ToolCall("c2", "patch", ARGUMENTS), iv.ToolCall("c3", "other", '{"a": 1}')),
    finish_reason="tool_calls",
    ended=True,
)  # fmt: skip


def events():
    yield iv.PartStart(0, "text")
    yield iv.TextDelta(0, "I patch.")
    yield iv.PartEnd(0, ANSWER.parts[0])
    for index, call in enumerate(ANSWER.parts[1:], 1):
        yield iv.PartStart(index, "tool_call", iv.ToolCall(call.id, call.name))
        for start in range(0, len(call.arguments), 3):
            yield iv.ToolCallDelta(index, call.arguments[start : start + 3])
        yield iv.PartEnd(index, call)
    yield iv.Finish(ANSWER)


@pytest.mark.parametrize("dialect", BODIES)
@pytest.mark.parametrize("streamed", [False, True])
def test_calls_come_back_free_form(dialect, streamed):
    """What the client reads of the answer is what it would have got from OpenAI; whole and streamed say the same."""
    tools = iv.decode_request(BODIES[dialect], dialect).tools
    if streamed:
        data = b"".join(iv.encode_stream(events(), dialect, tools=tools))
    else:
        data = json.dumps(iv.encode_response(ANSWER, dialect, tools=tools))
    patch, other = iv.decode(data, dialect=dialect).message.tool_calls
    assert ("c2", "patch", INPUT) == (patch.id, patch.name, patch.arguments)
    assert patch.origin.block["type"] in ("custom", "custom_tool_call")
    assert ("other", {"a": 1}) == (other.name, json.loads(other.arguments))
    assert "custom" not in other.origin.block["type"]


def test_the_events_that_codex_reads():
    tools = iv.decode_request(RESPONSES, "openai-responses").tools
    data = b"".join(iv.encode_stream(events(), "openai-responses", tools=tools)).decode()
    sent = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: {")]
    deltas = [
        item["delta"] for item in sent if item["type"] == "response.custom_tool_call_input.delta"
    ]
    assert INPUT == "".join(deltas)
    done = [item["item"] for item in sent if item["type"] == "response.output_item.done"]
    assert ["message", "custom_tool_call", "function_call"] == [item["type"] for item in done]
    assert INPUT == done[1]["input"]


def test_a_call_that_was_cut_off_is_not_sent():
    """Any text is a valid input, so that a client would run half a patch."""
    tools = [iv.Tool.of(FLAT)]
    encoder = iv.StreamEncoder("openai-responses", tools=tools)
    data = encoder.feed(iv.PartStart(0, "tool_call", iv.ToolCall("c", "patch")))
    data += encoder.feed(iv.ToolCallDelta(0, ARGUMENTS[:20]))
    data += encoder.finish()
    assert b"custom_tool_call" not in data
    assert ["call_omitted"] == [note.code for note in encoder.notes]


def test_without_tools_a_call_is_a_function_call():
    body = iv.encode_response(ANSWER, "openai-responses")
    assert ["message", "function_call", "function_call"] == [
        item["type"] for item in body["output"]
    ]
