"""The bridges to front ends on their own: what they hold back, and what they read from chats that were changed."""

import asyncio
import json

import pytest
from front_ends import asked, read_back

import innervoice as iv
from innervoice.bridges import ag_ui, vercel_ui
from wire.fixtures import ANSWERS, ARGUMENTS

CLAUDE = next(answer for answer in ANSWERS if answer.dialect == "anthropic")
every_bridge = pytest.mark.parametrize("front", ["ag-ui", "ai"])
KINDS = {
    "TEXT_MESSAGE_CONTENT": "text",
    "text-delta": "text",
    "REASONING_MESSAGE_CONTENT": "thinking",
    "reasoning-delta": "thinking",
}


def encoder_of(front):
    return ag_ui.encoder("thread-1", "run-1") if front == "ag-ui" else vercel_ui.encoder()


def stream(front, events):
    if front == "ag-ui":
        return ag_ui.encode_stream(events, "thread-1", "run-1")
    return vercel_ui.encode_stream(events)


def frames(data):
    texts = [
        line.removeprefix("data: ")
        for line in data.decode().split("\n\n")
        if line.startswith("data: ")
    ]
    return [json.loads(text) for text in texts if text != "[DONE]"]


def pieces(data, kind):
    return "".join(item["delta"] for item in frames(data) if KINDS.get(item["type"]) == kind)


def claude():
    return list(iv.decode_stream([CLAUDE.stream], provider="anthropic", model=CLAUDE.model))


def searched(text):
    """A stream of single characters, in which a closing tag may tell that all of it was reasoning."""
    deltas = [*({"content": letter} for letter in text), {}]
    ends = [None] * len(text) + ["stop"]
    return [
        b"data: %s\n\n"
        % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}).encode()
        for delta, end in zip(deltas, ends, strict=True)
    ]


@every_bridge
def test_nothing_is_unsaid(front):
    """Text that turns out to be reasoning is held back until that is known, from an iterator and event by event."""
    chunks = searched("It rains, I think.</think>Take an umbrella.")
    hints = {"provider": "vllm", "model": "qwen3", "dialect": "openai-chat"}
    by_itself = b"".join(stream(front, iv.decode_stream(chunks, **hints)))
    events, encoder = iv.decode_stream(chunks, **hints), encoder_of(front)
    by_hand = b"".join(encoder.feed(event, events.settled) for event in events)

    assert any(isinstance(event, iv.Recast) for event in iv.decode_stream(chunks, **hints))
    for data in (by_itself, by_hand):
        assert "Take an umbrella." == pieces(data, "text")
        assert "It rains, I think." == pieces(data, "thinking")
    assert () == encoder.notes


@every_bridge
def test_async_is_the_same(front):
    async def events():
        for event in claude():
            yield event

    async def collected():
        return b"".join([data async for data in stream(front, events())])

    kinds = [item["type"] for item in frames(asyncio.run(collected()))]
    assert [item["type"] for item in frames(b"".join(stream(front, claude())))] == kinds


@every_bridge
@pytest.mark.parametrize("missing", [0, 1, 4])
def test_events_that_lack_their_end_are_an_error(front, missing):
    """Wherever they stop inside a call, even if its arguments are complete, it is not run."""
    events = claude()
    end = max(at for at, event in enumerate(events) if isinstance(event, iv.PartEnd))
    found = frames(b"".join(stream(front, events[: end - missing])))

    assert found[-1]["type"] in ("RUN_ERROR", "error")
    assert not [
        item
        for item in found
        if item["type"] in ("RUN_FINISHED", "finish", "tool-input-available", "TOOL_CALL_END")
    ]


@every_bridge
def test_seals_are_not_readable_as_text(front):
    for seal in CLAUDE.seals:
        for item in frames(b"".join(stream(front, claude()))):
            assert seal not in str(item.get("delta"))


