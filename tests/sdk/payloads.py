"""What each provider sends, whole and as a stream, and what must be read from it.

Each payload says the same thing both ways: reasoning, sealed where the dialect has seals, an answer
and calls. Its reading is what both the SDK and innervoice must make of it, block by block.
"""

import json
import struct
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import innervoice as iv

# ---- what is read --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thought:
    """A block of reasoning, and its seals as the wire has them."""

    text: str
    seals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Said:
    """A block of the answer."""

    text: str
    seals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool call with its arguments parsed; its id is None where none was given."""

    id: str | None
    name: str
    arguments: Any
    seals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """An answer: as a whole, and block by block. Every payload ends with calls."""

    text: str
    thinking: str
    calls: tuple[Any, ...]
    blocks: tuple[Any, ...]
    status: str = "tool_calls"


@dataclass(frozen=True)
class Payload:
    """One answer in one dialect."""

    whole: bytes
    stream: bytes
    reading: Reading


def reading(blocks: Iterable[Thought | Said | Call]) -> Reading:
    """The reading of blocks; empty text without a seal says nothing."""
    kept = tuple(block for block in blocks if block != Said(""))
    thoughts = [block.text for block in kept if isinstance(block, Thought)]
    return Reading(
        text="".join(block.text for block in kept if isinstance(block, Said)),
        thinking="\n\n".join(text for text in thoughts if text),
        calls=tuple(block for block in kept if isinstance(block, Call)),
        blocks=kept,
    )


def reading_of(response: iv.Response) -> Reading:
    """The reading of innervoice."""
    blocks = [_block(part) for part in response.parts]
    return Reading(
        text=response.text,
        thinking=response.thinking or "",
        calls=tuple(_block(call) for call in response.tool_calls),
        blocks=tuple(block for block in blocks if block != Said("")),
        status=response.status,
    )


def _block(part: iv.Part) -> Any:
    origin = part.origin
    seals = tuple(_member(origin.block, path) for path in origin.seals) if origin else ()
    match part:
        case iv.Thinking():
            return Thought(part.text, seals)
        case iv.Text():
            return Said(part.text, seals)
        case iv.ToolCall():
            given = None if origin and "id" in origin.invented else part.id
            return Call(given, part.name, json.loads(part.arguments), seals)
        case _:
            return part


def _member(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


# ---- what is said --------------------------------------------------------------------------------

PLAN = "  Köln first, then the clock.\n\n1. ask twice 🙂"
DOUBT = "Is it *raining* there?"
ANSWER = "Let me look at the weather of **Köln** 🌧, and at the clock."
WEATHER = {"city": "Köln", "days": 3, "limits": {"low": -1.5, "kinds": ["rain", None, True]}}
SIGNATURE = "EuwBCkYIBxgCKkD+abc0123456789/AB"
OTHER_SIGNATURE = "ErUBCkYIBRgCIkA//+z9876543210w=="
REDACTED = "EqkECkYIBxgCKkC+cmVkYWN0ZWQwMTIzNDU2Nzg5AAA="
_CALLS = (("call_1", "weather", WEATHER), ("call_2", "clock", {}))


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _body(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _named_events(values: Iterable[dict[str, Any]], padding: str = "") -> bytes:
    """Server-sent events that carry their type as a name."""
    lines = (
        f"event: {value['type']}\ndata: ".encode() + _line(value) + f"{padding}\n\n".encode()
        for value in values
    )
    return b"".join(lines)


def _events(values: Iterable[dict[str, Any]], end: bytes = b"data: [DONE]\n\n") -> bytes:
    """Server-sent events without names."""
    return b"".join(b"data: " + _line(value) + b"\n\n" for value in values) + end


# ---- Anthropic -----------------------------------------------------------------------------------


def _anthropic() -> Payload:
    content = [
        {"type": "thinking", "thinking": PLAN, "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": REDACTED},
        {"type": "text", "text": ANSWER},
        {"type": "thinking", "thinking": "", "signature": OTHER_SIGNATURE},
        *(
            {"type": "tool_use", "id": given, "name": name, "input": arguments}
            for given, name, arguments in _CALLS
        ),
    ]
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 51, "output_tokens": 170},
    }
    start = {"content": [], "stop_reason": None, "usage": {"input_tokens": 51, "output_tokens": 1}}
    events = [{"type": "message_start", "message": message | start}]
    for index, block in enumerate(content):
        begun, deltas = _anthropic_deltas(block)
        events += [
            {"type": "content_block_start", "index": index, "content_block": begun},
            {"type": "ping"},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 170},
        },
        {"type": "message_stop"},
    ]
    read = reading(
        [
            Thought(PLAN, (SIGNATURE,)),
            Thought("", (REDACTED,)),
            Said(ANSWER),
            Thought("", (OTHER_SIGNATURE,)),
            *(Call(*call) for call in _CALLS),
        ]
    )
    return Payload(_body(message), _named_events(events, padding="   "), read)


def _anthropic_deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts, and the deltas that complete it."""
    match block:
        case {"type": "thinking", "thinking": text, "signature": signature}:
            # Reasoning that is hidden has no delta but its signature.
            texts = [*_halves(text), ""] if text else []
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in texts]
            sealed = {"type": "signature_delta", "signature": signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, sealed]
        case {"type": "text", "text": text}:
            deltas = [{"type": "text_delta", "text": piece} for piece in _halves(text)]
            return {"type": "text", "text": ""}, deltas
        case {"type": "tool_use", "input": arguments}:
            texts = ["", *_halves(json.dumps(arguments))] if arguments else [""]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in texts]
            return block | {"input": {}}, deltas
        case _:
            return block, []


