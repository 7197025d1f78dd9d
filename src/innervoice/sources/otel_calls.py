"""A span of a request to a model -> the request and the answer, in any of the vocabularies in use.

  newer        `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions`: lists of messages with parts (text, reasoning, tool_call,
               tool_call_response, uri, blob), as JSON text or as values (semantic-conventions-genai, docs/gen-ai/*.json; what `bridges/otel` writes)
  events       `gen_ai.user.message`, `gen_ai.choice` and their like, as events of the span with a message in the form of OpenAI's chat
               (semantic-conventions before 1.37)
  flat         `gen_ai.prompt.N.role`, `gen_ai.completion.N.content`, ... (OpenLLMetry)
  OpenInference  `llm.input_messages.N.message.contents.M.message_content.text`, ... (spec/semantic_conventions.md; 0.1.42). It also has names for seals.

All read 2026-11-16.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolResult
from innervoice.canon.usage import Usage
from innervoice.canon.words import role_of
from innervoice.catalog.lookup import all_hosts, host_of
from innervoice.sources.native_turns import (
    Author,
    Called,
    Piece,
    Said,
    Seals,
    Thought,
    author_of,
    parts_from,
)
from innervoice.sources.reader import Data, Trouble, is_json_lines
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.media import media_of_url

__all__ = [
    "Call",
    "Chunk",
    "Span",
    "author_in",
    "call_of",
    "chunks",
    "plain_value",
    "spans_in",
    "usage_in",
]

_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_DETAILS = "gen_ai.client.inference.operation.details"


class Call(NamedTuple):
    """One request and its answers."""

    system: str | None
    asked: list[Message]
    answers: list[tuple[Message, str | None]]
    """The answers, each with its finish reason; more than one if several were requested."""

    @property
    def is_empty(self) -> bool:
        """Whether no content is recorded."""
        return not self.asked and not self.answers


def call_of(span: Span) -> Call:
    """The request in a span; the vocabulary with the most content is used, the newest first."""
    author = author_in(span.attributes)
    for read in (_newer, _events, _openinference, _flat):
        request, answered = read(span)
        if request or answered:
            break
    system = _system(span.attributes)
    messages = [_message(message, Author()) for message in request]
    while messages and messages[0].role == "system":
        text = messages.pop(0).text
        system = text if system is None else f"{system}\n\n{text}"
    answers = [
        (_message(message, author), as_text(message.get("finish_reason"))) for message in answered
    ]
    return Call(system, messages, answers)


def author_in(attributes: dict[str, Any]) -> Author:
    """The author of the answer."""
    names = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    model = next((name for key in names if (name := as_text(attributes.get(key)))), None)
    keys = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
    name_in_trace = next((name for key in keys if (name := as_text(attributes.get(key)))), None)
    # Several hosts share one name in the conventions; a host with exactly that name is preferred.
    hosts = (host.id for host in all_hosts() if name_in_trace and host.otel_name == name_in_trace)
    host = name_in_trace if name_in_trace and host_of(name_in_trace) else next(hosts, name_in_trace)
    return author_of(host, model)


def usage_in(attributes: dict[str, Any]) -> Usage | None:
    """The counts: the output includes reasoning, and the input includes the cache."""
    counts = {
        name: next(
            (count for key in keys if (count := as_count(attributes.get(key))) is not None), None
        )
        for name, keys in _COUNTS.items()
    }
    raw = {key: attributes[key] for keys in _COUNTS.values() for key in keys if key in attributes}
    return Usage(**counts, raw=raw) if raw else None


_COUNTS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning"),
    "cached_input_tokens": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read"),
}  # fmt: skip


# ---- the vocabularies: a span -> messages in one form ----------------------------------------------

_Messages = list[dict[str, Any]]
"""Objects with a role, and with parts (newer) or the members of a message of OpenAI's chat (others)."""


