"""Responses as LangChain messages and back: complete, streamed, edited, and from other integrations."""

import operator
from contextlib import contextmanager
from functools import reduce

import pytest

import innervoice as iv
from innervoice.emulator import Emulator, emulated_client

core = pytest.importorskip("langchain_core.messages")
load = pytest.importorskip("langchain_core.load")
bridge = pytest.importorskip("innervoice.bridges.langchain")
ai_message = pytest.importorskip("innervoice.bridges.langchain.ai_message")


MODELS = [
    "anthropic/claude-opus-5-5+pieces=3",
    "anthropic/claude-opus-5-5+redact",
    "anthropic/claude-sonnet-4-5",
    "bedrock/us.anthropic.claude-haiku-4-5-v1:0",
    "cohere/command-a-reasoning-08-2025",
    "deepseek/deepseek-v4-pro+mirror",
    "gemini/gemini-3-pro-preview+pieces=2",
    "mistral/magistral-medium-latest",
    "ollama/gpt-oss:20b",
    "openai/gpt-5.6+pieces=3",
    "openai/gpt-5.6+hide",
    "openrouter/anthropic/claude-opus-4.6",
    "vllm/some-model+inline=think",
    "vllm/some-model+inline=think+unclosed",
]
QUESTIONS = ["What is 15 * 23?", "What is the weather in Paris and Rome?"]


@pytest.fixture(scope="module")
def client():
    return emulated_client(Emulator())


def ask(client, model, question, tool):
    """A response and its events."""
    fields = {"reasoning": iv.Reasoning("high", show="summary"), "tools": [tool]}
    with client.stream(model, question, **fields) as events:
        found = list(events)
        return events.response, found


def stored(message):
    return load.loads(load.dumps(message), allowed_objects="messages")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("model", MODELS)
def test_there_and_back(client, model, question, tool):
    """A response survives conversion to a message, and to the sum of its chunks, without loss."""
    response, events = ask(client, model, question, tool)
    whole = stored(bridge.from_innervoice(response))
    made = ai_message.AIMessageChunker(response.provider)
    summed = stored(reduce(operator.add, filter(None, map(made.feed, events))))
    again = bridge.read(whole)

    assert response.message == again.message == bridge.read(summed).message
    assert (response.status, response.notes) == (again.status, again.notes)
    assert response.usage.replace(raw=None) == again.usage
    assert whole.text == summed.text == "".join(p.text for p in response.parts if p.type == "text")
    assert whole.tool_calls == summed.tool_calls
    assert whole.response_metadata["finish_reason"] == summed.response_metadata["finish_reason"]


def test_what_people_see(client, tool):
    response, _ = ask(client, "anthropic/claude-opus-5-5", QUESTIONS[1], tool)
    message = bridge.from_innervoice(response)
    reasoning, first, second = message.content_blocks
    metadata = message.response_metadata

    assert ("reasoning", response.thinking) == (reasoning["type"], reasoning["reasoning"])
    assert response.parts[0].origin.block["signature"] == reasoning["extras"]["signature"]
    assert ["Paris", "Rome"] == [call["args"]["city"] for call in message.tool_calls]
    assert ["tool_call"] * 2 == [first["type"], second["type"]]
    assert (
        response.usage.reasoning_tokens
        == message.usage_metadata["output_token_details"]["reasoning"]
    )
    assert ("anthropic", "claude-opus-5-5") == (
        metadata["model_provider"],
        metadata["model_name"],
    )
    assert "tool_calls" == metadata["finish_reason"]
    assert "field_thinking" in [note["code"] for note in metadata["notes"]]


def test_seals_are_stored_once(client, tool):
    """Nothing is stored twice that could get out of sync."""
    response, _ = ask(client, "anthropic/claude-opus-5-5", QUESTIONS[0], tool)
    seal = response.parts[0].origin.block["signature"]

    assert 1 == load.dumps(bridge.from_innervoice(response)).count(seal)


