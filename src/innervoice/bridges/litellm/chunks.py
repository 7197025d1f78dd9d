"""Our events -> litellm's chunks.

Text is passed on as it arrives. If a host leaves reasoning in the text, a piece that was passed on as text may turn out to be
reasoning. Chunks cannot be taken back, but the last chunk carries the final turn, which `stream_chunk_builder` uses.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Self
from uuid import uuid4

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.chunk_builder import stream_chunk_builder
from innervoice.bridges.litellm.error_mapping import exception_of
from innervoice.bridges.litellm.message_fields import (
    CallIds,
    members_of,
    signature_fields,
    thinking_block,
)
from innervoice.bridges.litellm.response_types import (
    Delta,
    ModelResponseBase,
    ModelResponseStream,
    StreamingChoices,
)
from innervoice.bridges.litellm.to_litellm import cost_of, finish_word, hidden_facts, usage_of
from innervoice.bridges.litellm.usage import Usage
from innervoice.canon.events import (
    Event,
    Finish,
    PartEnd,
    PartStart,
    Recast,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.parts import Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.client.text_stream import View
from innervoice.errors import InnervoiceError

__all__ = ["AsyncChunkStream", "ChunkStream", "Chunker", "CustomStreamWrapper"]

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
