"""The server's side of the dialects with fields and items: what is written is read back as it was.

Chat Completions, Mistral, Responses, Cohere and Ollama. An answer goes out whole and as a stream, with
its blocks as they are, and both say the same.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.answering.writing import exact_answer, exact_stream
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.origin import Origin
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.dialects import framing_of, server_of
from innervoice.wire.refusals import Refusal
from shared import SHARED, needs_shared
from wire.fixtures import ANSWERS

DIALECTS = ("openai-chat", "mistral", "openai-responses", "cohere", "ollama")
SIZES = (1, 3, 1000)
THOUGHT, SAID = "Rome is in Italy — 🌦️ so Celsius.", "Let me look."
USAGE = Usage(input_tokens=40, output_tokens=90, reasoning_tokens=30, cached_input_tokens=5)

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


# ---- writing and reading ---------------------------------------------------------------------------


def body(answer: iv.Response, dialect: str) -> dict[str, Any]:
    return exact_answer(answer, dialect).body


def frames(answer: iv.Response, dialect: str, size: int = 5) -> list[Frame]:
    return list(exact_stream(answer, dialect, size))


def messages(answer: iv.Response, dialect: str, size: int = 5) -> list[Any]:
    """The messages of a stream as JSON."""
    found = frames(answer, dialect, size)
    return [load_json(frame.data) for frame in found if frame.data != b"[DONE]"]


def whole(answer: iv.Response, dialect: str, inline: str | None = "off") -> iv.Response:
    return iv.decode(dump_json(body(answer, dialect)), dialect=dialect, inline=inline)


def streamed(
    answer: iv.Response, dialect: str, size: int = 5, inline: str | None = "off"
) -> iv.Response:
    framed = framing_of(dialect)
    pieces = [framed(frame) for frame in frames(answer, dialect, size)]
    return iv.fold(iv.decode_stream(pieces, dialect=dialect, inline=inline))


def content(part: Any) -> tuple[Any, ...]:
    """What a part says; arguments by their value, since not every wire has them as text."""
    match part:
        case iv.ToolCall():
            return ("tool_call", part.id, part.name, json.loads(part.arguments))
        case iv.Opaque():
            return ("opaque", part.value)
        case _:
            return (part.type, part.text)


def block(part: Any) -> Any:
    return part.origin.block if part.origin else None


def check(answer: iv.Response, dialect: str, sizes: tuple[int, ...] = SIZES) -> iv.Response:
    """Reads the answer both ways, and compares it with what was written."""
    read = whole(answer, dialect)
    for response in (read, *(streamed(answer, dialect, size) for size in sizes)):
        assert [content(part) for part in answer.parts] == [
            content(part) for part in response.parts
        ]
        assert [block(part) for part in read.parts] == [block(part) for part in response.parts]
        for written, again in zip(answer.parts, response.parts, strict=True):
            if block(written) is not None and written.origin.dialect == dialect:
                assert block(written) == block(again)
                assert written.origin.seals == again.origin.seals
        assert answer.finish_reason == response.finish_reason
        assert answer.usage.input_tokens == response.usage.input_tokens
        assert answer.usage.output_tokens == response.usage.output_tokens
        assert response.ended
        assert response.error is None
        assert all(part.complete for part in response.parts)
    return read


def sealed(dialect: str, block: Any, *seals: str, item: str | None = None) -> Origin:
    return Origin(dialect=dialect, block=block, seals=seals, item=item)


def thought(text: str, dialect: str, block: Any, *seals: str, form: str = "full") -> iv.Thinking:
    return iv.Thinking(text, form if text else "hidden", origin=sealed(dialect, block, *seals))


def reply(*parts: Any, finish: str = "stop", **more: Any) -> iv.Response:
    known = {"id": "answer-1", "model": "some-model", "usage": USAGE, "ended": True, **more}
    return iv.Response(parts=parts, finish_reason=finish, **known)


CALL = iv.ToolCall("call_9", "weather", '{"city":"Rome","days":2}')
PLAIN = reply(iv.Thinking(THOUGHT), iv.Text(SAID), CALL, finish="tool_calls")


# ---- every dialect ---------------------------------------------------------------------------------


@every_dialect
def test_plain(dialect):
    """Parts without a block are written in the dialect's plain form."""
    check(PLAIN, dialect)