# ---- what people change --------------------------------------------------------------------------


def test_changed_text_is_no_longer_sealed(client, tool):
    response, _ = ask(client, "anthropic/claude-opus-5-5", QUESTIONS[0], tool)
    message = bridge.from_innervoice(response)
    message.content[0]["reasoning"] += "!"
    message.content[1]["text"] = "It is 345."
    thinking, text = bridge.read(message).parts

    assert iv.Thinking(response.thinking + "!") == thinking
    assert iv.Text("It is 345.") == text


def test_removed_seal(client, tool):
    response, _ = ask(client, "anthropic/claude-opus-5-5", QUESTIONS[0], tool)
    message = bridge.from_innervoice(response)
    del message.content[0]["extras"]["signature"]

    assert iv.Thinking(response.thinking) == bridge.read(message).parts[0]


def test_changed_call(client, tool):
    """A human in the loop edits only `tool_calls`."""
    response, _ = ask(client, "gemini/gemini-3-pro-preview", QUESTIONS[1], tool)
    message = bridge.from_innervoice(response)
    message.tool_calls[0]["args"] = {"city": "Oslo"}
    first, second = bridge.read(message).tool_calls

    assert ('{"city":"Oslo"}', None) == (first.arguments, first.origin)
    assert response.tool_calls[1] == second


def test_removed_reasoning(client, tool):
    """A message that keeps only its tool calls still has their seals."""
    response, _ = ask(client, "gemini/gemini-3-pro-preview", QUESTIONS[1], tool)
    message = bridge.from_innervoice(response)
    message.content = [block for block in message.content if block["type"] != "reasoning"]

    assert response.tool_calls == bridge.read(message).parts


def test_a_call_that_is_no_json():
    call = iv.ToolCall("call_1", "weather", '{"city": ')
    message = bridge.from_innervoice(iv.Response(parts=(call,), ended=True))

    assert [] == message.tool_calls
    assert '{"city": ' == message.invalid_tool_calls[0]["args"]
    assert (call,) == bridge.read(stored(message)).parts


def test_any_part_survives():
    parts = (
        iv.Text(""),
        iv.Opaque([1, None]),
        iv.Opaque({"type": "server_tool_use", "id": "x"}),
        iv.Media("image/png", "aW1hZ2U="),
        iv.Media("application/pdf", url="https://a.test/b"),
        iv.Thinking("", "hidden"),
        iv.Text("half a \ud83d", complete=False),
    )
    message = bridge.from_innervoice(iv.Response(parts=parts, ended=True))

    assert parts == bridge.read(stored(message)).parts
    assert ["non_standard"] * 3 + ["image", "file", "reasoning", "text"] == [
        block["type"] for block in message.content
    ]


# ---- streams ---------------------------------------------------------------------------------------


def chunks_of(*events):
    made = ai_message.AIMessageChunker("vllm")
    return [chunk for event in events if (chunk := made.feed(event))]


def test_a_cut_stream_is_never_sent_as_sealed():
    """A stream that is not read to the end gives an incomplete message."""
    begun = iv.ToolCall("call_1", "weather", complete=False)
    events = [
        iv.PartStart(0, "thinking"),
        iv.ThinkingDelta(0, "Hm."),
        iv.PartStart(1, "tool_call", begun),
        iv.ToolCallDelta(1, '{"city": "Par'),
    ]
    response = bridge.read(stored(reduce(operator.add, chunks_of(*events))))

    assert "interrupted" == response.status
    assert [("thinking", False), ("tool_call", False)] == [
        (part.type, part.complete) for part in response.parts
    ]


def tidied(message):
    """Blocks as people see them: without the index of a chunk, ids and the values of seals."""
    hidden = ("index", "id", "extras")
    return [
        {
            **{name: value for name, value in block.items() if name not in hidden},
            "seals": sorted(name for name in block.get("extras", ()) if name != "innervoice"),
        }
        for block in message.content_blocks
    ]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("model", [*MODELS, "minimax/MiniMax-M2", "moonshot/kimi-k3", "groq/openai/gpt-oss-120b"])  # fmt: skip
