"""Our events -> litellm's chunks, and the object that gives them out.

Text is given out when it comes. Where a host leaves reasoning in the text, a piece that was given out as text may turn out
to have been reasoning; it cannot be taken back, but the last chunk has the turn as it is in the end, and
`stream_chunk_builder` goes by that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Self
from uuid import uuid4

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.error_mapping import exception_of
from innervoice.bridges.litellm.message_fields import (
    CallIds,
    members_of,
    signature_fields,
    thinking_block,
)
from innervoice.bridges.litellm.response_types import Delta, ModelResponseStream, StreamingChoices
from innervoice.bridges.litellm.to_litellm import finish_word, hidden_facts, usage_of
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

__all__ = ["AsyncChunkStream", "ChunkStream", "Chunker"]

_BLOCKS = ("anthropic", "bedrock-converse", "gemini")
"""Dialects whose reasoning litellm shows as blocks, too."""


class Chunker:
    """Turns the events of one answer into chunks."""

    def __init__(self, call: CompletionCall) -> None:
        self._call = call
        self._id = f"chatcmpl-{uuid4()}"
        self._created = int(time.time())
        self._text, self._thinking = View("text"), View("thinking")
        self._calls: dict[int, int] = {}  # numbers of our parts -> numbers of the calls
        self._told: set[int] = set()  # calls of which arguments were given out
        self._ids = CallIds()
        self._begun = False

    def feed(self, event: Event) -> list[ModelResponseStream]:
        """The chunks that an event adds."""
        text, thinking = self._text.feed([event]), self._thinking.feed([event])
        deltas: list[dict[str, Any]] = []
        block = self._block(event)
        if thinking or block:
            # The pieces of a block are those of its part; the view has what stands between two parts besides.
            told = {"thinking_blocks": [block]} if block else {}
            deltas.append({"reasoning_content": "".join(thinking), **told})
        deltas += [{"content": piece} for piece in text if piece]
        if (called := self._called(event)) is not None:
            deltas.append({"tool_calls": [called]})
        chunks = [self._chunk(delta) for delta in deltas]
        return [*chunks, *self._last(event.response)] if isinstance(event, Finish) else chunks

    def _block(self, event: Event) -> dict[str, Any] | None:
        """The piece of a block of thinking: its text as it comes, and its seal at its end."""
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
        """The piece of a call."""
        match event:
            case PartStart(part=ToolCall() as call):
                index = self._calls.setdefault(event.index, len(self._calls))
                function = {"name": call.name, "arguments": ""}
                shown = self._ids.of(call.id)
                return {"index": index, "id": shown, "type": "function", "function": function}
            case ToolCallDelta() if event.index in self._calls:
                self._told.add(event.index)
                function = {"arguments": event.arguments}
                return {"index": self._calls[event.index], "function": function}
            case PartEnd(part=ToolCall() as call) if event.index in self._calls:
                fields = signature_fields(call)
                untold = "" if event.index in self._told else call.arguments
                if not fields and not untold:
                    return None
                function = {"arguments": untold}
                return {"index": self._calls[event.index], "function": function, **fields}
            case Recast():
                self._move_calls(event)
                return None
            case _:
                return None

    def _move_calls(self, event: Recast) -> None:
        """Calls behind a place where parts changed have other numbers now, in the same order."""
        behind = sorted(index for index in self._calls if index >= event.index)
        numbers = [self._calls.pop(index) for index in behind]
        told = [index in self._told for index in behind]
        self._told -= set(behind)
        places = [
            event.index + number
            for number, part in enumerate(event.parts)
            if isinstance(part, ToolCall)
        ]
        for place, number, was_told in zip(places, numbers, told, strict=False):
            self._calls[place] = number
            if was_told:
                self._told.add(place)

    def _last(self, response: Response) -> Iterable[ModelResponseStream]:
        members = members_of(self._ids.turn(response.message))
        delta = {name: members[name] for name in ("reasoning_items", "provider_specific_fields")}
        last = self._chunk(delta, finish_word(response))
        usage = usage_of(response.usage)
        last._hidden_params.update(hidden_facts(response, self._call), usage=usage)
        yield last
        if self._call.include_usage:
            yield self._chunk({}, usage=usage)

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
    """What both kinds of streams do with events."""

    def __init__(self, events: Any, call: CompletionCall) -> None:
        self._events = events
        self._call = call
        self._chunker = Chunker(call)
        self._ready: list[ModelResponseStream] = []

    def _failed(self, error: InnervoiceError) -> Exception:
        return exception_of(error, self._call.target.provider, self._call.target.model)


class ChunkStream(_ChunkSource):
    """The chunks of an answer that was asked for already."""

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
    """The same for those who await."""

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
