"""Parts -> the chunks of Chat Completions, as they arrive.

Rules, after https://platform.openai.com/docs/api-reference/chat-streaming (read 2026-11-15), the hosts' own pages and recordings:

  1. The role comes once, in the first chunk. Reasoning goes into the field it came in, or into `reasoning_content`, which most hosts and clients know.
  2. Calls are numbered in their order; id and name come first, and the arguments in pieces.
  3. The seal of another dialect goes into `reasoning_details`, as an entry without text.
  4. The finish reason has a separate chunk, followed by the counts, and `[DONE]`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.response import FinishReason, Response
from innervoice.wire.answer import AnswerHead, FieldWriter, Seal
from innervoice.wire.chat.read import write_usage
from innervoice.wire.chat.reasoning import DETAILS, FIELDS, TEXTS
from innervoice.wire.chat.serve import DONE, WORDS, word_of, write_answer, write_stream_error
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal

__all__ = [
    "ChatWriter",
    "Chunk",
    "Field",
    "Shape",
    "WholeChunk",
    "WholeDetails",
    "nothing_of",
    "shape_of",
]

# ---- The places of reasoning and text in the deltas of chat, by the block that a part came in.
#
# Most have a field each. OpenRouter's `reasoning_details` are sent as fragments under their index, a signature in a last one without text, and
# their text once more in `reasoning`. Mistral and some chat hosts send chunks in a list; one that has more than its text is sent whole.


_SEALS = ("signature", "data")


class Shape(ABC):
    """How the pieces of one part are written."""

    runs_together: ClassVar[bool] = False
    """Whether parts of this shape are one text on the wire."""

    @abstractmethod
    def add(self, text: str) -> dict[str, Any] | None:
        """The delta of a piece; None if it is written later."""

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        """The delta that ends the part; None if nothing is left to write."""
        return None


class Field(Shape):
    """A member of the delta, or several with the same text."""

    runs_together: ClassVar[bool] = True

    def __init__(self, *names: str) -> None:
        self.names = names

    def add(self, text: str) -> dict[str, Any]:
        return dict.fromkeys(self.names, text)

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        """The entry of the details for the final part, if it has a seal."""
        entry = as_dict(block) if isinstance(part, Thinking) else {}
        is_sealed = any(entry.get(name) for name in _SEALS)
        return {"content": "", "reasoning": None, DETAILS: [entry]} if is_sealed else None


class _Details(Shape):
    """An entry of the details that has an index."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self._shared = {
            name: value for name, value in entry.items() if name not in ("text", "summary", *_SEALS)
        }
        self._member = "summary" if entry.get("type") == "reasoning.summary" else "text"

    def add(self, text: str) -> dict[str, Any] | None:
        fragment = {**self._shared, self._member: text}
        return {"content": "", "reasoning": text, DETAILS: [fragment]}

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        entry = as_dict(block)
        sealed = {name: entry[name] for name in _SEALS if name in entry}
        fragments = [{**self._shared, **sealed}] if sealed else []
        unsealed = {name: value for name, value in entry.items() if name not in sealed}
        if not getattr(part, "text", "") and (not sealed or unsealed != self._shared):
            fragments.insert(0, unsealed)
        return {"content": "", "reasoning": None, DETAILS: fragments} if fragments else None


class WholeDetails(Shape):
    """An entry without an index: its fragments could not be assigned to it, so neighbours are sent in one delta."""

    def add(self, text: str) -> dict[str, Any] | None:
        return None

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        text = getattr(part, "text", "") or None
        return {"content": "", "reasoning": text, DETAILS: [block]}


class WholeChunk(Shape):
    """A chunk of the content that has more than its text."""

    def add(self, text: str) -> dict[str, Any] | None:
        return None

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        return {"content": [block]}


