"""A part on its way out: how much of it came, and how much was written."""

from __future__ import annotations

from innervoice.answering.spacing import ReasoningSpacing
from innervoice.canon.parts import Part, Text, Thinking, ToolCall, is_inline
from innervoice.folding import FoldedPart, content_of

__all__ = ["OutgoingPart", "skip_sent"]


class OutgoingPart(FoldedPart):
    """A part, and how much of it was written. `pieces` is what was not."""

    __slots__ = (
        "block_start", "is_written", "length", "number", "sent", "sent_length", "spacing", "was_closed", "written",
    )  # fmt: skip

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.number: int | None = None
        """The number of its block while that is open."""
        self.is_written = False
        self.was_closed = False
        """Its block was ended before the part was."""
        self.block_start = 0
        """Which piece of `sent` the last block begins with."""
        self.sent: list[str] = []
        self.sent_length = 0
        self.written: list[str] | None = None
        """What became of it, if the white space of it was changed."""
        self.spacing = ReasoningSpacing() if is_inline(part) else None
        self.length = 0
        if text := content_of(part):
            self.add(text)

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    @property
    def is_said(self) -> bool:
        """All of its text was written, and no more comes; its seal may."""
        return not self.is_open and not self.pieces

    def end(self, part: Part) -> None:
        """Takes the whole part; what was received of its text stays to be written."""
        self.part, self.is_open = part, False
        if self.spacing is None and isinstance(part, Thinking) and is_inline(part):
            self.spacing = ReasoningSpacing()
        came = self.sent_length + sum(map(len, self.pieces))
        if len(rest := content_of(part)) > came:
            self.add(rest[came:])

    def pass_on(self, text: str, spaced: str) -> None:
        """Takes a piece that is written as soon as it comes."""
        self.sent.append(text)
        self.length += len(text)
        self.sent_length += len(text)
        self.note_spacing(text, spaced)

    def note_spacing(self, text: str, spaced: str) -> None:
        """Takes down what became of the piece that was sent last."""
        if self.written is not None:
            self.written.append(spaced)
        elif spaced != text:
            self.written = [*self.sent[:-1], spaced]

    def become(self, part: Part) -> int:
        """Takes another part in place of one of which nothing was written; gives its length."""
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

    def leave(self) -> None:
        """Its block ends here, and what comes is another."""
        self.was_closed, self.block_start = True, len(self.sent)

    def now(self) -> Part:
        """The part, or as much of it as came."""
        if not self.is_open:
            return self.part
        return self._with("".join([*self.sent, *self.pieces])).replace(complete=False)

    def so_far(self) -> Part:
        """What of the part is in its last block, without the wire block that only its end brings."""
        written = self.sent if self.written is None else self.written
        return self._with("".join(written[self.block_start :]))

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
    """Takes what was sent off the heads of these parts; gives what none of them begins with."""
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
    """How many characters two texts have in common at their head."""
    if one.startswith(other) or other.startswith(one):
        return min(len(one), len(other))
    return next(at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