@every_dialect
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_finish_reason(dialect, finish):
    check(reply(iv.Thinking(THOUGHT), iv.Text(SAID), finish=finish), dialect)


@every_dialect
def test_id_and_model(dialect):
    for response in (whole(PLAIN, dialect), streamed(PLAIN, dialect)):
        if dialect != "ollama":
            assert "answer-1" == response.id
        if dialect != "cohere":
            assert "some-model" == response.model


@every_dialect
def test_every_count(dialect):
    """What a dialect can count comes back; Mistral and Ollama do not count reasoning apart."""
    for response in (whole(PLAIN, dialect), streamed(PLAIN, dialect)):
        if dialect in ("openai-chat", "openai-responses", "cohere"):
            assert 30 == response.usage.reasoning_tokens
        if dialect != "ollama":
            assert 5 == response.usage.cached_input_tokens


@every_dialect
def test_no_usage_is_not_invented(dialect):
    answer = PLAIN.replace(usage=Usage())
    for response in (whole(answer, dialect), streamed(answer, dialect)):
        assert response.usage.input_tokens is None
        assert response.usage.output_tokens is None


@every_dialect
def test_blocks_of_others_stay_home(dialect):
    """A seal of another dialect is not written."""
    claude = {"type": "thinking", "thinking": THOUGHT, "signature": "sig-claude=="}
    foreign = reply(
        thought(THOUGHT, "anthropic", claude, "signature"),
        iv.Opaque({"type": "server_tool_use", "id": "x"}, origin=Origin(dialect="anthropic")),
        iv.Text(SAID),
        origin=Origin(dialect="anthropic", block={"container": "sig-claude=="}),
        wire_finish_reason="end_turn",
    )

    for data in (
        dump_json(body(foreign, dialect)),
        b"".join(framing_of(dialect)(f) for f in frames(foreign, dialect)),
    ):
        assert b"sig-claude" not in data
        assert b"server_tool_use" not in data
        assert b"end_turn" not in data
    for response in (whole(foreign, dialect), streamed(foreign, dialect)):
        assert (THOUGHT, SAID) == (response.thinking, response.text)
        assert "stop" == response.finish_reason


@every_dialect
def test_words_of_others_are_translated(dialect):
    """Why an answer of another dialect ended is said in the words of this one."""
    words = {"openai-responses": "max_output_tokens", "cohere": "MAX_TOKENS"}
    foreign = reply(
        iv.Text(SAID),
        finish="length",
        wire_finish_reason="max_tokens",
        origin=Origin(dialect="anthropic"),
    )

    for response in (whole(foreign, dialect), streamed(foreign, dialect)):
        assert words.get(dialect, "length") == response.wire_finish_reason
    own = foreign.replace(origin=Origin(dialect=dialect), wire_finish_reason="max_tokens")
    if dialect == "openai-responses":
        assert "max_tokens" == whole(own, dialect).wire_finish_reason


@every_dialect
def test_inline_reasoning_goes_out_in_its_text(dialect):
    """Reasoning that was cut out of a text is written with its markup, in the text: in its own dialect. Elsewhere it is reasoning."""
    written = "<think>\nhm\n</think>\n\nRome."
    chat = {"choices": [{"index": 0, "message": {"content": written}, "finish_reason": "stop"}]}
    answer = iv.decode(chat, dialect="openai-chat")

    expected = (
        [("text", written)] if dialect == "openai-chat" else [("thinking", "hm"), ("text", "Rome.")]
    )
    for response in (whole(answer, dialect), streamed(answer, dialect)):
        assert expected == [content(part) for part in response.parts]
    for response in (whole(answer, dialect, "on"), streamed(answer, dialect, 3, "on")):
        assert ("hm", "Rome.") == (response.thinking, response.text)


@every_dialect
def test_deltas_are_as_small_as_asked(dialect):
    events = iv.decode_stream(
        [framing_of(dialect)(frame) for frame in frames(PLAIN, dialect, 3)], dialect=dialect
    )
    deltas = [event.text for event in events if isinstance(event, iv.TextDelta | iv.ThinkingDelta)]

    assert THOUGHT + SAID == "".join(deltas)
    assert 3 == max(map(len, deltas))


