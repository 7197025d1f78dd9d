"""The base class of all readers of answers, and the parts they build.

A reader gets the messages of a stream one by one, as JSON values, and returns canonical events. A whole
body is one message through the same code. A reader never raises on the data of a provider: a value of an
unexpected type is kept in an opaque part and noted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from innervoice.canon.events import (
    Event,
    Heartbeat,
    PartEnd,
    PartStart,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageUpdate,
)
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Form, Media, Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Failure, FinishReason
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value
from innervoice.canon.words import FINISH_REASONS, finish_reason_of
from innervoice.wire.json_access import as_text

__all__ = ["Context", "Reader", "Slot"]


class Context(Value, frozen=True, kw_only=True):
    """What is known about the host and the model before the answer is read."""

    provider: str | None = None
    model: str | None = None
    dialect: str | None = None
    scope: str | None = None
    prefix: str | None = None
    """The digest of everything that was sent before the answer."""
    cumulative: bool = False
    """Whether every delta of the host repeats the whole reasoning so far."""
    separate_reasoning: bool = False
    """Whether the host counts reasoning in addition to the output, not as part of it."""
    whole: bool = False
    """Whether the answer is a single message, so that nothing continues its parts."""
    new_call_id: Callable[[], str] | None = None
    """Makes the id of a call that has none; None: a number, unique in the answer."""


_LOOSE = 4096
"""How many pieces of a part are kept before they are joined."""
_DELTAS: dict[str, type[TextDelta | ThinkingDelta | ToolCallDelta]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool_call": ToolCallDelta,
}


_UNENDED = Opaque(None, complete=False)
"""The placeholder of a part until it ends."""


class Slot:
    """A part while it is open. Values that most parts do not change are class attributes."""

    length = 0
    most = _LOOSE
    open = True
    form: Form = "full"
    seals: tuple[str, ...] = ()
    half = ""
    """The first half of a character that a provider cut between two deltas."""
    begun: ToolCall | None = None
    invented: tuple[str, ...] = ()
    source = ""
    """The member of the message that contained it, for dialects that need it."""

    def __init__(self, kind: str, index: int, block: dict[str, Any] | None) -> None:
        self.kind = kind
        self.delta = _DELTAS.get(kind)
        self.index = index
        self.block = block if block is not None else {}
        self.pieces: list[str] = []

    @property
    def text(self) -> str:
        """Everything received so far."""
        pieces = self.pieces
        if len(pieces) > 1:
            pieces[:] = ["".join(pieces)]
        return pieces[0] if pieces else ""

    def gather(self) -> None:
        """Joins the pieces: many small strings need several times the memory of their text.

        The longer the text, the more pieces may arrive before it is joined again, so that the time stays linear.
        """
        self.pieces[:] = ["".join(self.pieces)]
        self.most = _LOOSE + self.length // 64

    def paired(self, text: str) -> str:
        """A delta with the half character before it, and without a half at its end."""
        text = self.half + text
        self.half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self.half, text = text[-1], text[:-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


class Reader(ABC):
    """Reads one answer in one dialect."""

    dialect: ClassVar[str]
    ends_late: ClassVar[bool] = False
    """Whether texts end with the answer, when the finish reason is known."""
    id: str | None = None
    model: str | None = None
    ended = False
    finish_reason: FinishReason | None = None
    wire_finish_reason: str | None = None
    usage = Usage()
    error: Failure | None = None
    message_seals: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """The first events of unknown types."""
    _origin: Origin | None = None
    _next_number = 0
    """The first number that was not tried yet as the id of a call."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.notebook = Notebook()
        self.parts: list[Part] = []
        self.message_block: dict[str, Any] = {}
        self.others: dict[int, list[Any]] = {}
        """Messages that belong to other choices than the first, by their index."""
        self.events: list[Event] = []
        self._slots: list[Slot] = []
        self._call_ids: set[str] = set()

    @property
    def has_begun(self) -> bool:
        """Whether anything of an answer, or an error, was received."""
        return bool(
            self.parts or self.id or self.ended or self.error or self.usage.raw or self.others
        )

    @abstractmethod
    def read(self, value: Any, name: str | None) -> None:
        """Reads one message; `name` is the event's name where the framing has one."""

    def feed(self, value: Any, name: str | None = None) -> list[Event]:
        """Reads one message and returns its events."""
        self.events = []
        self.read(value, name)
        return self.events

    def finish(self) -> list[Event]:
        """Ends the stream: ends open parts, which are incomplete unless the answer was ended, without an error."""
        self.events = []
        for slot in self._slots:
            if slot.open:
                self.close(slot, complete=self.ended and self.error is None)
        return self.events

    # ---- writing parts -------------------------------------------------------------------------

    def open(
        self, kind: str, block: dict[str, Any] | None = None, part: Part | None = None
    ) -> Slot:
        """Starts a part."""
        slot = Slot(kind, len(self.parts), block)
        self._slots.append(slot)
        self.parts.append(_UNENDED)
        self.events.append(PartStart(slot.index, kind, part))
        return slot

    def add(self, slot: Slot, text: str) -> None:
        """Adds to a part."""
        if slot.half or (text and "\ud800" <= text[-1] <= "\udbff"):
            text = slot.paired(text)
        if not text:
            return
        slot.pieces.append(text)
        slot.length += len(text)
        if len(slot.pieces) > slot.most:
            slot.gather()
        if slot.delta:
            self.events.append(slot.delta(slot.index, text))

    def end(self, slot: Slot, part: Part) -> None:
        """Ends a part with its final value."""
        slot.open = False
        self.parts[slot.index] = part
        self.events.append(PartEnd(slot.index, part))

    def replace(self, index: int, part: Part) -> None:
        """Corrects the origin of a part that has ended; its text stays."""
        self.parts[index] = part

    def whole(self, part: Part, begun: Part | None = None) -> None:
        """Adds a part that arrives in one piece; `begun` is the part at its start."""
        index, events = len(self.parts), self.events
        self.parts.append(part)
        events.append(PartStart(index, part.type, begun))
        # For a struct, comparing the type itself is three times as fast as isinstance.
        if type(part) is Text:
            if part.text:
                events.append(TextDelta(index, part.text))
        elif type(part) is Thinking and part.text:
            events.append(ThinkingDelta(index, part.text))
        events.append(PartEnd(index, part))

    def close(self, slot: Slot, *, complete: bool = True) -> None:
        """Ends a part with what was received of it."""
        if slot.half:
            self.flush(slot)
        self.conclude(slot, complete=complete)

    def flush(self, slot: Slot) -> None:
        """Emits half a character whose other half never arrived."""
        half, slot.half = slot.half, ""
        if half:
            slot.pieces.append(half)
            if slot.delta:
                self.events.append(slot.delta(slot.index, half))

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        """Builds the part of a slot and ends it; dialects override this for their own kinds."""
        match slot.kind:
            case "text":
                part: Part = Text(slot.text, complete, self.origin(slot.block or None, slot.seals))
            case "thinking":
                seals = slot.seals if complete else ()
                part = Thinking(
                    slot.text, slot.form, complete, self.origin(slot.block or None, seals)
                )
            case _:
                self.note_unknown(slot.block)
                part = Opaque(slot.block, complete, self.origin())
        self.end(slot, part)

    def open_call(
        self,
        given_id: Any,
        name: Any,
        block: dict[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> Slot:
        """Starts a call; one without an id gets a number that is unique in the message. `origin` says what kind of call it is."""
        invented = () if isinstance(given_id, str) and given_id else ("id",)
        call_id = self._free_id() if invented else given_id
        self._call_ids.add(call_id)
        if invented and origin is None:
            origin = Origin(invented=invented)
        begun = ToolCall(call_id, as_text(name) or "", complete=False, origin=origin)
        slot = self.open("tool_call", block, begun)
        slot.begun, slot.invented = begun, invented
        return slot

    def end_call(
        self,
        slot: Slot,
        arguments: str,
        *,
        complete: bool = True,
        name: Any = None,
        seals: tuple[str, ...] = (),
    ) -> None:
        """Ends a call."""
        begun = slot.begun
        assert begun is not None
        origin = self.origin(slot.block, seals, invented=slot.invented)
        self.end(slot, ToolCall(begun.id, as_text(name) or begun.name, arguments, complete, origin))

    def whole_call(
        self,
        given_id: Any,
        name: Any,
        arguments: str,
        block: dict[str, Any],
        seals: tuple[str, ...] = (),
    ) -> None:
        """A call that arrives in one piece."""
        slot = self.open_call(given_id, name, block)
        self.add(slot, arguments)
        self.end_call(slot, arguments, seals=seals)

    def _free_id(self) -> str:
        if self.context.new_call_id is not None:
            return self.context.new_call_id()
        number = max(self._next_number, len(self._call_ids))
        while f"call_{number}" in self._call_ids:
            number += 1
        self._next_number = number + 1  # no number is tried twice, so that the time stays linear
        return f"call_{number}"

    def odd(self, value: Any, where: str) -> None:
        """Keeps a value of an unexpected type unchanged."""
        self.notebook.add("odd_value", where)
        self.whole(Opaque({where: value}, origin=self.origin()))

    def opaque(self, block: Any) -> None:
        """Keeps a block of an unknown type."""
        self.note_unknown(block)
        self.whole(Opaque(block, origin=self.origin()))

    def note_unknown(self, block: Any) -> None:
        """Notes a block of an unknown type if it looks like reasoning: the API may have changed."""
        from innervoice.wire.unread import reasoning_like  # noqa: PLC0415 - few answers have such blocks

        if kind := reasoning_like(block):
            self.notebook.add("unknown_block", kind)

    def media(self, mime: Any, data: Any, url: Any, block: dict[str, Any] | None) -> None:
        """An image, audio or a document."""
        origin = self.origin(block)
        self.whole(Media(as_text(mime), as_text(data), as_text(url), origin=origin))

    def origin(
        self,
        block: Any = None,
        seals: tuple[str, ...] = (),
        *,
        item: str | None = None,
        invented: tuple[str, ...] = (),
        led_by: str | None = None,
    ) -> Origin:
        """The origin of a part; the one without a block is created once."""
        is_plain = block is None and not item and not invented
        if is_plain and self._origin:
            return self._origin
        context = self.context
        origin = Origin(
            provider=context.provider,
            model=context.model or self.model,
            dialect=self.dialect,
            scope=context.scope,
            block=block,
            seals=() if is_plain else seals,
            item=item,
            prefix=context.prefix if block is not None else None,
            invented=invented,
            led_by=led_by,
        )
        if is_plain:
            self._origin = origin
        return origin

    # ---- the answer as a whole -----------------------------------------------------------------

    def heartbeat(self) -> None:
        """Emits a heartbeat."""
        self.events.append(Heartbeat())

    def use(self, usage: Usage) -> None:
        """Sets a token count, if it differs from the last one."""
        if usage != self.usage:
            self.usage = usage
            self.events.append(UsageUpdate(usage))

    def stop(self, wire_reason: Any) -> None:
        """Sets the finish reason."""
        word = as_text(wire_reason)
        if not word:
            return
        self.ended = True
        self.wire_finish_reason = word
        self.finish_reason = FINISH_REASONS.get(word) or finish_reason_of(word)
        if self.finish_reason is None:
            self.notebook.add("unknown_finish_reason", word)

    def skip(self, name: Any) -> None:
        """Notes an event of an unknown type; it matters if nothing else is read."""
        self.unread = (*self.unread, str(name))[:3]

    def fail(self, error: Any) -> None:
        """Sets an error that the provider sent inside the answer."""
        from innervoice.wire.refusals import failure_of  # noqa: PLC0415 - few answers fail

        self.error = failure_of(error)
