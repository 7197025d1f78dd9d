"""Our events -> litellm's chunks.

Text is passed on as it arrives. If a host leaves reasoning in the text, a piece that was passed on as text may turn out to be
reasoning. Chunks cannot be taken back, but the last chunk carries the final turn, which `stream_chunk_builder` uses.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, Self
from uuid import uuid4

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.error_mapping import exception_of
from innervoice.bridges.litellm.litellm_object import plain
from innervoice.bridges.litellm.message_fields import (
    KEY,
    CallIds,
    members_of,
    signature_fields,
    stored_turn,
    thinking_block,
    thinking_blocks_of,
)
from innervoice.bridges.litellm.response_types import (
    Choices,
    Delta,
    Message,
    ModelResponse,
    ModelResponseBase,
    ModelResponseStream,
    StreamingChoices,
    Usage,
)
from innervoice.bridges.litellm.to_litellm import cost_of, finish_word, hidden_facts, usage_of
from innervoice.bridges.litellm.tokens import token_counter
from innervoice.canon.events import (
    Event,
    Finish,
    PartEnd,
    PartStart,
    Recast,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.messages import Message as Turn
from innervoice.canon.parts import Thinking, ToolCall, is_inline
from innervoice.canon.response import Response
from innervoice.client.text_stream import View
from innervoice.errors import InnervoiceError
from innervoice.wire.json_access import as_dict, as_list

__all__ = [
    "AsyncChunkStream",
    "ChunkStream",
    "Chunker",
    "CustomStreamWrapper",
    "stream_chunk_builder",
]

_BLOCKS = ("anthropic", "bedrock-converse", "gemini")
"""Dialects whose reasoning litellm also shows as thinking blocks."""


class Chunker:
    """Turns the events of one response into chunks."""

    def __init__(self, call: CompletionCall) -> None:
        self._call = call
        self._id = f"chatcmpl-{uuid4()}"
        self._created = int(time.time())
        self._text, self._thinking = View("text"), View("thinking")
        self._calls: dict[int, int] = {}  # index of our part -> index of the tool call
        self._sent: set[int] = set()  # calls whose arguments were already passed on
        self._ids = CallIds()
        self._begun = False

    def feed(self, event: Event) -> list[ModelResponseStream]:
        """The chunks for one event."""
        text, thinking = self._text.feed([event]), self._thinking.feed([event])
        deltas: list[dict[str, Any]] = []
        block = self._block(event)
        if thinking or block:
            # A block has the text of its part; `reasoning_content` also has the separator between two parts.
            members = {"thinking_blocks": [block]} if block else {}
            deltas.append({"reasoning_content": "".join(thinking), **members})
        deltas += [{"content": piece} for piece in text if piece]
        if (called := self._called(event)) is not None:
            deltas.append({"tool_calls": [called]})
        chunks = [self._chunk(delta) for delta in deltas]
        return [*chunks, *self._last(event.response)] if isinstance(event, Finish) else chunks

    def _block(self, event: Event) -> dict[str, Any] | None:
        """A piece of a thinking block: text as it arrives, the signature at the end."""
        if self._call.dialect not in _BLOCKS:
            return None
        match event:
            case ThinkingDelta():
                return {"type": "thinking", "thinking": event.text}
            case PartEnd(part=Thinking() as part) if part.complete:
                block = thinking_block(part)
                if block and block["type"] == "thinking":
                    return {**block, "thinking": ""} if block.get("signature") else None
                return block
            case _:
                return None

    def _called(self, event: Event) -> dict[str, Any] | None:
        """A piece of a tool call."""
        match event:
            case PartStart(part=ToolCall() as call):
                index = self._calls.setdefault(event.index, len(self._calls))
                function = {"name": call.name, "arguments": ""}
                call_id = self._ids.of(call.id)
                return {"index": index, "id": call_id, "type": "function", "function": function}
            case ToolCallDelta() if event.index in self._calls:
                self._sent.add(event.index)
                function = {"arguments": event.arguments}
                return {"index": self._calls[event.index], "function": function}
            case PartEnd(part=ToolCall() as call) if event.index in self._calls:
                fields = signature_fields(call)
                unsent = "" if event.index in self._sent else call.arguments
                if not fields and not unsent:
                    return None
                function = {"arguments": unsent}
                return {"index": self._calls[event.index], "function": function, **fields}
            case Recast():
                self._move_calls(event)
                return None
            case _:
                return None

    def _move_calls(self, event: Recast) -> None:
        """Renumbers the calls after a recast; their order does not change."""
        behind = sorted(index for index in self._calls if index >= event.index)
        numbers = [self._calls.pop(index) for index in behind]
        sent = [index in self._sent for index in behind]
        self._sent -= set(behind)
        places = [
            event.index + number
            for number, part in enumerate(event.parts)
            if isinstance(part, ToolCall)
        ]
        for place, number, was_sent in zip(places, numbers, sent, strict=False):
            self._calls[place] = number
            if was_sent:
                self._sent.add(place)

    def _last(self, response: Response) -> Iterable[ModelResponseStream]:
        turn = self._ids.turn(response.message)
        self._call.continuation.remember(turn)
        members = members_of(turn)
        delta = {name: members[name] for name in ("reasoning_items", "provider_specific_fields")}
        last = self._chunk(delta, finish_word(response))
        usage = usage_of(response.usage)
        cost = cost_of(self._call, response.model, usage)
        facts = {**hidden_facts(response, self._call), "response_cost": cost}
        last._hidden_params.update(facts, usage=usage)
        yield last
        if self._call.include_usage:
            counts = self._chunk({}, usage=usage)
            counts._hidden_params.update(facts)
            yield counts

    def _chunk(
        self, delta: dict[str, Any], word: str | None = None, usage: Usage | None = None
    ) -> ModelResponseStream:
        role = None if self._begun else "assistant"
        self._begun = True
        return ModelResponseStream(
            id=self._id,
            created=self._created,
            model=self._call.target.model,
            choices=[StreamingChoices(word, 0, Delta(role=role, **delta))],
            usage=usage,
        )


class _ChunkSource:
    """What the sync and the async stream share."""

    def __init__(self, events: Any, call: CompletionCall) -> None:
        self._events = events
        self._call = call
        self._chunker = Chunker(call)
        self._ready: list[ModelResponseStream] = []

    def _failed(self, error: InnervoiceError) -> Exception:
        return exception_of(error, self._call.target.provider, self._call.target.model)


class ChunkStream(_ChunkSource):
    """The chunks of a request that was already sent."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ModelResponseStream:
        while not self._ready:
            try:
                self._ready = self._chunker.feed(next(self._events))
            except StopIteration:
                self.close()
                raise
            except InnervoiceError as error:
                self.close()
                raise self._failed(error) from error
        return self._ready.pop(0)

    def close(self) -> None:
        """Closes the connection."""
        self._events.close()

    def __del__(self) -> None:
        self.close()