@every_dialect
def test_empty_answer(dialect):
    for response in (whole(reply(), dialect), streamed(reply(), dialect)):
        assert () == response.parts
        assert "empty" == response.status


@pytest.mark.parametrize(
    "answer", [a for a in ANSWERS if a.dialect in DIALECTS], ids=lambda a: a.name
)
def test_answers_of_hosts(answer):
    """The fixtures: an answer that was read is written with the same blocks."""
    read = iv.decode(answer.whole, dialect=answer.dialect, inline="off")
    again = check(read, answer.dialect)

    assert [block(part) for part in read.parts] == [block(part) for part in again.parts]


# ---- errors ----------------------------------------------------------------------------------------


REFUSAL = Refusal(text="The reasoning must be passed back.", code="1234", param="messages")


@every_dialect
@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
def test_error(dialect, status):
    written = server_of(dialect).write_error(REFUSAL.replace(status=status))

    with pytest.raises(iv.ProviderError, match="must be passed back") as raised:
        iv.decode(dump_json(written), dialect=dialect)
    if dialect in ("openai-chat", "openai-responses"):
        assert "1234" == raised.value.code
    if dialect in ("openai-chat", "openai-responses", "mistral"):
        assert raised.value.type


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_type_of_an_error(dialect):
    """The usual word for the status, unless the refusal has its own."""
    write = server_of(dialect).write_error

    assert "invalid_request_error" == write(Refusal(text="no"))["error"]["type"]
    assert "server_error" == write(Refusal(text="no", status=503))["error"]["type"]
    assert (
        "insufficient_quota"
        == write(Refusal(text="no", type="insufficient_quota"))["error"]["type"]
    )


def test_error_of_mistral():
    """A body that does not validate is refused with its places, as recorded by many (422)."""
    write = server_of("mistral").write_error
    refusal = Refusal(
        text="Extra inputs are not permitted", status=422, param="messages.2.reasoning"
    )
    (detail,) = write(refusal)["message"]["detail"]

    assert ["body", "messages", 2, "reasoning"] == detail["loc"]
    assert "Extra inputs are not permitted" == detail["msg"]
    assert {"object", "message", "type", "param", "code"} == write(REFUSAL).keys()