def test_streams_have_the_blocks_of_whole_answers(client, model, question, tool):
    """Reasoning, text, tool calls and seals are the same, block by block."""
    name, *behaviours = model.split("+")
    chat = bridge.ChatInnervoice(model="+".join((name, *behaviours)), reasoning={"effort": "high", "show": "summary"}, client=client)  # fmt: skip
    whole = chat.bind_tools([tool]).invoke(question)
    summed = reduce(operator.add, chat.bind_tools([tool]).stream(question))

    assert tidied(whole) == tidied(summed)
    assert (whole.text, len(whole.tool_calls)) == (summed.text, len(summed.tool_calls))


def recast_events():
    """A stream whose first text turns out to be reasoning."""
    parts = (iv.Thinking("It is late, I think."), iv.Text("Good night."))
    events = [
        iv.PartStart(0, "text"),
        iv.TextDelta(0, "It is late, I think."),
        iv.Recast(0, (parts[0], iv.Text("", complete=False))),
        iv.TextDelta(1, "Good night."),
        iv.PartEnd(1, parts[1]),
        iv.Finish(iv.Response(parts=parts, ended=True, finish_reason="stop")),
    ]
    return parts, events


class Streaming:
    """A client that answers with these events."""

    def __init__(self, events):
        self._events = events

    @contextmanager
    def stream(self, *_, **__):
        yield iter(self._events)


@pytest.mark.parametrize("way", ["stream", "invoke", "stored"])
def test_what_a_stream_took_back_is_not_in_the_sum(way):
    """Neither in the text of the message nor in its blocks, however LangChain adds the chunks up."""
    parts, events = recast_events()
    chat = bridge.ChatInnervoice(model="vllm/m", client=Streaming(events), streaming=True)
    if way == "invoke":
        message = chat.invoke("Hello")
        assert "ai" == message.type
    else:
        chunks = list(chat.stream("Hello"))
        chunks = [stored(chunk) for chunk in chunks] if way == "stored" else chunks
        message = reduce(operator.add, chunks)
        assert "AIMessageChunk" == type(message).__name__
    # A chunk that was stored on its own no longer knows what to remove; the history leaves it out all the same.
    left = "It is late, I think." if way == "stored" else ""

    assert left + "Good night." == message.text
    assert parts == bridge.read(message).parts
    if way != "stored":
        assert ["reasoning", "text"] == [block["type"] for block in message.content_blocks]


def test_parts_that_a_recast_put_in_front():
    """The blocks of the sum are in the order of the parts."""
    call = iv.ToolCall("call_1", "weather", "{}")
    parts = (iv.Thinking("I should look."), call)
    events = [
        iv.PartStart(0, "tool_call", call.replace(arguments="", complete=False)),
        iv.ToolCallDelta(0, "{}"),
        iv.PartEnd(0, call),
        iv.Recast(0, parts),
        iv.Finish(iv.Response(parts=parts, ended=True)),
    ]
    message = reduce(operator.add, chunks_of(*events))

    assert ["reasoning", "tool_call"] == [block["type"] for block in message.content_blocks]
    assert parts == bridge.read(stored(message)).parts


def test_a_seal_behind_its_text():
    """Gemini streams it as a part of its own; it is in the extras of the text, and comes back as the part that it was."""
    block = {"text": "", "thoughtSignature": "S" * 40}
    origin = iv.Origin(provider="gemini", dialect="gemini", block=block, seals=("thoughtSignature",))  # fmt: skip
    parts = (iv.Text("Good night."), iv.Text("", origin=origin))
    message = bridge.from_innervoice(iv.Response(parts=parts, provider="gemini", ended=True))

    assert ["S" * 40] == [block["extras"]["signature"] for block in message.content]
    assert parts == bridge.read(stored(message)).parts


