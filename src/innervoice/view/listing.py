"""The list of sources: a few facts about each file, read when they are requested.

A folder may have more files than can be read while a user waits: the list opens files until its time is up and says how many are left.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import NamedTuple

from innervoice.errors import InnervoiceError
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.opening import Source
from innervoice.view.ids import full_id
from innervoice.view.places import Place, Places
from innervoice.view.row_types import SourceItem, SourceList
from innervoice.view.wording import fact, moment, size

__all__ = ["Listing", "item_of"]

_PATIENCE = 2.0
"""Seconds that a page of the list may take."""
_PATIENCE_OF_SEARCH = 5.0
_REST = 20
"""A file that grows is examined again only after this multiple of the time that its examination took."""
_MODELS = 3


class _Examined(NamedTuple):
    changed: float
    size: int
    item: SourceItem
    rest_until: float


class Listing:
    """The facts about the files, by id."""

    def __init__(self, places: Places, open_source: Callable[[str], Source]) -> None:
        self._places = places
        self._open_source = open_source
        self._examined: dict[str, _Examined] = {}

    def examine(self, deadline: float) -> int:
        """Examines files until the deadline; returns how many are left."""
        waiting = [place for place in self._places.all() if self._known(place) is None]
        for number, place in enumerate(waiting):
            if monotonic() > deadline:
                return len(waiting) - number
            self._examine(place)
        return 0

    def page(self, query: str, start: int, limit: int) -> SourceList:
        """Some items, newest first; files that could not be read come last."""
        words = query.lower().split()
        deadline = monotonic() + (_PATIENCE_OF_SEARCH if words else _PATIENCE)
        found: list[SourceItem | Place] = []
        pending = 0
        for place in self._places.all():
            # A page needs the texts of its own items, a search those of all; the others are counted.
            is_needed = bool(words) or start <= len(found) < start + limit
            item = self._known(place)
            if item is None and is_needed and monotonic() < deadline:
                item = self._examine(place)
            pending += item is None
            if not words or _fits(item or _unexamined(place), words):
                found.append(item or place)
        if not words:
            found += [_trouble(why) for why in self._places.troubles]
        items = [
            _unexamined(item) if isinstance(item, Place) else item
            for item in found[start : start + limit]
        ]
        following = start + limit if len(found) > start + limit else None
        unknown = self._places.unknown
        listed = SourceList(sources=items, total=len(found), next=following, unknown=unknown)
        if pending:
            listed["pending"] = pending
        return listed

    def _known(self, place: Place) -> SourceItem | None:
        examined = self._examined.get(place.id)
        if examined is None:
            return None
        is_same = (examined.changed, examined.size) == (place.changed, place.size)
        return examined.item if is_same or monotonic() < examined.rest_until else None

    def _examine(self, place: Place) -> SourceItem:
        began = monotonic()
        item = self._look_at(place)
        rest_until = began + (monotonic() - began) * _REST
        self._examined[place.id] = _Examined(place.changed, place.size, item, rest_until)
        return item

    def _look_at(self, place: Place) -> SourceItem:
        item = _unexamined(place)
        item["first"] = ""
        try:
            source = self._open_source(place.id)
        except InnervoiceError as error:
            return item | {"problem": one_line(str(error), 500)}
        except OSError as error:
            return item | {"problem": f"It cannot be read: {error.strerror or error}."}
        return item_of(place.id, place.shown, source, place.changed)


def item_of(id: str, shown: str, source: Source, changed: float | None) -> SourceItem:  # noqa: A002 - the plain word
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


def _unexamined(place: Place) -> SourceItem:
    """The facts about a file without opening it; its main conversation has no name yet."""
    return SourceItem(
        id=place.id,
        title=one_line(place.path.name),
        path=one_line(place.shown, 500),
        kind=place.reader.kind if place.reader else "",
        first=f"{place.id}.",
        facts=[fact(size(place.size)), fact(moment(place.changed))],
    )


def _trouble(why: str) -> SourceItem:
    return SourceItem(
        id=sha256(why.encode("utf-8", "surrogatepass")).hexdigest()[:10],
        title=one_line(why),
        path="",
        kind="",
        first="",
        facts=[],
        problem=one_line(why, 500),
    )


def _fits(item: SourceItem, words: list[str]) -> bool:
    labels = (fact["label"] for fact in item["facts"])
    text = " ".join([item["title"], item["path"], item["kind"], *labels]).lower()
    return all(word in text for word in words)