class Chunk(Shape):
    """Reasoning as chunks of the content, in pieces."""

    def add(self, text: str) -> dict[str, Any]:
        inner = [{"type": "text", "text": text}]
        return {"content": [{"type": "thinking", "thinking": inner, "closed": True}]}

    def end(self, part: Part, block: dict[str, Any] | None) -> dict[str, Any] | None:
        signature = as_dict(block).get("signature")
        sealed: dict[str, Any] = {"type": "thinking", "thinking": [], "signature": signature}
        return {"content": [sealed]} if signature else None


def shape_of(part: Part, block: dict[str, Any] | None, usual: Shape) -> Shape:
    """The place of a part by its own block; `usual` for one without."""
    value = part.value if isinstance(part, Opaque) else block
    kind = value.get("type") if isinstance(value, dict) else None
    match part:
        case Text() if kind == "refusal":
            return Field("refusal")
        case Text():
            return WholeChunk() if kind in ("text", "output_text") else Field("content")
        case Thinking() if kind in ("thinking", "reasoning"):
            return WholeChunk()
        case Thinking() | Opaque() if block and _is_detail(block):
            return _Details(block) if isinstance(block.get("index"), (int, str)) else WholeDetails()
        case Thinking() if names := [name for name in block or () if name in TEXTS]:
            return Field(*names)
        case Thinking():
            return usual
        case _:
            return WholeChunk()


def _is_detail(block: dict[str, Any]) -> bool:
    return str(block.get("type", "")).startswith("reasoning.") or bool(
        {"data", "text", "summary", "signature"} & block.keys()
    )


