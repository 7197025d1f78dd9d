"""All events of one answer, for readers that stand at different places of it.

A reader may begin at any time, and then with the first event, so none is thrown away. But pieces of one part that all readers
have passed are joined: a long stream costs its text then, and not an object for each of its pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from weakref import WeakSet

from innervoice.canon.events import Event, TextDelta, ThinkingDelta

__all__ = ["Log", "Place"]

_LOOSE = 4096
"""How many events are kept as they came before some are joined."""


class Place:
    """Where a reader stands: the number of the event that comes next for it."""

    __slots__ = ("__weakref__", "position")

    def __init__(self) -> None:
        self.position = 0


class Log(list[Event]):
    """The events so far."""

    def __init__(self) -> None:
        super().__init__()
        self._places: WeakSet[Place] = WeakSet()
        self._joined = 0  # so many of them were joined already
        self._most = _LOOSE

    def place(self) -> Place:
        """The place of a new reader, who must move it on."""
        made = Place()
        self._places.add(made)
        return made

    def add(self, events: list[Event]) -> None:
        """Takes what came."""
        self += events
        if len(self) > self._most:
            self._join()

    def clear(self) -> None:
        super().clear()
        self._joined, self._most = 0, _LOOSE

    def _join(self) -> None:
        """Joins what all readers have passed and was not joined before."""
        start = self._joined
        end = max(start, min((place.position for place in self._places), default=start))
        joined = list(_joined(self[start:end]))
        self[start:end] = joined
        self._joined = start + len(joined)
        self._most = len(self) + _LOOSE
        for place in self._places:
            place.position -= end - self._joined


def _joined(events: list[Event]) -> Iterator[Event]:
    """The same events with neighbouring pieces of one part as one."""
    for _, group in groupby(events, key=_kind):
        first, *others = group
        if others and isinstance(first, (TextDelta, ThinkingDelta)):
            rest = [event.text for event in others if isinstance(event, type(first))]
            yield type(first)(first.index, "".join([first.text, *rest]))
        else:
            yield from (first, *others)


def _kind(event: Event) -> tuple[type[Event], int]:
    return type(event), getattr(event, "index", 0)
