"""When the thoughts and the answer of one stream came: times are noted where one kind of output follows another, not for each piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from innervoice.canon.events import (
    Event,
    Finish,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.response import Response
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.folding import content_of

__all__ = ["OUTPUT_EVENTS", "ThinkingClock"]

_Kind: TypeAlias = Literal["thinking", "answer", "other"]
_KINDS: dict[str, _Kind] = {
    "thinking": "thinking",
    "text": "answer",
    "tool_call": "answer",
    "media": "answer",
}
"""What a part counts as, by its type; the work of a provider's own tools is neither."""

OUTPUT_EVENTS = frozenset(
    {PartStart, PartEnd, TextDelta, ThinkingDelta, ToolCallDelta, Recast, Finish}
)
"""Events that are part of the answer itself, so that the request is not retried after them."""
_CHANGES: dict[_Kind, frozenset[Any]] = {
    "thinking": frozenset({PartStart, TextDelta, ToolCallDelta, Recast}),
    "answer": frozenset({PartStart, ThinkingDelta, Recast}),
    "other": frozenset({PartStart, TextDelta, ThinkingDelta, ToolCallDelta, Recast}),
}
"""The events that may end a run of pieces of one kind."""
_SENT_WHOLE = frozenset({"data", "redactedContent", "reasoningContent.redactedContent"})
"""Seals of hidden reasoning that is sent only when it is over, so that nobody sees how long it took."""


_DIGITS = 6
"""Clocks are not more exact than microseconds."""


class _Span:
    """The time of one part."""

    __slots__ = ("first", "kind", "seconds")

    def __init__(self, kind: _Kind) -> None:
        self.kind = kind
        self.first: float | None = None
        """When its first piece came; None before that."""
        self.seconds = 0.0


class ThinkingClock:
    """Times one call. The caller compares the types of events with `changes`, and feeds only those among which there is one."""

    changes: frozenset[Any] = OUTPUT_EVENTS
    """The types of events that mean something now."""
    waited = 0.0
    """Seconds before the call began, which count as well."""
    _active: _Span | None = None
    """The part that was written last."""
    _since = 0.0
    _first_part = 0
    """The number of parts before this answer: several requests may answer one call."""
    _ended: float | None = None

    def __init__(self, clock: Callable[[], float]) -> None:
        self.now = clock
        self.begun = clock()
        self._spans: list[_Span] = []

    def feed(self, events: Iterable[Event], now: float) -> None:
        """Reads events that came at this time, in order."""
        for event in events:
            match event:
                case PartStart():
                    self._start(event, now)
                case ThinkingDelta() | ToolCallDelta():
                    self._run(self._spans[self._first_part + event.index], now)
                case TextDelta(index=index, text=text) if text and not text.isspace():
                    self._run(self._spans[self._first_part + index], now)
                case Recast():
                    self._recast(event, now)
                case _:
                    pass

    def end(self, response: Response) -> None:
        """Notes the end of the answer, and leaves the times with its response; they are no part of its value."""
        self._ended = self.now()
        vars(response)["clock"] = self

    def metrics(self, parts: Sequence[Part]) -> ThinkingMetrics:
        """The times so far, of an answer with these parts."""
        now = self.now() if self._ended is None else self._ended
        thoughts = [span for span in self._spans if span.kind == "thinking"]
        seconds = sum(span.seconds for span in thoughts)
        if self._active in thoughts:
            seconds += now - self._since
        # Nor is the time known of thoughts that came in one piece, as from a server that does not stream.
        is_known = seconds > 0 and not any(map(_was_sent_whole, parts))
        begun = self.begun - self.waited
        return ThinkingMetrics(
            first_thought_seconds=_between(begun, self._first("thinking")),
            first_answer_seconds=_between(begun, self._first("answer")),
            thinking_seconds=round(seconds, _DIGITS) if is_known else None,
            total_seconds=_between(begun, now),
        )

    def _first(self, kind: _Kind) -> float | None:
        """When the first piece of this kind came."""
        firsts = (span.first for span in self._spans if span.kind == kind)
        return min((first for first in firsts if first is not None), default=None)

    def _start(self, event: PartStart, now: float) -> None:
        if event.index == 0:
            self._first_part = len(self._spans)
        span = _Span(_KINDS.get(event.type, "other"))
        self._spans.append(span)
        if event.type != "text" or _has_ink(event.part):
            self._run(span, now)

    def _run(self, span: _Span, now: float) -> None:
        """The model writes a part, from now on."""
        if span is self._active:
            return
        if self._active is not None:
            self._active.seconds += now - self._since
        self._active, self._since = span, now
        self.changes = _CHANGES[span.kind]
        if span.first is None:
            span.first = now

    def _recast(self, event: Recast, now: float) -> None:
        """Text turned out to be reasoning, or the other way round: the time of the old parts is that of the first new one."""
        position = self._first_part + event.index
        old, new = self._spans[position:], []
        if self._active in old:
            self._active.seconds += now - self._since
            self._active, self.changes = None, OUTPUT_EVENTS
        for part in event.parts:
            span = _Span(_KINDS.get(part.type, "other"))
            new.append(span)
            if part.type != "text" or _has_ink(part):
                self._run(span, now)
        heir = next((span for span in new if span.first is not None), None)
        if heir is not None:
            heir.seconds += sum(span.seconds for span in old)
            heir.first = min([span.first for span in old if span.first is not None], default=now)
        self._spans[position:] = new


def _between(begun: float, end: float | None) -> float | None:
    return None if end is None else round(end - begun, _DIGITS)


def _has_ink(part: Part | None) -> bool:
    content = "" if part is None else content_of(part)
    return content != "" and not content.isspace()


def _was_sent_whole(part: Part) -> bool:
    return (
        isinstance(part, Thinking)
        and part.form == "hidden"
        and part.origin is not None
        and not _SENT_WHOLE.isdisjoint(part.origin.seals)
    )