def test_recast():
    """Text that turned out to be reasoning is left out of the history and of the sum."""
    parts, events = recast_events()
    message = stored(reduce(operator.add, chunks_of(*events)))

    assert parts == bridge.read(message).parts
    assert "Good night." == message.text


def test_recast_that_only_adds():
    """After a recast because of an unclosed code span, blocks continue and calls are not repeated."""
    call = iv.ToolCall("call_1", "weather", "{}")
    parts = (iv.Text("a ` b"), iv.Thinking("c"), call)
    events = [
        iv.PartStart(0, "text"),
        iv.TextDelta(0, "a ` b"),
        iv.PartStart(1, "tool_call", call.replace(arguments="", complete=False)),
        iv.ToolCallDelta(1, "{}"),
        iv.PartEnd(1, call),
        iv.Recast(0, parts),
        iv.Finish(iv.Response(parts=parts, ended=True)),
    ]
    message = reduce(operator.add, chunks_of(*events))

    assert parts == bridge.read(message).parts
    assert ("a ` b", 1) == (message.text, len(message.tool_calls))


def test_a_name_that_came_late():
    call = iv.ToolCall("call_1", "weather", "{}")
    begun = iv.ToolCall("call_1", "", complete=False)
    events = [
        iv.PartStart(0, "tool_call", begun),
        iv.ToolCallDelta(0, "{}"),
        iv.PartEnd(0, call),
        iv.Finish(iv.Response(parts=(call,), ended=True)),
    ]
    message = reduce(operator.add, chunks_of(*events))

    assert "weather" == message.tool_calls[0]["name"]
    assert (call,) == bridge.read(message).parts


def test_arguments_with_blanks():
    """Claude streams arguments with white space that the part does not have."""
    call = iv.ToolCall("call_1", "weather", '{"city":"Rome","days":10}')
    events = [
        iv.PartStart(0, "tool_call", call.replace(arguments="", complete=False)),
        iv.ToolCallDelta(0, '{"city": "Rome", '),
        iv.ToolCallDelta(0, '"days": 10}'),
        iv.PartEnd(0, call),
        iv.Finish(iv.Response(parts=(call,), ended=True)),
    ]
    message = reduce(operator.add, chunks_of(*events))

    assert {"city": "Rome", "days": 10} == message.tool_calls[0]["args"]
    assert (call,) == bridge.read(stored(message)).parts


# ---- what others made ----------------------------------------------------------------------------

