"""Events -> the events of AG-UI, for front ends such as CopilotKit; and its messages -> ours.

Rules, after https://docs.ag-ui.com/spec/1.0 (read 2026-11-16) and the verifier of @ag-ui/client 1.0.0:

  1. A run begins with RUN_STARTED and ends with RUN_FINISHED or RUN_ERROR. Everything open is closed before RUN_FINISHED.
  2. Text, reasoning and calls keep their order: a call belongs to the assistant message before it, if nothing came in between, and
     to a new message otherwise.
  3. A seal is an encrypted value of the message or the call that it belongs to, and may come after its end; a turn that must be carried
     whole is that of the last one. Hidden reasoning and opaque blocks are reasoning messages without content, the only thing that a
     front end keeps and sends back unseen.
  4. A call that was cut off is closed only if the run finishes, because the end of a call says that it can be run.
  5. The id of a call is unique in a conversation. Ids that innervoice generated start again in every answer, and get a suffix.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, ClassVar, overload
from warnings import warn

from innervoice.answering.encoder import AnswerEncoder
from innervoice.answering.writing import encode_events
from innervoice.bridges.carried_parts import CarriedTurn, CarryingWriter, is_json
from innervoice.canon.events import Event
from innervoice.canon.messages import Message, system, tool_result, user
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.errors import DecodeError
from innervoice.wire.refusals import Refusal

__all__ = ["HEADERS", "encode_stream", "encoder", "read_messages"]

HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache"}
"""The headers of the HTTP response."""

_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
}


# ---- ours -> theirs --------------------------------------------------------------------------------


@overload
def encode_stream(
    events: AsyncIterable[Event], thread_id: str, run_id: str
) -> AsyncIterator[bytes]: ...
@overload
def encode_stream(events: Iterable[Event], thread_id: str, run_id: str) -> Iterator[bytes]: ...
def encode_stream(
    events: Iterable[Event] | AsyncIterable[Event], thread_id: str, run_id: str
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Writes an answer as one run of AG-UI, in server-sent events; an async iterable yields an async iterator.

    `thread_id` and `run_id` are those of the request (`threadId`, `runId`).
    """
    return encode_events(events, encoder(thread_id, run_id))


def encoder(thread_id: str, run_id: str) -> AnswerEncoder:
    """Writes one run event by event, for callers that pass what is settled: `feed(event, settled)`, `finish()`, `ping()`."""
    return AnswerEncoder(AgUiWriter(thread_id, run_id))


