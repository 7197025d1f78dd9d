"""Builds the parts of a text and the events that describe them.

Every part is started and ended exactly once, in order; one is open at a time. Parts that were sent out
and turn out to be something else are replaced by a `Recast`.
"""

from __future__ import annotations

from innervoice.canon.events import Event, PartEnd, PartStart, Recast, TextDelta, ThinkingDelta
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.views import is_blank
from innervoice.inline.draft import Draft, DraftKind, as_text, as_thinking, ended_at

__all__ = ["Composer"]


class Composer:
    """Writes parts and collects their events; it makes no decisions."""

    def __init__(self, origin: Origin | None) -> None:
        self._origin = origin
        self.done: list[Part] = []
        self.draft: Draft | None = None
        self.events: list[Event] = []
        self.lead: list[str] = []
        """Removed markup that waits for a part to belong to."""
        self._lowest = 0

    def say(self, kind: DraftKind, text: str) -> None:
        """Adds characters to the open part, or to a new one of this kind."""
        draft = self.draft or self.start(kind)
        draft.pieces.append(text)
        if kind == "text":
            self.events.append(TextDelta(draft.index, text))
        elif kind == "thinking":
            self.events.append(ThinkingDelta(draft.index, text))

    def start(self, kind: DraftKind) -> Draft:
        """Opens a part."""
        draft = self.draft = Draft(kind, len(self.done), self._origin)
        self.events.append(PartStart(draft.index, kind))
        if self.lead:
            draft.remove(self._waiting())
        return draft

    def end(self, *, complete: bool = True) -> None:
        """Ends the open part, if there is one."""
        draft, self.draft = self.draft, None
        if draft:
            part = draft.part(complete=complete)
            self.done.append(part)
            self.events.append(PartEnd(draft.index, part))

    def remove(self, markup: str) -> None:
        """Records that this markup was here."""
        if self.draft:
            self.draft.remove(markup)
        else:
            self.lead.append(markup)

    def recast(self, index: int) -> None:
        """Adds a `Recast`: the parts from this one on differ from what the earlier events described."""
        parts = self.done[index:]
        if self.draft:
            parts.append(self.draft.part(complete=False))
        self.events.append(Recast(index, tuple(parts)))
        self._lowest = min(self._lowest, index)

    def rethink(self, first: int, closer: str) -> bool:
        """Makes the parts from this one on thinking that the closer ends, if there is text in them."""
        parts = [*self.done[first:], *([self.draft.part(complete=True)] if self.draft else [])]
        texts = [part for part in parts if isinstance(part, Text)]
        if not texts or not all(isinstance(part, (Text, Thinking)) for part in parts):
            return False
        self.end()
        self.done[first:] = [as_thinking(parts, self._waiting() + closer, self._origin)]
        self.recast(first)
        return True

    def unthink(self, *, label: bool) -> None:
        """Turns open thinking back into text and ends it; its markup becomes text too, unless it was a label."""
        self.end(complete=False)
        thinking = self.done.pop()
        before = self.done.pop() if self.done and isinstance(self.done[-1], Text) else None
        self.done.append(as_text(before, thinking, self._origin, label=label))
        self.recast(len(self.done) - 1)

    def end_thinking_at(self, at: int) -> None:
        """Ends open thinking at this character; everything from it on becomes text, tags included."""
        self.end(complete=False)
        self.done += ended_at(at, self.done.pop(), self._origin)
        self.recast(len(self.done) - 2)

    def pause_events(self) -> list[Event]:
        """Stops collecting events; returns those collected so far, for `resume_events`."""
        events, self.events = self.events, []
        self._lowest = len(self.done)
        return events

    def resume_events(self, events: list[Event]) -> None:
        """Adds one `Recast` for all changes since `pause_events`, when a part was open."""
        self.events = events
        if self.draft:
            self.recast(self._lowest)
            return
        # The open part has ended: it continues in the last part, which ends here.
        *others, last = self.done[self._lowest :]
        self.events.append(Recast(self._lowest, (*others, last.replace(complete=False))))
        self.events.append(PartEnd(len(self.done) - 1, last))

    def is_blank(self) -> bool:
        """Whether the answer is only white space."""
        return not any(isinstance(part, Text) and not is_blank(part.text) for part in self.done)

    def _waiting(self) -> str:
        markup = "".join(self.lead)
        self.lead.clear()
        return markup
