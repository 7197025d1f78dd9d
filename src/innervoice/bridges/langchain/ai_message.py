"""A response -> an AIMessage; the events of a stream -> AIMessageChunks.

LangChain adds chunks up: texts with the same index are joined, dicts are merged, and nothing can be taken back. So text is
passed on as it arrives, and the extras of every block come with the last chunk, when every part is final. A block whose text
turned out to be something else is marked as withdrawn, and the last chunk removes it from the sum (`LastChunk`). This happens
with unknown models that omit the opening tag of their reasoning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.outputs import ChatGenerationChunk

from innervoice.canon.events import (
    Event,
    Finish,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.jsontext import load_json
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.folding import FoldedPart, PartFolder, content_of
from innervoice.sources.langchain.blocks import (
    KEY,
    blocks_of,
    extras_of,
    is_trailing_seal,
    is_withdrawn,
    number_of,
    plain_block,
    state_of,
)

__all__ = ["AIMessageChunker", "LastChunk", "StreamedGeneration", "answer_message"]

_MEMBERS = {"text": "text", "thinking": "reasoning", "tool_call": "args"}
_TYPES = {"text": "text", "thinking": "reasoning", "tool_call": "tool_call_chunk"}


def answer_message(response: Response) -> AIMessage:
    """A response as an AIMessage: parts as standard content blocks, seals in their extras."""
    blocks = blocks_of(response.parts)
    return AIMessage(
        content=blocks,
        tool_calls=_listed(blocks, "tool_call"),
        invalid_tool_calls=_listed(blocks, "invalid_tool_call"),
        usage_metadata=_usage(response),
        response_metadata=_metadata(response),
    )


def _listed(blocks: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in block.items() if name != "extras"}
        for block in blocks
        if block["type"] == kind
    ]


def _usage(response: Response) -> dict[str, Any] | None:
    """The usage, if any was reported; LangChain cannot express an unknown count."""
    usage = response.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    input_tokens, output_tokens = usage.input_tokens or 0, usage.output_tokens or 0
    counts: dict[str, Any] = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }
    if usage.cached_input_tokens is not None:
        counts["input_token_details"] = {"cache_read": usage.cached_input_tokens}
    if usage.reasoning_tokens is not None:
        counts["output_token_details"] = {"reasoning": usage.reasoning_tokens}
    return counts


def _metadata(response: Response, **state: Any) -> dict[str, Any]:
    """The metadata of the complete response."""
    stored = load_json(to_json(response.replace(parts=(), error=None)))
    facts = {
        "model_name": response.model,
        "finish_reason": response.finish_reason,
        "status": response.status,
        "id": response.id,
        "notes": stored.get("notes", []),
        KEY: {
            "ended": response.ended,
            "finish_reason": response.wire_finish_reason,
            "origin": stored.get("origin"),
            **state,
        },
    }
    return {**_head(response.provider), **facts}


def _head(provider: str | None) -> dict[str, Any]:
    """The metadata of every chunk; LangChain keeps these members and concatenates others."""
    head: dict[str, Any] = {"output_version": "v1", KEY: {}}
    return {**head, "model_provider": provider} if provider else head


# ---- streams -------------------------------------------------------------------------------------


class _ShownPart(FoldedPart):
    """A part, the index of its block and, in `pieces`, the text that the block has so far."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.block: int | None = None
        self.sent_name = ""
        """The name of the tool call in the first slice; the final name may be longer."""

    def end(self, part: Part) -> None:
        self.part, self.is_open = part, False

    def shows(self, part: Part) -> bool:
        """Whether the block's text is the beginning of a part."""
        if isinstance(part, ToolCall):
            return isinstance(self.part, ToolCall) and self.part.id == part.id
        text_before = "".join(self.pieces)
        return (
            self.part.type == part.type
            and bool(text_before)
            and content_of(part).startswith(text_before)
        )

    def rest(self, part: Part) -> str:
        """The text that is missing from the block; empty if the arguments arrived with whitespace that the part does not have."""
        text, text_before = content_of(part), "".join(self.pieces)
        return text[len(text_before) :] if text.startswith(text_before) else ""


