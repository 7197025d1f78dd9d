"""Text with reasoning in it -> events of text and thinking parts, in any chunking.

One machine reads a text piece by piece. It is either in the answer or inside something that a marker
opened: thinking, or a call. A whole text is one piece and an end, so whole and streamed give the same
parts. Rules S1-S10 of the design, and where those are silent these, which the tests pin:

  - The head of the answer is every place before which the answer is blank; blocks removed from it
    do not count.
  - What a hint or a card says to be open already (S5) is closed by any closer that is on. An opener
    at its very start is the opener itself and not a repeated one.
  - Markers of a channel format are unmistakable: unclosed thinking in a channel stays thinking, also
    in mid-text, and inside a channel its own markers count even in an answer that is JSON (S2).
  - Unclosed thinking in mid-text becomes text as it stands and is not judged again (S4).
  - Repeated openers are counted up to `MOST_SWALLOWED`; beyond that they are only swallowed (S6).
  - Characters outside all channels are text; nothing is lost.

Time: every character is looked at a bounded number of times, and no more than `LONGEST_MARKER`
characters are held back. A `Recast` repeats the part it changes, so after one that only removed a
closer the part is ended: text that provokes many of them is repeated once all the same.
"""

from __future__ import annotations

import re

from innervoice.canon.events import Event
from innervoice.canon.notes import Note
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Thinking
from innervoice.canon.response import FinishReason
from innervoice.errors import UsageError
from innervoice.inline.draft import DraftKind
from innervoice.inline.marks import Mark, Opening, Prefix
from innervoice.inline.scanner import ORPHAN_MINIMUM, Scanner
from innervoice.inline.vocabulary import Vocabulary

__all__ = ["MOST_SWALLOWED", "Splitter"]

MOST_SWALLOWED = 32

_STUTTER = re.compile(r"(?:\A|\n)[^\S\n]{0,50}[^\s<.]{0,9}\.\s{0,50}\Z")
_STUTTER_LONGEST = 112


