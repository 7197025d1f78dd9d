"""The list of sources: a few words of each file, found out as they are asked for.

A folder may hold more than can be read while somebody waits: the list examines files until its time is over and says how many are left.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple

from innervoice.errors import InnervoiceError
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.opening import Source, open_source
from innervoice.view.ids import full_id
from innervoice.view.places import Place, Places
from innervoice.view.row_types import SourceItem, SourceList
from innervoice.view.wording import fact, moment, size

__all__ = ["Listing", "item_of"]

_PATIENCE = 2.0
"""Seconds that a page of the list may take."""
_PATIENCE_OF_SEARCH = 5.0
_REST = 20
"""A file that grows is examined again after so many times as long as that took."""
_MODELS = 3


class _Examined(NamedTuple):
    changed: float
    size: int
    item: SourceItem | None
    """None for a file of no known format."""
    companions: tuple[Path, ...]
    rest_until: float


class Listing:
    """What the files are, by id."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._examined: dict[str, _Examined] = {}
        self._lock = Lock()

    def examine(self, deadline: float) -> int:
        """Finds out what files are until the deadline; how many are left."""
        waiting = [place for place in self._places.all() if not self._is_known(place)]
        for number, place in enumerate(waiting):
            if monotonic() > deadline:
                return len(waiting) - number
            self._examine(place)
        return 0

    def page(self, query: str, start: int, limit: int) -> SourceList:
        """Some items, newest first."""
        words = query.lower().split()
        deadline = monotonic() + (_PATIENCE_OF_SEARCH if words else _PATIENCE)
        items: list[SourceItem] = []
        found = unknown = pending = 0
        for place in self._listed():
            is_late = monotonic() > deadline and found > start + limit
            examined = self._examined.get(place.id) if is_late else self._examine(place)
            if examined is None:
                pending += 1
            elif examined.item is None:
                unknown += 1
            elif _fits(examined.item, words):
                found += 1
                if start < found <= start + limit:
                    items.append(examined.item)
        total = found if words else found + pending
        following = start + limit if total > start + limit else None
        listed = SourceList(sources=items, total=total, next=following, unknown=unknown)
        if pending:
            listed["pending"] = pending
        return listed

    def _listed(self) -> list[Place]:
        """The files without those that belong to the session of another."""
        places = self._places.all()
        belonging = {
            path for examined in self._examined.copy().values() for path in examined.companions
        }
        return [place for place in places if place.path not in belonging]

    def _is_known(self, place: Place) -> bool:
        examined = self._examined.get(place.id)
        if examined is None:
            return False
        return (examined.changed, examined.size) == (place.changed, place.size) or (
            examined.item is not None and monotonic() < examined.rest_until
        )

    def _examine(self, place: Place) -> _Examined:
        if self._is_known(place):
            return self._examined[place.id]
        began = monotonic()
        item, companions = _look_at(place)
        took = monotonic() - began
        examined = _Examined(place.changed, place.size, item, companions, began + took * _REST)
        with self._lock:
            self._examined[place.id] = examined
        return examined


def item_of(id: str, shown: str, source: Source, changed: float | None) -> SourceItem:  # noqa: A002
    """The item of an opened source."""
    entries = source.entries
    title = next((entry.title for entry in entries if entry.title), "") or shown
    models = list(dict.fromkeys(entry.model for entry in entries if entry.model))
    facts = [
        fact(source.name),
        fact(counted(len(entries), "conversation")),
        fact(size(source.size)),
    ]
    if changed is not None:
        facts.append(fact(moment(changed), "When the file was changed last."))
    facts += [fact(model) for model in models[:_MODELS]]
    if len(models) > _MODELS:
        facts.append(fact(f"and {counted(len(models) - _MODELS, 'more model')}"))
    item = SourceItem(
        id=id,
        title=one_line(title),
        path=one_line(shown, 500),
        kind=source.kind,
        first=full_id(id, entries[0]) if entries else "",
        facts=facts,
    )
    if not entries:
        item["problem"] = "It holds no conversation."
    return item


def _look_at(place: Place) -> tuple[SourceItem | None, tuple[Path, ...]]:
    if not place.is_inside():
        return None, ()
    try:
        source = open_source(place.path)
    except InnervoiceError as error:
        if _is_unknown(error) and place.path != place.root:
            return None, ()
        return _problem(place, str(error)), ()
    except OSError as error:
        return _problem(place, f"It cannot be read: {error.strerror or error}."), ()
    companions = tuple(getattr(source, "companions", ()))
    return item_of(place.id, place.shown, source, place.changed), companions


def _is_unknown(error: InnervoiceError) -> bool:
    return str(error).startswith("expected a session, a log, a trace")


def _problem(place: Place, why: str) -> SourceItem:
    return SourceItem(
        id=place.id,
        title=one_line(place.path.name),
        path=one_line(place.shown, 500),
        kind="",
        first="",
        facts=[fact(size(place.size)), fact(moment(place.changed))],
        problem=one_line(why, 500),
    )


def _fits(item: SourceItem, words: list[str]) -> bool:
    text = " ".join(
        [item["title"], item["path"], item["kind"], *(fact["label"] for fact in item["facts"])]
    )
    return all(word in text.lower() for word in words)
