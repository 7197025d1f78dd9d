"""What the markers of a text do to its parts.

Rules S1-S10 of the design, and where they leave a case open, these, which the tests check:

  - The head of the answer is every place before which the answer is blank; blocks removed from it
    do not count. Zero-width characters and a byte order mark are blank.
  - Reasoning that is already open according to a hint or a card (S5) is closed by any closer that is on. An opener
    at its very start is the opener itself and not a repeated one.
  - Markers of a channel format are unambiguous: unclosed thinking in a channel stays thinking, also
    in mid-text, and inside a channel its own markers count even in an answer that is JSON (S2).
  - A channel may have been opened in the prompt: where a marker ends a channel that nothing opened, and a header
    follows immediately, the text before them is thinking, under the conditions of S5.
  - Unclosed thinking in mid-text becomes text as it is and is not judged again (S4, S8).
  - Repeated openers are counted up to `MOST_SWALLOWED`; beyond that they are only removed (S6).
  - A marker with a control token that was cut off at the very end is removed, whatever the finish reason says; half a tag is text.
  - Without its tokens, a header at the head of the answer that may also be its first word (`analysis shows`, `commentary on`) counts
    if another header follows.
  - Characters outside all channels are text; nothing is lost.
"""

from __future__ import annotations

import re

from innervoice.canon.events import Event, PartEnd, PartStart, Recast, TextDelta, ThinkingDelta
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.response import FinishReason
from innervoice.canon.views import BLANKS, is_blank
from innervoice.inline.code import CodeTracker
from innervoice.inline.draft import (
    Draft,
    DraftKind,
    as_text,
    as_thinking,
    ended_at,
    without_label,
)
from innervoice.inline.formats import Format
from innervoice.inline.marks import Mark, Opening, Prefix, SettledPlace
from innervoice.inline.vocabulary import Token, Vocabulary

__all__ = ["MOST_SWALLOWED", "ORPHAN_MINIMUM", "Composer", "MarkerActions"]

MOST_SWALLOWED = 32
ORPHAN_MINIMUM = 20
"""Text before an orphan closer becomes thinking if it has at least this many characters that are not blank (S5).

Where the model's card says that it writes this closer, one character is enough.
"""

# What may follow the `[` of a JSON array: a value, or the end of the array.
_IN_ARRAY = re.compile(r'["\[{\]]|-?\d|(?:true|false|null)(?=\W)')
_WORDS_IN_ARRAY = ("-", "true", "false", "null")
_STUTTER = re.compile(r"(?:\A|\n)[^\S\n]{0,50}[^\s<.]{0,9}\.\s{0,50}\Z")
_STUTTER_LONGEST = 112