class AIMessageChunker:
    """Turns the events of one response into AIMessageChunks."""

    def __init__(self, provider: str | None) -> None:
        self._provider = provider
        self._folder = PartFolder(_ShownPart)
        self._withdrawn: list[_ShownPart] = []
        self._blocks = 0

    def feed(self, event: Event) -> AIMessageChunk | None:
        """The chunk for an event; None if it needs none."""
        match event:
            case PartStart():
                return self._begun(self._folder.start(event))
            case TextDelta() | ThinkingDelta():
                part = self._folder.add(event.index, event.text)
                return self._chunk([self._slice(part, event.text)])
            case ToolCallDelta():
                part = self._folder.add(event.index, event.arguments)
                return self._chunk([self._slice(part, event.arguments)])
            case PartEnd():
                return self._ended(self._folder.end(event))
            case Recast():
                return self._recast(event)
            case Finish():
                return self._last(event.response)
            case _:
                return None

    def _begun(self, drawn: _ShownPart) -> AIMessageChunk | None:
        """A tool call is passed on as soon as it has a name, a text part with its first delta."""
        if not isinstance(drawn.part, ToolCall):
            return None
        return self._chunk([self._slice(drawn, "")])

    def _ended(self, drawn: _ShownPart) -> AIMessageChunk | None:
        """A part without a block gets one now, so that blocks are in the order of their parts."""
        if drawn.block is not None or not _is_shown(drawn.part):
            return None
        return self._chunk([self._slice(drawn, "")])

    def _recast(self, event: Recast) -> AIMessageChunk | None:
        """Replaces parts; a block stays if its text is the beginning of a new part."""
        old, new = self._folder.recast(event)
        withdrawn = [part for part in old if part.block is not None]
        slices = []
        for part in new:
            before = next((other for other in withdrawn if other.shows(part.part)), None)
            if before is not None:
                withdrawn.remove(before)
                part.block, part.pieces = before.block, before.pieces
                part.sent_name = before.sent_name
            rest = part.rest(part.part)
            if rest:
                part.add(rest)
                slices.append(self._slice(part, rest))
        self._withdrawn += withdrawn
        return self._chunk(slices) if slices else None

    def _last(self, response: Response) -> AIMessageChunk:
        """The extras of every block, and the metadata of the complete response."""
        blocks = [
            self._sealed(at, response.parts)
            for at in range(len(response.parts))
            if not is_trailing_seal(response.parts, at)
        ]
        indexes = [block["index"] for block in blocks]
        kind = LastChunk if self._withdrawn or indexes != sorted(indexes) else AIMessageChunk
        for drawn in self._withdrawn:
            block = self._slice(drawn, "")
            blocks.append({**block, "extras": {KEY: {"withdrawn": True}}})
        # Some ways of streaming in LangChain drop the extras of tool calls, but none drops this member.
        calls = {
            part.id: state_of(part, at)
            for at, part in enumerate(response.parts)
            if isinstance(part, ToolCall)
        }
        return self._chunk(
            blocks,
            kind,
            chunk_position="last",
            usage_metadata=_usage(response),
            response_metadata=_metadata(response, calls=calls),
        )

    def _sealed(self, at: int, final: Sequence[Part]) -> dict[str, Any]:
        """The last slice of a block: the missing text and the extras."""
        parts, part, extras = self._folder.parts, final[at], extras_of(final, at)
        drawn = parts[at] if at < len(parts) else _ShownPart(part)
        first = drawn.block is None
        if first and not _is_shown(part):
            self._blocks += 1
            return {**plain_block(part), "extras": extras, "index": self._blocks - 1}
        drawn.part = part
        block = self._slice(drawn, drawn.rest(part))
        if isinstance(part, ToolCall) and not first:
            # LangChain concatenates names too, and part of a name may arrive late.
            block["name"] = part.name.removeprefix(drawn.sent_name) or None
        return {**block, "extras": extras}

    # ---- blocks --------------------------------------------------------------------------------

    def _slice(self, drawn: _ShownPart, text: str) -> dict[str, Any]:
        """A slice of a block; the first slice of a tool call has its id and name."""
        first = drawn.block is None
        if drawn.block is None:
            drawn.block, self._blocks = self._blocks, self._blocks + 1
        kind = drawn.part.type
        block = {"type": _TYPES[kind], _MEMBERS[kind]: text, "index": drawn.block}
        if isinstance(drawn.part, ToolCall):
            block["id"] = drawn.part.id if first else None
            block["name"] = drawn.part.name if first else None
            if first:
                drawn.sent_name = drawn.part.name
        return block

    def _chunk(
        self,
        blocks: list[dict[str, Any]],
        kind: type[AIMessageChunk] = AIMessageChunk,
        **more: Any,
    ) -> AIMessageChunk:
        calls = [
            {name: block.get(name) for name in ("id", "name", "args", "index")}
            for block in blocks
            if block["type"] == "tool_call_chunk"
        ]
        more.setdefault("response_metadata", _head(self._provider))
        return kind(content=blocks, tool_call_chunks=calls, **more)


def _is_shown(part: Part) -> bool:
    """Whether the block of a part can be sent in slices; any other is sent whole, at the end."""
    return isinstance(part, (Thinking, ToolCall)) or (isinstance(part, Text) and bool(part.text))


# ---- Chunks whose sum is clean: without text that the stream withdrew, and with blocks in the order of the parts.
#
# LangChain's sum of chunks keeps everything that was ever sent. Only at the end of a stream it is known which blocks were withdrawn, so the last
# chunk removes them from the sum. The sum is a plain AIMessageChunk again.


class LastChunk(AIMessageChunk):
    """The last chunk of a stream that withdrew something; `message + last` removes it."""

    # Python calls the right operand first, because its class is the more specific one.
    def __radd__(self, other: AIMessageChunk) -> AIMessageChunk:
        """The sum of a message and this chunk."""
        merged = add_ai_message_chunks(other, self)
        blocks = [block for block in merged.content if not is_withdrawn(block)]
        numbers = [number_of(block) for block in blocks]
        if None not in numbers:
            blocks.sort(key=lambda block: number_of(block) or 0)
        return merged.model_copy(update={"content": blocks})

    @classmethod
    def lc_id(cls) -> list[str]:
        """Serialized as the class that LangChain knows."""
        return list(AIMessageChunk.lc_id())


class StreamedGeneration(ChatGenerationChunk):
    """A chunk that adds a list of chunks one by one at its end, as `LastChunk` requires."""

    def __add__(self, other: Any) -> ChatGenerationChunk:
        """The sum of this chunk and another, or a list of others."""
        if isinstance(other, list) and other and isinstance(other[-1].message, LastChunk):
            return super().__add__(other[:-1]) + other[-1]
        return super().__add__(other)
