"""The server's side of the dialects with blocks: what it writes, our readers read as the same answer."""

import json
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.answering.writing import exact_answer, exact_stream
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.origin import Markup, Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.wire.dialects import framing_of, server_of
from innervoice.wire.refusals import Refusal
from shared import SHARED, needs_shared

ANTHROPIC, GEMINI, CONVERSE = "anthropic", "gemini", "bedrock-converse"
DIALECTS = (ANTHROPIC, GEMINI, CONVERSE)
SIZES = (1, 3, 7, 10_000)
USAGE = Usage(input_tokens=45, output_tokens=90, reasoning_tokens=30, cached_input_tokens=5)
THOUGHT, SAID = "Rome is in Italy.\n\n", "Let me look — 🌦️."
ARGUMENTS = '{"city":"Rome","days":2}'

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


# ---- what is written, and how it is read -------------------------------------------------------


def answer_of(*parts: Part, **members: Any) -> Response:
    calls = any(isinstance(part, ToolCall) for part in parts)
    known = {
        "id": "msg_1",
        "model": "model-1",
        "ended": True,
        "finish_reason": "tool_calls" if calls else "stop",
        "usage": USAGE,
    }
    return Response(parts=parts, **{**known, **members})


def stream_of(dialect: str, answer: Response, size: int) -> bytes:
    framed = framing_of(dialect)
    return b"".join(framed(frame) for frame in exact_stream(answer, dialect, size))


def events_of(dialect: str, answer: Response, size: int = 7) -> list[tuple[str | None, Any]]:
    frames = exact_stream(answer, dialect, size)
    return [(frame.name, load_json(frame.data)) for frame in frames]


def read_whole(dialect: str, answer: Response) -> Response:
    body = dump_json(exact_answer(answer, dialect).body)
    return iv.decode(body, dialect=dialect)


def read_stream(dialect: str, answer: Response, size: int) -> Response:
    return iv.fold(iv.decode_stream([stream_of(dialect, answer, size)], dialect=dialect))


def content(parts: tuple[Part, ...]) -> list[Any]:
    said: list[Any] = []
    for part in parts:
        match part:
            case Text() | Thinking():
                said.append((part.type, part.text))
            case ToolCall():
                said.append((part.type, part.id, part.name, part.arguments))
            case Opaque():
                said.append((part.type, part.value))
    return said


def blocks(parts: tuple[Part, ...], dialect: str) -> list[Any]:
    """The blocks of a dialect among the parts; None for a part without one."""
    origins = [part.origin or Origin() for part in parts]
    return [origin.block if origin.dialect == dialect else None for origin in origins]


def check(dialect: str, answer: Response, sizes: tuple[int, ...] = SIZES) -> None:
    """Whole and streamed are the same answer, and what was written."""
    whole = read_whole(dialect, answer)
    assert content(answer.parts) == content(whole.parts)
    for sent, came in zip(blocks(answer.parts, dialect), blocks(whole.parts, dialect), strict=True):
        assert sent in (None, came)
    assert answer.finish_reason == whole.finish_reason
    assert counts(dialect, answer.usage) == counts(dialect, whole.usage)
    if dialect != CONVERSE:
        assert (answer.id, answer.model) == (whole.id, whole.model)
    for size in sizes:
        assert whole == read_stream(dialect, answer, size)


def counts(dialect: str, usage: Usage) -> tuple[int | None, ...]:
    reasoning = None if dialect == CONVERSE else usage.reasoning_tokens
    return (usage.input_tokens, usage.output_tokens, reasoning, usage.cached_input_tokens)


# ---- the blocks of each dialect ----------------------------------------------------------------


def sealed(dialect: str, block: Any, make: Any, *seals: str) -> Part:
    return make(Origin(dialect=dialect, block=block, seals=seals))


