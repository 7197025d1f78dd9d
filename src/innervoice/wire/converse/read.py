"""Bedrock Converse -> canonical events.

Input: a whole response, or the events of a stream by their name (as on the wire) or under it as
a key (as from boto3). Output: parts in the order of the blocks.

Rules, after botocore's service model 2023-09-30 (1.44.0) and recordings:

  1. Reasoning and text have no start event: a block opens with its first delta, by the kind of it.
  2. In a stream `text`, `signature` and `redactedContent` are directly under `reasoningContent`.
  3. `metadata` with the usage comes after `messageStop`. It has no count of reasoning tokens.
  4. Blobs are base64 on the wire, and bytes from boto3; they are kept as on the wire.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, ClassVar

from innervoice.canon.parts import Form, Opaque, Part, Text, Thinking
from innervoice.canon.usage import Usage
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text, parsed
from innervoice.wire.protocol import Context, Reader, Slot

__all__ = ["MORE_FIELDS", "ConverseReader"]

_EVENTS = (
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
)
MORE_FIELDS = "additionalModelResponseFields"
"""Additional fields of the model's own response, which the request asked for."""
_SIGNATURE = "reasoningContent.reasoningText.signature"
_REDACTED = "reasoningContent.redactedContent"


class ConverseReader(Reader):
    """Reads one answer."""

    dialect: ClassVar[str] = "bedrock-converse"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._blocks: dict[Any, Slot] = {}

    def read(self, value: Any, name: str | None) -> None:
        message = _encoded(as_dict(value))
        if isinstance(message.get("output"), dict):
            self._read_whole(message)
            return
        if name not in _EVENTS:
            key = next(
                (key for key in message if key in _EVENTS or key.endswith("Exception")), None
            )
            name, message = (key, as_dict(message[key])) if key else (name, message)
        match name:
            case "messageStart" | "initial-response":
                pass
            case "contentBlockStart":
                self._start(message.get("contentBlockIndex"), as_dict(message.get("start")))
            case "contentBlockDelta":
                self._extend(message.get("contentBlockIndex"), message.get("delta"))
            case "contentBlockStop":
                if slot := self._slot(message.get("contentBlockIndex")):
                    self.close(slot)
            case "messageStop":
                self._stop(message)
            case "metadata":
                self._use(message.get("usage"))
            case _:
                if message:
                    self.fail({"type": name, **message})

    def _read_whole(self, message: dict[str, Any]) -> None:
        content = as_dict(as_dict(message["output"]).get("message")).get("content")
        for block in as_list(content):
            self._read_block(block)
        if content is not None and not isinstance(content, list):
            self.odd(content, "content")
        self._use(message.get("usage"))
        self._stop(message)

    def _stop(self, message: dict[str, Any]) -> None:
        self.stop(message.get("stopReason"))
        self.ended = True
        if more := message.get(MORE_FIELDS):
            self.message_block[MORE_FIELDS] = more

    def _read_block(self, block: Any) -> None:
        if not isinstance(block, dict):
            self.odd(block, "content")
        elif isinstance(block.get("text"), str):
            trivial = block.keys() == {"text"}
            self.whole(Text(block["text"], origin=self.origin(None if trivial else block)))
        elif isinstance(block.get("toolUse"), dict):
            use = block["toolUse"]
            self.whole_call(
                use.get("toolUseId"), use.get("name"), arguments_of(use.get("input")), block
            )
        elif isinstance(block.get("reasoningContent"), dict):
            self.whole(self._thinking(block, complete=True))
        else:
            self.opaque(block)

    def _thinking(self, block: dict[str, Any], *, complete: bool) -> Thinking | Opaque:
        reasoning = block["reasoningContent"]
        if "redactedContent" in reasoning:
            return Thinking(
                "", "hidden", complete, self.origin(block, (_REDACTED,) if complete else ())
            )
        inner = as_dict(reasoning.get("reasoningText"))
        text = inner.get("text")
        if not isinstance(text, str) and text is not None:
            self.notebook.add("odd_value", "reasoningText")
            return Opaque(block, complete, self.origin())
        sealed = complete and isinstance(inner.get("signature"), str) and bool(inner["signature"])
        form: Form = "full" if text or not sealed else "hidden"
        return Thinking(
            text or "", form, complete, self.origin(block, (_SIGNATURE,) if sealed else ())
        )

    # ---- streams -------------------------------------------------------------------------------

    def _slot(self, index: Any) -> Slot | None:
        slot = self._blocks.get(index) if isinstance(index, (int, str)) else None
        return slot if slot and slot.open else None

    def _begin(self, index: Any, kind: str, block: dict[str, Any]) -> Slot:
        use = as_dict(block.get("toolUse"))
        slot = (
            self.open_call(use.get("toolUseId"), use.get("name"), block)
            if use
            else self.open(kind, block)
        )
        if isinstance(index, (int, str)):
            self._blocks[index] = slot
        return slot

    def _start(self, index: Any, start: dict[str, Any]) -> None:
        use = start.get("toolUse")
        if isinstance(use, dict):
            self._begin(index, "tool_call", {"toolUse": dict(use)})
        elif start:
            self._begin(index, "opaque", dict(start))

    def _extend(self, index: Any, delta: Any) -> None:
        slot = self._slot(index)
        match delta:
            case {"text": str(text)}:
                self.add(slot or self._begin(index, "text", {}), text)
            case {"reasoningContent": dict(reasoning)}:
                self._extend_reasoning(
                    slot or self._begin(index, "thinking", {"reasoningContent": {}}), reasoning
                )
            case {"toolUse": {"input": str(text)}} if slot:
                self.add(slot, text)
            case {}:
                self.odd(delta, "delta")
            case _:
                block = slot or self._begin(index, "opaque", {})
                block.block.update(as_dict(delta))

    def _extend_reasoning(self, slot: Slot, reasoning: dict[str, Any]) -> None:
        block = slot.block.setdefault("reasoningContent", {})
        for key, value in reasoning.items():
            if key == "text" and isinstance(value, str):
                self.add(slot, value)
            elif key == "redactedContent" and isinstance(value, str):
                before = as_text(block.get(key))
                block[key] = _joined(before, value) if before else value
            elif key == "signature":
                slot.block["signature"] = value
            elif value is not None:
                self.odd(value, f"reasoningContent.{key}")

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        block = slot.block
        match slot.kind:
            case "text":
                part: Part = Text(slot.text, complete, self.origin())
            case "thinking":
                signature = block.pop("signature", None)
                reasoning = block["reasoningContent"]
                if "redactedContent" not in reasoning:
                    inner = {"text": slot.text}
                    reasoning["reasoningText"] = (
                        inner if signature is None else {**inner, "signature": signature}
                    )
                part = self._thinking(block, complete=complete)
            case "tool_call":
                use = block["toolUse"]
                value = parsed(slot.text) if slot.text else {}
                text = slot.text if isinstance(value, str) else arguments_of(value)
                use["input"] = value
                self.end_call(slot, text, complete=complete)
                return
            case _:
                self.note_unknown(block)
                part = Opaque(block, complete, self.origin())
        self.end(slot, part)

    def _use(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        plain, written = as_count(usage.get("inputTokens")), as_count(usage.get("outputTokens"))
        read = as_count(usage.get("cacheReadInputTokens"))
        cached = (read or 0) + (as_count(usage.get("cacheWriteInputTokens")) or 0)
        self.use(
            Usage(
                input_tokens=None if plain is None else plain + cached,
                output_tokens=written,
                cached_input_tokens=read,
                raw=usage,
            )
        )


def _joined(one: str, other: str) -> str:
    """Two pieces of a blob, each base64, as one."""
    try:
        return b64encode(b64decode(one) + b64decode(other)).decode()
    except ValueError:
        return one + other


def _encoded(value: Any) -> Any:
    """The value with bytes as base64, as they are on the wire."""
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _encoded(item) for key, item in value.items()} if _has_bytes(value) else value
    return [_encoded(item) for item in value] if isinstance(value, list) else value


def _has_bytes(value: Any) -> bool:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, (bytes, bytearray)):
            return True
        pending.extend(
            item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        )
    return False