class MarkerActions:
    """Keeps the parts of one text and applies each marker to them."""

    channel: Format | None = None
    """The channel format of the answer, or its wrapper."""
    counted = 0
    """Characters that are not blank, counted before anything was split."""
    last = 0
    """Which part was closed last."""
    swallowed = 0
    elsewhere = False
    """Whether a reasoning field has text."""
    array: str | None = None
    """The text after the `[` that the answer begins with, until it shows whether it is a JSON array."""
    _ended: Format | None = None  # the format of an end marker before which nothing was open
    _code: CodeTracker | None = None
    _starts_line = True  # whether the open text began at the start of a line

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        prefix: Prefix,
        stutter: bool,
        off: bool,
        head_only: bool,
        goes_on: bool,
        origin: Origin | None,
    ) -> None:
        self._vocabulary = vocabulary
        self.notebook = Notebook()
        self.composer = Composer(origin)
        self.opening = Opening(prefix=prefix) if prefix != "no" and not off else None
        self.left_alone = off
        """Whether nothing more is searched for: switched off, or the answer is JSON."""
        self._head_only = head_only
        self.blank = not goes_on
        """Whether the answer is only white space so far; an answer that continues is past its head."""
        self.split = goes_on
        """Whether some thinking was closed."""
        self.stutter = stutter

    @property
    def code(self) -> CodeTracker:
        """Where the open text is code; created for the first marker in it."""
        if self._code is None:
            self._code = CodeTracker(at_line_start=self._starts_line)
        return self._code

    def settled(self, pending_at: int | None) -> SettledPlace | None:
        """The first place that is not settled; `pending_at` is the position of an undecided marker in the open part."""
        is_json = self.left_alone and self.channel is None
        is_certain = self.opening is not None and self.opening.is_certain and not self._head_only
        if not (self.split or self.elsewhere or is_json or is_certain):
            return SettledPlace(0, 0)
        if self.swallowed:
            return SettledPlace(self.last, 0)
        draft = self.composer.draft
        if draft is None:
            return None
        characters = draft.length()
        if draft.kind != "text":
            stop = self.opening.stop if self.opening else None
            certain = stop[0] if stop else characters
            return SettledPlace(draft.index, certain if is_certain else 0)
        if pending_at is not None:
            characters = min(characters, pending_at)
        if self.stutter:
            characters = max(0, characters - _STUTTER_LONGEST)
        return SettledPlace(draft.index, characters)

    def withdraw_prefix(self) -> None:
        """A reasoning field has text, so the guesses about this text, by the card or by us, are off (S5)."""
        self.elsewhere = True
        if self.opening and self.opening.prefix == "card":
            self.opening = None
            if self.composer.draft:
                self._unthink("prefix_withdrawn")

    def say(self, text: str) -> None:
        """Adds characters to the open part, or to the answer."""
        if not text:
            return
        kind = self.opening.kind if self.opening else "text"
        if kind == "text":
            if not self.composer.draft:
                self._code, self._starts_line = None, self.blank
            if self.blank and not is_blank(text):
                self.blank = False
                self._begin_answer(text.lstrip(BLANKS))
            elif self.array is not None:
                self._read_array(text)
        self.composer.say(kind, text)

    def _begin_answer(self, text: str) -> None:
        """Handles the first character of the answer: JSON is left alone (S2)."""
        if self._head_only or text[0] == "{":
            self.left_alone = True
        elif text[0] == "[":
            self.array = ""
            self._read_array(text[1:])

    def _read_array(self, text: str) -> None:
        """Continues reading after the `[` that the answer begins with."""
        assert self.array is not None
        self.array = (self.array + text).lstrip()
        if _IN_ARRAY.match(self.array):
            self.left_alone = True
        elif any(word.startswith(self.array) for word in _WORDS_IN_ARRAY):
            return
        self.array = None

    def counts(self, mark: Mark) -> bool:
        """Whether a marker in the answer counts, apart from code."""
        token = mark.token
        if token.role == "stop" or (token.head and not self.blank):
            return False
        if token.role == "close" and token.row and token.row.paired:
            return False
        if self._head_only and token.role != "open" and not self.swallowed:
            return False
        if self.left_alone:
            return token.row is self.channel and token.role in ("header", "end", "wrapper")
        return True

    def count(self) -> int:
        """The characters of the answer that are not blank, as long as it matters how many (S5)."""
        draft = self.composer.draft
        if draft and draft.kind == "text" and not self.split:
            self.counted += draft.count_nonblank(ORPHAN_MINIMUM - self.counted)
        return self.counted

    def act(self, mark: Mark, *, rejudged: bool) -> None:
        """Handles a marker in the answer."""
        token, self.array = mark.token, None
        match token.role:
            case "open":
                self._open(mark)
            case "header" if token.head or not token.bare or self.channel or self.blank:
                self._think_of_ended(token.row)
                self._open_channel(mark)
            case "header" if self._label_before(mark):
                pass
            case "close" | "header":
                self._close_orphan(mark, cut=rejudged)
            case _:
                ends = token.role == "end"
                self._ended = None
                if ends and not self.channel and self._may_be_thinking(mark):
                    self._ended = token.row
                self._remove(mark.text, "wrapper_removed", cut=rejudged or ends)
                self.channel = None if ends else token.row

    def act_inside(self, mark: Mark, opening: Opening) -> int:
        """Handles a marker inside thinking or a call (S2, S6, S8); returns where to continue."""
        role = mark.token.role
        thinking = opening.kind == "thinking"
        kin = opening.is_kin(mark)
        if role == "stop" and thinking and not opening.stop:
            draft = self.composer.draft
            opening.stop = (draft.length() if draft else 0, mark.text)
        # A header without special tokens counts only after one at the head, or in the prompt.
        begun = self.channel or opening.prefix != "no"
        if role in ("end", "header") and kin and (not mark.token.bare or begun):
            self._close(mark.text if role == "end" else "")
            self.channel = None
            if role == "header":
                self._open_channel(mark)
        elif role == "close" and kin and thinking:
            self._close(mark.text)
        elif role == "open" and kin and thinking and not mark.token.head:
            self._swallow(mark, opening)
        else:
            self.say(mark.text)
        return mark.end

    def _open(self, mark: Mark) -> None:
        row = mark.token.row
        label = mark.token.head and row is not None and row.label
        self._end()
        self.opening = Opening(row=row, name=mark.name, head=self.blank, label=label)
        self.composer.start("thinking").remove(mark.text)

    def _open_channel(self, mark: Mark) -> None:
        row = self.channel = mark.token.row
        kind = mark.token.kind(mark.text)
        self._end()
        if kind == "text":
            self.composer.remove(mark.text)
            return
        if kind == "call":
            self.notebook.add("call_in_text")
        draft: DraftKind = "thinking" if kind == "thinking" else "opaque"
        self.opening = Opening(kind=draft, row=row, channel=True)
        self.composer.start(draft).remove(mark.text)

    def _swallow(self, mark: Mark, opening: Opening) -> None:
        """An opener inside thinking (S6)."""
        if opening.row is None and opening.prefix == "no" and mark.name != opening.name:
            self.say(mark.text)
            return
        draft = self.composer.draft or self.composer.start("thinking")
        if draft.tail(1) == "`":
            self.say(mark.text)  # The thought is about the tag.
            return
        draft.remove(mark.text)
        if opening.prefix != "no" and opening.fresh and draft.is_blank():
            # The opener that should have been in the prompt is in the text after all.
            opening.row, opening.name, opening.prefix = mark.token.row, mark.name, "no"
            return
        opening.fresh = False
        self.swallowed = min(self.swallowed + 1, MOST_SWALLOWED)
        self.notebook.add("opener_repeated")

    def _close(self, closer: str) -> None:
        opening, self.opening = self.opening, None
        assert opening is not None
        draft = self.composer.draft or self.composer.start(opening.kind)
        if closer:
            draft.remove(closer)
        if opening.prefix == "card":
            self.notebook.add("prefix_assumed")
        if opening.kind == "thinking":
            self.split, self.last = True, draft.index
        self.composer.end()

    def _close_orphan(self, mark: Mark, *, cut: bool) -> None:
        """A closer with nothing open (S5, S6)."""
        if self.swallowed:
            self.swallowed -= 1
            if self._rethink(self.last, mark.text, "rethought"):
                return
        elif self._may_be_thinking(mark):
            if self._rethink(0, mark.text, "orphan_closer"):
                return
        elif self.stutter and (self.split or self.elsewhere) and self._remove_stutter(mark.text):
            return
        self._remove(mark.text, "closer_removed", cut=cut)

    def _label_before(self, mark: Mark) -> bool:
        """Handles a bare header after which another one at the head turns out to be one: `analysis Hm assistantfinal A`."""
        row = mark.token.row
        head = self.composer.head()
        if row is None or self.split or self.elsewhere or not isinstance(head, Text):
            return False
        label = re.compile(rf"([{BLANKS}]*)({row.bare_label or '(?!)'})").match(head.text)
        if not label:
            return False
        is_thinking = Token("header", row).kind(label[2]) == "thinking"
        if is_thinking and not self._rethink(0, mark.text, "label_removed"):
            return False
        if not is_thinking:
            self.notebook.add("label_removed")
            self._end()
        self.composer.remove_label(label.end(1), label[2])
        if not is_thinking:
            self._open_channel(mark)
        return True

    def _may_be_thinking(self, mark: Mark) -> bool:
        """Whether the text before a marker that closes is thinking, though nothing opened it (S5)."""
        if self.split or self.elsewhere:
            return False
        writes = self._vocabulary.writes(mark.name, mark.token.row)
        return self.count() >= (1 if writes else ORPHAN_MINIMUM)

    def _think_of_ended(self, row: Format | None) -> None:
        """A header right after an end marker that had nothing to end: the channel was opened in the prompt."""
        ended, self._ended = self._ended, None
        draft = self.composer.draft
        if ended and ended is row and not self.split and (draft is None or draft.is_blank()):
            self._rethink(0, "", "orphan_closer")

    def _rethink(self, first: int, closer: str, code: str) -> bool:
        if not self.composer.rethink(first, closer):
            return False
        self.notebook.add(code)
        self.split, self.last, self.left_alone = True, first, False
        self.blank = self.composer.is_blank()
        return True

    def _remove(self, markup: str, code: str, *, cut: bool) -> None:
        self.notebook.add(code)
        self.composer.remove(markup)
        if cut:
            self._end()

    def end_cut_off(self, markup: str) -> None:
        """Removes a control token that was cut off at the end of the text; in a fence of code it is text."""
        draft = self.composer.draft
        if markup and draft and draft.kind == "text":
            self.code.read(draft.unread())
            if self.code.in_fence:
                self.say(markup)
                return
        self.remove_cut_off(markup)

    def remove_cut_off(self, markup: str) -> None:
        """Removes the beginning of a marker."""
        if markup:
            self._remove(markup, "wrapper_removed", cut=False)

    def _remove_stutter(self, closer: str) -> bool:
        """Removes a stuttered line with the extra closer after it (S6)."""
        draft = self.composer.draft
        tail = draft.tail(_STUTTER_LONGEST) if draft else ""
        match = _STUTTER.search(tail)
        if not draft or not match:
            return False
        if not match[0].startswith("\n") and len(tail) < draft.length():
            return False  # not the start of a line
        draft.remove(draft.cut(draft.length() - len(match[0])) + closer)
        self.notebook.add("stutter_removed")
        self.composer.recast(draft.index)
        self._end()
        return True

    def _end(self) -> None:
        self.count()
        self.composer.end()

    def finish_open(self, finish_reason: FinishReason | None) -> None:
        """Decides about everything that is still open at the end (S4, S5)."""
        cut_short = finish_reason == "length"
        opening, self.opening = self.opening, None
        assert opening is not None
        if not self.composer.draft:
            return
        if opening.kind == "opaque":
            self.composer.end(complete=False)
        elif opening.stop:
            self._end_at_marker(opening, *opening.stop)
        elif opening.prefix == "card" and not cut_short:
            self._unthink("prefix_withdrawn")
        elif opening.label and not cut_short:
            self._unthink("label_removed", label=True)
        elif self._head_only or not (opening.head or opening.channel):
            self._unthink("opener_in_text")
        else:
            self.notebook.add("unclosed_thinking")
            self.composer.end(complete=False)

    def _end_at_marker(self, opening: Opening, at: int, marker: str) -> None:
        """Something else begins inside thinking that was never closed: the thinking ends there (S8)."""
        self.notebook.add("closed_by_marker", marker)
        if opening.prefix == "card":
            self.notebook.add("prefix_assumed")
        self.composer.end_thinking_at(at)
        self.blank = self.composer.is_blank()

    def _unthink(self, code: str, *, label: bool = False) -> None:
        self.notebook.add(code)
        self.composer.unthink(label=label)
        self.blank = self.composer.is_blank()


# ---- Builds the parts of a text and the events that describe them.
#
# Every part is started and ended exactly once, in order; one is open at a time. Parts that were sent out
# and turn out to be something else are replaced by a `Recast`.


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

    def head(self) -> Part | None:
        """The first part so far."""
        if self.done:
            return self.done[0]
        return self.draft.part(complete=False) if self.draft else None

    def remove_label(self, at: int, label: str) -> None:
        """Removes a label from the first part, which has ended."""
        self.done[0] = without_label(self.done[0], at, label)
        self.recast(0)

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
