"""A limit on the reasoning of a running answer, and an alarm if it repeats itself.

Where a model or a server takes a budget of tokens, the request sets it, and the watch stands behind it with some room. Only reasoning that
can be read is watched, and only before the first output: whatever the client has of an answer is never taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from innervoice.canon.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.target import Target
from innervoice.steering.repetition import RepetitionDetector

__all__ = [
    "CHARACTERS_A_TOKEN",
    "LOOPS",
    "Alarm",
    "Loops",
    "Steering",
    "ThoughtWatch",
    "has_native_limit",
    "with_native_limit",
]

Loops: TypeAlias = Literal["answer", "stop", "note"]
"""What is done about reasoning that repeats itself: the answer is requested again without reasoning, the answer ends, or only a note says so."""
LOOPS: tuple[str, ...] = get_args(Loops)

CHARACTERS_A_TOKEN = 4
"""A guess that is high for most languages: reasoning in the others is cut a little late."""
_ROOM = 1.25
"""How far a server may exceed the budget that it was sent: some end the thought only after its line."""
_MOST_WAITING = 32
_PIECE = 256
"""About so many characters are read at a time, in at most so many events: that costs less than reading each."""
_HIGH = (None, "high", "xhigh", "max")
"""Efforts in place of which a budget may be sent; lower ones are usually below it."""


class Steering(NamedTuple):
    """What is done about an answer while it runs."""

    limit: int | None = None
    """The most tokens of reasoning, about."""
    loops: Loops | None = None
    goes_on: bool = False
    """Whether an answer that breaks off is continued by another request."""

    @property
    def is_watching(self) -> bool:
        """Whether the reasoning has to be read while it arrives."""
        return self.limit is not None or self.loops is not None

    @property
    def is_acting(self) -> bool:
        """Whether anything but a note may come of it, for which the answer must be streamed."""
        return self.limit is not None or self.loops in ("answer", "stop") or self.goes_on


class Alarm(NamedTuple):
    """Why something is done about a thought, and what."""

    code: str
    """The code of its note."""
    action: Loops
    tokens: int
    """About how many tokens of reasoning there were."""


def has_native_limit(limit: int, target: Target) -> bool:
    """Whether the model or its server takes a budget of tokens that is not above the limit."""
    row, host = target.row, target.host
    return bool((row.budget and row.budget[0] <= limit) or (host and host.budget_member))


def with_native_limit(setting: Reasoning | None, limit: int, target: Target) -> Reasoning | None:
    """The setting with the limit as its budget, if the target takes one and the setting allows more."""
    asked = setting or Reasoning()
    if not has_native_limit(limit, target) or asked.effort not in _HIGH:
        return setting
    if target.row.default == "none" and asked.effort is None and asked.budget is None:
        return setting  # it does not reason, and a limit is no reason to
    if asked.effort is None and asked.budget is not None and asked.budget <= limit:
        return setting
    return asked.replace(effort=None, budget=limit)


def _is_output(event: Event) -> bool:
    """Whether an event is a part of the answer; white space in front of reasoning is not."""
    return type(event) is ToolCallDelta or (type(event) is TextDelta and not event.text.isspace())


class ThoughtWatch:
    """Reads the events of an answer."""

    def __init__(self, steering: Steering, *, is_native: bool, read: Callable[[], str]) -> None:
        """`is_native`: the request sets the limit as a budget. `read` returns what the model has read."""
        self._steering = steering
        limit = steering.limit
        room = _ROOM if is_native else 1
        self._most = None if limit is None else int(limit * room) * CHARACTERS_A_TOKEN
        self._read = read
        self._begin()

    def restart(self) -> None:
        """Begins anew with the second answer: it was requested with as little reasoning as possible, so only loops are left to look for."""
        self._most = None
        self._begin()

    def _begin(self) -> None:
        self._characters = 0
        self._waiting: list[Event] = []
        self._batch = 1
        self._detector = RepetitionDetector(self._read) if self._steering.loops else None
        self._has_output = False

    def feed(self, events: list[Event]) -> Alarm | None:
        """Reads events, several at a time; returns an alarm once."""
        self._waiting += events
        return self.look() if len(self._waiting) >= self._batch else None

    def look(self, more: Sequence[Event] = ()) -> Alarm | None:
        """Reads the events that wait, and more."""
        events, self._waiting = [*self._waiting, *more], []
        if self._has_output:
            return None
        kinds = set(map(type, events))
        if ThinkingDelta in kinds:
            text = "".join([event.text for event in events if type(event) is ThinkingDelta])
            self._characters += len(text)
            self._batch = min(_MOST_WAITING, 1 + _PIECE * len(events) // (len(text) + 1))
            if self._detector is not None:
                self._detector.feed(text)
        if ToolCallDelta in kinds or TextDelta in kinds:
            self._has_output = any(map(_is_output, events))
        repeats = self._detector is not None and self._detector.place is not None
        if not repeats and (self._most is None or self._characters <= self._most):
            return None
        return self._alarm(repeats=repeats)

    def _alarm(self, *, repeats: bool) -> Alarm | None:
        tokens = self._characters // CHARACTERS_A_TOKEN
        loops = self._steering.loops
        if repeats and loops is not None:
            self._detector = None
            if loops == "note" or not self._has_output:
                return Alarm("thinking_loops", loops, tokens)
        is_over = self._most is not None and self._characters > self._most
        return (
            Alarm("thinking_cut_short", "answer", tokens)
            if is_over and not self._has_output
            else None
        )