class AsyncChunkStream(_ChunkSource):
    """The async counterpart."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelResponseStream:
        while not self._ready:
            try:
                self._ready = self._chunker.feed(await anext(self._events))
            except StopAsyncIteration:
                await self.aclose()
                raise
            except InnervoiceError as error:
                await self.aclose()
                raise self._failed(error) from error
        return self._ready.pop(0)

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._events.close()


# ---- `CustomStreamWrapper`, litellm's class for a stream.


class CustomStreamWrapper:
    """Iterates over the chunks of a stream, with `for` or `async for`, whichever the source supports."""

    def __init__(
        self,
        completion_stream: Any = None,
        model: str | None = None,
        logging_obj: Any = None,
        custom_llm_provider: str | None = None,
        stream_options: Any = None,
        make_call: Any = None,
        _response_headers: dict[str, Any] | None = None,
    ) -> None:
        self.completion_stream = completion_stream
        self.model = model
        self.logging_obj = logging_obj
        self.custom_llm_provider = custom_llm_provider
        self.stream_options = stream_options
        self.make_call = make_call
        self.chunks: list[ModelResponseBase] = []
        self.response_id: str | None = None
        self._hidden_params: dict[str, Any] = {"custom_llm_provider": custom_llm_provider}
        self._response_headers = _response_headers
        self._source: Any = None
        self.report: Any = None
        """Reports the end of the stream to the callbacks."""
        self.messages: Any = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ModelResponseBase:
        if self._source is None:
            self._source = iter(
                self.completion_stream if self.completion_stream is not None else ()
            )
        source: Iterator[Any] = self._source
        try:
            return self._seen(next(source))
        except StopIteration:
            if report := self._end():
                report.succeeded(self._whole())
            raise
        except Exception as error:
            if report := self._end():
                report.failed(error)
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelResponseBase:
        stream = self.completion_stream
        if self._source is None:
            self._source = aiter(stream) if hasattr(stream, "__aiter__") else _awaited(stream)
        source: AsyncIterator[Any] = self._source
        try:
            return self._seen(await anext(source))
        except StopAsyncIteration:
            if report := self._end():
                await report.asucceeded(self._whole())
            raise
        except Exception as error:
            if report := self._end():
                await report.afailed(error)
            raise

    def _end(self) -> Any:
        """The report, once."""
        report, self.report = self.report, None
        return report

    def _whole(self) -> Any:
        return stream_chunk_builder(self.chunks, messages=self.messages)

    def _seen(self, chunk: Any) -> ModelResponseBase:
        self.chunks.append(chunk)
        self.response_id = self.response_id or getattr(chunk, "id", None)
        return chunk  # type: ignore[no-any-return]

    def close(self) -> None:
        """Closes the connection of a synchronous stream."""
        close = getattr(self.completion_stream, "close", None)
        if callable(close) and not inspect.iscoroutinefunction(close):
            close()

    async def aclose(self) -> None:
        """Closes the connection."""
        close = getattr(self.completion_stream, "aclose", None)
        if callable(close):
            await close()
        else:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _awaited(stream: Any) -> AsyncIterator[Any]:
    """The chunks of a synchronous source."""
    for chunk in stream if stream is not None else ():
        yield chunk


# ---- The chunks of a stream -> the complete response (`stream_chunk_builder`).
#
# Thinking blocks are rebuilt one by one: pieces are joined until a signature, a redacted block or anything other than thinking
# ends the block. If the last chunk carries the stored turn (`message_fields.py`) and that turn has inline reasoning, the message
# is built from the turn instead.


def stream_chunk_builder(
    chunks: Iterable[Any],
    messages: Sequence[Any] | None = None,
    start_time: Any = None,  # noqa: ARG001 - litellm's signature
    end_time: Any = None,  # noqa: ARG001
    logging_obj: Any = None,  # noqa: ARG001
) -> ModelResponse | None:
    """The complete response; None if there are no chunks.

    Usage is what a chunk reports; if none does, tokens are counted, for the prompt in `messages`.
    """
    chunk_list = list(chunks)
    if not chunk_list:
        return None
    dumped = [as_dict(plain(chunk)) for chunk in chunk_list]
    built: dict[int, _ChoiceBuilder] = {}
    for chunk in dumped:
        for choice in map(as_dict, as_list(chunk.get("choices"))):
            built.setdefault(choice.get("index") or 0, _ChoiceBuilder()).add(choice)
    answers = [built[index] for index in sorted(built)] or [_ChoiceBuilder()]
    choices = [answer.choice(number) for number, answer in enumerate(answers)]
    head = dumped[0]
    response = ModelResponse(
        id=head.get("id"),
        created=head.get("created"),
        model=next((chunk["model"] for chunk in dumped if chunk.get("model")), None),
        choices=choices,
        system_fingerprint=head.get("system_fingerprint"),
        usage=_usage(chunk_list, dumped)
        or _counted(choices, messages, str(head.get("model") or "")),
    )
    for chunk in chunk_list:
        hidden = getattr(chunk, "_hidden_params", None)
        if isinstance(hidden, dict):
            response._hidden_params.update(
                {name: hidden[name] for name in hidden if name != "usage"}
            )
    return response


class _ChoiceBuilder:
    """Collects the deltas of one choice."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._blocks: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None  # the thinking block that may continue
        self._calls: dict[int, dict[str, Any]] = {}
        self._function: dict[str, str] | None = None
        self._items: list[Any] = []
        self._fields: dict[str, Any] = {}
        self._role = "assistant"
        self._word: str | None = None

    def add(self, choice: dict[str, Any]) -> None:
        """Adds one choice of a chunk."""
        self._word = choice.get("finish_reason") or self._word
        delta = as_dict(choice.get("delta"))
        self._role = delta.get("role") or self._role
        for block in map(as_dict, as_list(delta.get("thinking_blocks"))):
            self._think(block)
        if text := delta.get("reasoning_content"):
            self._reasoning.append(text)
        if text := delta.get("content"):
            self._open = None
            self._content.append(text)
        for call in map(as_dict, as_list(delta.get("tool_calls"))):
            self._open = None
            self._call(call)
        if function := as_dict(delta.get("function_call")):
            collected = self._function = self._function or {"name": "", "arguments": ""}
            collected["name"] += function.get("name") or ""
            collected["arguments"] += function.get("arguments") or ""
        self._items += as_list(delta.get("reasoning_items"))
        self._note(as_dict(delta.get("provider_specific_fields")))

    def _think(self, block: dict[str, Any]) -> None:
        if block.get("type") != "thinking":
            self._open = None
            self._blocks.append(block)
            return
        if self._open is None:
            self._open = {"type": "thinking", "thinking": ""}
            self._blocks.append(self._open)
        text = self._open["thinking"] + (block.get("thinking") or "")
        self._open.update({name: value for name, value in block.items() if value is not None})
        self._open["thinking"] = text
        if block.get("signature"):
            self._open = None

    def _call(self, call: dict[str, Any]) -> None:
        index = call.get("index")
        index = index if isinstance(index, int) else len(self._calls)
        collected = self._calls.setdefault(
            index, {"function": {"arguments": "", "name": None}, "id": None, "type": "function"}
        )
        function = as_dict(call.get("function"))
        collected["function"]["arguments"] += function.get("arguments") or ""
        collected["function"]["name"] = collected["function"]["name"] or function.get("name")
        collected["id"] = collected["id"] or call.get("id")
        if fields := as_dict(call.get("provider_specific_fields")):
            collected["provider_specific_fields"] = {
                **collected.get("provider_specific_fields", {}),
                **fields,
            }

    def _note(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if name == "thinking_blocks":
                continue  # litellm repeats them here
            before = self._fields.get(name)
            self._fields[name] = (
                [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
            )

    def choice(self, number: int) -> Choices:
        """The complete choice."""
        return Choices(self._word, number, Message(**self._members()))

    def _blocks_of(self, turn: Turn | None) -> list[dict[str, Any]]:
        """The original blocks: without signatures, only the stored turn knows where each one ends."""
        blocks = thinking_blocks_of(turn) if turn is not None else []
        return blocks if _text_of(blocks) == _text_of(self._blocks) else self._blocks

    def _members(self) -> dict[str, Any]:
        turn = stored_turn(self._fields[KEY]) if KEY in self._fields else None
        if turn is not None and any(map(is_inline, turn.parts)):
            return members_of(turn)
        calls = [self._calls[index] for index in sorted(self._calls)]
        return {
            "content": "".join(self._content) or (None if calls or self._function else ""),
            "role": self._role,
            "tool_calls": calls or None,
            "function_call": self._function,
            "reasoning_content": "".join(self._reasoning) or None,
            "thinking_blocks": self._blocks_of(turn) or None,
            "reasoning_items": self._items or None,
            "provider_specific_fields": self._fields or None,
        }


def _text_of(blocks: list[dict[str, Any]]) -> str:
    return "".join(block.get("thinking") or "" for block in blocks)


def _usage(chunks: list[Any], dumped: list[dict[str, Any]]) -> Usage | None:
    """The last usage that a chunk reports, including usage that the caller did not ask for."""
    reported = [chunk["usage"] for chunk in dumped if as_dict(chunk.get("usage"))]
    if reported:
        return Usage(**reported[-1])
    for chunk in reversed(chunks):
        hidden = getattr(chunk, "_hidden_params", None)
        usage = hidden.get("usage") if isinstance(hidden, dict) else None
        if isinstance(usage, Usage):
            return usage
    return None


def _counted(choices: list[Choices], messages: Sequence[Any] | None, model: str) -> Usage:
    prompt = token_counter(model=model, messages=list(messages)) if messages else 0
    texts = [
        text
        for choice in choices
        for text in (choice.message.content, choice.message.get("reasoning_content"))
        if text
    ]
    calls = [
        call.function.arguments for choice in choices for call in choice.message.tool_calls or ()
    ]
    written = token_counter(model=model, text=[*texts, *calls]) if texts or calls else 0
    return Usage(prompt_tokens=prompt, completion_tokens=written)
