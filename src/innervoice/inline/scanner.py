"""Finds the markers of a text that count: the reading half of the splitter.

It holds back what may still become a marker, and passes over those that stand in code. What a marker
does is the other half, in `splitter.py`.

A code span that its line has not closed yet leaves a marker undecided. It is shown as text while the
line goes on; when the line ends without closing the span, the line is judged again behind the scenes
and a `Recast` tells the outcome (rule S3).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from innervoice.canon.events import Event, TextDelta, ThinkingDelta
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.errors import UsageError
from innervoice.inline.code import CodeTracker, closing_run
from innervoice.inline.composer import Composer
from innervoice.inline.formats import Format
from innervoice.inline.marks import Mark, Opening, Pending, mark_of
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG
from innervoice.inline.vocabulary import Vocabulary

__all__ = ["ORPHAN_MINIMUM", "Scanner"]

ORPHAN_MINIMUM = 20
"""So many characters that are not blank make what stands before an orphan closer thinking (S5)."""

_NONBLANK = re.compile(r"\S")
_TICKS = re.compile(r"`+\Z")


class Scanner(ABC):
    """Reads a text piece by piece and meets its markers."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        opening: Opening | None,
        off: bool,
        origin: Origin | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self.notebook = Notebook()
        self._composer = Composer(origin)
        self._opening = opening
        self._channel: Format | None = (
            None  # the channel format the answer stands in, or its wrapper
        )
        self._left_alone = off  # nothing more is looked for: switched off, or the answer is JSON
        self._blank = True  # nothing but white space in the answer so far
        self._split = False  # some thinking was closed
        self._counted = 0  # characters that are not blank, counted before anything was split
        self._held = ""
        self._code = CodeTracker(at_line_start=True)
        self._pending: Pending | None = None
        self._rejudged = False  # the marker at hand stands on a line whose span was not closed
        self._finished = False
        # The shortcut of `feed`: the next piece goes on with the open part unless it has a "<".
        self._ready = False
        self._append = [""].append
        self._delta: type[TextDelta | ThinkingDelta] = TextDelta
        self._index = 0

    def feed(self, text: str) -> list[Event]:
        """Reads the next piece."""
        # By far most pieces take this way; what is no str fails here or in `_feed`.
        try:
            if self._ready and text and "<" not in text:
                self._append(text)
                return [self._delta(self._index, text)]
        except TypeError:
            pass
        return self._feed(text)

    @abstractmethod
    def _act(self, mark: Mark, *, rejudged: bool) -> None:
        """Does what a marker in the answer says."""

    @abstractmethod
    def _act_inside(self, mark: Mark, opening: Opening) -> int:
        """Does what a marker inside thinking or a call says; gives where to read on."""

    def _feed(self, text: str) -> list[Event]:
        if not isinstance(text, str):
            raise UsageError(f"a Splitter reads str, not {type(text).__name__}")
        if self._finished:
            raise UsageError("the text was finished; a Splitter reads one text")
        suspect = self._vocabulary.suspect
        if self._ready and text and suspect and not suspect.search(text):
            self._append(text)
            return [self._delta(self._index, text)]
        self._composer.events = []
        self._run(self._held + text, final=False)
        self._prepare()
        return self._composer.events

    def _prepare(self) -> None:
        """Opens the shortcut of `feed` if the next piece can only go on with the open part."""
        draft = self._composer.draft
        self._ready = (
            draft is not None
            and draft.kind != "opaque"
            and not self._held
            and not self._pending
            and self._vocabulary.suspect is not None
            and (not self._blank or draft.kind == "thinking")
        )
        if draft and self._ready:
            self._append = draft.pieces.append
            self._index = draft.index
            self._delta = TextDelta if draft.kind == "text" else ThinkingDelta

    def _run(self, text: str, *, final: bool) -> None:
        """Reads a text up to what must be held back, which goes to `_held`."""
        search = self._vocabulary.search.search
        # Where all markers begin with one character, looking for that first is many times as fast.
        tagged = self._vocabulary.suspect is not None
        position = 0
        self._held = ""
        while position < len(text):
            if self._pending:
                position = self._read_line(text, position, final=final)
                text, position, self._held = self._held + text[position:], 0, ""
                continue
            if self._left_alone and not self._channel:
                self._say(text[position:])
                return
            start = text.find("<", position) if tagged else position
            found = search(text, start) if start >= 0 else None
            # Tags begin and end in characters of their own: they cannot grow.
            if not found or (
                found.lastgroup != "tag" and not final and self._may_grow(found, text, position)
            ):
                break
            start = found.start()
            if start > position:
                self._say(text[position:start])
                position = start
                if self._left_alone:
                    continue
            position = self._meet(mark_of(found, self._vocabulary), text, final=final)
        end = len(text) if final else self._hold_from(text, position)
        self._say(text[position:end])
        self._held = text[end:]

    def _hold_from(self, text: str, position: int) -> int:
        half = self._vocabulary.half.search(text, max(position, len(text) - LONGEST_MARKER))
        return half.start() if half else len(text)

    def _may_grow(self, found: re.Match[str], text: str, position: int) -> bool:
        """Whether what was found may turn out to be a piece of a longer marker that goes on.

        Only words without special tokens can stand inside another marker, and only markers that
        count at the head begin as others do.
        """
        token = self._vocabulary.tokens.get(found.lastgroup or "")
        if not token or not (token.head or text[found.start()] != "<"):
            return False
        half = self._hold_from(text, position)
        return half < found.start() or (token.head and half == found.start())

    def _say(self, text: str) -> None:
        """Adds characters to what is open, or to the answer."""
        if not text:
            return
        kind = self._opening.kind if self._opening else "text"
        if kind == "text":
            if not self._composer.draft:
                self._code = CodeTracker(at_line_start=self._blank)
            if self._blank and (first := _NONBLANK.search(text)):
                self._blank = False
                self._left_alone = self._left_alone or first[0] == "{"
        self._composer.say(kind, text)

    def _meet(self, mark: Mark, text: str, *, final: bool) -> int:
        """Takes a marker; gives where to read on."""
        token = mark.token
        if token.row is None and token.role != "stop" and len(mark.text) > LONGEST_TAG:
            self._say("<")
            return mark.start + 1
        if self._opening:
            return self._act_inside(mark, self._opening)
        if not self._counts(mark):
            self._say(mark.text)
            return mark.end
        code_end = self._code_end(mark, text, final=final)
        rejudged, self._rejudged = self._rejudged, False
        if code_end is not None:
            self._say(text[mark.start : code_end])
            return code_end
        self._act(mark, rejudged=rejudged)
        return mark.end

    def _counts(self, mark: Mark) -> bool:
        """Whether a marker in the answer is one at all, code aside."""
        token = mark.token
        if token.role == "stop" or (token.head and not self._blank):
            return False
        if self._left_alone:
            return token.row is self._channel and token.role in ("header", "end", "wrapper")
        return True

    def _count(self) -> int:
        """The characters of the answer that are not blank, as long as it matters how many (S5)."""
        draft = self._composer.draft
        if draft and draft.kind == "text" and not self._split:
            self._counted += draft.count_nonblank(ORPHAN_MINIMUM - self._counted)
        return self._counted

    # ---- code ----------------------------------------------------------------------------------

    def _code_end(self, mark: Mark, text: str, *, final: bool) -> int | None:
        """Where the code ends in which a marker stands, as far as it is known; None outside code."""
        draft = self._composer.draft
        if not draft:
            return None
        code = self._code
        code.read(draft.unread())
        while code.span:
            end, closed = closing_run(text, mark.start, code.span)
            if end == len(text) and not final:
                self._count()
                self._pending = Pending(draft.length(), code.span)
                return mark.start
            if closed:
                return end
            self._forget_span()
        return mark.end if code.in_fence else None

    def _forget_span(self) -> None:
        self.notebook.add("span_reopened")
        self._code.forget_span()
        self._rejudged = True

    def _read_line(self, text: str, position: int, *, final: bool) -> int:
        """Reads on in a line whose code span is open: it is text until the line says otherwise."""
        pending = self._pending
        assert pending is not None
        line = pending.ticks + text[position:]
        end, closed = closing_run(line, 0, pending.span)
        if end == len(line) and not final:
            self._say(text[position:])
            ticks = _TICKS.search(line)
            pending.ticks = ticks[0][:3] if ticks else ""  # three are never the end of a span
            return len(text)
        stop = position + end - len(pending.ticks)
        if closed:
            self._say(text[position:stop])
            self._pending = None
            return stop
        stop = min(stop + 1, len(text))
        self._settle(text[position:stop], final=final)
        return stop

    def _settle(self, more: str, *, final: bool) -> None:
        """The line ended and its span was no code: judges the line again, behind the scenes."""
        pending, self._pending = self._pending, None
        draft = self._composer.draft
        assert pending is not None
        assert draft is not None
        if final and not more and len(pending.ticks) == pending.span:
            return
        shown = draft.length()
        events = self._composer.hush()
        raw = draft.cut(pending.at) + more
        self._forget_span()
        self._run(raw, final=final)
        if self._composer.draft is draft and draft.length() == shown + len(more):
            # Still code, of another kind: nothing was shown that is not so.
            self._composer.events = events
            if more:
                events.append(TextDelta(draft.index, more))
            return
        self._composer.speak_up(events)
