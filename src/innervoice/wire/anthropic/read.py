"""Anthropic Messages -> canonical events.

Input: a whole message, or the events of a stream. Output: parts in the order of the blocks.

Rules, after https://platform.claude.com/docs/en/build-with-claude/streaming (read 2026-11-15) and recordings:

  1. Block order and count are kept; thinking with empty text and a signature is a block like any other.
  2. `redacted_thinking` arrives whole in its start event. Its `data` is a seal.
  3. `signature_delta` is assigned, never appended: it is the whole signature.
  4. `message_delta.usage` overwrites the counts that it has; the others keep the value of `message_start`.
  5. Blocks that are not text, thinking or a client's tool call are opaque, in their place.
  6. A second `message_start` with another id is a second generation spliced in by a proxy: an error.
  7. Bedrock's InvokeModel wraps each event as base64 in `bytes`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Any, ClassVar

from innervoice.canon.parts import Form, Opaque, Part, Text, Thinking
from innervoice.canon.usage import Usage
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text, parsed
from innervoice.wire.protocol import Context, Reader, Slot
from innervoice.wire.reported import note_edits, note_refusal, note_transformations

__all__ = ["AnthropicReader"]

_KINDS = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
}
_TRIVIAL = {"type", "text"}
# Deltas that lengthen a member of the block: their type -> the member.
_LENGTHEN = {"text_delta": "text", "thinking_delta": "thinking"}

# Deltas that show the type of a block whose start is missing.
_BEGUN_BY = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}


class AnthropicReader(Reader):
    """Reads one message."""

    dialect: ClassVar[str] = "anthropic"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._blocks: dict[Any, Slot] = {}
        self._usage: dict[str, Any] = {}

    def read(self, value: Any, name: str | None) -> None:
        event = value if isinstance(value, dict) else {}
        if "bytes" in event and "type" not in event:
            event = _unwrapped(event["bytes"])
        kind = event.get("type")
        handle = _EVENTS.get(kind) if isinstance(kind, str) else None
        if handle:
            handle(self, event)
        elif name == "error" or "error" in event:
            self.fail(event)
        else:
            self.skip(kind or name)

    def _read_whole(self, message: dict[str, Any]) -> None:
        self._start(message)
        for block in as_list(message.get("content")):
            if part := self._whole_part(block):
                self.whole(part)
            elif slot := self._open_block(block):
                self.close(slot)
        self._end(message)
        self.ended = True

    def _read_start(self, event: dict[str, Any]) -> None:
        message = as_dict(event.get("message"))
        if self._start(message):
            self._use(message.get("usage"))

    def _read_delta(self, event: dict[str, Any]) -> None:
        beside = {name: event.get(name) for name in ("usage", "context_management")}
        self._end({**as_dict(event.get("delta")), **beside})

    def _read_stop(self, _: dict[str, Any]) -> None:
        self.ended = True

    def _read_ping(self, _: dict[str, Any]) -> None:
        self.heartbeat()

    def _start(self, message: dict[str, Any]) -> bool:
        """Reads the head of a message; returns False for one that begins inside another, which is ignored."""
        answer_id = as_text(message.get("id"))
        if self.id is not None and answer_id != self.id:
            self.fail(
                {"type": "spliced", "message": "a second message began before the first was over"}
            )
            return False
        self.id = answer_id
        self.model = as_text(message.get("model"))
        if "input_transformations" in message:
            note_transformations(self.notebook, message["input_transformations"])
        return True

    def _end(self, message: dict[str, Any]) -> None:
        self._use(message.get("usage"))
        if message.get("stop_details"):
            note_refusal(self.notebook, message["stop_details"])
        if message.get("context_management"):
            note_edits(self.notebook, message["context_management"])
        self.stop(message.get("stop_reason"))
        # A stop reason alone does not end a stream; `message_stop` does.
        self.ended = False

    def _use(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counted = self._usage
        counted.update({key: value for key, value in usage.items() if value is not None})
        read = as_count(counted.get("cache_read_input_tokens"))
        written = as_count(counted.get("cache_creation_input_tokens"))
        plain = as_count(counted.get("input_tokens"))
        details = as_dict(counted.get("output_tokens_details"))
        self.use(
            Usage(
                input_tokens=None if plain is None else plain + (read or 0) + (written or 0),
                output_tokens=as_count(counted.get("output_tokens")),
                reasoning_tokens=as_count(details.get("thinking_tokens")),
                cached_input_tokens=read,
                raw=dict(counted),
            )
        )

    # ---- blocks --------------------------------------------------------------------------------

    def _whole_part(self, block: Any) -> Part | None:
        """The part of a block whose text is complete; None for other blocks."""
        kind = block.get("type") if type(block) is dict else None
        if kind == "text" and type(block.get("text")) is str:
            return self._text(block, block["text"], complete=True)
        if kind == "thinking" and type(block.get("thinking")) is str:
            return self._thinking(block, block["thinking"], complete=True)
        return None

    def _start_block(self, event: dict[str, Any]) -> None:
        index = event.get("index")
        slot = self._open_block(event.get("content_block"))
        if slot and isinstance(index, (int, str)):
            self._blocks[index] = slot

    def _open_block(self, value: Any) -> Slot | None:
        if not isinstance(value, dict):
            self.odd(value, "content_block")
            return None
        block = dict(value)
        kind = _KINDS.get(as_text(block.get("type")) or "", "opaque")
        if kind == "tool_call":
            return self.open_call(block.get("id"), block.get("name"), block)
        slot = self.open(kind, block)
        # The text of such a block is in the member of its name.
        if kind != "opaque" and (text := as_text(block.get(kind))):
            self.add(slot, text)
        return slot

    def _extend(self, event: dict[str, Any]) -> None:
        index = event.get("index")
        slot = self._blocks.get(index) if isinstance(index, (int, str)) else None
        if not isinstance(delta := event.get("delta"), dict):
            delta = {}
        kind = delta.get("type")
        if (slot is None or not slot.open) and (slot := self._begin(index, kind)) is None:
            self.odd(delta, "content_block_delta")
            return
        if isinstance(kind, str) and kind in _LENGTHEN and slot.kind in ("text", "thinking"):
            text = delta.get(_LENGTHEN[kind])
            if isinstance(text, str):
                self.add(slot, text)
            elif text is not None:
                self.odd(text, _LENGTHEN[kind])
            else:
                self._update(slot, delta)
        elif kind == "signature_delta":
            slot.block["signature"] = delta.get("signature")
        elif kind == "input_json_delta":
            self._extend_input(slot, delta.get("partial_json"))
        elif kind == "citations_delta":
            citations = slot.block.get("citations")
            slot.block["citations"] = [*as_list(citations), delta.get("citation")]
        else:
            self._update(slot, delta)

    def _update(self, slot: Slot, delta: dict[str, Any]) -> None:
        """Takes an unknown delta as members of an unknown block: the last of each is kept."""
        slot.block.update({key: value for key, value in delta.items() if key != "type"})

    def _begin(self, index: Any, kind: Any) -> Slot | None:
        """Opens the block of a delta whose start is missing; None if the delta does not show the type of its block."""
        block = _BEGUN_BY.get(kind) if isinstance(kind, str) else None
        if block is None:
            return None
        self.notebook.add("start_missing", kind)
        slot = self.open(_KINDS[block], {"type": block})
        if isinstance(index, (int, str)):
            self._blocks[index] = slot
        return slot

    def _extend_input(self, slot: Slot, text: Any) -> None:
        if isinstance(text, str):
            self.add(slot, text)
        elif text is not None:
            self.odd(text, "partial_json")

    def _stop_block(self, event: dict[str, Any]) -> None:
        index = event.get("index")
        slot = self._blocks.get(index) if isinstance(index, (int, str)) else None
        if slot and slot.open:
            self.close(slot)

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        block = slot.block
        match slot.kind:
            case "text":
                block["text"] = slot.text
                part: Part = self._text(block, slot.text, complete=complete)
            case "thinking":
                if slot.pieces or isinstance(block.get("thinking"), str):
                    block["thinking"] = slot.text
                elif "thinking" in block:
                    self.notebook.add("odd_value", "thinking")
                part = self._thinking(block, slot.text, complete=complete)
            case "tool_call":
                self._end_call(slot, complete=complete)
                return
            case _:
                if slot.pieces:
                    block["input"] = parsed(slot.text)
                self.note_unknown(block)
                part = Opaque(block, complete, self.origin())
        self.end(slot, part)

    def _text(self, block: dict[str, Any], text: str, *, complete: bool) -> Text:
        trivial = block.keys() == _TRIVIAL
        return Text(text, complete, self.origin(None if trivial else block))

    def _thinking(self, block: dict[str, Any], text: str, *, complete: bool) -> Thinking:
        if block.get("type") == "redacted_thinking":
            return Thinking(
                "", "hidden", complete, self.origin(block, ("data",) if complete else ())
            )
        signature = block.get("signature") if complete else None
        sealed = isinstance(signature, str) and signature != ""
        form: Form = "full" if text or not sealed else "hidden"
        return Thinking(text, form, complete, self.origin(block, ("signature",) if sealed else ()))

    def _end_call(self, slot: Slot, *, complete: bool) -> None:
        block = slot.block
        text = slot.text
        if text:
            value = parsed(text)
            if value is not text:
                block["input"] = value
                text = arguments_of(value)
        else:
            text = arguments_of(block.get("input"))
        self.end_call(slot, text, complete=complete)


def _unwrapped(data: Any) -> dict[str, Any]:
    try:
        return as_dict(parsed(b64decode(data).decode("utf-8", "replace")))
    except (binascii.Error, TypeError, ValueError):
        return {}


_EVENTS: dict[str, Callable[[AnthropicReader, dict[str, Any]], None]] = {
    "message": AnthropicReader._read_whole,
    "message_start": AnthropicReader._read_start,
    "content_block_start": AnthropicReader._start_block,
    "content_block_delta": AnthropicReader._extend,
    "content_block_stop": AnthropicReader._stop_block,
    "message_delta": AnthropicReader._read_delta,
    "message_stop": AnthropicReader._read_stop,
    "ping": AnthropicReader._read_ping,
    "error": AnthropicReader.fail,
}