ANTHROPIC = _anthropic()

# ---- Chat Completions ----------------------------------------------------------------------------


def _chat_calls(**extra: Any) -> list[dict[str, Any]]:
    """The calls of a whole message; what is extra belongs to the first."""
    return [
        {
            "id": given,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        | (extra if number == 0 else {})
        for number, (given, name, arguments) in enumerate(_CALLS)
    ]


def _chat_call_deltas(calls: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for index, call in enumerate(calls):
        function = call["function"]
        begun = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"content": None, "tool_calls": [begun]}
        for piece in _halves(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _chat(
    model: str, fields: dict[str, Any], deltas: list[dict[str, Any]], thoughts: list[Thought]
) -> Payload:
    """Reasoning in the given fields and deltas, then text and calls."""
    calls = _chat_calls()
    return _chat_of(
        model,
        {"content": ANSWER, **fields, "tool_calls": calls},
        [*deltas, *({"content": piece} for piece in _halves(ANSWER)), *_chat_call_deltas(calls)],
        [*thoughts, Said(ANSWER), *(Call(*call) for call in _CALLS)],
    )


def _chat_of(
    model: str, message: dict[str, Any], deltas: list[dict[str, Any]], blocks: list[Any]
) -> Payload:
    usage = {"prompt_tokens": 13, "completion_tokens": 238, "total_tokens": 251}
    head = {"id": "chatcmpl-1", "created": 1_790_000_000, "model": model}
    choice = {"index": 0, "message": {"role": "assistant", **message}}
    whole = {
        **head,
        "object": "chat.completion",
        "choices": [{**choice, "finish_reason": "tool_calls"}],
        "usage": usage,
    }
    choices = [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None},
        *({"index": 0, "delta": delta, "finish_reason": None} for delta in deltas),
        {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
    ]
    head["object"] = "chat.completion.chunk"
    chunks = [{**head, "choices": [choice]} for choice in choices]
    chunks.append({**head, "choices": [], "usage": usage})
    return Payload(_body(whole), _events(chunks), reading(blocks))


def _deepseek() -> Payload:
    deltas = [
        {"content": None, "reasoning_content": piece, "tool_calls": None} for piece in _halves(PLAN)
    ]
    return _chat("deepseek-reasoner", {"reasoning_content": PLAN}, deltas, [Thought(PLAN)])


def _openrouter() -> Payload:
    shown = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    hidden = {
        "type": "reasoning.encrypted",
        "data": REDACTED,
        "format": "anthropic-claude-v1",
        "index": 1,
    }
    fields = {
        "reasoning": PLAN,
        "reasoning_details": [shown | {"text": PLAN, "signature": SIGNATURE}, hidden],
    }
    deltas = [
        {"content": "", "reasoning": None, "reasoning_details": []},
        *(
            {"content": "", "reasoning": piece, "reasoning_details": [shown | {"text": piece}]}
            for piece in _halves(PLAN)
        ),
        {"content": "", "reasoning": None, "reasoning_details": [shown | {"signature": SIGNATURE}]},
        {"content": "", "reasoning": None, "reasoning_details": [hidden]},
    ]
    thoughts = [Thought(PLAN, (SIGNATURE,)), Thought("", (REDACTED,))]
    return _chat("anthropic/claude-sonnet-5.5", fields, deltas, thoughts)


def _gemini_compatible() -> Payload:
    """Gemini's compatible endpoint: no reasoning, but a seal on the first call."""
    calls = _chat_calls(extra_content={"google": {"thought_signature": SIGNATURE}})
    return _chat_of(
        "gemini-3.1-pro-preview",
        {"content": ANSWER, "tool_calls": calls},
        [*({"content": piece} for piece in _halves(ANSWER)), *_chat_call_deltas(calls)],
        [Said(ANSWER), Call(*_CALLS[0], (SIGNATURE,)), Call(*_CALLS[1])],
    )


DEEPSEEK = _deepseek()
OPENROUTER = _openrouter()
GEMINI_COMPATIBLE = _gemini_compatible()

# ---- Responses -----------------------------------------------------------------------------------


def _responses(first: dict[str, Any], thoughts: list[Thought]) -> Payload:
    """A reasoning item with text, one without, a message and calls."""
    output = [
        first,
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": REDACTED},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
        },
        *(
            {
                "type": "function_call",
                "id": f"fc_{given}",
                "call_id": given,
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
            for given, name, arguments in _CALLS
        ),
    ]
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5.6-sol",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 51,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 248,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 299,
        },
    }
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(output):
        events += [{**event, "output_index": index} for event in _responses_events(item)]
    events.append({"type": "response.completed", "response": response})
    events = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    blocks = [
        *thoughts,
        Thought("", ("rs_2", REDACTED)),
        Said(ANSWER),
        *(Call(*call) for call in _CALLS),
    ]
    return Payload(_body(response), _named_events(events), reading(blocks))