class _Block:
    """An open part: the id of its message or call."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.has_content = False


class AgUiWriter(CarryingWriter):
    """Writes one run."""

    dialect: ClassVar[str] = "ag-ui"
    shows_media: ClassVar[bool] = False

    def __init__(self, thread_id: str, run_id: str) -> None:
        super().__init__()
        self._run = {"threadId": thread_id, "runId": run_id}
        self._blocks: dict[int, _Block] = {}
        self._messages = 0
        self._parent: str | None = None  # the assistant message that a call now belongs to
        self._cut_calls: list[str] = []
        self._pending: list[str] = []  # calls that can be run
        self._last: tuple[str, str] | None = None  # what was closed last and can carry something

    def start(self) -> None:
        self._send("RUN_STARTED", **self._run, protocolVersion="1.0")

    def begin(self, number: int, part: Part) -> None:
        match part:
            case Text():
                block = self._blocks[number] = _Block(self._new_id(), part.type)
                self._send("TEXT_MESSAGE_START", messageId=block.name, role="assistant")
                self._parent = block.name
            case ToolCall():
                self._parent = self._parent or self._new_id()
                block = self._blocks[number] = _Block(self.call_id(part), part.type)
                self._send(
                    "TOOL_CALL_START",
                    toolCallId=block.name,
                    toolCallName=part.name,
                    parentMessageId=self._parent,
                )
            case Media():
                self.left_out(part)
            case _:
                block = self._blocks[number] = _Block(self._new_id(), part.type)
                self._send("REASONING_START", messageId=block.name)
                self._parent = None

    def show(self, number: int, text: str) -> None:
        block = self._blocks.get(number)
        if block is None:
            return
        if block.kind == "tool_call":
            block.has_content = True
            self._send("TOOL_CALL_ARGS", toolCallId=block.name, delta=text)
        elif block.kind == "text":
            self._send("TEXT_MESSAGE_CONTENT", messageId=block.name, delta=text)
        else:
            self._open_message(block)
            self._send("REASONING_MESSAGE_CONTENT", messageId=block.name, delta=text)

    def close(self, number: int, part: Part, value: str | None) -> None:
        block = self._blocks.pop(number, None)
        if block is None:
            return
        subtype = "message"
        if isinstance(part, ToolCall):
            subtype = "tool-call"
            self._end_call(block, part)
        elif isinstance(part, Text):
            self._send("TEXT_MESSAGE_END", messageId=block.name)
        elif block.has_content or value:
            self._open_message(block)
            self._send("REASONING_MESSAGE_END", messageId=block.name)
        if value or block.has_content or isinstance(part, (Text, ToolCall)):
            self._last = (subtype, block.name)
        if value:
            self._carry(value)
        if not isinstance(part, (Text, ToolCall)):
            self._send("REASONING_END", messageId=block.name)

    def finish(self, response: Response) -> None:
        for name in self._cut_calls:
            self._send("TOOL_CALL_END", toolCallId=name)
        if turn := self.whole_turn(response):
            self._carry(turn)
        ended: dict[str, Any] = {"outcome": {"type": "success"}, **self._usage(response)}
        if self._pending:
            ended["outcome"]["pendingToolCallIds"] = self._pending
        if response.finish_reason:
            ended["metadata"] = {"finishReason": response.finish_reason}
        self._send("RUN_FINISHED", **self._run, **ended)

    def fail(self, refusal: Refusal, response: Response) -> None:
        if turn := self.whole_turn(response):
            self._carry(turn)
        code = refusal.code if refusal.code is not None else refusal.type
        members = {} if code is None else {"code": str(code)}
        self._send("RUN_ERROR", message=refusal.text, **members, **self._usage(response))

    # ---- messages and calls --------------------------------------------------------------------

    def _open_message(self, block: _Block) -> None:
        if not block.has_content:
            block.has_content = True
            self._send("REASONING_MESSAGE_START", messageId=block.name, role="reasoning")

    def _end_call(self, block: _Block, call: ToolCall) -> None:
        if not call.complete or not is_json(call.arguments):
            self._cut_calls.append(block.name)
        else:
            if not block.has_content:
                self._send("TOOL_CALL_ARGS", toolCallId=block.name, delta="{}")
            self._send("TOOL_CALL_END", toolCallId=block.name)
        if call.complete:
            self._pending.append(block.name)

    def _new_id(self) -> str:
        self._messages += 1
        return f"{self.head.id}-{self._messages}"

    def _carry(self, value: str) -> None:
        """Sets the value of the message or call that was closed last; a later value replaces an earlier one."""
        if self._last:
            subtype, name = self._last
            self._send(
                "REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=name, encryptedValue=value
            )

    def _usage(self, response: Response) -> dict[str, Any]:
        counts = {name: getattr(self.usage, ours) for name, ours in _COUNTS.items()}
        reported = {name: count for name, count in counts.items() if count is not None}
        if not reported:
            return {}
        names = {"provider": response.provider, "model": response.model}
        return {"usage": [{**{name: word for name, word in names.items() if word}, **reported}]}

    def _send(self, kind: str, **members: Any) -> None:
        self.send({"type": kind, **members})


# ---- theirs -> ours --------------------------------------------------------------------------------


def read_messages(messages: Iterable[Any]) -> list[Message]:
    """Reads the messages of a request (`RunAgentInput.messages`), with the seals that a run sent to the front end.

    Adjacent assistant and reasoning messages are one turn. Activity messages are for the screen only, and are left out.
    """
    read: list[Message] = []
    turn = CarriedTurn()
    names: dict[str, str] = {}  # the front end's id of a call -> ours
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role in ("assistant", "reasoning"):
            _add_to_turn(turn, message)
            continue
        if role == "activity":
            continue
        read += filter(None, [turn.message()])
        names |= turn.call_ids
        turn = CarriedTurn()
        match message:
            case {"role": "system" | "developer", "content": str(text)}:
                read.append(system(text))
            case {"role": "user", "content": content}:
                read.append(user(_content(content)))
            case {"role": "tool", "toolCallId": str(name)}:
                read.append(_result(names.get(name, name), message))
            case _:
                raise DecodeError(f"expected a message of AG-UI, not one with the role {role!r}")
    return [*read, *filter(None, [turn.message()])]


def _add_to_turn(turn: CarriedTurn, message: dict[str, Any]) -> None:
    content, value = message.get("content") or "", message.get("encryptedValue")
    if message["role"] == "reasoning":
        turn.add(Thinking(content, "full" if content else "hidden"), value)
    elif content or value:
        turn.add(Text(content), value)
    for call in message.get("toolCalls") or ():
        match call:
            case {"id": str(name), "function": {"name": str(tool), "arguments": str(arguments)}}:
                tool_call = ToolCall(name, tool, arguments, complete=is_json(arguments))
                turn.add(tool_call, call.get("encryptedValue"))
            case _:
                raise DecodeError("expected a tool call with an id, a name and arguments")


def _result(call_id: str, message: dict[str, Any]) -> Message:
    error = message.get("error")
    content = _content(message.get("content") or error or "")
    return tool_result(call_id, content, error=bool(error))


def _content(content: Any) -> str | list[Part]:
    if isinstance(content, str):
        return content
    return [part for item in content for part in _content_part(item)]


def _content_part(item: Any) -> Iterator[Part]:
    match item:
        case {"type": "text", "text": str(text)}:
            yield Text(text)
        case {"source": {"type": "data", "value": str(data), "mimeType": str(mime)}}:
            yield Media(mime, data=data)
        case {"source": {"type": "url", "value": str(url)}}:
            yield Media(item["source"].get("mimeType"), url=url)
        case {"type": str(kind)}:
            warn(f"a content part of the type {kind!r} was dropped", stacklevel=5)
        case _:
            raise DecodeError("expected a content part with a type")
