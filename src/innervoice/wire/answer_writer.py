"""The base class of all writers of answers: parts go in as they come, frames of a stream come out, and at the end the whole body.

Parts come one at a time, each as `begin`, any number of `add` and `end`, unless the dialect `interleaves`. A part goes out as its wire
block if it came in this dialect; any other is written in the dialect's plain form. What has no place at all is noted.

    part of another dialect   where it goes
    text, reasoning           the dialect's own form of it, never the other's
    a call                    a call
    hidden reasoning          the opaque slot of reasoning, if `seal` gives something to put there; otherwise it is left out
    the seal of a block       the same slot, beside the readable text
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
"""What to carry in the opaque slot of a part that came in another dialect; None: nothing."""


class AnswerHead(Value, frozen=True):
    """What is said before the first part."""

    id: str
    model: str = ""
    created: int = 0
    """Seconds since 1970."""
    created_at: str = ""
    """The same as a date, for dialects that write one."""
    choice: int = 0
    """Which of several answers it is, for dialects that have several."""
    echo: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    """Members that repeat the request, for dialects whose answers have such."""
    is_exact: bool = False
    """What the host did not send is not sent; otherwise every call has an id, which clients need."""


class AnswerWriter(ABC):
    """Writes one answer in one dialect."""

    dialect: ClassVar[str]
    interleaves: ClassVar[bool] = False
    """Several parts may be open at once."""
    carries_parts: ClassVar[bool] = False
    """A part goes out whole beside its text: `end` gets it as it came, with the white space that its text was written without."""

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        self.head = head
        self.notebook = notebook
        self.usage = Usage()
        """The tokens counted so far."""
        self.is_refused = False
        """The answer is known to be a refusal before its text comes."""
        self.has_gap = False
        """Something was left out since the last text, which the next one is set apart from."""
        self._seal = seal
        self._frames: list[Frame] = []
        self._templates: dict[Any, tuple[bytes, bytes, str | None]] = {}

    def taken(self) -> list[Frame]:
        """The frames since this was asked last."""
        frames, self._frames = self._frames, []
        return frames

    # ---- what each dialect writes --------------------------------------------------------------

    @abstractmethod
    def start(self) -> None:
        """The answer begins."""

    @abstractmethod
    def begin(self, number: int, part: Part) -> None:
        """A part begins; of a call, id and name are known. One that comes whole is complete already."""

    @abstractmethod
    def add(self, number: int, text: str) -> None:
        """More of a part."""

    @abstractmethod
    def end(self, number: int, part: Part) -> None:
        """A part is over; this is all of it."""

    @abstractmethod
    def finish(self, response: Response) -> None:
        """The answer is over. One of several, but the first, has no end beside that of its choice."""

    @abstractmethod
    def fail(self, refusal: Refusal, response: Response) -> None:
        """The answer ends in an error."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """The whole answer, after its end."""

    def joined(self, bodies: list[dict[str, Any]]) -> dict[str, Any]:
        """One body of several answers to the same question; only some dialects have more than the first."""
        return bodies[0]

    def free_form_block(self, call: ToolCall, text: str) -> dict[str, Any] | None:
        """The block of a call of a free-form tool with this input; None: the dialect has no such tools."""
        return None

    def ping(self) -> Frame:
        """A sign of life."""
        return Frame(None)

    def recall(self, part: Part) -> None:  # noqa: B027 - most dialects have nothing to add
        """The last word about a part that had to end before it was over: its seal may come only now."""

    # ---- what they share -----------------------------------------------------------------------

    def send(self, value: Any, name: str | None = None) -> None:
        """Adds a frame."""
        self._frames.append(Frame(dump_json(value), name))

    def send_piece(
        self, key: Any, text: str, make: Callable[[str], tuple[dict[str, Any], str | None]]
    ) -> None:
        """Adds a frame that differs from the others of its key in one text alone.

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
        """What to carry in the opaque slot of a part."""
        return self._seal(part) if self._seal else None

    def note_wrapped(self, part: Part) -> None:
        """Notes a call whose arguments were put into an object."""
        if isinstance(part, ToolCall):
            self.notebook.add("input_wrapped", part.name)

    def left_out(self, part: Part) -> None:
        """Notes a part that has no place in this dialect."""
        code = "thinking_without_place" if isinstance(part, Thinking) else "part_without_place"
        self.notebook.add(code, part.type)
        self.has_gap = True