@every_dialect
def test_error_in_mid_stream(dialect):
    """What came stays readable, and the response says what went wrong."""
    framed = framing_of(dialect)
    begun = frames(PLAIN, dialect)
    last = server_of(dialect).write_stream_error(REFUSAL)
    pieces = [framed(frame) for frame in (*begun[: len(begun) // 2], last)]
    response = iv.fold(iv.decode_stream(pieces, dialect=dialect))

    assert "interrupted" == response.status
    assert REFUSAL.text == response.error.message
    assert response.parts
    assert not any(part.origin.seals for part in response.parts if not part.complete)


# ---- Chat Completions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "thinking"])
def test_chat_field(name):
    """The field of the host's own name."""
    answer = reply(thought(THOUGHT, "openai-chat", {name: THOUGHT}), iv.Text(SAID))
    check(answer, "openai-chat")

    assert THOUGHT == body(answer, "openai-chat")["choices"][0]["message"][name]


DETAILS = (
    {
        "type": "reasoning.summary",
        "summary": "Greeting",
        "format": "openai-responses-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": "gAAAA==", "id": "rs_1", "index": 0, "format": None},
    {"type": "reasoning.text", "text": THOUGHT, "signature": "sig==", "format": "x", "index": 1},
    {"type": "reasoning.text", "text": "", "signature": "sig-empty==", "index": 2},
    {"type": "reasoning.text", "text": "unsigned", "signature": "", "index": 3},
)


def detail(entry: dict[str, Any]) -> iv.Thinking:
    text = entry.get("text") or entry.get("summary") or ""
    seals = tuple(name for name in ("signature", "data") if entry.get(name))
    form = "summary" if "summary" in entry else "full"
    return thought(text, "openai-chat", entry, *seals, form=form)


def test_chat_details():
    """Entries of `reasoning_details`, with the text mirrored in `reasoning` as OpenRouter does."""
    answer = reply(*map(detail, DETAILS), iv.Text(SAID))
    check(answer, "openai-chat")
    message = body(answer, "openai-chat")["choices"][0]["message"]
    deltas = [
        chunk["choices"][0]["delta"]
        for chunk in messages(answer, "openai-chat")
        if chunk["choices"]
    ]
    fragments = [entry for delta in deltas for entry in delta.get("reasoning_details", ())]

    assert list(DETAILS) == message["reasoning_details"]
    assert "Greeting" + THOUGHT + "unsigned" == message["reasoning"]
    assert message["reasoning"] == "".join(delta.get("reasoning") or "" for delta in deltas)
    for fragment in fragments:
        assert "text" not in fragment or "signature" not in fragment


def test_chat_details_without_an_index():
    """Entries that nothing tells apart are sent at once."""
    entries = [{"type": "reasoning.text", "text": text} for text in ("one", "two")]
    check(reply(*map(detail, entries), iv.Text(SAID)), "openai-chat")


def test_chat_encrypted_alone():
    answer = reply(detail(DETAILS[1]), iv.Text(SAID))
    check(answer, "openai-chat")

    assert body(answer, "openai-chat")["choices"][0]["message"]["reasoning"] is None


def test_chat_several_plain_thoughts_are_one_field():
    answer = reply(iv.Thinking("one"), iv.Thinking("two"), iv.Text(SAID))

    for response in (whole(answer, "openai-chat"), streamed(answer, "openai-chat")):
        assert "one\n\ntwo" == response.thinking


def test_chat_order_of_chunks():
    """Role, reasoning, content, call, finish, usage, end."""
    chunks = messages(PLAIN, "openai-chat", 1000)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]

    assert {"role": "assistant", "content": ""} == deltas[0]
    assert THOUGHT == deltas[1]["reasoning_content"]
    assert SAID == deltas[2]["content"]
    assert ("call_9", "weather", "") == (
        deltas[3]["tool_calls"][0]["id"],
        deltas[3]["tool_calls"][0]["function"]["name"],
        deltas[3]["tool_calls"][0]["function"]["arguments"],
    )
    assert {"index": 0, "function": {"arguments": CALL.arguments}} == deltas[4]["tool_calls"][0]
    assert {} == deltas[5]
    assert "tool_calls" == chunks[5]["choices"][0]["finish_reason"]
    assert [] == chunks[6]["choices"]
    assert 130 == chunks[6]["usage"]["total_tokens"]
    assert Frame(b"[DONE]") == frames(PLAIN, "openai-chat")[-1]


def test_chat_refusal():
    """A refusal is a member of its own beside a content of null."""
    refused = {"type": "refusal", "refusal": "I cannot."}
    answer = reply(
        iv.Text("I cannot.", origin=sealed("openai-chat", refused)),
        finish="refusal",
        wire_finish_reason="stop",
    )
    check(answer, "openai-chat")
    plain = body(reply(iv.Text("I cannot."), finish="refusal"), "openai-chat")["choices"][0]

    assert (None, "I cannot.") == (plain["message"]["content"], plain["message"]["refusal"])
    assert "stop" == plain["finish_reason"]


def test_chat_calls_of_hosts():
    """A call goes out as it came: signed, without an id, with an object, or custom."""
    signature = {"google": {"thought_signature": "sig=="}}
    path = "extra_content.google.thought_signature"
    signed = {
        "id": "a", "type": "function", "extra_content": signature,
        "function": {"name": "f", "arguments": '{"x":1}'},
    }  # fmt: skip
    parted = {"id": "b", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    custom = {"id": "c", "type": "custom", "custom": {"name": "g", "input": '"free text"'}}
    nameless = {"id": "", "type": "function", "function": {"name": "h", "arguments": "{}"}}
    calls = [
        iv.ToolCall("a", "f", '{"x":1}', origin=sealed("openai-chat", signed, path)),
        iv.ToolCall("b", "f", '{"x":1}', origin=sealed("openai-chat", parted)),
        iv.ToolCall("c", "g", '"free text"', origin=sealed("openai-chat", custom)),
        iv.ToolCall(
            "call_3", "h", "{}", origin=sealed("openai-chat", nameless).replace(invented=("id",))
        ),
    ]
    check(reply(*calls, finish="tool_calls"), "openai-chat")


def test_chat_message_members():
    """What a message has beside its parts, an empty list of details among it."""
    kept = {"reasoning_details": [], "annotations": [{"type": "url_citation"}]}
    answer = reply(iv.Text(SAID), origin=sealed("openai-chat", kept))
    check(answer, "openai-chat")

    for response in (whole(answer, "openai-chat"), streamed(answer, "openai-chat")):
        assert kept == response.origin.block


# ---- lists of chunks: Mistral, and some hosts of chat ----------------------------------------------


def chunk_of(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


@pytest.mark.parametrize("dialect", ["mistral", "openai-chat"])
def test_chunks(dialect):
    """Chunks in order, with neighbours of one kind kept apart."""
    cited = {"type": "text", "text": "cited", "citations": [1]}
    reference = {"type": "thinking", "thinking": [{"type": "reference", "reference_ids": [1]}]}
    check(
        reply(
            thought(THOUGHT, dialect, chunk_of(THOUGHT, closed=True)),
            thought("more", dialect, chunk_of("more", signature="sig=="), "signature"),
            thought("as text", dialect, {"type": "thinking", "thinking": "as text"}),
            thought("", dialect, chunk_of("", signature=None)),
            iv.Text(SAID),
            iv.Text("cited", origin=sealed(dialect, cited)),
            thought("again", dialect, chunk_of("again")),
            iv.Opaque({"type": "image_url", "image_url": "x"}, origin=Origin(dialect=dialect)),
            iv.Thinking("", origin=sealed(dialect, reference)),
            iv.Text("end", origin=sealed(dialect, {"type": "output_text", "text": "end"})),
            CALL,
            finish="tool_calls",
        ),
        dialect,
    )


def test_chat_summary_chunk():
    """Databricks: reasoning with a signed summary, in the content."""
    summary = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "S", "signature": "s"}],
    }
    part = thought("S", "openai-chat", summary, "summary.0.signature", form="summary")
    check(reply(part, iv.Text(SAID)), "openai-chat")


def test_mistral_content():
    """A string without thinking, else a list; in a stream lists, then strings."""
    deltas = [chunk["choices"][0]["delta"] for chunk in messages(PLAIN, "mistral", 1000)]

    assert SAID == body(reply(iv.Text(SAID)), "mistral")["choices"][0]["message"]["content"]
    assert isinstance(deltas[1]["content"], list)
    assert SAID == deltas[2]["content"]
    assert CALL.arguments == deltas[3]["tool_calls"][0]["function"]["arguments"]


# ---- Responses -------------------------------------------------------------------------------------

REASONING = {
    "type": "reasoning",
    "id": "rs_9",
    "summary": [
        {"type": "summary_text", "text": "**One**"},
        {"type": "summary_text", "text": "Two"},
    ],
    "encrypted_content": "gAAAA==",
}
OPEN = {
    "type": "reasoning",
    "id": "rs_8",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": THOUGHT}],
    "status": "completed",
}
HIDDEN = {"type": "reasoning", "id": "rs_7", "summary": [], "encrypted_content": "hidden=="}
MESSAGE = {
    "type": "message",
    "id": "msg_9",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": SAID, "annotations": [], "logprobs": []}],
}
FUNCTION = {
    "type": "function_call",
    "id": "fc_9",
    "call_id": "call_9",
    "name": "weather",
    "arguments": CALL.arguments,
    "status": "completed",
}
SEARCH = {"type": "web_search_call", "id": "ws_9", "status": "completed", "action": {"query": "x"}}


def item(part: Any, value: dict[str, Any] | None, name: str, *seals: str) -> Any:
    return part.replace(origin=sealed("openai-responses", value, *seals, item=name))


ITEMS = (
    item(iv.Thinking("**One**", "summary"), REASONING, "rs_9", "id", "encrypted_content"),
    item(iv.Thinking("Two", "summary"), None, "rs_9"),
    item(iv.Thinking(THOUGHT), OPEN, "rs_8", "id"),
    iv.Opaque(SEARCH, origin=Origin(dialect="openai-responses")),
    item(iv.Thinking("", "hidden"), HIDDEN, "rs_7", "id", "encrypted_content"),
    item(iv.Text(SAID), MESSAGE, "msg_9"),
    item(CALL, FUNCTION, "fc_9"),
)


def test_responses_items():
    """Items go out as they came, in their order."""
    answer = reply(*ITEMS, finish="tool_calls")
    check(answer, "openai-responses")

    assert [REASONING, OPEN, SEARCH, HIDDEN, MESSAGE, FUNCTION] == body(answer, "openai-responses")[
        "output"
    ]


def test_responses_order_of_events():
    events = messages(reply(*ITEMS[:2], *ITEMS[5:], finish="tool_calls"), "openai-responses", 1000)
    names = [event["type"].removeprefix("response.") for event in events]
    summary = [
        f"reasoning_summary_{name}"
        for name in ("part.added", "text.delta", "text.done", "part.done")
    ]
    text = ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"]
    call = ["function_call_arguments.delta", "function_call_arguments.done"]
    added, done = "output_item.added", "output_item.done"

    assert names == [
        "created", "in_progress", added, *summary, *summary, done, added, *text, done, added, *call, done, "completed",
    ]  # fmt: skip
    assert list(range(len(events))) == [event["sequence_number"] for event in events]
    assert "encrypted_content" not in events[2]["item"]
    assert REASONING == events[11]["item"] == events[-1]["response"]["output"][0]
    assert events[0]["response"]["output"] == []


def test_responses_names_of_frames():
    for frame in frames(PLAIN, "openai-responses"):
        assert frame.name == load_json(frame.data)["type"]


def test_responses_ids_are_made():
    """Items without an id get one of the answer's id and their number."""
    ids = [item["id"] for item in body(PLAIN.replace(id="resp_abc"), "openai-responses")["output"]]

    assert ["rs_abc_0", "msg_abc_1", "fc_abc_2"] == ids


def test_responses_parts_of_one_item():
    """Parts that share an item are one, also without its block."""
    parts = (
        item(iv.Thinking("One", "summary"), None, "rs_1"),
        item(iv.Thinking("Two", "summary"), None, "rs_1"),
        item(iv.Thinking("Three"), None, "rs_1"),
        iv.Thinking("Four", "summary"),
        item(iv.Text("a"), None, "msg_1"),
        item(iv.Text("b"), None, "msg_1"),
    )
    check(reply(*parts), "openai-responses")
    output = body(reply(*parts), "openai-responses")["output"]

    assert ["reasoning", "reasoning", "message"] == [item["type"] for item in output]
    assert ["One", "Two"] == [entry["text"] for entry in output[0]["summary"]]
    assert ["Three"] == [entry["text"] for entry in output[0]["content"]]
    assert ["a", "b"] == [entry["text"] for entry in output[2]["content"]]


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [("length", "incomplete", "max_output_tokens"), ("content_filter", "incomplete", "content_filter"),
     ("pause", "incomplete", "steered"), ("stop", "completed", None)],
)  # fmt: skip
def test_responses_status(finish, status, reason):
    answer = reply(iv.Thinking("hm", "summary"), iv.Text(SAID), finish=finish)
    check(answer, "openai-responses")
    written = body(answer, "openai-responses")

    assert status == written["status"]
    assert reason == (written["incomplete_details"] or {}).get("reason")
    assert f"response.{status}" == frames(answer, "openai-responses")[-1].name


