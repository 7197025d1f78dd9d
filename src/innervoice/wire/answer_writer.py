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
from innervoice.canon.parts import Opaque, Part, Thinking, ToolCall, is_inline
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value
from innervoice.frames.frame import Frame
from innervoice.wire.refusals import Refusal

__all__ = ["AnswerHead", "AnswerWriter", "Seal"]

_HOLE = "\ue000\ue001 the text \ue001\ue000"
_HOLE_DATA = dump_json(_HOLE)
Seal: TypeAlias = Callable[[Part], str | None]
"""The value for the opaque member of a part that came in another dialect; None: nothing."""


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

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        self.head = head
        self.notebook = notebook
        self.usage = Usage()
        """The tokens counted so far."""
        self.is_refused = False
        """Whether the answer is known to be a refusal before its text arrives."""
        self.has_gap = False
        """Whether something was left out since the last text, so that the next one must be separated from it."""
        self._seal = seal
        self._frames: list[Frame] = []
        self._templates: dict[Any, tuple[bytes, bytes, str | None]] = {}

    def taken(self) -> list[Frame]:
        """The frames since the last call."""
        frames, self._frames = self._frames, []
        return frames

    # ---- what each dialect writes --------------------------------------------------------------

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

    @abstractmethod
    def finish(self, response: Response) -> None:
        """Ends the answer. Of several answers, all but the first have no end except that of their choice."""

    @abstractmethod
    def fail(self, refusal: Refusal, response: Response) -> None:
        """Ends the answer with an error."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """The whole answer, after its end."""

    def joined(self, bodies: list[dict[str, Any]]) -> dict[str, Any]:
        """One body of several answers to the same request; only some dialects have more than the first."""
        return bodies[0]

    def free_form_block(self, call: ToolCall, text: str) -> dict[str, Any] | None:
        """The block of a call of a free-form tool with this input; None: the dialect has no such tools."""
        return None

    def ping(self) -> Frame:
        """A keep-alive."""
        return Frame(None)

    def recall(self, part: Part) -> None:  # noqa: B027 - most dialects have nothing to add
        """Completes a part whose block had to end before it did: its seal may arrive only now."""

    # ---- what they share -----------------------------------------------------------------------

    def send(self, value: Any, name: str | None = None) -> None:
        """Adds a frame."""
        self._frames.append(Frame(dump_json(value), name))

    def send_piece(
        self, key: Any, text: str, make: Callable[[str], tuple[dict[str, Any], str | None]]
    ) -> None:
        """Adds a frame that differs from the others of its key only in one text.

        The rest of it is encoded once: a stream has thousands of such frames.
        """
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
