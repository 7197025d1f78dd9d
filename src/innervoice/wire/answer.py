"""The base class of all writers of answers: parts go in as they arrive, frames of a stream come out, and at the end the whole body.

Parts arrive one at a time, each as `begin`, any number of `add` and `end`, unless the dialect `interleaves`. A part is written as its wire
block if it came in this dialect; any other is written in the dialect's plain form. Parts that cannot be represented are noted.

    part of another dialect   how it is written
    text, reasoning           the dialect's own form of it, never the other's
    a call                    a call
    hidden reasoning          the opaque member of reasoning, if `seal` returns a value for it; otherwise it is left out
    the seal of a block       the same member, next to the readable text
    an opaque block           left out
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from innervoice.canon.jsontext import dump_json
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, is_inline
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value
from innervoice.canon.words import finish_reason_of
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal
from innervoice.wire.write import input_of

__all__ = ["AnswerHead", "AnswerWriter", "Carrier", "FieldWriter", "ObjectArguments", "Seal"]

_HOLE = "\ue000\ue001 the text \ue001\ue000"
_HOLE_DATA = dump_json(_HOLE)
Seal: TypeAlias = Callable[[Part], str | None]
"""The value for the opaque member of a part that came in another dialect; None: nothing."""


class Carrier(Thinking, frozen=True):
    """Hidden reasoning that carries a call or a text of another dialect with its seal, which has no place of its own."""

    carried: ToolCall | Text | None = None


class AnswerHead(Value, frozen=True):
    """The facts that are written before the first part."""

    id: str
    model: str = ""
    created: int = 0
    """Seconds since 1970."""
    created_at: str = ""
    """The same as a date, for dialects that write one."""
    choice: int = 0
    """Which of several answers it is, for dialects that have several."""
    echo: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    """Members that repeat the request, for dialects whose answers do that."""
    is_exact: bool = False
    """Whether members that the host did not send are left out; otherwise every call has an id, which clients need."""


class AnswerWriter(ABC):
    """Writes one answer in one dialect."""

    dialect: ClassVar[str]
    interleaves: ClassVar[bool] = False
    """Whether several parts may be open at once."""
    carries_parts: ClassVar[bool] = False
    """Whether a part is written whole in addition to its text: then `end` gets it as received, with the white space that was left out of its text."""

    ends_in_text: ClassVar[bool] = False
    """Whether clients take the last block for the answer, so that nothing may stand behind the text of a final one."""

    has_late_slot: ClassVar[bool] = False
    """Whether the seal of a last text has a place that is no block behind it."""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        self.head = head
        self.notebook = notebook
        self.usage = Usage()
        """The tokens counted so far."""
        self.is_refused = False
        """Whether the answer is known to be a refusal before its text arrives."""
        self.word: str | None = None
        """How the answer ended, in a word of the dialect."""
        self.has_gap = False
        """Whether something was left out since the last text, so that the next one must be separated from it."""
        self.ended_at: int | None = None
        """When the answer ended, in seconds since 1970; None where that is not known."""
        self.is_whole = False
        """Whether only the body is wanted at the end, and no frames."""
        self._seal = seal
        self._frames: list[Frame] = []
        self._templates: dict[Any, tuple[bytes, bytes, str | None]] = {}

    def taken(self) -> list[Frame]:
        """The frames since the last call."""
        frames, self._frames = self._frames, []
        return frames

    # ---- what each dialect writes --------------------------------------------------------------

    def queue(self) -> None:  # noqa: B027 - most dialects have nothing to say before an answer begins
        """Announces an answer that begins later."""

    @abstractmethod
    def start(self) -> None:
        """Begins the answer."""

    @abstractmethod
    def begin(self, number: int, part: Part) -> None:
        """Begins a part; for a call, id and name are known. A part that arrives whole is already complete."""

    @abstractmethod
    def add(self, number: int, text: str) -> None:
        """Adds to a part."""

    @abstractmethod
    def end(self, number: int, part: Part) -> None:
        """Ends a part; this is all of it."""

    def leave(self, number: int, part: Part) -> None:  # noqa: B027 - most of it is in the body already
        """Leaves a part open in which the answer broke off; this is what came of it. Nothing of a call is in the whole body: it must not be run."""

    @abstractmethod
    def finish(self, response: Response) -> None:
        """Ends the answer. Of several answers, all but the first have no end except that of their choice."""

    @abstractmethod
    def fail(self, refusal: Refusal, response: Response) -> None:
        """Ends the answer with an error."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """The whole answer, after its end."""

    def ended_as(self, response: Response) -> FinishReason | None:
        """What the end that was written means to a reader of this dialect."""
        reason = finish_reason_of(self.word) or "stop"
        return "tool_calls" if reason == "stop" and response.tool_calls else reason

    def joined(self, bodies: list[dict[str, Any]]) -> dict[str, Any]:
        """One body of several answers to the same request; only some dialects have more than the first."""
        return bodies[0]

    def free_form_block(self, call: ToolCall, text: str) -> dict[str, Any] | None:
        """The block of a call of a free-form tool with this input; None: the dialect has no such tools."""
        return None

    passes_pings: ClassVar[bool] = True
    """Whether a keep-alive of the upstream becomes one of this dialect."""

    def ping(self) -> Frame:
        """A keep-alive."""
        return Frame(None)

    def recall(self, part: Part) -> None:  # noqa: B027 - most dialects have nothing to add
        """Completes a part whose block had to end before it did: its seal may arrive only now; or gives a `Carrier` a place."""

    # ---- what they share -----------------------------------------------------------------------

    def send(self, value: Any, name: str | None = None) -> None:
        """Adds a frame."""
        if not self.is_whole:
            self._frames.append(Frame(dump_json(value), name))

    def send_piece(
        self, key: Any, text: str, make: Callable[[str], tuple[dict[str, Any], str | None]]
    ) -> None:
        """Adds a frame that differs from the others of its key only in one text.

        The rest of it is encoded once: a stream has thousands of such frames.
        """
        if self.is_whole:
            return
        template = self._templates.get(key)
        if template is None:
            value, name = make(_HOLE)
            around = dump_json(value).split(_HOLE_DATA)
            if len(around) != 2:  # a name has the mark in it
                self.send(*make(text))
                return
            template = self._templates[key] = (around[0], around[1], name)
        before, after, name = template
        self._frames.append(Frame(before + dump_json(text) + after, name))

    def own_block(self, part: Part) -> dict[str, Any] | None:
        """The wire block of a part that came in this dialect."""
        origin = part.origin
        if is_inline(part):
            return None  # the block is that of the text which it was cut out of
        if isinstance(part, Opaque):
            block = part.value if origin is None or origin.dialect in (None, self.dialect) else None
        else:
            block = origin.block if origin and origin.dialect == self.dialect else None
        return block if isinstance(block, dict) else None

    @property
    def is_sealing(self) -> bool:
        """Whether clients carry something for the server that writes."""
        return self._seal is not None

    def seal_of(self, part: Part) -> str | None:
        """The value for the opaque member of a part."""
        return self._seal(part) if self._seal else None

    def note_wrapped(self, part: Part) -> None:
        """Notes a call whose arguments were wrapped in an object."""
        if isinstance(part, ToolCall):
            self.notebook.add("input_wrapped", part.name)

    def left_out(self, part: Part) -> None:
        """Notes a part that this dialect cannot represent."""
        code = "thinking_without_place" if isinstance(part, Thinking) else "part_without_place"
        self.notebook.add(code, part.type)
        self.has_gap = True


# ---- The arguments of a call for dialects whose calls have a JSON object.
#
# Pieces are written once they are known to begin an object. Anything else, such as the text of a free-form call, is held back to its end and
# written as the only member of one.


class ObjectArguments:
    """The arguments of one call, piece by piece."""

    def __init__(self, call: ToolCall) -> None:
        block = as_dict(call.origin.block if call.origin else None)
        self._is_free = "custom" in block or block.get("type") == "custom_tool_call"
        self._is_object = False
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that is written for a piece now."""
        if self._is_object:
            return text
        self._held += text
        if self._is_free or not self._held.lstrip().startswith("{"):
            return ""
        self._is_object, text, self._held = True, self._held, ""
        return text

    def rest(self) -> str:
        """The text that is written at the end of the call."""
        if not self._held.strip():
            return ""
        return dump_json(input_of(ToolCall("", "", self._held))).decode()