ORDER = {
    "ag-ui": ["RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"],
    "ai": ["start", "start-step", "reasoning-start", "reasoning-delta", "reasoning-end", "text-start", "text-delta", "text-end", "tool-input-start", "tool-input-delta", "tool-input-available", "finish-step", "finish"],
}  # fmt: skip


@every_bridge
def test_order_of_events(front):
    parts = (iv.Thinking("t"), iv.Text("a"), iv.ToolCall("c", "f", '{"a": 1}'))
    data = b"".join(stream(front, [iv.Finish(iv.Response(parts=parts, ended=True))]))

    assert ORDER[front] == [item["type"] for item in frames(data)]
    assert (front == "ai") == data.endswith(b"data: [DONE]\n\n")


def test_headers():
    assert "v1" == vercel_ui.HEADERS["x-vercel-ai-ui-message-stream"]
    assert "text/event-stream" == vercel_ui.HEADERS["content-type"] == ag_ui.HEADERS["content-type"]


@every_bridge
def test_a_whole_body_is_refused(front):
    encoder = encoder_of(front)
    encoder.feed(iv.Finish(iv.Response(ended=True)))
    with pytest.raises(iv.UsageError, match="has no whole body"):
        _ = encoder.body


# ---- reading ---------------------------------------------------------------------------------------


def thought(front, text, value):
    """A chat with one reasoning message, and a value of it."""
    if front == "ag-ui":
        return [
            asked(front),
            {"id": "r", "role": "reasoning", "content": text, "encryptedValue": value},
        ]
    metadata = {"providerMetadata": {"innervoice": {"part": value}}}
    return [
        asked(front),
        {
            "id": "a",
            "role": "assistant",
            "parts": [{"type": "reasoning", "text": text, **metadata}],
        },
    ]


def value_of_claude():
    return next(
        item["encryptedValue"]
        for item in frames(b"".join(stream("ag-ui", claude())))
        if item["type"] == "REASONING_ENCRYPTED_VALUE"
    )


@every_bridge
def test_a_seal_comes_back_to_its_text(front):
    (_, turn) = read_back(front, thought(front, CLAUDE.thinking, value_of_claude()))

    assert claude()[-1].response.parts[:1] == turn.parts


@every_bridge
def test_reasoning_of_a_text_comes_back_with_its_markup(front):
    chunks = searched("<think>\nIt rains.\n</think>\n\nTake an umbrella.")
    events = list(iv.decode_stream(chunks, provider="vllm", model="qwen3"))
    value = next(
        item["encryptedValue"]
        for item in frames(b"".join(stream("ag-ui", events)))
        if item["type"] == "REASONING_ENCRYPTED_VALUE"
    )
    (_, turn) = read_back(front, thought(front, "It rains.", value))

    assert events[-1].response.parts[:1] == turn.parts


@pytest.mark.parametrize("text", ["Let me look — 🌦️.", "Let me lie."])
def test_a_changed_turn_loses_what_was_carried_of_it(text):
    """A turn that is carried whole comes back whole, or as it is shown."""
    answer = next(answer for answer in ANSWERS if answer.name == "chat reasoning_content")
    events = list(iv.decode_stream([answer.stream], provider="deepseek", model="deepseek-v4"))
    message = events[-1].response.message
    data = [
        item for item in frames(b"".join(stream("ai", events))) if item["type"] == "data-innervoice"
    ]
    parts = [
        {"type": "reasoning", "text": answer.thinking},
        {"type": "text", "text": text},
        {
            "type": "tool-weather",
            "toolCallId": "call_9",
            "state": "input-available",
            "input": ARGUMENTS,
        },
        *data,
    ]
    chat = [{"id": "a", "role": "assistant", "parts": parts}]
    if text == answer.text:
        assert [message] == vercel_ui.read_messages(chat)
        return
    with pytest.warns(UserWarning, match="the turn that it belongs to was changed"):
        (turn,) = vercel_ui.read_messages(chat)
    assert text == turn.text
    assert None is turn.origin