CALLS = [{"name": "weather", "args": {"city": "Rome"}, "id": "call_1", "type": "tool_call"}]
TOOL_USE = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}}
STANDARD_CALL = {"type": "tool_call", "id": "call_1", "name": "weather", "args": {"city": "Rome"}}
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "SEAL",
}
GOOGLE = "__gemini_function_call_thought_signatures__"
FOREIGN = {
    "anthropic": (
        "anthropic/claude-opus-5-5",
        [{"type": "thinking", "thinking": "Hm.", "signature": "SEAL"}, TOOL_USE],
        {},
    ),
    "anthropic-v1": (
        "anthropic/claude-opus-5-5",
        [{"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "SEAL"}}, STANDARD_CALL],
        {},
    ),
    "openai": ("openai/gpt-5.6", [ITEM], {}),
    "openai-v1": (
        "openai/gpt-5.6",
        [
            {"type": "reasoning", "id": "rs_1", "reasoning": "Hm.", "extras": {"encrypted_content": "SEAL"}},
            STANDARD_CALL,
        ],
        {},
    ),
    "google": (
        "google_genai/gemini-3-pro-preview",
        [{"type": "thinking", "thinking": "Hm."}],
        {GOOGLE: {"call_1": "SEAL"}},
    ),
    "bedrock": (
        "bedrock_converse/us.anthropic.claude-haiku-4-5-v1:0",
        [{"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "SEAL"}}],
        {},
    ),
    "deepseek": ("deepseek/deepseek-v4-pro", "", {"reasoning_content": "Hm."}),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_messages_of_others(case):
    """Reasoning of other integrations is read, and sent back to its provider in a later request."""
    target, content, extra = FOREIGN[case]
    provider, _, name = target.partition("/")
    message = core.AIMessage(
        content,
        tool_calls=CALLS,
        additional_kwargs=extra,
        response_metadata={"model_provider": provider, "model_name": name},
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    )
    response = bridge.read(message)
    history = [core.HumanMessage("?"), message, core.ToolMessage("hot", tool_call_id="call_1")]
    request = iv.Request(
        f"{response.provider}/{name}", bridge.to_innervoice(history), reasoning="high"
    )
    sent = str(iv.encode(request).body)

    assert ("Hm.", "tool_calls", 7) == (
        response.thinking,
        response.status,
        response.usage.total_tokens,
    )
    assert ["weather"] == [call.name for call in response.tool_calls]
    assert ("SEAL" if case != "deepseek" else "'reasoning_content': 'Hm.'") in sent


def test_tags_of_others():
    response = bridge.read(core.AIMessage("<think>Hm.</think>\n\nHi.", tool_calls=CALLS))

    assert ("Hm.", "Hi.", 1) == (response.thinking, response.text, len(response.tool_calls))


def test_only_answers_are_read():
    with pytest.raises(iv.UsageError, match="HumanMessage"):
        bridge.read(core.HumanMessage("?"))


# ---- other messages ------------------------------------------------------------------------------


def test_history():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1hZ2U="}}
    native = {"type": "document", "source": {"type": "url", "url": "https://a.test/b.pdf"}}
    messages = [
        core.SystemMessage([{"type": "text", "text": "Be brief."}]),
        core.HumanMessage(["See:", picture, {"type": "image", "url": "https://a.test/c"}, native]),
        core.AIMessage("", tool_calls=CALLS),
        core.ToolMessage("no such city", tool_call_id="call_1", status="error"),
        core.ChatMessage("And?", role="user"),
    ]
    expected = [
        iv.system("Be brief."),
        iv.user(["See:", iv.Media("image/png", "aW1hZ2U="), iv.Media(url="https://a.test/c"), native]),
        iv.Message("assistant", (iv.ToolCall("call_1", "weather", '{"city":"Rome"}'),)),
        iv.tool_result("call_1", "no such city", error=True),
        iv.user("And?"),
    ]  # fmt: skip
    made = bridge.to_innervoice(messages)

    assert expected == [message.replace(origin=None) for message in made]


def test_unknown_messages_are_refused():
    with pytest.raises(iv.UsageError, match="FunctionMessage"):
        bridge.to_innervoice([core.FunctionMessage("a", name="b")])


def test_the_way_back():
    history = [
        iv.system("Be brief."),
        iv.user("See:"),
        iv.user(["See:", iv.Media("image/png", "aW1hZ2U="), {"type": "document"}]),
        iv.Message("assistant", (iv.Thinking("Hm."), iv.ToolCall("call_1", "weather", "{}"))),
        iv.tool_result("call_1", "no such city", error=True),
        iv.tool_result("call_1", [iv.Text("a"), iv.Media("image/png", "aW1hZ2U=")]),
    ]
    made = bridge.from_innervoice(history)

    assert ["system", "human", "human", "ai", "tool", "tool"] == [message.type for message in made]
    assert history == bridge.to_innervoice([stored(message) for message in made])
    assert made[3] == iv.convert(history[3], to="langchain")


def test_several_results_are_several_messages():
    results = tuple(iv.ToolResult(name, "x") for name in ("call_1", "call_2"))
    made = bridge.from_innervoice(iv.Message("user", (*results, iv.Text("And?"))))

    assert ["tool", "tool", "human"] == [message.type for message in made]