def _responses_events(item: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """One item while it comes; its seal is shorter at the start, and another one at the end."""
    named = {"item_id": item["id"]}
    empty = {key: [] for key in ("summary", "content") if key in item}
    if item["type"] == "function_call":
        empty = {"arguments": "", "status": "in_progress"}
    early, late = ({"encrypted_content": seal} for seal in (REDACTED[:8], REDACTED[::-1]))
    sealed = "encrypted_content" in item
    begun = item | empty | (early if sealed else {})
    yield {"type": "response.output_item.added", "item": begun}
    for where, entry_type, member in (
        ("summary", "reasoning_summary", "summary_index"),
        ("content", "reasoning" if item["type"] == "reasoning" else "output", "content_index"),
    ):
        part = "response.reasoning_summary_part" if where == "summary" else "response.content_part"
        for number, entry in enumerate(item.get(where, [])):
            event = {**named, member: number}
            yield {**event, "type": f"{part}.added", "part": entry | {"text": ""}}
            for piece in _halves(entry["text"]):
                yield {**event, "type": f"response.{entry_type}_text.delta", "delta": piece}
            text = {"text": entry["text"]}
            yield {**event, "type": f"response.{entry_type}_text.done", **text}
            yield {**event, "type": f"{part}.done", "part": entry}
    if item["type"] == "function_call":
        for piece in _halves(item["arguments"]):
            yield {**named, "type": "response.function_call_arguments.delta", "delta": piece}
        whole = {"arguments": item["arguments"], "name": item["name"]}
        yield {**named, "type": "response.function_call_arguments.done", **whole}
    yield {"type": "response.output_item.done", "item": item | (late if sealed else {})}


# As hosted models answer: summaries, and the reasoning itself encrypted.
RESPONSES = _responses(
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": text} for text in (PLAN, DOUBT)],
        "encrypted_content": "gAAAAABo" + SIGNATURE,
    },
    [Thought(PLAN, ("rs_1", "gAAAAABo" + SIGNATURE)), Thought(DOUBT)],
)
# As servers of open models answer: the reasoning itself.
RAW_RESPONSES = _responses(
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": PLAN}],
    },
    [Thought(PLAN, ("rs_1",))],
)

# ---- Gemini --------------------------------------------------------------------------------------