@every_bridge
def test_changed_reasoning_loses_its_seal_with_a_warning(front):
    with pytest.warns(UserWarning, match="a seal was dropped: .* was changed"):
        (_, turn) = read_back(front, thought(front, "I was never here.", value_of_claude()))

    assert (iv.Thinking("I was never here."),) == turn.parts


@every_bridge
def test_a_value_of_another_program_is_dropped_with_a_warning(front):
    with pytest.warns(UserWarning, match="not written by innervoice"):
        (_, turn) = read_back(front, thought(front, "Hm.", "gAAAA"))

    assert (iv.Thinking("Hm."),) == turn.parts


@every_bridge
@pytest.mark.parametrize("damage", [lambda value: value[:-9], lambda value: value[:20] + "A" + value[20:], lambda value: "innervoice.1.eJwDAAAAAAE="])  # fmt: skip
def test_a_damaged_value_is_an_error(front, damage):
    with pytest.raises(iv.DecodeError) as caught:
        read_back(front, thought(front, CLAUDE.thinking, damage(value_of_claude())))

    assert "sig-anthropic" not in str(caught.value)


def test_messages_of_ag_ui():
    messages = [
        {"id": "1", "role": "developer", "content": "Be brief."},
        {"id": "2", "role": "user", "content": [{"type": "text", "text": "This?"}, {"type": "image", "source": {"type": "data", "value": "iVBOR", "mimeType": "image/png"}}, {"type": "document", "source": {"type": "url", "value": "https://example.com/a.pdf"}}]},
        {"id": "3", "role": "activity", "activityType": "PLAN", "content": {}},
        {"id": "4", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"id": "5", "role": "tool", "toolCallId": "c", "content": "", "error": "no network"},
    ]  # fmt: skip
    expected = [
        iv.system("Be brief."),
        iv.user(
            [
                iv.Text("This?"),
                iv.Media("image/png", data="iVBOR"),
                iv.Media(url="https://example.com/a.pdf"),
            ]
        ),
        iv.assistant(iv.ToolCall("c", "f", "{}")),
        iv.tool_result("c", "no network", error=True),
    ]

    assert expected == ag_ui.read_messages(messages)


def test_messages_of_the_sdk():
    """Steps are turns, followed by their results; a front end may have answered, failed or refused a call."""

    def call(name, **more):
        return {"type": "tool-f", "toolCallId": name, "input": {"a": 1}, **more}

    messages = [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "This?"}, {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBOR", "filename": "a.png"}]},
        {"id": "2", "role": "assistant", "parts": [
            {"type": "step-start"},
            call("c1", state="output-available", output={"b": [2]}),
            call("c2", state="output-error", errorText="no network"),
            call("c3", state="output-denied", approval={"id": "x", "approved": False, "reason": "No."}),
            {"type": "source-url", "sourceId": "s", "url": "https://example.com"},
            {"type": "step-start"},
            {"type": "text", "text": "Yes.", "state": "done"},
        ]},
    ]  # fmt: skip
    expected = [
        iv.user([iv.Text("This?"), iv.Media("image/png", data="iVBOR", name="a.png")]),
        iv.assistant([iv.ToolCall(name, "f", '{"a":1}') for name in ("c1", "c2", "c3")]),
        iv.tool_result("c1", '{"b":[2]}'),
        iv.tool_result("c2", "no network", error=True),
        iv.tool_result("c3", "No.", error=True),
        iv.assistant("Yes."),
    ]

    assert expected == vercel_ui.read_messages(messages)


@every_bridge
@pytest.mark.parametrize("message", [{"role": "judge", "content": "x"}, {"role": "user"}, "x"])
def test_what_is_not_a_message_is_an_error(front, message):
    with pytest.raises(iv.DecodeError, match="expected"):
        read_back(front, [message])