def test_responses_refusal():
    answer = reply(iv.Text("I cannot."), finish="refusal")
    check(answer, "openai-responses")


def test_responses_custom_call():
    value = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "c",
        "name": "g",
        "input": '"free"',
    }
    answer = reply(item(iv.ToolCall("c", "g", '"free"'), value, "ctc_1"), finish="tool_calls")
    check(answer, "openai-responses")


# ---- Cohere and Ollama -----------------------------------------------------------------------------


def test_cohere_content():
    """Content in order, the plan of older models, citations, and calls as they came."""
    call = {"id": "w_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    citation = {"start": 0, "end": 3, "text": "Let", "sources": [], "type": "TEXT_CONTENT"}
    answer = reply(
        thought("I will look.", "cohere", {"tool_plan": "I will look."}),
        thought(THOUGHT, "cohere", {"type": "thinking", "thinking": THOUGHT}),
        iv.Text(SAID),
        thought("old", "cohere", {"type": "thinking", "value": "old"}),
        iv.ToolCall("w_1", "weather", "{}", origin=sealed("cohere", call)),
        CALL,
        finish="tool_calls",
        wire_finish_reason="TOOL_CALL",
        origin=sealed("cohere", {"citations": [citation]}),
    )
    check(answer, "cohere")

    for response in (whole(answer, "cohere"), streamed(answer, "cohere")):
        assert {"citations": [citation]} == response.origin.block


def test_cohere_order_of_events():
    events = messages(PLAIN, "cohere", 1000)
    block = ["content-start", "content-delta", "content-end"]
    call = ["tool-call-start", "tool-call-delta", "tool-call-end"]

    assert ["message-start", *block, *block, *call, "message-end"] == [
        event["type"] for event in events
    ]
    assert [0, 0, 0, 1, 1, 1] == [event["index"] for event in events[1:7]]
    for event, frame in zip(events, frames(PLAIN, "cohere", 1000), strict=False):
        assert event["type"] == frame.name


def test_ollama_calls_are_whole():
    """A call is one line, its arguments an object, its block as it came."""
    call = {"function": {"index": 0, "name": "f", "arguments": {"b": 1, "a": [2]}}}
    origin = sealed("ollama", call).replace(invented=("id",))
    answer = reply(
        thought(THOUGHT, "ollama", {"thinking": THOUGHT}),
        iv.Text(SAID),
        iv.ToolCall("call_0", "f", '{"b":1,"a":[2]}', origin=origin),
        CALL,
        finish="tool_calls",
    )
    check(answer, "ollama")
    lines = messages(answer, "ollama", 2)
    calls = [line["message"]["tool_calls"] for line in lines if "tool_calls" in line["message"]]

    assert [1, 1] == [len(found) for found in calls]
    assert [True] == [line["done"] for line in lines if line["done"]]
    assert lines[-1]["done"]


# ---- anything --------------------------------------------------------------------------------------

texts = st.text(min_size=1, max_size=60)
names = st.text("abcdefghij_", min_size=1, max_size=8)
arguments = st.dictionaries(names, st.integers() | texts | st.lists(texts, max_size=2), max_size=3)
seals = st.text("ABCDEFab01+/=", min_size=1, max_size=12)


@st.composite
def tool_calls(draw):
    """Calls without a block, and different from each other in their ids."""
    drawn = draw(st.lists(st.tuples(names, arguments), max_size=3))
    return [
        iv.ToolCall(f"call_x{number}", name, json.dumps(given))
        for number, (name, given) in enumerate(drawn)
    ]


@st.composite
def chat_parts(draw):
    form = draw(st.sampled_from(["none", "plain", "field", "details"]))
    said = [iv.Text(draw(texts))] if draw(st.booleans()) else []
    match form:
        case "plain":
            return [iv.Thinking(draw(texts)), *said]
        case "field":
            name, text = draw(st.sampled_from(["reasoning", "reasoning_content"])), draw(texts)
            return [thought(text, "openai-chat", {name: text}), *said]
        case "details":
            entries = []
            for index in range(draw(st.integers(1, 4))):
                entry: dict[str, Any] = {"index": index, "format": draw(st.none() | names)}
                kind = draw(st.sampled_from(["text", "summary", "encrypted"]))
                entry["type"] = f"reasoning.{kind}"
                entry["data" if kind == "encrypted" else kind] = draw(
                    seals if kind == "encrypted" else texts
                )
                if kind == "text" and draw(st.booleans()):
                    entry["signature"] = draw(seals)
                entries.append(detail(entry))
            return [*entries, *said]
    return said


@st.composite
def mistral_parts(draw):
    parts: list[Any] = []
    for kind in draw(st.lists(st.sampled_from(["plain", "chunk", "signed", "text"]), max_size=6)):
        text = draw(texts)
        match kind:
            case "plain":
                parts.append(iv.Thinking(text))
            case "chunk":
                parts.append(thought(text, "mistral", chunk_of(text, closed=draw(st.booleans()))))
            case "signed":
                made = chunk_of(text, signature=draw(seals))
                parts.append(thought(text, "mistral", made, "signature"))
            case _:
                parts.append(iv.Text(text))
    # Without a chunk of thinking the content is one string, and so one part.
    if not any(isinstance(part, iv.Thinking) for part in parts):
        return parts[:1]
    return parts


@st.composite
def responses_parts(draw):
    parts: list[Any] = []
    for number in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["plain", "summary", "item", "text", "message"]))
        text = draw(texts)
        match kind:
            case "plain" | "summary":
                parts.append(iv.Thinking(text, "full" if kind == "plain" else "summary"))
            case "item":
                entries = draw(st.lists(texts, max_size=3))
                name = f"rs_{number}"
                value = {
                    "type": "reasoning",
                    "id": name,
                    "summary": [{"type": "summary_text", "text": entry} for entry in entries],
                    "encrypted_content": draw(seals),
                }
                for position, entry in enumerate(entries or [""]):
                    part = iv.Thinking(entry, "summary" if entry else "hidden")
                    sealing = ("id", "encrypted_content") if position == 0 else ()
                    parts.append(item(part, None if position else value, name, *sealing))
            case "text":
                parts.append(iv.Text(text))
            case _:
                content = [{"type": "output_text", "text": text, "annotations": []}]
                value = {
                    "type": "message",
                    "id": f"msg_{number}",
                    "role": "assistant",
                    "content": content,
                }
                parts.append(item(iv.Text(text), value, f"msg_{number}"))
    return parts


