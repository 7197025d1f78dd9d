"""Text with reasoning in it -> events of text and thinking parts, in any chunking.

One machine reads a text piece by piece. It is either in the answer or inside something that a marker
opened: thinking, or a call. A whole text is one piece and an end, so whole and streamed give the same
parts. The machine finds the markers that count: it holds back text that may still become a marker, and skips
markers in code. What a marker does is in `actions.py`.

A code span that its line has not closed yet leaves a marker undecided. It is shown as text while the
line continues; when the line ends without closing the span, the line is read again without
sending events, and one `Recast` carries the result (rule S3).

Time: every character is examined a bounded number of times, and no more than `LONGEST_MARKER`
characters are held back. A `Recast` repeats the part it changes, so after one that only removed a
closer the part is ended: text that causes many of them is still repeated only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from innervoice.canon.events import Event, TextDelta, ThinkingDelta
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.response import FinishReason
from innervoice.errors import UsageError
from innervoice.inline.actions import MarkerActions
from innervoice.inline.code import closing_run
from innervoice.inline.marks import Mark, Pending, Prefix, SettledPlace, mark_of
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG
from innervoice.inline.vocabulary import Vocabulary

__all__ = ["SplitMachine"]

_TICKS = re.compile(r"`+\Z")


class SplitMachine:
    """Reads a text piece by piece; `feed` and `finish` return events, without a `Finish`.

    `head_only` searches for closed blocks before the answer and for nothing else (rule S10). `origin` is the origin of the text,
    if its parts should have it.
    """

    finished = False
    _held = ""
    _pending: Pending | None = None
    _rejudged = False  # the current marker is on a line whose span was not closed
    # The shortcut of `feed`: the next piece continues the open part unless it has a "<".
    _ready = False
    _append: Callable[[str], None]
    _delta: type[TextDelta | ThinkingDelta]
    _index: int

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        prefix: Prefix = "no",
        stutter: bool = False,
        off: bool = False,
        head_only: bool = False,
        goes_on: bool = False,
        finish_reason: FinishReason | None = None,
        origin: Origin | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._actions = MarkerActions(
            vocabulary,
            prefix=prefix,
            stutter=stutter,
            off=off,
            head_only=head_only,
            goes_on=goes_on,
            origin=origin,
        )
        self.finish_reason = finish_reason

    @property
    def notebook(self) -> Notebook:
        """Notes about guesses, removals and corrections so far."""
        return self._actions.notebook

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that have ended."""
        return tuple(self._actions.composer.done)

    @property
    def is_holding(self) -> bool:
        """Whether some of the text is held back, or not decided yet."""
        return bool(self._held or self._pending)

    @property
    def is_blank(self) -> bool:
        """Whether the answer is only white space so far."""
        return self._actions.blank

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled, see `Place`; None if all output so far is settled."""
        if self.finished:
            return None
        return self._actions.settled(self._pending.at if self._pending else None)

    def feed(self, text: str) -> list[Event]:
        """Reads the next piece."""
        # Most pieces take this path; a value that is not a str fails here or in `_feed`.
        try:
            if self._ready and text and "<" not in text:
                self._append(text)
                return [self._delta(self._index, text)]
        except TypeError:
            pass
        return self._feed(text)

    def finish(self, finish_reason: FinishReason | None = None) -> list[Event]:
        """Ends the text: returns what was held back and decides about everything that is still open."""
        if self.finished:
            raise UsageError("finish was called already; a Splitter reads one text")
        self.finished, self._ready = True, False
        self.finish_reason = finish_reason or self.finish_reason
        actions, composer = self._actions, self._actions.composer
        composer.events = []
        if self._held:
            self._run(self._held, final=True)
        if self._pending:
            self._judge_again("", final=True)
        if actions.opening:
            actions.finish_open(self.finish_reason)
        if composer.lead and not composer.draft:
            composer.start("text")
        composer.end()
        if any(isinstance(part, Thinking) for part in composer.done):
            actions.notebook.add("inline_thinking")
        return composer.events

    def reasoning_elsewhere(self) -> list[Event]:
        """A reasoning field has text: returns the events that change for this text."""
        self._actions.composer.events = []
        self._actions.withdraw_prefix()
        self._prepare()
        return self._actions.composer.events

    def _feed(self, text: str) -> list[Event]:
        if not isinstance(text, str):
            raise UsageError(f"a Splitter reads str, not {type(text).__name__}")
        if self.finished:
            raise UsageError("the text was finished; a Splitter reads one text")
        suspect = self._vocabulary.suspect
        if self._ready and text and suspect and not suspect.search(text):
            self._append(text)
            return [self._delta(self._index, text)]
        self._actions.composer.events = []
        self._run(self._held + text, final=False)
        self._prepare()
        return self._actions.composer.events

    def _prepare(self) -> None:
        """Enables the shortcut of `feed` if the next piece can only continue the open part."""
        draft = self._actions.composer.draft
        self._ready = (
            draft is not None
            and draft.kind != "opaque"
            and not self._held
            and not self._pending
            and self._actions.array is None
            and self._vocabulary.suspect is not None
            and (not self._actions.blank or draft.kind == "thinking")
        )
        if draft and self._ready:
            self._append = draft.pieces.append
            self._index = draft.index
            self._delta = TextDelta if draft.kind == "text" else ThinkingDelta

    def _run(self, text: str, *, final: bool) -> None:
        """Reads a text up to the part that must be held back, which goes to `_held`."""
        find = self._vocabulary.find
        position = 0
        self._held = ""
        while position < len(text):
            if self._pending:
                position = self._read_line(text, position, final=final)
                text, position, self._held = self._held + text[position:], 0, ""
                continue
            if self._actions.left_alone and not self._actions.channel:
                self._actions.say(text[position:])
                return
            marker = find(text, position)
            # Tags begin and end with their own characters: they cannot grow.
            if not marker or (
                marker.lastgroup != "tag" and not final and self._may_grow(marker, text, position)
            ):
                break
            start = marker.start()
            if start > position:
                self._actions.say(text[position:start])
                position = start
                if self._actions.left_alone:
                    continue
            is_begun = final and self._begins_longer(marker, text)
            position = self._meet(mark_of(marker, self._vocabulary), text, final=final)
            if is_begun and position == marker.end():
                self._actions.remove_cut_off(text[position:])
                return
        end = self._cut_off(text, position) if final else self._hold_from(text, position)
        self._actions.say(text[position:end])
        if final:
            self._actions.end_cut_off(text[end:])
        else:
            self._held = text[end:]

    def _cut_off(self, text: str, position: int) -> int:
        """Where a marker with a control token begins that was cut off; the end of the text if none does.

        `<|` alone may be anything, unless the token limit cut the text off.
        """
        half = self._hold_from(text, position)
        token = text.find("<|", half)
        least = 2 if self.finish_reason == "length" else 3
        return half if 0 <= token <= len(text) - least else len(text)

    def _begins_longer(self, found: re.Match[str], text: str) -> bool:
        """Whether all of the text from this marker on is the beginning of a longer marker, which was cut off."""
        token = self._vocabulary.tokens.get(found.lastgroup or "")
        if not token or not token.grows or not text[found.end() :].strip():
            return False
        return self._hold_from(text, found.start()) == found.start()

    def _hold_from(self, text: str, position: int) -> int:
        """Where an incomplete marker begins; the end of the text if none does."""
        start = max(position, len(text) - LONGEST_MARKER)
        if self._vocabulary.suspect is not None:
            start = text.find("<", start)
            if start < 0:
                return len(text)
        half = self._vocabulary.half.search(text, start)
        return half.start() if half else len(text)

    def _may_grow(self, found: re.Match[str], text: str, position: int) -> bool:
        """Whether the match may turn out to be the beginning of a longer marker.

        Only words without special tokens can be part of another marker.
        """
        token = self._vocabulary.tokens.get(found.lastgroup or "")
        if not token or not (token.grows or text[found.start()] != "<"):
            return False
        half = self._hold_from(text, position)
        return half < found.start() or (token.grows and half == found.start())

    def _meet(self, mark: Mark, text: str, *, final: bool) -> int:
        """Handles a marker; returns where to continue."""
        token = mark.token
        if token.row is None and token.role != "stop" and len(mark.text) > LONGEST_TAG:
            self._actions.say("<")
            return mark.start + 1
        if self._actions.opening:
            return self._actions.act_inside(mark, self._actions.opening)
        if not self._actions.counts(mark):
            self._actions.say(mark.text)
            return mark.end
        code_end = self._code_end(mark, text, final=final)
        rejudged, self._rejudged = self._rejudged, False
        if code_end is not None:
            self._actions.say(text[mark.start : code_end])
            return code_end
        self._actions.act(mark, rejudged=rejudged)
        return mark.end

    # ---- code ----------------------------------------------------------------------------------

    def _code_end(self, mark: Mark, text: str, *, final: bool) -> int | None:
        """Where the code around a marker ends, as far as it has arrived; None outside code."""
        draft = self._actions.composer.draft
        if not draft:
            return None
        code = self._actions.code
        code.read(draft.unread())
        while code.span:
            end, closed = closing_run(text, mark.start, code.span)
            if end == len(text) and not final:
                self._actions.count()
                self._pending = Pending(draft.length(), code.span)
                return mark.start
            if closed:
                return end
            self._forget_span()
        return mark.end if code.in_fence else None

    def _forget_span(self) -> None:
        self._actions.notebook.add("span_reopened")
        self._actions.code.forget_span()
        self._rejudged = True

    def _read_line(self, text: str, position: int, *, final: bool) -> int:
        """Continues a line whose code span is open: it is text until the line shows otherwise."""
        pending = self._pending
        assert pending is not None
        line = pending.ticks + text[position:]
        end, closed = closing_run(line, 0, pending.span)
        if end == len(line) and not final:
            self._actions.say(text[position:])
            ticks = _TICKS.search(line)
            pending.ticks = ticks[0][:3] if ticks else ""  # three are never the end of a span
            return len(text)
        stop = position + end - len(pending.ticks)
        if closed:
            self._actions.say(text[position:stop])
            self._pending = None
            return stop
        stop = min(stop + 1, len(text))
        self._judge_again(text[position:stop], final=final)
        return stop

    def _judge_again(self, more: str, *, final: bool) -> None:
        """The line ended without closing its span, so it is not code: reads the line again without sending events."""
        pending, self._pending = self._pending, None
        draft = self._actions.composer.draft
        assert pending is not None
        assert draft is not None
        if final and not more and len(pending.ticks) == pending.span:
            return
        length = draft.length()
        events = self._actions.composer.pause_events()
        raw = draft.cut(pending.at) + more
        self._forget_span()
        self._run(raw, final=final)
        if self._actions.composer.draft is draft and draft.length() == length + len(more):
            # Still code, of another kind: everything that was shown is right.
            self._actions.composer.events = events
            if more:
                events.append(TextDelta(draft.index, more))
            return
        self._actions.composer.resume_events(events)
