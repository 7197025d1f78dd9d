"""All events of one answer, for readers at different positions.

A reader may start at any time, and always with the first event, so no text is thrown away. But once all readers that have begun are
past them, pieces of the same part are joined, heartbeats are dropped, and only the last token count is kept, because some
hosts send one with every piece. A long stream then takes the memory of its text, not of an object for each piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from weakref import ref

from innervoice.canon.events import Event, Heartbeat, TextDelta, ThinkingDelta, UsageUpdate

__all__ = ["Log", "LogPosition"]

_LOOSE = 4096
"""How many events are kept before some are joined."""


class LogPosition:
    """The position of a reader: the index of its next event."""

    __slots__ = ("__weakref__", "index")

    def __init__(self) -> None:
        self.index = 0


class Log(list[Event]):
    """The events so far."""

    def __init__(self) -> None:
        super().__init__()
        self._positions: list[ref[LogPosition]] = []  # of the readers that still exist
        self._joined = 0  # the number of events that are joined already
        self._most = _LOOSE

    def new_position(self) -> LogPosition:
        """The position of a new reader; the reader advances it."""
        position = LogPosition()
        self._positions.append(ref(position))
        return position

    def add(self, events: list[Event]) -> None:
        """Appends events, and joins old ones from time to time."""
        self += events
        if len(self) > self._most:
            self._join()

    def clear(self) -> None:
        super().clear()
        self._joined, self._most = 0, _LOOSE

    def _join(self) -> None:
        """Joins the events that are not joined yet and that every reader has passed or not begun to read."""
        self._positions = [weak for weak in self._positions if weak()]  # the others are gone
        positions = [
            position for weak in self._positions if (position := weak()) and position.index
        ]
        start = self._joined
        end = max(start, min((position.index for position in positions), default=len(self)))
        joined = list(_joined(self[start:end]))
        self[start:end] = joined
        self._joined = start + len(joined)
        self._most = len(self) + _LOOSE
        for position in positions:
            position.index -= end - self._joined


def _joined(events: list[Event]) -> Iterator[Event]:
    """The same events with adjacent pieces of a part as one, without heartbeats and token counts that a later one replaces."""
    counts = [event for event in events if isinstance(event, UsageUpdate)]
    last = counts[-1] if counts else None
    passing = (UsageUpdate, Heartbeat)
    lasting = (event for event in events if event is last or not isinstance(event, passing))
    for _, group in groupby(lasting, key=_kind):
        first, *others = group
        if others and isinstance(first, (TextDelta, ThinkingDelta)):
            rest = [event.text for event in others if isinstance(event, type(first))]
            yield type(first)(first.index, "".join([first.text, *rest]))
        else:
            yield from (first, *others)


def _kind(event: Event) -> tuple[type[Event], int]:
    return type(event), getattr(event, "index", 0)