@st.composite
def cohere_parts(draw):
    parts: list[Any] = []
    for kind in draw(st.lists(st.sampled_from(["plain", "block", "text"]), max_size=5)):
        text = draw(texts)
        match kind:
            case "plain":
                parts.append(iv.Thinking(text))
            case "block":
                parts.append(thought(text, "cohere", {"type": "thinking", "thinking": text}))
            case _:
                parts.append(iv.Text(text))
    return parts


@st.composite
def ollama_parts(draw):
    text = draw(texts)
    thoughts = [[], [iv.Thinking(text)], [thought(text, "ollama", {"thinking": text})]]
    said = [iv.Text(draw(texts))] if draw(st.booleans()) else []
    return [*draw(st.sampled_from(thoughts)), *said]


PARTS = {
    "openai-chat": chat_parts(),
    "mistral": mistral_parts(),
    "openai-responses": responses_parts(),
    "cohere": cohere_parts(),
    "ollama": ollama_parts(),
}


@every_dialect
@settings(max_examples=60, deadline=None)
@given(data=st.data(), size=st.integers(1, 20), spent=st.integers(0, 1000))
def test_any_answer(dialect, data, size, spent):
    """Whole or in deltas of any size, the same parts, blocks, counts and reason come back."""
    parts, calls = data.draw(PARTS[dialect]), data.draw(tool_calls())
    finish = "tool_calls" if calls else data.draw(st.sampled_from(["stop", "length"]))
    usage = Usage(input_tokens=spent, output_tokens=2 * spent, reasoning_tokens=spent)
    check(reply(*parts, *calls, finish=finish, usage=usage), dialect, (size,))


