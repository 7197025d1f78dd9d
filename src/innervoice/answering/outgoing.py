"""A part on its way to the client: how much of it was received, and how much was written."""

from __future__ import annotations

from innervoice.canon.parts import Part, Text, Thinking, ToolCall, is_inline
from innervoice.canon.views import ReasoningSpacing
from innervoice.folding import FoldedPart, content_of
from innervoice.wire.dialects import replay_of

__all__ = ["OutgoingPart", "skip_sent"]


class OutgoingPart(FoldedPart):
    """A part, and how much of it was written. `pieces` is the rest."""

    __slots__ = (
        "block_start", "is_carried", "is_written", "known", "length", "number", "sent", "sent_length", "spacing", "was_closed", "written",
    )  # fmt: skip

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.number: int | None = None
        """The number of its block while that is open."""
        self.is_written = self.is_carried = False
        self.was_closed = False
        """Whether its block was ended before the part was."""
        self.known: Part | None = None
        """What was known of it when its only block ended."""
        self.block_start = 0
        """The index in `sent` of the first piece of the last block."""
        self.sent: list[str] = []
        self.sent_length = 0
        self.written: list[str] | None = None
        """The text as it was written, if its white space was changed."""
        self.spacing = ReasoningSpacing() if is_inline(part) else None
        self.length = 0
        if text := content_of(part):
            self.add(text)

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    @property
    def is_said(self) -> bool:
        """Whether all of its text was written, and no more follows; its seal may."""
        return not self.is_open and not self.pieces

    def end(self, part: Part) -> None:
        """Sets the whole part; text that was received stays to be written."""
        self.part, self.is_open = part, False
        if self.spacing is None and isinstance(part, Thinking) and is_inline(part):
            self.spacing = ReasoningSpacing()
        came = self.sent_length + sum(map(len, self.pieces))
        if len(rest := content_of(part)) > came:
            self.add(rest[came:])

    def pass_on(self, text: str, spaced: str) -> None:
        """Adds a piece that is written immediately."""
        self.sent.append(text)
        self.length += len(text)
        self.sent_length += len(text)
        self.note_spacing(text, spaced)

    def note_spacing(self, text: str, spaced: str) -> None:
        """Records how the last piece was written."""
        if self.written is not None:
            self.written.append(spaced)
        elif spaced != text:
            self.written = [*self.sent[:-1], spaced]

    def become(self, part: Part) -> int:
        """Sets another part in place of one of which nothing was written; returns its length."""
        self.part = part
        self.pieces.clear()
        self.length = 0
        if text := content_of(part):
            self.add(text)
        return self.length

    def take(self, most: int) -> str:
        """The text up to this character that was not written yet."""
        if most <= self.sent_length or not self.pieces:
            return ""
        text = self.pieces[0] if len(self.pieces) == 1 else "".join(self.pieces)
        self.pieces.clear()
        count = most - self.sent_length
        if count < len(text):
            self.pieces.append(text[count:])
            text = text[:count]
        self.sent.append(text)
        self.sent_length += len(text)
        return text

    def leave(self, known: Part | None = None) -> None:
        """Ends its block here, with what is known; what follows is in another."""
        self.known = None if self.was_closed else known
        self.was_closed, self.block_start = True, len(self.sent)

    def now(self) -> Part:
        """The part, or as much of it as was received."""
        if not self.is_open:
            return self.part
        return self._with("".join([*self.sent, *self.pieces])).replace(complete=False)

    def so_far(self, dialect: str | None) -> Part:
        """The content of the part in its last block, without the wire block that comes only with its end.

        With a dialect, reasoning of another one says where it came from, for an envelope in an answer of that dialect.
        """
        written = self.sent if self.written is None else self.written
        part, origin = self._with("".join(written[self.block_start :])), self.part.origin
        if not isinstance(part, Thinking) or dialect is None:
            return part
        if origin is None or origin.dialect in (None, dialect) or origin.markup is not None:
            return part
        return replay_of(str(origin.dialect)).so_far(part.replace(origin=origin.replace(seals=())))

    def whole(self) -> Part:
        """The part as it ended."""
        part = self.part
        if self.written is not None and isinstance(part, (Text, Thinking)):
            return part.replace(text="".join(self.written))
        return part

    def _with(self, text: str) -> Part:
        match self.part:
            case Text():
                return Text(text)
            case Thinking(form=form):
                return Thinking(text, form)
            case ToolCall(id=call_id, name=name):
                return ToolCall(call_id, name, text)
            case _:
                return self.part


def skip_sent(sent: str, parts: list[OutgoingPart]) -> str:
    """Removes what was sent from the beginnings of these parts; returns what none of them begins with."""
    for part in parts:
        if not sent or part.sent:
            continue
        same = _shared(sent, content_of(part.part))
        if same:
            part.take(same)
            part.leave()
        sent = sent[same:]
    return sent


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    if one.startswith(other) or other.startswith(one):
        return min(len(one), len(other))
    return next(at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
