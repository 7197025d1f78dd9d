"""Events -> the UI message stream of the Vercel AI SDK, for `useChat`; and its UI messages -> ours.

Rules, after https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol and the source of `ai` 7.0.169 and 6.0.326 (read 2026-11-16):

  1. A message is `start`, steps and `finish`, and the stream ends with `[DONE]`. One answer of a model is one step.
  2. Parts have ids, and signatures are in `providerMetadata` of their last chunk: under `innervoice` the whole part, and under the name that the
     SDK's own providers use the members that these read.
  3. Hidden reasoning is a reasoning part without text. Anything that has no part type is a `data-innervoice` part, which no
     component shows.
  4. `tool-input-available` makes the front end run a tool. A call that was cut off does not get one, and stays in the state
     `input-streaming`; arguments that are not JSON are a `tool-input-error`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, ClassVar, overload
from warnings import warn

from innervoice.answering.encoder import AnswerEncoder
from innervoice.answering.writing import encode_events
from innervoice.bridges.carried_parts import CarriedTurn, CarryingWriter, carried, is_json
from innervoice.canon.events import Event
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.errors import DecodeError
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal

__all__ = ["HEADERS", "encode_stream", "encoder", "read_messages"]

HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-vercel-ai-ui-message-stream": "v1",
    "x-accel-buffering": "no",
}
"""The headers of the HTTP response; `useChat` and proxies check them."""

_OURS = "innervoice"
_DATA = "data-innervoice"
_FINISH = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "error": "error",
}
# Dialect -> the provider's name in the SDK, and its names for members of a block.
_METADATA: dict[str, tuple[str, dict[str, str]]] = {
    "anthropic": ("anthropic", {"signature": "signature", "redactedData": "data"}),
    "bedrock-converse": (
        "bedrock",
        {
            "signature": "reasoningContent.reasoningText.signature",
            "redactedData": "reasoningContent.redactedContent",
        },
    ),
    "gemini": ("google", {"thoughtSignature": "thoughtSignature"}),
    "openai-responses": (
        "openai",
        {"itemId": "id", "reasoningEncryptedContent": "encrypted_content"},
    ),
}
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,", re.IGNORECASE)
_FOR_THE_SCREEN = ("source-url", "source-document", "data-")


# ---- ours -> theirs --------------------------------------------------------------------------------


@overload
def encode_stream(
    events: AsyncIterable[Event], message_id: str | None = ...
) -> AsyncIterator[bytes]: ...
@overload
def encode_stream(events: Iterable[Event], message_id: str | None = ...) -> Iterator[bytes]: ...
def encode_stream(
    events: Iterable[Event] | AsyncIterable[Event], message_id: str | None = None
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Writes an answer as a UI message stream, in server-sent events; an async iterable yields an async iterator.

    Without `message_id` the front end chooses one, or continues the message whose tools it ran. Send it with `HEADERS`.
    """
    return encode_events(events, encoder(message_id))


def encoder(message_id: str | None = None) -> AnswerEncoder:
    """Writes one message event by event, for callers that pass what is settled: `feed(event, settled)`, `finish()`, `ping()`."""
    return AnswerEncoder(UiMessageWriter(message_id))


class UiMessageWriter(CarryingWriter):
    """Writes one message of one step."""

    dialect: ClassVar[str] = "vercel-ui"

    def __init__(self, message_id: str | None = None) -> None:
        super().__init__()
        self._message_id = message_id
        self._kinds: dict[int, tuple[str, str]] = {}  # the kind and the id of what is open

    def start(self) -> None:
        self._send("start", **({"messageId": self._message_id} if self._message_id else {}))
        self._send("start-step")

    def begin(self, number: int, part: Part) -> None:
        name = str(number)
        match part:
            case Text():
                self._send("text-start", id=name)
            case Thinking():
                self._send("reasoning-start", id=name)
            case ToolCall():
                name = self.call_id(part)
                self._send("tool-input-start", toolCallId=name, toolName=part.name)
            case _:
                pass  # is sent whole
        self._kinds[number] = (part.type, name)

    def show(self, number: int, text: str) -> None:
        kind, name = self._kinds[number]
        if kind == "tool_call":
            self._send("tool-input-delta", toolCallId=name, inputTextDelta=text)
        else:
            word = "text" if kind == "text" else "reasoning"
            self._send(f"{word}-delta", id=name, delta=text)

    def close(self, number: int, part: Part, value: str | None) -> None:
        _, name = self._kinds.pop(number)
        metadata = _metadata(part, value) if value else {}
        match part:
            case Text():
                self._send("text-end", id=name, **metadata)
            case Thinking():
                self._send("reasoning-end", id=name, **metadata)
            case ToolCall():
                self._end_call(name, part, metadata)
            case Media(mime=str(mime)) if url := _url(part):
                self._send("file", url=url, mediaType=mime, **metadata)
            case _:
                self._send(_DATA, data=value or carried(part))

    def finish(self, response: Response) -> None:
        if turn := self.whole_turn(response):
            self._send(_DATA, data=turn)
        self._send("finish-step")
        self._send("finish", finishReason=_FINISH.get(response.finish_reason or "stop", "other"))
        self._frames.append(Frame(b"[DONE]"))

    def fail(self, refusal: Refusal, response: Response) -> None:
        if turn := self.whole_turn(response):
            self._send(_DATA, data=turn)
        self._send("error", errorText=refusal.text)
        self._frames.append(Frame(b"[DONE]"))

    def _end_call(self, name: str, call: ToolCall, metadata: dict[str, Any]) -> None:
        head = {"toolCallId": name, "toolName": call.name}
        if not call.complete:
            return
        if is_json(call.arguments):
            value = load_json(call.arguments or "{}")
            self._send("tool-input-available", **head, input=value, **metadata)
        elif _at(call, "type") in ("custom_tool_call", "custom"):  # takes a text, not JSON
            self._send("tool-input-available", **head, input=call.arguments, **metadata)
        else:
            error = "The arguments of the call are not valid JSON."
            call_input = {"input": call.arguments, "errorText": error}
            self._send("tool-input-error", **head, **call_input, **metadata)

    def _send(self, kind: str, **members: Any) -> None:
        self.send({"type": kind, **members})