@needs_shared
@every_dialect
def test_recordings(dialect):
    """What real hosts answered is written with the same blocks, whole and streamed."""
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        answer = exchange["response"]
        if exchange["dialect"] != dialect or exchange["status"] >= 400:
            continue
        try:
            read = iv.decode(answer.get("json") or answer.get("sse"), dialect=dialect, inline="off")
        except iv.InnervoiceError:
            continue
        if read.status == "interrupted":
            continue
        again, live = whole(read, dialect), streamed(read, dialect)
        # A host that gives no reason has one here: the API's usual.
        reason = read.finish_reason or "stop"
        assert reason == again.finish_reason == live.finish_reason, path.name
        if (read.usage.input_tokens, dialect) != (None, "openai-responses"):
            assert read.usage.total_tokens == again.usage.total_tokens, path.name
        assert [block(part) for part in read.parts] == [block(part) for part in again.parts], (
            path.name
        )
        assert [block(part) for part in read.parts] == [block(part) for part in live.parts], (
            path.name
        )
        for response in (again, live):
            assert list(map(said, read.parts)) == list(map(said, response.parts)), path.name


def said(part: Any) -> tuple[Any, ...]:
    if isinstance(part, iv.Opaque):
        return (part.type, part.value)
    return (part.type, part.arguments if isinstance(part, iv.ToolCall) else part.text)