class Splitter(Scanner):
    """Reads a text piece by piece; `feed` and `finish` give events, without a `Finish`.

    `origin` is where the text comes from, if its parts are to say so.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        prefix: Prefix = "no",
        stutter: bool = False,
        off: bool = False,
        goes_on: bool = False,
        finish_reason: FinishReason | None = None,
        origin: Origin | None = None,
    ) -> None:
        opening = Opening(prefix=prefix) if prefix != "no" and not off else None
        super().__init__(vocabulary, opening=opening, off=off, origin=origin)
        self._stutter = stutter
        self._finish_reason = finish_reason
        self._last = 0  # which part was closed last
        self._swallowed = 0
        self._elsewhere = False  # a reasoning field has text
        if goes_on:
            # The answer began in an earlier text, so this is not its head.
            self._blank, self._split = False, True

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was guessed, dropped or judged again so far."""
        return self.notebook.notes()

    def finish(self, finish_reason: FinishReason | None = None) -> list[Event]:
        """Ends the text: gives out what was held back and settles what was open."""
        if self._finished:
            raise UsageError("finish was called already; a Splitter reads one text")
        self._finished, self._ready = True, False
        self._finish_reason = finish_reason or self._finish_reason
        composer = self._composer
        composer.events = []
        self._run(self._held, final=True)
        if self._pending:
            self._settle("", final=True)
        if self._opening:
            self._finish_open()
        if composer.lead and not composer.draft:
            composer.start("text")
        composer.end()
        if any(isinstance(part, Thinking) for part in composer.done):
            self.notebook.add("inline_thinking")
        return composer.events

    def reasoning_elsewhere(self) -> list[Event]:
        """A reasoning field has text, so that the card's guess and ours about this text are off (S5)."""
        self._elsewhere = True
        self._composer.events = []
        if self._opening and self._opening.prefix == "card":
            self._opening = None
            if self._composer.draft:
                self._unthink("prefix_withdrawn")
        self._prepare()
        return self._composer.events

    def _act(self, mark: Mark, *, rejudged: bool) -> None:
        token = mark.token
        match token.role:
            case "open":
                self._open(mark)
            case "header" if token.head or not token.bare or self._channel:
                self._open_channel(mark)
            case "close" | "header":
                self._close_orphan(mark, cut=rejudged)
            case _:
                ends = token.role == "end"
                self._remove(mark.text, "wrapper_removed", cut=rejudged or ends)
                self._channel = None if ends else token.row

    def _act_inside(self, mark: Mark, opening: Opening) -> int:
        # Rules S2, S6 and S8.
        role = mark.token.role
        thinking = opening.kind == "thinking"
        kin = opening.is_kin(mark)
        if role == "stop" and thinking:
            self.notebook.add("closed_by_marker", mark.text)
            self._close("")
            return mark.start
        # A header without special tokens counts only after one that stood at the head.
        if role in ("end", "header") and kin and (not mark.token.bare or self._channel):
            self._close(mark.text if role == "end" else "")
            self._channel = None
            if role == "header":
                self._open_channel(mark)
        elif role == "close" and kin and thinking:
            self._close(mark.text)
        elif role == "open" and kin and thinking and not mark.token.head:
            self._swallow(mark, opening)
        else:
            self._say(mark.text)
        return mark.end

    def _open(self, mark: Mark) -> None:
        row = mark.token.row
        label = mark.token.head and row is not None and row.label
        self._end()
        self._opening = Opening(row=row, name=mark.name, head=self._blank, label=label)
        self._composer.start("thinking").remove(mark.text)

    def _open_channel(self, mark: Mark) -> None:
        row = self._channel = mark.token.row
        kind = mark.token.kind(mark.text)
        self._end()
        if kind == "text":
            self._composer.remove(mark.text)
            return
        if kind == "call":
            self.notebook.add("call_in_text")
        draft: DraftKind = "thinking" if kind == "thinking" else "opaque"
        self._opening = Opening(kind=draft, row=row, channel=True)
        self._composer.start(draft).remove(mark.text)

    def _swallow(self, mark: Mark, opening: Opening) -> None:
        """An opener inside thinking (S6)."""
        if opening.row is None and opening.prefix == "no" and mark.name != opening.name:
            self._say(mark.text)
            return
        draft = self._composer.draft or self._composer.start("thinking")
        draft.remove(mark.text)
        if opening.prefix != "no" and opening.fresh and draft.is_blank():
            # The opener that was said to stand in the prompt came all the same.
            opening.row, opening.name, opening.prefix = mark.token.row, mark.name, "no"
            return
        opening.fresh = False
        self._swallowed = min(self._swallowed + 1, MOST_SWALLOWED)
        self.notebook.add("opener_repeated")

    def _close(self, closer: str) -> None:
        opening, self._opening = self._opening, None
        assert opening is not None
        draft = self._composer.draft or self._composer.start(opening.kind)
        if closer:
            draft.remove(closer)
        if opening.prefix == "card":
            self.notebook.add("prefix_assumed")
        if opening.kind == "thinking":
            self._split, self._last = True, draft.index
        self._composer.end()

    def _close_orphan(self, mark: Mark, *, cut: bool) -> None:
        """A closer with nothing open (S5, S6)."""
        if self._swallowed:
            self._swallowed -= 1
            if self._rethink(self._last, mark.text, "rethought"):
                return
        elif not self._split and not self._elsewhere and self._count() >= ORPHAN_MINIMUM:
            if self._rethink(0, mark.text, "orphan_closer"):
                return
        elif self._stutter and self._split and self._remove_stutter(mark.text):
            return
        self._remove(mark.text, "closer_removed", cut=cut)

    def _rethink(self, first: int, closer: str, code: str) -> bool:
        if not self._composer.rethink(first, closer):
            return False
        self.notebook.add(code)
        self._split, self._last, self._left_alone = True, first, False
        self._blank = self._composer.is_blank()
        return True

    def _remove(self, markup: str, code: str, *, cut: bool) -> None:
        self.notebook.add(code)
        self._composer.remove(markup)
        if cut:
            self._end()

    def _remove_stutter(self, closer: str) -> bool:
        """Removes a stuttered line with the spare closer behind it (S6)."""
        draft = self._composer.draft
        tail = draft.tail(_STUTTER_LONGEST) if draft else ""
        found = _STUTTER.search(tail)
        if not draft or not found:
            return False
        if not found[0].startswith("\n") and len(tail) < draft.length():
            return False  # not the start of a line
        draft.remove(draft.cut(draft.length() - len(found[0])) + closer)
        self.notebook.add("stutter_removed")
        self._composer.recast(draft.index)
        self._end()
        return True

    def _end(self) -> None:
        self._count()
        self._composer.end()

    def _finish_open(self) -> None:
        """Settles what is still open at the end (S4, S5)."""
        cut_short = self._finish_reason == "length"
        opening, self._opening = self._opening, None
        assert opening is not None
        if not self._composer.draft:
            return
        if opening.kind == "opaque":
            self._composer.end(complete=False)
        elif opening.prefix == "card" and not cut_short:
            self._unthink("prefix_withdrawn")
        elif opening.label and not cut_short:
            self._unthink("label_removed", label=True)
        elif not opening.head and not opening.channel:
            self._unthink("opener_in_text")
        else:
            self.notebook.add("unclosed_thinking")
            self._composer.end(complete=False)

    def _unthink(self, code: str, *, label: bool = False) -> None:
        self.notebook.add(code)
        self._composer.unthink(label=label)
        self._blank = self._composer.is_blank()