def _newer(span: Span) -> tuple[_Messages, _Messages]:
    details = [attributes for name, attributes in span.events if name == _DETAILS]
    messages: list[_Messages] = []
    for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
        values = (attributes.get(name) for attributes in (span.attributes, *details))
        messages.append(
            [as_dict(item) for item in as_list(plain_value(next(filter(None, values), None)))]
        )
    return messages[0], messages[1]


def _system(attributes: dict[str, Any]) -> str | None:
    value = plain_value(attributes.get("gen_ai.system_instructions"))
    if isinstance(value, str):
        return value
    texts = [as_text(as_dict(part).get("content")) for part in as_list(value)]
    return "\n\n".join(filter(None, texts)) or None


def _events(span: Span) -> tuple[_Messages, _Messages]:
    request: _Messages = []
    answered: _Messages = []
    for name, attributes in span.events:
        body = as_dict(plain_value(attributes.get("gen_ai.event.content"))) or attributes
        if name in _EVENTS:
            request.append({"role": _EVENTS[name], **body})
        elif name == _CHOICE:
            message = as_dict(plain_value(body.get("message"))) or body
            answered.append(
                {"role": "assistant", **message, "finish_reason": body.get("finish_reason")}
            )
    return request, answered


def _flat(span: Span) -> tuple[_Messages, _Messages]:
    flat = []
    for name in ("gen_ai.prompt", "gen_ai.completion"):
        messages = _numbered(span.attributes, name)
        for message in messages:
            message["tool_calls"] = [
                {**call, "function": call} for call in _numbered(message, "tool_calls")
            ]
        flat.append(messages)
    return flat[0], [{"role": "assistant", **message} for message in flat[1]]


def _openinference(span: Span) -> tuple[_Messages, _Messages]:
    messages = []
    for name in ("llm.input_messages", "llm.output_messages"):
        listed = [as_dict(item) for item in as_list(plain_value(span.attributes.get(name)))]
        messages.append(
            [_inferred(message) for message in listed or _numbered(span.attributes, name)]
        )
    return messages[0], messages[1]


def _inferred(flat: dict[str, Any]) -> dict[str, Any]:
    """A message of OpenInference: its members begin with `message.`"""
    contents = [_inferred_part(part) for part in _numbered(flat, "message.contents")]
    calls = [_inferred_call(call) for call in _numbered(flat, "message.tool_calls")]
    whole = flat.get("message.content")
    return {
        "role": flat.get("message.role"),
        "content": contents or whole,
        "tool_call_id": flat.get("message.tool_call_id"),
        "tool_calls": calls,
    }


def _inferred_part(flat: dict[str, Any]) -> dict[str, Any]:
    members = {name.removeprefix("message_content."): value for name, value in flat.items()}
    if members.get("type") == "tool_use":
        return {**_inferred_call(flat), "type": "tool_use"}
    if url := members.get("image.image.url"):
        return {"type": "uri", "uri": url}
    return {**members, "content": members.get("text")}


def _inferred_call(flat: dict[str, Any]) -> dict[str, Any]:
    called = {name: flat.get(f"tool_call.function.{name}") for name in ("name", "arguments")}
    signature = flat.get("tool_call.reasoning_signature")
    return {"id": flat.get("tool_call.id"), "function": called, "signature": signature}


def _numbered(members: dict[str, Any], prefix: str) -> _Messages:
    """The items of a list whose members are flat: `prefix.0.name`, `prefix.1.name`, ..."""
    by_number: dict[int, dict[str, Any]] = {}
    start = f"{prefix}."
    for name, value in members.items():
        number, _, rest = name.removeprefix(start).partition(".")
        if name.startswith(start) and rest and number.isdecimal() and len(number) < 10:
            by_number.setdefault(int(number), {})[rest] = value
    return [by_number[number] for number in sorted(by_number)]


