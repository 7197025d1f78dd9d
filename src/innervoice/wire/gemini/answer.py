"""Parts -> the messages of Gemini's generateContent stream, as they arrive.

Rules, after https://ai.google.dev/gemini-api/docs/thought-signatures (read 2026-11-15) and recordings:

  1. Every message has new parts only, and no name; the last also has the finish reason and the counts.
  2. Text is sent in pieces. Its signature comes after it, on a part without text; a call is sent whole.
  3. A candidate without parts has no member for them. The last message after others has an empty text.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.wire.answer import AnswerHead, AnswerWriter, Seal
from innervoice.wire.gemini.read import SOURCES
from innervoice.wire.gemini.serve import counted, finish_word, write_stream_error
from innervoice.wire.gemini.write import write_part
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal
from innervoice.wire.write import is_wrapped

__all__ = ["GeminiWriter"]

_SEAL = "thoughtSignature"
_PLAIN = {"text", "thought"}


class GeminiWriter(AnswerWriter):
    """Writes one response."""

    dialect: ClassVar[str] = "gemini"
    passes_pings: ClassVar[bool] = False  # Google sends none, and not every SDK takes a blank line
    _kind = ""  # of the part that is open
    _is_pieces = False  # and it comes in pieces
    _is_first = True  # nothing of it was sent
    _came_before = ""  # the kind of the text that the next message would go on with

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._parts: list[dict[str, Any]] = []
        self._sources: dict[str, Any] = {}  # the sources of the text, if it came in this dialect

    def start(self) -> None:
        """Writes nothing before the first text."""

    def begin(self, number: int, part: Part) -> None:
        block = self.own_block(part)
        self._is_first = True
        self._is_pieces = isinstance(part, (Text, Thinking)) and not (
            block and block.keys() - _PLAIN
        )
        self._kind = part.type

    def add(self, number: int, text: str) -> None:
        if self._is_pieces:
            thought = {"thought": True} if self._kind == "thinking" else {}
            if self._is_first and self._came_before == self._kind:
                # After a text of its kind a part is not the first of its message, or the two would be joined.
                self._send([{"text": "", **thought}, {"text": text, **thought}])
            else:
                self.send_piece(
                    self._kind,
                    text,
                    lambda text: (self._response([{"text": text, **thought}], last=False), None),
                )
            self._is_first = False

    def end(self, number: int, part: Part) -> None:
        written = self._part(part)
        if written is None:
            self.left_out(part)
            return
        self._parts.append(written)
        is_plain = isinstance(part, (Text, Thinking)) and written.keys() <= _PLAIN
        if self._is_first:
            # Nothing of it was sent: it is sent whole.
            nothing = {name: "" if name == "text" else value for name, value in written.items()}
            is_neighbour = is_plain and self._came_before == part.type
            self._send([nothing, written] if is_neighbour else [written])
        elif _SEAL in written:
            thought = {"thought": True} if isinstance(part, Thinking) else {}
            self._send([{"text": "", **thought, _SEAL: written[_SEAL]}])
        self._came_before = part.type if is_plain else ""

    def leave(self, number: int, part: Part) -> None:
        if isinstance(part, (Text, Thinking)):
            thought = {"thought": True} if isinstance(part, Thinking) else {}
            self._parts.append({"text": part.text, **thought})

    def recall(self, part: Part) -> None:
        if isinstance(part, Thinking) and not self.own_block(part) and (seal := self.seal_of(part)):
            sealed = {"text": "", "thought": True, _SEAL: seal}
            self._parts.append(sealed)
            self._send([sealed])

    def finish(self, response: Response) -> None:
        self.word = finish_word(response) or "STOP"
        origin = response.origin
        if origin and origin.dialect == self.dialect:
            received = as_dict(origin.block)
            self._sources = {name: received[name] for name in SOURCES if name in received}
        # Clients iterate over the parts of every message, including this one.
        self.send(self._response([{"text": ""}] if self._parts else [], last=True))

    def fail(self, refusal: Refusal, response: Response) -> None:
        self.word = finish_word(response)
        self._frames.append(write_stream_error(refusal))

    def body(self) -> dict[str, Any]:
        return self._response(self._parts, last=True)

    def joined(self, bodies: list[dict[str, Any]]) -> dict[str, Any]:
        return {**bodies[0], "candidates": [one for body in bodies for one in body["candidates"]]}

    # ---- parts ---------------------------------------------------------------------------------

    def _part(self, part: Part) -> dict[str, Any] | None:
        """A part of this dialect unchanged; any other in the plain form, if the dialect has one for it."""
        if received := self.own_block(part):
            return received
        match part:
            case Text():
                return {"text": part.text}
            case Thinking():
                seal = self.seal_of(part)
                if not seal and part.form == "hidden":
                    return None
                return {"text": part.text, "thought": True} | ({_SEAL: seal} if seal else {})
            case ToolCall() | Media():
                if isinstance(part, ToolCall) and is_wrapped(part):
                    self.note_wrapped(part)
                written = write_part(part.replace(origin=None), {}, set())
                return written if isinstance(written, dict) else None
            case _:
                return None

    def _send(self, parts: list[dict[str, Any]]) -> None:
        self.send(self._response(parts, last=False))

    def _response(self, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        candidate: dict[str, Any] = {"content": content, "index": self.head.choice}
        response: dict[str, Any] = {"candidates": [candidate]}
        if last and self.word:
            candidate.update(finishReason=self.word, **self._sources)
        if last and not self.head.choice and (usage := counted(self.usage)):
            response["usageMetadata"] = usage
        if self.head.model:
            response["modelVersion"] = self.head.model
        return {**response, "responseId": self.head.id}