def thinking(dialect: str, text: str, signature: str) -> Part:
    form = "full" if text else "hidden"

    def make(origin: Origin) -> Part:
        return Thinking(text, form, origin=origin)

    match dialect:
        case "anthropic":
            block = {"type": "thinking", "thinking": text, "signature": signature}
            return sealed(dialect, block, make, "signature")
        case "gemini":
            block = {"text": text, "thought": True, "thoughtSignature": signature}
            return sealed(dialect, block, make, "thoughtSignature")
        case _:
            block = {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
            return sealed(dialect, block, make, "reasoningContent.reasoningText.signature")


def redacted(dialect: str, data: str) -> Part:
    def make(origin: Origin) -> Part:
        return Thinking("", "hidden", origin=origin)

    match dialect:
        case "anthropic":
            return sealed(dialect, {"type": "redacted_thinking", "data": data}, make, "data")
        case "gemini":
            block = {"thought": True, "thoughtSignature": data}
            return sealed(dialect, block, make, "thoughtSignature")
        case _:
            block = {"reasoningContent": {"redactedContent": data}}
            return sealed(dialect, block, make, "reasoningContent.redactedContent")


def call(dialect: str, call_id: str, name: str, arguments: str, *, signed: bool = False) -> Part:
    value = load_json(arguments)
    match dialect:
        case "anthropic":
            block: Any = {"type": "tool_use", "id": call_id, "name": name, "input": value}
        case "gemini":
            block = {"functionCall": {"id": call_id, "name": name, "args": value}}
            block |= {"thoughtSignature": "c2ln"} if signed else {}
        case _:
            block = {"toolUse": {"toolUseId": call_id, "name": name, "input": value}}
    return ToolCall(call_id, name, arguments, origin=Origin(dialect=dialect, block=block))


def rich_text(dialect: str, text: str) -> Part:
    """A text whose block says more than its text, where the dialect has such."""
    match dialect:
        case "anthropic":
            cited = [{"type": "char_location", "cited_text": "Rome", "document_index": 0}]
            block: Any = {"type": "text", "text": text, "citations": cited}
        case "gemini":
            block = {"text": text, "thoughtSignature": "c2ln"}
        case _:
            return Text(text)
    return Text(text, origin=Origin(dialect=dialect, block=block))


OPAQUE = {
    ANTHROPIC: {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "advisor",
        "input": {"a": 1},
    },
    GEMINI: {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2ln"},
    CONVERSE: {"citationsContent": {"content": [{"text": "Rome"}], "citations": []}},
}


@every_dialect
def test_every_kind_of_part(dialect):
    check(
        dialect,
        answer_of(
            thinking(dialect, THOUGHT, "sig-1=="),
            redacted(dialect, "cmVkYWN0ZWQ="),
            thinking(dialect, "", "sig-2=="),
            Text(SAID),
            Opaque(OPAQUE[dialect], origin=Origin(dialect=dialect)),
            rich_text(dialect, SAID),
            call(dialect, "call_9", "weather", ARGUMENTS, signed=True),
            call(dialect, "call_10", "now", "{}"),
            ToolCall("call_11", "weather", ARGUMENTS),
        ),
    )


@every_dialect
def test_plain_parts(dialect):
    check(dialect, answer_of(Thinking(THOUGHT), Text(SAID)))


@every_dialect
def test_neighbours_of_one_kind_stay_apart(dialect):
    check(
        dialect,
        answer_of(
            Thinking(THOUGHT),
            Thinking("Celsius."),
            Thinking(""),
            Text(SAID),
            Text("a"),
            Text("bcd"),
        ),
    )


@every_dialect
def test_nothing_at_all(dialect):
    check(dialect, answer_of(finish_reason="length"))


@every_dialect
def test_a_seal_goes_out_as_it_came(dialect):
    answer = answer_of(thinking(dialect, "  \n", "sig==\n"), Text(SAID))
    whole = json.dumps(exact_answer(answer, dialect).body)
    assert json.dumps("sig==\n") in whole


@every_dialect
def test_blocks_of_others_are_not_sent(dialect):
    other = next(name for name in DIALECTS if name != dialect)
    answer = answer_of(
        thinking(other, THOUGHT, "sig-foreign=="),
        Opaque(OPAQUE[other], origin=Origin(dialect=other)),
        rich_text(other, SAID),
        call(other, "call_9", "weather", ARGUMENTS),
    )
    told = [part for part in answer.parts if not isinstance(part, Opaque)]

    whole = read_whole(dialect, answer)

    assert content(tuple(told)) == content(whole.parts)
    assert "sig-foreign" not in iv.to_json(whole).decode()
    assert whole == read_stream(dialect, answer, 3)


@every_dialect
def test_inline_parts_get_their_markup_back(dialect):
    inside = Origin(markup=(Markup(0, "<think>"), Markup(3, "</think>")))
    answer = answer_of(Thinking("Hm.", origin=inside), Text("4.", origin=Origin(markup=())))

    for read in (read_whole(dialect, answer), read_stream(dialect, answer, 2)):
        assert "<think>Hm.</think>4." == iv.restore(read.parts)
        assert [("thinking", "Hm."), ("text", "4.")] == content(read.parts)


@every_dialect
def test_media(dialect):
    answer = answer_of(Media("image/png", "aW1n"), Text(SAID))
    whole = read_whole(dialect, answer)

    assert "aW1n" in iv.to_json(whole).decode()
    assert whole == read_stream(dialect, answer, 3)


@every_dialect
def test_arguments_that_are_no_object(dialect):
    answer = answer_of(ToolCall("call_1", "run", "ls -l"))

    assert '{"input":"ls -l"}' == read_whole(dialect, answer).tool_calls[0].arguments
    assert '{"input":"ls -l"}' == read_stream(dialect, answer, 2).tool_calls[0].arguments


# ---- reasons and counts ------------------------------------------------------------------------

WORDS = [
    (ANTHROPIC, "stop", "end_turn"),
    (ANTHROPIC, "length", "max_tokens"),
    (ANTHROPIC, "tool_calls", "tool_use"),
    (ANTHROPIC, "refusal", "refusal"),
    (ANTHROPIC, "content_filter", "refusal"),
    (ANTHROPIC, "pause", "pause_turn"),
    (GEMINI, "stop", "STOP"),
    (GEMINI, "length", "MAX_TOKENS"),
    (GEMINI, "tool_calls", "STOP"),
    (GEMINI, "content_filter", "SAFETY"),
    (GEMINI, "refusal", "SAFETY"),
    (GEMINI, "pause", "CONTINUATION"),
    (GEMINI, "error", "OTHER"),
    (CONVERSE, "stop", "end_turn"),
    (CONVERSE, "length", "max_tokens"),
    (CONVERSE, "tool_calls", "tool_use"),
    (CONVERSE, "content_filter", "content_filtered"),
    (CONVERSE, "error", "malformed_model_output"),
]


@pytest.mark.parametrize(("dialect", "reason", "word"), WORDS)
def test_finish_reasons(dialect, reason, word):
    answer = answer_of(Text(SAID), finish_reason=reason)

    assert word == read_whole(dialect, answer).wire_finish_reason
    assert word == read_stream(dialect, answer, 5).wire_finish_reason


@pytest.mark.parametrize(
    ("dialect", "word"),
    [(ANTHROPIC, "stop_sequence"), (GEMINI, "RECITATION"), (CONVERSE, "guardrail_intervened")],
)
def test_the_wires_own_word_goes_first(dialect, word):
    answer = answer_of(Text(SAID), finish_reason="stop", wire_finish_reason=word)
    assert word == read_whole(dialect, answer).wire_finish_reason
    foreign = answer.replace(origin=Origin(dialect="openai-chat"), wire_finish_reason="eos")
    assert "stop" == read_whole(dialect, foreign).finish_reason
    assert "eos" != read_stream(dialect, foreign, 3).wire_finish_reason


@every_dialect
@pytest.mark.parametrize(
    "usage",
    [
        USAGE,
        Usage(input_tokens=1, output_tokens=0),
        Usage(input_tokens=7, output_tokens=9, reasoning_tokens=9),
        Usage(input_tokens=7, output_tokens=9, reasoning_tokens=0, cached_input_tokens=7),
    ],
)
def test_usage(dialect, usage):
    check(dialect, answer_of(Text(SAID), usage=usage), (3,))


def test_gemini_counts_the_answer_without_thoughts():
    written = exact_answer(answer_of(Text(SAID)), GEMINI).body
    assert {
        "promptTokenCount": 45,
        "candidatesTokenCount": 60,
        "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 5,
        "totalTokenCount": 135,
    } == written["usageMetadata"]


# ---- the order of a stream ---------------------------------------------------------------------


def test_anthropic_order():
    answer = answer_of(
        thinking(ANTHROPIC, "One two", "sig-1=="),
        redacted(ANTHROPIC, "cmVk"),
        thinking(ANTHROPIC, "", "sig-2=="),
        call(ANTHROPIC, "toolu_1", "f", '{"a":1}'),
    )
    events = events_of(ANTHROPIC, answer, 4)

    assert all(name == event["type"] for name, event in events)
    assert ["message_start", "ping"] == [name for name, _ in events[:2]]
    assert [] == events[0][1]["message"]["content"]
    assert 40 == events[0][1]["message"]["usage"]["input_tokens"]
    assert [
        ("start", {"type": "thinking", "thinking": "", "signature": ""}),
        ("delta", {"type": "thinking_delta", "thinking": "One "}),
        ("delta", {"type": "thinking_delta", "thinking": "two"}),
        ("delta", {"type": "signature_delta", "signature": "sig-1=="}),
        ("stop", None),
        ("start", {"type": "redacted_thinking", "data": "cmVk"}),
        ("stop", None),
        ("start", {"type": "thinking", "thinking": "", "signature": ""}),
        ("delta", {"type": "signature_delta", "signature": "sig-2=="}),
        ("stop", None),
        ("start", {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}),
        ("delta", {"type": "input_json_delta", "partial_json": '{"a"'}),
        ("delta", {"type": "input_json_delta", "partial_json": ":1}"}),
        ("stop", None),
    ] == [
        (name.removeprefix("content_block_"), event.get("content_block") or event.get("delta"))
        for name, event in events[2:-2]
    ]
    assert ["message_delta", "message_stop"] == [name for name, _ in events[-2:]]
    assert {"stop_reason": "tool_use", "stop_sequence": None} == events[-2][1]["delta"]


def test_gemini_order():
    answer = answer_of(
        Thinking("One two"), rich_text(GEMINI, "Hi there"), call(GEMINI, "c1", "f", '{"a":1}')
    )
    events = events_of(GEMINI, answer, 4)

    assert [
        [{"text": "One ", "thought": True}],
        [{"text": "two", "thought": True}],
        [{"text": "Hi there", "thoughtSignature": "c2ln"}],
        [{"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}}],
        [{"text": ""}],
    ] == [event["candidates"][0]["content"]["parts"] for _, event in events]
    assert {None} == {name for name, _ in events}
    assert [False] * 4 + [True] == ["usageMetadata" in event for _, event in events]
    assert [None] * 4 + ["STOP"] == [
        event["candidates"][0].get("finishReason") for _, event in events
    ]


def test_gemini_thought_all_its_budget_away():
    """A candidate without parts has no member for them."""
    answer = answer_of(finish_reason="length")
    written = exact_answer(answer, GEMINI).body

    assert {"role": "model"} == written["candidates"][0]["content"]
    assert [(None, written)] == events_of(GEMINI, answer)


def test_converse_order():
    answer = answer_of(
        thinking(CONVERSE, "One two", "sig-1=="),
        redacted(CONVERSE, "cmVk"),
        Text("Hi"),
        call(CONVERSE, "t1", "f", '{"a":1}'),
    )
    assert [
        ("messageStart", None, None),
        ("contentBlockDelta", 0, {"reasoningContent": {"text": "One "}}),
        ("contentBlockDelta", 0, {"reasoningContent": {"text": "two"}}),
        ("contentBlockDelta", 0, {"reasoningContent": {"signature": "sig-1=="}}),
        ("contentBlockStop", 0, None),
        ("contentBlockDelta", 1, {"reasoningContent": {"redactedContent": "cmVk"}}),
        ("contentBlockStop", 1, None),
        ("contentBlockDelta", 2, {"text": "Hi"}),
        ("contentBlockStop", 2, None),
        ("contentBlockStart", 3, {"toolUse": {"toolUseId": "t1", "name": "f"}}),
        ("contentBlockDelta", 3, {"toolUse": {"input": '{"a"'}}),
        ("contentBlockDelta", 3, {"toolUse": {"input": ":1}"}}),
        ("contentBlockStop", 3, None),
        ("messageStop", None, None),
        ("metadata", None, None),
    ] == [
        (name, event.get("contentBlockIndex"), event.get("delta") or event.get("start"))
        for name, event in events_of(CONVERSE, answer, 4)
    ]


# ---- errors ------------------------------------------------------------------------------------

KINDS = [
    (ANTHROPIC, 400, "invalid_request_error"),
    (ANTHROPIC, 401, "authentication_error"),
    (ANTHROPIC, 403, "permission_error"),
    (ANTHROPIC, 404, "not_found_error"),
    (ANTHROPIC, 422, "invalid_request_error"),
    (ANTHROPIC, 429, "rate_limit_error"),
    (ANTHROPIC, 500, "api_error"),
    (ANTHROPIC, 529, "overloaded_error"),
    (GEMINI, 400, "INVALID_ARGUMENT"),
    (GEMINI, 401, "UNAUTHENTICATED"),
    (GEMINI, 403, "PERMISSION_DENIED"),
    (GEMINI, 404, "NOT_FOUND"),
    (GEMINI, 429, "RESOURCE_EXHAUSTED"),
    (GEMINI, 500, "INTERNAL"),
    (GEMINI, 503, "UNAVAILABLE"),
    (GEMINI, 529, "UNAVAILABLE"),
    (GEMINI, 507, "INTERNAL"),
]


@pytest.mark.parametrize(("dialect", "status", "kind"), KINDS)
def test_kinds_of_errors(dialect, status, kind):
    body = server_of(dialect).write_error(Refusal(text="No.", status=status))
    with pytest.raises(iv.ProviderError) as caught:
        iv.decode(body, dialect=dialect)
    assert kind == caught.value.type


@every_dialect
def test_refusals(dialect):
    text = "messages.1.content.0: Invalid `signature` in `thinking` block"
    body = server_of(dialect).write_error(Refusal(text=text))
    with pytest.raises(iv.ProviderError) as caught:
        iv.decode(dump_json(body), dialect=dialect)
    assert text == caught.value.message


def test_shapes_of_errors():
    refusal = Refusal(text="No.", type="conflict_error", code="busy", status=409)
    detailed = {"type": "conflict_error", "message": "No.", "details": {"error_code": "busy"}}
    assert {
        "type": "error",
        "error": detailed,
        "request_id": None,
    } == server_of(ANTHROPIC).write_error(refusal)
    assert {"error": {"code": 404, "message": "No.", "status": "NOT_FOUND"}} == server_of(
        GEMINI
    ).write_error(Refusal(text="No.", status=404))
    assert {"message": "No."} == server_of(CONVERSE).write_error(refusal)


@every_dialect
@pytest.mark.parametrize("came", [0, 1, 3])
def test_errors_in_the_middle(dialect, came):
    server, framed = server_of(dialect), framing_of(dialect)
    answer = answer_of(thinking(dialect, "", "sig=="), Text(SAID))
    frames = [*exact_stream(answer, dialect, 3)][:came]
    failed = server.write_stream_error(Refusal(text="Overloaded", status=529))
    stream = b"".join(map(framed, [*frames, failed]))

    response = iv.fold(iv.decode_stream([stream], dialect=dialect))

    assert "interrupted" == response.status
    assert "Overloaded" == response.error.message


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        (Refusal(text="No."), "validationException"),
        (Refusal(text="No.", status=429), "throttlingException"),
        (Refusal(text="No.", status=503), "serviceUnavailableException"),
        (Refusal(text="No.", status=500), "internalServerException"),
        (Refusal(text="No.", status=403), "modelStreamErrorException"),
        (Refusal(text="No.", type="ThrottlingException"), "throttlingException"),
        (Refusal(text="No.", type="modelStreamErrorException"), "modelStreamErrorException"),
    ],
)
def test_converse_has_five_exceptions_in_a_stream(refusal, name):
    frame = server_of(CONVERSE).write_stream_error(refusal)
    assert (name, True) == (frame.name, frame.failed)


# ---- any answer --------------------------------------------------------------------------------

texts = st.text(max_size=12)
said = st.text(min_size=1, max_size=12)
seals = st.binary(min_size=1, max_size=9).map(lambda data: data.hex())
names = st.text("abcxyz_", min_size=1, max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(texts, values, max_size=3).map(lambda value: dump_json(value).decode())


def parts_of(dialect: str) -> st.SearchStrategy[Part]:
    return st.one_of(
        st.builds(Thinking, texts),
        st.builds(Text, said),
        st.builds(thinking, st.just(dialect), texts, seals),
        st.builds(redacted, st.just(dialect), seals),
        st.builds(rich_text, st.just(dialect), said),
        st.builds(ToolCall, st.just("?"), names, arguments),
        st.builds(call, st.just(dialect), st.just("?"), names, arguments, signed=st.booleans()),
        st.just(Opaque(OPAQUE[dialect], origin=Origin(dialect=dialect))),
    )


def numbered(dialect: str, parts: list[Part]) -> list[Part]:
    """The parts with an id of its own for every call."""
    found: list[Part] = []
    for number, part in enumerate(parts):
        if isinstance(part, ToolCall) and part.origin:
            signed = "thoughtSignature" in part.origin.block
            found.append(call(dialect, f"c{number}", part.name, part.arguments, signed=signed))
        elif isinstance(part, ToolCall):
            found.append(part.replace(id=f"c{number}"))
        else:
            found.append(part)
    return found


usages = st.builds(
    lambda plain, cached, thought, spoken: Usage(
        input_tokens=plain + cached,
        output_tokens=thought + spoken,
        reasoning_tokens=thought,
        cached_input_tokens=cached,
    ),
    *[st.integers(0, 10**6)] * 4,
)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(DIALECTS), st.integers(1, 20), usages)
def test_any_answer(data, dialect, size, usage):
    """I1: whole and streamed hold the same parts and blocks, which are those that were written."""
    parts = data.draw(st.lists(parts_of(dialect), max_size=6))
    check(dialect, answer_of(*numbered(dialect, parts), usage=usage), (size,))


# ---- recordings --------------------------------------------------------------------------------


def recorded(dialect: str) -> list[Any]:
    """The answers of the real API, whole or as streams."""
    found = []
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        response = exchange["response"]
        if exchange["dialect"] == dialect and exchange["status"] == 200:
            stream = response.get("sse") or b64decode(response.get("eventstream_b64", ""))
            found.append(response.get("json") or stream)
    return found


def content_of(dialect: str, body: Any) -> Any:
    match dialect:
        case "anthropic":
            return body["content"]
        case "gemini":
            return body["candidates"][0]["content"].get("parts")
        case _:
            return body["output"]["message"]["content"]


@needs_shared
@every_dialect
def test_recordings(dialect):
    """I2: a recorded answer is served with the same blocks, and its stream is that answer."""
    bodies = recorded(dialect)
    assert len(bodies) > 25
    for body in bodies:
        answer = iv.decode(body, dialect=dialect)
        written = exact_answer(answer, dialect).body
        if isinstance(body, dict):
            assert content_of(dialect, body) == content_of(dialect, written)
        whole = iv.decode(written, dialect=dialect)
        assert (answer.text, answer.thinking) == (whole.text, whole.thinking)
        assert (answer.status, answer.wire_finish_reason) == (
            whole.status,
            whole.wire_finish_reason,
        )
        assert answer.usage.total_tokens == whole.usage.total_tokens
        assert whole == read_stream(dialect, answer, 40)