def plain_value(value: Any) -> Any:
    """A value that may be stored as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value)
    except ValueError:
        return value


# ---- messages --------------------------------------------------------------------------------------


def _message(message: dict[str, Any], author: Author) -> Message:
    role = role_of(message.get("role")) or "user"
    pieces = list(_pieces(message))
    if role == "assistant":
        return Message(role, parts_from(author, pieces))
    if role == "tool" and (
        name := as_text(message.get("tool_call_id")) or as_text(message.get("id"))
    ):
        # In the form of chat the message is the result.
        text = "".join(piece.text for piece in pieces if isinstance(piece, Said))
        return Message(role, (ToolResult(name, text),))
    parts = parts_from(Author(), pieces)
    is_result = parts and all(isinstance(part, ToolResult) for part in parts)
    return Message("tool" if is_result else role, tuple(map(_unowned, parts)))


def _unowned(part: Part) -> Part:
    """A part that was not written by a model."""
    return part if isinstance(part, Thinking) else part.replace(origin=None)


def _pieces(message: dict[str, Any]) -> Iterator[Piece]:
    thought = as_text(message.get("reasoning_content")) or as_text(message.get("reasoning"))
    if thought:
        yield Thought(thought)
    parts = plain_value(message.get("parts"))
    content = parts if isinstance(parts, list) else message.get("content")
    for item in content if isinstance(content, list) else [content]:
        yield from _piece(item)
    for call in map(as_dict, as_list(plain_value(message.get("tool_calls")))):
        yield _called(call)


def _piece(item: Any) -> Iterator[Piece]:
    match item:
        case None | "":
            return
        case str():
            yield Said(item)
        case {"type": "reasoning" | "thinking" | "redacted_reasoning"}:
            yield _thought(item)
        case {"type": "text", "content": str(text)} | {"type": "text", "text": str(text)}:
            yield Said(text, Seals(signature=as_text(item.get("signature"))))
        case {"type": "tool_call" | "tool_use"}:
            yield _called(item)
        case {"type": "tool_call_response"}:
            result = item.get("response", item.get("result"))
            yield ToolResult(as_text(item.get("id")) or "", _result(result))
        case {"type": "uri" | "blob"}:
            yield _media(item)
        case _:
            yield Opaque(item)


def _thought(item: dict[str, Any]) -> Thought:
    """A thought; `characters` and `hidden_blocks` are written by `bridges/otel` for reasoning that its policy did not show."""
    text = as_text(item.get("content")) or as_text(item.get("text")) or ""
    seals = Seals(
        signature=as_text(item.get("signature")),
        encrypted=as_text(item.get("encrypted_content")),
        redacted=as_text(item.get("data")),
        item=as_text(item.get("id")),
    )
    is_cut = "characters" in item or seals.encrypted is not None
    return Thought(text, ("summary" if is_cut else "full") if text else "hidden", seals)


def _called(call: dict[str, Any]) -> Called:
    members = as_dict(call.get("function")) or call
    arguments = members.get("arguments")
    signature = as_text(call.get("signature"))
    name = as_text(members.get("name")) or ""
    return Called(as_text(call.get("id")) or "", name, arguments, Seals(signature=signature))


def _result(value: Any) -> str | tuple[Text | Media | Opaque, ...]:
    """The result of a call: text, parts, or any JSON, which is shown as text."""
    if isinstance(value, list) and value and all("type" in as_dict(item) for item in value):
        parts = parts_from(Author(), (piece for item in value for piece in _piece(item)))
        return tuple(
            part.replace(origin=None) for part in parts if isinstance(part, (Text, Media, Opaque))
        )
    return "" if value is None else arguments_of(value)


def _media(item: dict[str, Any]) -> Media | Opaque:
    mime = as_text(item.get("mime_type"))
    if item["type"] == "blob" and isinstance(item.get("content"), str):
        return Media(mime, item["content"])
    media = media_of_url(item.get("uri"), item, "", mime=mime)
    return Opaque(item) if media is None else media.replace(origin=None)


# ---- OTLP in JSON -> spans: one object, or one on each line, as collectors and exporters write them.
#
# After the JSON encoding of opentelemetry-proto 1.9 (read 2026-11-16): `resourceSpans`, in them `scopeSpans`, in them `spans`; ids in hex, times in nanoseconds
# as text, attributes as a list of `key` and a `value` that names its type. `scopeSpans` was `instrumentationLibrarySpans` before 2022.


_FAILED = (2, "STATUS_CODE_ERROR")


class Span(NamedTuple):
    """A span with its attributes as plain values."""

    id: str
    trace: str
    parent: str | None
    name: str
    start: float | None
    end: float | None
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    error: str | None
    """The error message of the status; "" if it says only that there was an error."""
    line: int | None


class Chunk(NamedTuple):
    """A piece of a file that is read separately."""

    start: int
    end: int | None
    line: int | None


def chunks(data: Data) -> Iterator[Chunk]:
    """The pieces of a file: its lines, or the whole file if it is one object."""
    if not is_json_lines(data):
        yield Chunk(0, None, None)
        return
    for number, (start, line) in enumerate(data.lines(), 1):
        if line.strip():
            yield Chunk(start, start + len(line), number)


def spans_in(data: Data, chunk: Chunk, troubles: list[Trouble]) -> Iterator[Span]:
    """The spans of a piece; anything that cannot be read is added to the troubles, once."""
    try:
        value = load_json(data.piece(chunk.start, chunk.end).removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        _add(troubles, chunk.line, f"expected spans in JSON: {error}")
        return
    for export in value if isinstance(value, list) else [value]:
        for resource in map(as_dict, as_list(as_dict(export).get("resourceSpans"))):
            scopes = resource.get("scopeSpans", resource.get("instrumentationLibrarySpans"))
            for scope in map(as_dict, as_list(scopes)):
                for span in map(as_dict, as_list(scope.get("spans"))):
                    if read := _span(span, chunk.line):
                        yield read
                    else:
                        _add(troubles, chunk.line, "a span has no id, or no trace")


def _add(troubles: list[Trouble], line: int | None, why: str) -> None:
    if (trouble := Trouble(line, why)) not in troubles:
        troubles.append(trouble)


def _span(span: dict[str, Any], line: int | None) -> Span | None:
    name, trace = as_text(span.get("spanId")), as_text(span.get("traceId"))
    if not name or not trace:
        return None
    status = as_dict(span.get("status"))
    failed = status.get("code") in _FAILED
    return Span(
        id=name,
        trace=trace,
        parent=as_text(span.get("parentSpanId")) or None,
        name=as_text(span.get("name")) or "",
        start=_seconds(span.get("startTimeUnixNano")),
        end=_seconds(span.get("endTimeUnixNano")),
        attributes=_attributes(span.get("attributes")),
        events=[
            (as_text(event.get("name")) or "", _attributes(event.get("attributes")))
            for event in map(as_dict, as_list(span.get("events")))
        ],
        error=(as_text(status.get("message")) or "") if failed else None,
        line=line,
    )


def _seconds(nanoseconds: Any) -> float | None:
    """A time; 0 means that it is unknown."""
    number = _integer(nanoseconds)
    return number / 1e9 if number and 0 < number < 2**63 else None


def _integer(value: Any) -> int | None:
    """A number of 64 bits, which is text in JSON."""
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _attributes(value: Any) -> dict[str, Any]:
    attributes = {}
    for attribute in map(as_dict, as_list(value)):
        name = as_text(attribute.get("key"))
        if name:
            attributes[name] = _value(attribute.get("value"))
    return attributes


def _value(value: Any) -> Any:
    match value:
        case {"stringValue": str(text)}:
            return text
        case {"intValue": number}:
            return _integer(number)
        case {"arrayValue": items}:
            return [_value(item) for item in as_list(as_dict(items).get("values"))]
        case {"kvlistValue": items}:
            return _attributes(as_dict(items).get("values"))
        case {"boolValue": plain} | {"doubleValue": plain} | {"bytesValue": plain}:
            return plain
        case _:
            return None
