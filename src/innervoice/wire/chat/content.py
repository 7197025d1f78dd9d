"""Content that is a list: chunks of thinking, text and other things, in order.

Mistral sends thinking as chunks between strings; Databricks as `reasoning` with a summary; others write
lists of text and images. In a stream the first chunk of a delta continues the last of the one before
if both are of one kind; `closed` on a thinking chunk means nothing (it is on most of them in mid-thought).
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Part, Text, Thinking
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.protocol import Reader, Slot

__all__ = ["ContentChunks"]


class ContentChunks:
    """Reads the content of one message, strings and lists of chunks in any order.

    The reader is an argument of each call and not stored: a reference cycle would have to wait for the garbage collector.
    """

    _current: Slot | None = None

    def __init__(self) -> None:
        self._inner: dict[
            int, list[Any]
        ] = {}  # the pieces that continue a thinking chunk, joined at its end

    def read(self, reader: Reader, content: Any) -> None:
        """Reads the content of a message or a delta."""
        if isinstance(content, str):
            slot = self._current
            if content and slot and slot.kind == "text":
                reader.add(slot, content)
            elif content:
                self._read_text(reader, {"type": "text", "text": content}, content, goes_on=True)
        elif isinstance(content, list):
            for number, chunk in enumerate(content):
                self._read_chunk(reader, chunk, goes_on=number == 0)
        elif content is not None:
            reader.odd(content, "content")

    def _read_chunk(self, reader: Reader, chunk: Any, *, goes_on: bool) -> None:
        match chunk:
            case str(text):
                self._read_text(reader, {"type": "text", "text": text}, text, goes_on=goes_on)
            case {"type": "text" | "output_text", "text": str(text)}:
                self._read_text(reader, chunk, text, goes_on=goes_on)
            case {"type": "thinking", "thinking": str() | list()}:
                self._read_thinking(reader, chunk, goes_on=goes_on)
            case {"type": "reasoning", "summary": list(summary)}:
                self._read_summary(reader, chunk, summary)
            case _:
                self._switch(reader, None)
                if isinstance(chunk, dict) and chunk.get("type") != "thinking":
                    reader.opaque(chunk)
                else:
                    reader.odd(chunk, "content")

    def end_thinking(self, reader: Reader) -> None:
        """Ends a thinking chunk that is open: a call begins."""
        if self._current and self._current.kind == "thinking":
            self._switch(reader, None)

    def _switch(self, reader: Reader, slot: Slot | None) -> None:
        if self._current and self._current is not slot and self._current.open:
            reader.close(self._current)
        self._current = slot

    def _begin(self, reader: Reader, kind: str, block: dict[str, Any]) -> Slot:
        self._switch(reader, None)
        slot = self._current = reader.open(kind, block)
        slot.source = "content"
        return slot

    def _read_text(
        self, reader: Reader, chunk: dict[str, Any], text: str, *, goes_on: bool
    ) -> None:
        slot = self._current
        if not (goes_on and slot and slot.kind == "text"):
            slot = self._begin(reader, "text", dict(chunk))
        reader.add(slot, text)

    def _read_thinking(self, reader: Reader, chunk: dict[str, Any], *, goes_on: bool) -> None:
        slot = self._current
        inner = chunk["thinking"]
        if not (goes_on and slot and slot.kind == "thinking"):
            slot = self._begin(reader, "thinking", dict(chunk))
        else:
            others = {
                key: value
                for key, value in chunk.items()
                if key != "thinking" and value is not None
            }
            slot.block.update(others)
            self._inner.setdefault(slot.index, []).append(inner)
        reader.add(slot, _text_of(inner))

    def _read_summary(self, reader: Reader, chunk: dict[str, Any], summary: list[Any]) -> None:
        slot = self._begin(reader, "thinking", dict(chunk))
        slot.form = "summary"
        slot.seals = tuple(
            f"summary.{number}.signature"
            for number, entry in enumerate(summary)
            if as_dict(entry).get("signature")
        )
        reader.add(slot, "".join(_text_of([entry]) for entry in summary))
        self._switch(reader, None)

    def part(self, reader: Reader, slot: Slot, *, complete: bool) -> Part:
        """The part of a chunk."""
        block = slot.block
        if slot.kind == "text":
            block["text"] = text = slot.text
            trivial = len(block) == 2 and block.get("type") == "text"
            return Text(text, complete, reader.origin(None if trivial else block))
        if more := self._inner.pop(slot.index, None):
            block["thinking"] = _joined([block["thinking"], *more])
        sealed = ("signature",) if block.get("signature") else ()
        seals = (*slot.seals, *sealed) if complete else ()
        form = slot.form if slot.text or not seals else "hidden"
        return Thinking(slot.text, form, complete, reader.origin(block, seals))


def _text_of(inner: Any) -> str:
    if isinstance(inner, str):
        return inner
    texts = (as_dict(chunk).get("text") for chunk in as_list(inner))
    return "".join(text for text in texts if isinstance(text, str))


def _joined(pieces: list[Any]) -> Any:
    """The inner chunks of a thinking chunk that came in pieces; adjacent texts are one."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    chunks: list[Any] = []
    texts: list[str] = []

    def close() -> None:
        if texts:
            chunks.append({"type": "text", "text": "".join(texts)})
            texts.clear()

    for chunk in (chunk for piece in pieces for chunk in as_list(piece)):
        if (
            isinstance(chunk, dict)
            and chunk.keys() == {"type", "text"}
            and isinstance(chunk["text"], str)
        ):
            texts.append(chunk["text"])
        else:
            close()
            chunks.append(chunk)
    close()
    return chunks