def _gemini() -> Payload:
    weather, clock = (
        {"functionCall": {"id": given, "name": name, "args": arguments}}
        for given, name, arguments in _CALLS
    )
    weather["thoughtSignature"] = SIGNATURE
    # A signature may sit on any part: here on an answer without text, as at the end of a stream.
    signed = {"text": "", "thoughtSignature": OTHER_SIGNATURE}
    whole = [{"text": PLAN, "thought": True}, {"text": ANSWER}, signed, weather, clock]
    streamed = [
        *([{"text": piece, "thought": True}] for piece in _halves(PLAN)),
        *([{"text": piece}] for piece in _halves(ANSWER)),
        [signed],
        [weather],
        [clock],
    ]
    head = {"modelVersion": "gemini-3.1-pro-preview", "responseId": "r1"}
    usage = {
        "promptTokenCount": 120,
        "candidatesTokenCount": 32,
        "thoughtsTokenCount": 132,
        "totalTokenCount": 284,
    }
    chunks = [_gemini_candidate(parts) | head for parts in streamed]
    chunks.append(
        _gemini_candidate([{"text": ""}], finish="STOP") | head | {"usageMetadata": usage}
    )
    body = _gemini_candidate(whole, finish="STOP") | head | {"usageMetadata": usage}
    read = reading(
        [
            Thought(PLAN),
            Said(ANSWER),
            Said("", (OTHER_SIGNATURE,)),
            Call(*_CALLS[0], (SIGNATURE,)),
            Call(*_CALLS[1]),
        ]
    )
    return Payload(_body(body), _events(chunks, end=b"").replace(b"\n\n", b"\r\n\r\n"), read)


def _gemini_candidate(parts: list[dict[str, Any]], **ending: str) -> dict[str, Any]:
    reason = {"finishReason": ending["finish"]} if ending else {}
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **reason}]}


GEMINI = _gemini()

# ---- Mistral -------------------------------------------------------------------------------------


def _mistral() -> Payload:
    def chunk(text: str, **members: Any) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **members}

    first, second = _halves(PLAN)
    head, tail = _halves(ANSWER)
    calls = _chat_calls()
    whole = {
        "content": [
            chunk(PLAN, signature=SIGNATURE, closed=True),
            {"type": "text", "text": ANSWER},
        ],
        "tool_calls": calls,
    }
    # `closed` is no end, one delta carries both kinds, and the text goes on as a string.
    deltas = [
        {"content": [chunk(first, closed=True)]},
        {"content": [chunk(second)]},
        {"content": [chunk("", signature=SIGNATURE, closed=True), {"type": "text", "text": head}]},
        {"content": tail},
        {"content": "", "tool_calls": [{**call, "index": n} for n, call in enumerate(calls)]},
    ]
    blocks = [Thought(PLAN, (SIGNATURE,)), Said(ANSWER), *(Call(*call) for call in _CALLS)]
    return _chat_of("mistral-medium-latest", whole, deltas, blocks)


MISTRAL = _mistral()

# ---- Cohere --------------------------------------------------------------------------------------


def _cohere(content: list[dict[str, Any]], plan: str, blocks: list[Any]) -> Payload:
    calls = _chat_calls()
    usage = {
        "billed_units": {"input_tokens": 20, "output_tokens": 50},
        "tokens": {"input_tokens": 30, "output_tokens": 55},
    }
    message = {"role": "assistant", "content": content, "tool_plan": plan, "tool_calls": calls}
    message = {key: value for key, value in message.items() if value}
    whole = {"id": "c1", "message": message, "finish_reason": "TOOL_CALL", "usage": usage}
    start = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events: list[Any] = [("message-start", None, {"message": start})]
    for index, block in enumerate(content):
        kind = block["type"]
        empty = {"type": kind, kind: ""}
        events.append(("content-start", index, {"message": {"content": empty}}))
        events += [
            ("content-delta", index, {"message": {"content": {kind: piece}}})
            for piece in _halves(block[kind])
        ]
        events.append(("content-end", index, None))
    events += [
        ("tool-plan-delta", None, {"message": {"tool_plan": piece}})
        for piece in _halves(plan)
        if piece
    ]
    for index, call in enumerate(calls):
        function = call["function"]
        begun = {**call, "function": {**function, "arguments": ""}}
        events.append(("tool-call-start", index, {"message": {"tool_calls": begun}}))
        for piece in _halves(function["arguments"]):
            more = {"function": {"arguments": piece}}
            events.append(("tool-call-delta", index, {"message": {"tool_calls": more}}))
        events.append(("tool-call-end", index, None))
    events.append(("message-end", None, {"finish_reason": "TOOL_CALL", "usage": usage}))
    members = ({"type": kind, "index": index, "delta": delta} for kind, index, delta in events)
    values = [{key: item for key, item in one.items() if item is not None} for one in members]
    values[0]["id"] = "c1"
    end = b"data: [DONE]\n\n"
    return Payload(_body(whole), _named_events(values) + end, reading(blocks))