# ---- Answers with text in one field and reasoning in another: what the writers of such dialects share.
#
# Parts of one kind are joined in a field. Where something else was between them they are separated by a blank line, as in the views of
# a response.


class FieldWriter(AnswerWriter):
    """Writes text and reasoning into a field each."""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self.said: dict[str, list[str]] = {"text": [], "thinking": []}
        self._set_apart: set[int] = set()  # parts that were written with an additional blank line
        self._kinds: dict[int, str] = {}
        self._last = ""  # the kind of the last part
        self._is_apart = False  # the next piece does not continue the earlier text

    # ---- what each dialect writes --------------------------------------------------------------

    @abstractmethod
    def say(self, number: int, kind: str, text: str) -> None:
        """Adds text or reasoning."""

    @abstractmethod
    def begin_call(self, number: int, call: ToolCall) -> None:
        """Begins a call."""

    @abstractmethod
    def add_arguments(self, number: int, text: str) -> None:
        """Adds to a call's arguments."""

    @abstractmethod
    def end_call(self, number: int, call: ToolCall) -> None:
        """Ends a call."""

    # ---- parts ---------------------------------------------------------------------------------

    def begin(self, number: int, part: Part) -> None:
        before, self._last = self._last, part.type
        self._kinds[number] = part.type
        match part:
            case Text() | Thinking():
                self._is_apart = isinstance(part, Thinking) or before != "text"
            case ToolCall():
                self.begin_call(number, part)
            case _ if self.own_block(part) is None:
                self.left_out(part)
            case _:
                pass

    def add(self, number: int, text: str) -> None:
        kind = self._kinds[number]
        if kind == "tool_call":
            self.add_arguments(number, text)
        elif kind in self.said:
            if self._is_apart and self.runs_on(number, kind) and not self._is_spaced(kind, text):
                text = "\n\n" + text
                self._set_apart.add(number)
            self._is_apart = False
            self.said[kind].append(text)
            self.say(number, kind, text)

    def said_of(self, number: int, part: Text) -> str:
        """A text as it was written."""
        return f"\n\n{part.text}" if number in self._set_apart else part.text

    def runs_on(self, number: int, kind: str) -> bool:
        """Whether a piece would run together with the earlier text of its kind."""
        return bool(self.said[kind])

    def _is_spaced(self, kind: str, text: str) -> bool:
        """Whether there is white space between a text and the earlier text."""
        return kind == "text" and (self.said[kind][-1][-1:].isspace() or text[:1].isspace())

    # ---- the whole answer ----------------------------------------------------------------------

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self.said["text"])

    @property
    def reasoning(self) -> str:
        """All of the reasoning."""
        return "".join(self.said["thinking"])