def _metadata(part: Part, value: str) -> dict[str, Any]:
    return {"providerMetadata": {_OURS: {"part": value}, **_provider_metadata(part)}}


def _provider_metadata(part: Part) -> dict[str, Any]:
    """The metadata that the SDK's own provider would have sent for a part."""
    dialect = part.origin.dialect if part.origin else None
    name, members = _METADATA.get(dialect or "", ("", {}))
    values = {member: _at(part, path) for member, path in members.items()}
    present = {member: value for member, value in values.items() if isinstance(value, str)}
    return {name: present} if present else {}


def _at(part: Part, path: str) -> Any:
    value = part.origin.block if part.origin else None
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _url(media: Media) -> str | None:
    return media.url or (media.data and f"data:{media.mime};base64,{media.data}")


# ---- theirs -> ours --------------------------------------------------------------------------------


def read_messages(messages: Iterable[Any]) -> list[Message]:
    """Reads the UI messages of a `useChat` request, with the seals that a stream sent to the front end.

    Each step of an assistant message is a turn, followed by the results of its tools. Sources and data parts are for the screen only,
    and are left out.
    """
    return [read for message in messages for read in _read(message)]


def _read(message: Any) -> Iterator[Message]:
    match message:
        case {"role": "assistant", "parts": list(parts)}:
            yield from _turns(parts)
        case {"role": "system" | "user" as role, "parts": list(parts)}:
            yield Message(role, tuple(part for item in parts for part in _visible_parts(item)))
        case _:
            raise DecodeError("expected a UI message with a role and parts")


def _turns(items: list[Any]) -> Iterator[Message]:
    """The turns of an assistant message, each followed by the results of its tools."""
    turn, results = CarriedTurn(), list[ToolResult]()
    for item in [*items, {"type": "step-start"}]:
        if not isinstance(item, dict):
            raise DecodeError("expected a part of a UI message, an object with a type")
        if item.get("type") == "step-start":
            if message := turn.message():
                yield message
            for result in results:
                call_id = turn.call_ids.get(result.call_id, result.call_id)
                yield Message("tool", (result.replace(call_id=call_id),))
            turn, results = CarriedTurn(), []
        elif item.get("type") == _DATA:
            turn.add(None, item.get("data"))
        elif "toolCallId" in item:
            results += _read_call(turn, item)
        else:
            for part in _visible_parts(item):
                turn.add(part, _value(item.get("providerMetadata")))


def _visible_parts(item: Any) -> Iterator[Part]:
    """The visible content of a part that is not a call."""
    match item:
        case {"type": "text", "text": str(text)}:
            yield Text(text, complete=item.get("state") != "streaming")
        case {"type": "reasoning", "text": str(text)}:
            is_complete = item.get("state") != "streaming"
            yield Thinking(text, "full" if text else "hidden", complete=is_complete)
        case {"type": "file", "url": str(url)}:
            data = _DATA_URL.match(url)
            mime, name = item.get("mediaType"), item.get("filename")
            if data:
                yield Media(mime or data[1], data=url[data.end() :], name=name)
            else:
                yield Media(mime, url=url, name=name)
        case {"type": str(kind)}:
            if not kind.startswith(_FOR_THE_SCREEN):
                warn(f"a part of the type {kind!r} was dropped", stacklevel=5)
        case _:
            raise DecodeError("expected a part of a UI message, an object with a type")


def _read_call(turn: CarriedTurn, item: dict[str, Any]) -> Iterator[ToolResult]:
    """Adds a call to its turn and returns its result, if there is one."""
    if item.get("providerExecuted"):
        warn("a tool call that a provider ran itself was dropped", stacklevel=5)
        return
    call_id, state = str(item["toolCallId"]), item.get("state")
    name = str(item.get("toolName") or str(item["type"]).removeprefix("tool-"))
    is_cut = state == "input-streaming"
    value = item.get("rawInput") if is_cut else item.get("input", item.get("rawInput"))
    arguments = value if isinstance(value, str) else dump_json(value or {}).decode()
    metadata = item.get("callProviderMetadata") or item.get("resultProviderMetadata")
    turn.add(ToolCall(call_id, name, arguments, complete=not is_cut), _value(metadata))
    match state:
        case "output-available":
            output = item.get("output")
            text = output if isinstance(output, str) else dump_json(output).decode()
            yield ToolResult(call_id, text)
        case "output-error":
            yield ToolResult(call_id, str(item.get("errorText") or ""), error=True)
        case "output-denied":
            reason = (item.get("approval") or {}).get("reason")
            yield ToolResult(call_id, reason or "The user did not allow this call.", error=True)
        case _:
            return


def _value(metadata: Any) -> Any:
    """The carried part among the metadata of a part."""
    ours = metadata.get(_OURS) if isinstance(metadata, dict) else None
    return ours.get("part") if isinstance(ours, dict) else None