def nothing_of(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk that continues one and adds nothing; an empty one where none can."""
    match chunk:
        case {"type": "text" | "output_text"}:
            return {"type": "text", "text": ""}
        case {"type": "thinking", "thinking": inner}:
            return {"type": "thinking", "thinking": "" if isinstance(inner, str) else []}
        case _:
            return {}


# ---- the writer

_KNOWN = {"role", "content", "refusal", "tool_calls", *FIELDS}


class _OpenCall(NamedTuple):
    """A call that has begun: its number, the names of its members, and which of them were sent."""

    place: int
    kind: str
    member: str
    comes_whole: bool
    members: frozenset[str]

    def delta(self, text: str) -> dict[str, Any]:
        """The delta with more of its arguments."""
        return {"tool_calls": [{"index": self.place, self.kind: {self.member: text}}]}


class ChatWriter(FieldWriter):
    """Writes one completion."""

    dialect: ClassVar[str] = "openai-chat"
    interleaves: ClassVar[bool] = True
    has_late_slot: ClassVar[bool] = True
    words: ClassVar[dict[str, str]] = WORDS
    usual_shape: ClassVar[Shape] = Field("reasoning_content")
    """The field for reasoning that came in another dialect."""
    has_refusals: ClassVar[bool] = True
    """Whether a message has a member for a text that is a refusal."""
    sends_lists: ClassVar[bool] = False
    """Whether the content may be a list of chunks whatever the parts are, so that texts stay separate."""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._response = Response()
        self._shapes: dict[int, Shape] = {}
        self._parts: dict[int, list[Part]] = {}  # as the whole message has them, by number
        self._calls: dict[int, _OpenCall] = {}
        self._sealed = 0
        self._details: list[dict[str, Any]] = []  # deltas of entries that wait for their neighbours
        self._before: dict[str, Any] = {}  # a chunk that would go on with the last one of a list
        self._is_first_piece = True

    def start(self) -> None:
        self.send_delta({"role": "assistant", "content": ""})

    # ---- text and reasoning --------------------------------------------------------------------

    def begin(self, number: int, part: Part) -> None:
        if not isinstance(part, (Thinking, Opaque)):
            self._send_details()
        super().begin(number, part)
        self._is_first_piece = True
        if not isinstance(part, ToolCall):
            self._shapes[number] = shape_of(part, self.own_block(part), self.usual_shape)

    def say(self, number: int, kind: str, text: str) -> None:
        shape = self._shapes[number]
        if self.is_refused and kind == "text" and self.has_refusals:
            self.send_delta({"refusal": text})
        elif isinstance(shape, Field) and not self._before and not self.sends_lists:
            self.send_piece(shape.names, text, lambda text: (self._chunk(shape.add(text)), None))
        elif not (self._is_first_piece or self.interleaves) and isinstance(shape, (Field, Chunk)):
            # Nothing came between, so it continues the chunk before it.
            self.send_piece((number, kind), text, lambda text: (self._chunk(shape.add(text)), None))
        elif delta := shape.add(text):
            self._send_shaped(delta)

    def runs_on(self, number: int, kind: str) -> bool:
        runs_together = self._shapes[number].runs_together and not self.sends_lists
        return runs_together and bool(self.said[kind])

    def end(self, number: int, part: Part) -> None:
        if isinstance(part, ToolCall):
            self.end_call(number, part)
            return
        block = self.own_block(part)
        if block is not None:
            self._parts[number] = [part]
            delta = self._shapes[number].end(part, block)
            if isinstance(self._shapes[number], WholeDetails):
                self._details.append(delta or {})
            elif delta:
                self._send_shaped(delta)
        elif isinstance(part, Text):
            self._parts[number] = [Text(self.said_of(number, part))]
        elif isinstance(part, Thinking):
            self._parts[number] = [part.replace(origin=None)]
            self.carry(number, part)

    def leave(self, number: int, part: Part) -> None:
        if isinstance(part, Text):
            self._parts[number] = [Text(self.said_of(number, part))]
        elif isinstance(part, Thinking):
            self._parts[number] = [part.replace(origin=None)]

    def recall(self, part: Part) -> None:
        if isinstance(part, Thinking) and self.own_block(part) is None:
            self.carry(-1 - self._sealed, part)

    def carry(self, number: int, part: Thinking) -> None:
        """Adds an entry with the value that the client has to carry for reasoning of another dialect."""
        if seal := self.seal_of(part):
            entry = {"type": "reasoning.encrypted", "data": seal, "index": self._sealed}
            self._sealed += 1
            origin = Origin(dialect=self.dialect, block=entry)
            self._parts.setdefault(number, []).append(Thinking("", "hidden", origin=origin))
            self.send_delta({DETAILS: [entry]})
        elif not part.text:
            self.left_out(part)

    def _send_details(self) -> None:
        """Adds the entries of the details that came without an index, in one delta."""
        waiting, self._details = self._details, []
        if waiting:
            texts = [delta["reasoning"] for delta in waiting if delta["reasoning"]]
            entries = [entry for delta in waiting for entry in delta[DETAILS]]
            text = "".join(texts) or None
            self.send_delta({"content": "", "reasoning": text, DETAILS: entries})

    def _send_shaped(self, delta: dict[str, Any]) -> None:
        """Adds a delta; a chunk of a list would continue a neighbour of its kind, so it does not come first."""
        content = delta.get("content")
        if isinstance(content, list):
            (chunk,) = content
            nothing = nothing_of(as_dict(chunk))
            is_neighbour = self._before.get("type") == nothing.get("type", "")
            if self._is_first_piece and is_neighbour:
                delta = {"content": [self._before, chunk]}
            self._before = nothing
        elif content and (self._before or self.sends_lists):
            text = {"type": "text", "text": content}
            if self._is_first_piece and self._before.get("type") == "text":
                delta = {"content": [self._before, text]}
            self._before = nothing_of(text)
        self._is_first_piece = False
        self.send_delta(delta)

    # ---- calls ---------------------------------------------------------------------------------

    def begin_call(self, number: int, call: ToolCall) -> None:
        block = self.own_block(call) or {}
        kind, member = ("custom", "input") if "custom" in block else ("function", "arguments")
        inner = {"name": call.name, **as_dict(block.get(kind))}
        # Arguments that are not text are sent with the name.
        comes_whole = not isinstance(inner.get(member, ""), str)
        head = {"type": kind} if self._lacks_id(call) else {"type": kind, "id": call.id}
        index = len(self._calls)
        begun = {**block, **head, kind: inner if comes_whole else {**inner, member: ""}}
        self._calls[number] = _OpenCall(index, kind, member, comes_whole, frozenset(begun))
        self.send_delta({"tool_calls": [{"index": index, **begun}]})

    def free_form_block(self, call: ToolCall, text: str) -> dict[str, Any] | None:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}

    def add_arguments(self, number: int, text: str) -> None:
        call = self._calls[number]
        if not call.comes_whole:
            self.send_piece(call.place, text, lambda text: (self._chunk(call.delta(text)), None))

    def end_call(self, number: int, call: ToolCall) -> None:
        block, begun = self.own_block(call), self._calls[number]
        self._parts[number] = [call if block and self._lacks_id(call) else _with_name(call, block)]
        late = {name: value for name, value in (block or {}).items() if name not in begun.members}
        if late:
            self.send_delta({"tool_calls": [{"index": begun.place, **late}]})

    def _lacks_id(self, call: ToolCall) -> bool:
        """Whether a call is written without an id, as received."""
        return self.head.is_exact and call.origin is not None and "id" in call.origin.invented

    # ---- the completion ------------------------------------------------------------------------

    def finish(self, response: Response) -> None:
        self._send_details()
        self._response = response
        if rest := self._members(response):
            self.send_delta(rest)
        self.word = word_of(response, self.dialect, self.words)
        if response.finish_reason == "refusal" and self.ended_as(response) == "stop":
            self.word = "content_filter"  # its text came as content, or there is none
        self.send({**self._head(), **self._choice({}, self.word)})
        if self.head.choice:
            return
        if usage := write_usage(self.usage):
            self.send({**self._head(), "choices": [], "usage": usage})
        self._frames.append(DONE)

    def ended_as(self, response: Response) -> FinishReason | None:
        fields = [shape.names for shape in self._shapes.values() if isinstance(shape, Field)]
        is_marked = ("refusal",) in fields or (self.is_refused and bool(self.text))
        return "refusal" if self.has_refusals and is_marked else super().ended_as(response)

    def fail(self, refusal: Refusal, response: Response) -> None:
        self._response, self.word = response, "error"
        # Nothing but the error: the AI SDK does not look for one in a chunk with choices.
        self._frames += [write_stream_error(refusal), DONE]

    def body(self) -> dict[str, Any]:
        return {**write_answer(self.whole_response()), "created": self.head.created}

    def joined(self, bodies: list[dict[str, Any]]) -> dict[str, Any]:
        choices = [choice for body in bodies for choice in body["choices"]]
        numbered = [{**choice, "index": index} for index, choice in enumerate(choices)]
        return {**bodies[0], "choices": numbered}

    def whole_response(self) -> Response:
        """The answer as it was written."""
        parts = tuple(part for _, group in sorted(self._parts.items()) for part in group)
        head = self.head
        return self._response.replace(
            parts=parts, id=head.id, model=head.model, usage=self.usage, alternatives=()
        )

    def _members(self, response: Response) -> dict[str, Any]:
        """The members of the message besides its parts, if it came in this dialect."""
        origin = response.origin
        received = as_dict(origin.block) if origin and origin.dialect == self.dialect else {}
        return {
            name: value for name, value in received.items() if name not in _KNOWN or value == []
        }

    def send_delta(self, delta: dict[str, Any]) -> None:
        """Adds a chunk with a delta."""
        self.send(self._chunk(delta))

    def _chunk(self, delta: dict[str, Any]) -> dict[str, Any]:
        return {**self._head(), **self._choice(delta)}

    def _head(self) -> dict[str, Any]:
        return {
            "id": self.head.id,
            "object": "chat.completion.chunk",
            "created": self.head.created,
            "model": self.head.model,
        }

    def _choice(self, delta: dict[str, Any], word: str | None = None) -> dict[str, Any]:
        index = self.head.choice
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": word}
        return {"choices": [choice]}


def _with_name(call: ToolCall, block: dict[str, Any] | None) -> ToolCall:
    """A call with its id, in its own block if it has one."""
    if block is None or call.origin is None:
        return call.replace(origin=None)
    return call.replace(origin=call.origin.replace(invented=()))