COHERE = _cohere(
    [{"type": "thinking", "thinking": PLAN}, {"type": "text", "text": ANSWER}],
    "",
    [Thought(PLAN), Said(ANSWER), *(Call(*call) for call in _CALLS)],
)
# Models before reasoning was a block of its own plan their calls in a field.
COHERE_PLAN = _cohere([], PLAN, [Thought(PLAN), *(Call(*call) for call in _CALLS)])

# ---- Ollama --------------------------------------------------------------------------------------


def _ollama() -> Payload:
    calls = [
        {"id": given, "function": {"index": index, "name": name, "arguments": arguments}}
        for index, (given, name, arguments) in enumerate(_CALLS)
    ]
    first, second = _halves(PLAN)
    head, tail = _halves(ANSWER)
    messages = [
        {"content": "", "thinking": first},
        {"content": head, "thinking": second},
        {"content": tail},
        *({"content": "", "tool_calls": [call]} for call in calls),
    ]
    name = {"model": "qwen3", "created_at": "2026-11-15T10:00:00.123456789Z"}
    counts = {"done_reason": "stop", "prompt_eval_count": 18, "eval_count": 395}
    role = {"role": "assistant"}
    whole = {"content": ANSWER, "thinking": PLAN, "tool_calls": calls}
    lines = [{**name, "message": role | message, "done": False} for message in messages]
    lines.append({**name, "message": {**role, "content": ""}, "done": True, **counts})
    return Payload(
        _body({**name, "message": role | whole, "done": True, **counts}),
        b"".join(_line(line) + b"\n" for line in lines),
        reading([Thought(PLAN), Said(ANSWER), *(Call(*call) for call in _CALLS)]),
    )


OLLAMA = _ollama()

# ---- Bedrock Converse ----------------------------------------------------------------------------


def event_stream_message(name: str, value: dict[str, Any]) -> bytes:
    """One message of an AWS event stream: prelude, checksum, headers, payload, checksum."""
    headers = b"".join(
        struct.pack(">B", len(key)) + key + struct.pack(">BH", 7, len(text)) + text
        for key, text in (
            (b":event-type", name.encode()),
            (b":content-type", b"application/json"),
            (b":message-type", b"event"),
        )
    )
    payload = _line(value)
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return message + struct.pack(">I", crc32(message))


def _converse() -> Payload:
    # Bedrock encodes what Anthropic has encoded already.
    redacted = b64encode(REDACTED.encode()).decode()
    content = [
        {"reasoningContent": {"reasoningText": {"text": PLAN, "signature": SIGNATURE}}},
        {"reasoningContent": {"redactedContent": redacted}},
        {"text": ANSWER},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": OTHER_SIGNATURE}}},
        *(
            {"toolUse": {"toolUseId": given, "name": name, "input": arguments}}
            for given, name, arguments in _CALLS
        ),
    ]
    usage = {"inputTokens": 110, "outputTokens": 223, "totalTokens": 333}
    ending = {"usage": usage, "metrics": {"latencyMs": 5}}
    whole = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        **ending,
    }
    events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(content):
        place = {"contentBlockIndex": index}
        if use := block.get("toolUse"):
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            events.append(("contentBlockStart", {**place, "start": start}))
        events += [
            ("contentBlockDelta", {**place, "delta": delta}) for delta in _converse_deltas(block)
        ]
        events.append(("contentBlockStop", place))
    events += [("messageStop", {"stopReason": "tool_use"}), ("metadata", ending)]
    stream = b"".join(event_stream_message(name, {**value, "p": "abcd"}) for name, value in events)
    blocks = [
        Thought(PLAN, (SIGNATURE,)),
        Thought("", (redacted,)),
        Said(ANSWER),
        Thought("", (OTHER_SIGNATURE,)),
        *(Call(*call) for call in _CALLS),
    ]
    return Payload(_body(whole), stream, reading(blocks))


def _converse_deltas(block: dict[str, Any]) -> list[dict[str, Any]]:
    match block:
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}:
            members = [{"text": piece} for piece in _halves(text) if piece]
            return [{"reasoningContent": one} for one in [*members, {"signature": signature}]]
        case {"text": text}:
            return [{"text": piece} for piece in _halves(text)]
        case {"toolUse": {"input": arguments}}:
            texts = _halves(json.dumps(arguments))
            return [{"toolUse": {"input": piece}} for piece in texts]
        case _:
            return [block]


CONVERSE = _converse()
