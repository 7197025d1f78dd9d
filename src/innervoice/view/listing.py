"""The list of sources: grouped by project, newest first, with a few facts about each file.

A folder may have more files than can be read while a user waits. So a file is looked at in two steps: its beginning and its end, which say what it is, whose,
and when; and all of it, for the sums by which the list is filtered. The second step is made when a filter needs it, and while the page is open. Both stop
when their time is up, and the list says how many files are left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.privacy.secrets import redacted_name
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.conversation import Conversation, seconds_of
from innervoice.sources.opening import Source, open_beginning
from innervoice.sources.reader import Entry
from innervoice.sources.transcripts import MAIN
from innervoice.view.places import Places, ViewedFile, full_id
from innervoice.view.row_types import (
    Fact,
    SourceItem,
    SourceList,
    clock,
    day_of,
    dollars,
    fact,
    moment,
    size,
)
from innervoice.view.rows import Timeline
from innervoice.view.totals import Prices

__all__ = ["Filters", "Listing", "SourceSums", "item_of", "sums_of"]

_PATIENCE = 2.0
"""Seconds that a page of the list may take."""
_PATIENCE_OF_SEARCH = 5.0
_REST_OF_LIST = 20
"""A file that grows is examined again only after this multiple of the time that its examination took."""
_MODELS = 3
_GLANCES = (8 << 10, 256 << 10)
"""A larger file is looked at by so many bytes at its beginning, more if they are not enough."""
_TAIL = 8 << 10
_WHOLE = 4 << 20
"""A larger file of a format that needs its end is not opened for the list."""
_TIME = re.compile(
    rb'"(?:timestamp|at|ts|time|updated_at|lastUpdated|endTime|end_time)":\s*("[^"]{10,40}"|\d{10,13}(?:\.\d{1,9})?)'
)


class Filters(NamedTuple):
    """What the list is narrowed to."""

    words: tuple[str, ...] = ()
    """In lower case; all of them in the title, path, kind or facts."""
    model: str = ""
    cost: Decimal | None = None
    """At least so many dollars."""
    lost: bool = False
    """Only files in which thoughts were lost."""

    @property
    def needs_sums(self) -> bool:
        """Whether all of a file must be read."""
        return self.cost is not None or self.lost or bool(self.model)

    @property
    def is_empty(self) -> bool:
        return self == Filters()


class SourceSums(NamedTuple):
    """What only reading all of a file shows."""

    models: tuple[str, ...]
    cost: Decimal
    thoughts: int
    lost: int
    """Thoughts that something on the way removed, or that their provider would refuse."""


class _Examined(NamedTuple):
    changed: float
    size: int
    item: SourceItem
    rest_until: float


class Listing:
    """The facts about the files, by id."""

    def __init__(
        self,
        places: Places,
        open_source: Callable[[str], Source],
        sums: Callable[[str], SourceSums],
        *,
        is_quick: bool,
    ) -> None:
        """`is_quick`: files are looked at by their beginning and their end, which a tenant must not see of others."""
        self._places = places
        self._open_source = open_source
        self._read_sums = sums
        self._is_quick = is_quick
        self._examined: dict[str, _Examined] = {}
        self._sums: dict[str, tuple[float, int, SourceSums | None]] = {}

    def examine(self, deadline: float) -> int:
        """Examines files until the deadline, and then reads them for their sums; returns how many were not examined."""
        waiting = [place for place in self._places.all() if self._examined_item(place) is None]
        for number, place in enumerate(waiting):
            if monotonic() > deadline:
                return len(waiting) - number
            self._examine(place)
        return 0

    def page(self, filters: Filters, start: int, limit: int) -> SourceList:
        """Some items, grouped by project, newest first; files that could not be read, or were deleted, come last. With a limit of 0, files are only counted."""
        deadline = monotonic() + (_PATIENCE if filters.is_empty else _PATIENCE_OF_SEARCH)
        items: list[SourceItem] = []
        pending = 0
        for place in self._places.all():
            item = self._examined_item(place)
            if item is None and limit and monotonic() < deadline:
                item = self._examine(place)
            pending += item is None
            item = item or _unexamined(place)
            if not _fits(item, filters.words):
                continue
            if filters.needs_sums:
                sums = self._sums_of(place, deadline)
                pending += sums is None and "problem" not in item
                if sums is None or not _meets(sums, filters):
                    continue
                item = item | {"facts": [*item["facts"], *_sum_facts(sums)]}
            items.append(item)
        items = _grouped(items)
        if filters.is_empty:
            items += [_deleted(place, self._examined.get(place.id)) for place in self._places.deleted.values()]  # fmt: skip
            items += [_trouble(why) for why in self._places.troubles]
        following = start + limit if len(items) > start + limit else None
        unknown = self._places.unknown
        page = items[start : start + limit]
        listed = SourceList(sources=page, total=len(items), next=following, unknown=unknown)
        if pending:
            listed["pending"] = pending
        return listed

    def _examined_item(self, place: ViewedFile) -> SourceItem | None:
        examined = self._examined.get(place.id)
        if examined is None:
            return None
        is_same = (examined.changed, examined.size) == (place.changed, place.size)
        return examined.item if is_same or monotonic() < examined.rest_until else None

    def _examine(self, place: ViewedFile) -> SourceItem:
        began = monotonic()
        item = self._look_at(place)
        rest_until = began + (monotonic() - began) * _REST_OF_LIST
        self._examined[place.id] = _Examined(place.changed, place.size, item, rest_until)
        return item

    def _look_at(self, place: ViewedFile) -> SourceItem:
        item = _unexamined(place)
        item["first"] = ""
        try:
            source, is_whole = self._opened(place)
            if source is None:
                return _unexamined(place)
            last = _last_time(place.path) if self._is_quick else None
        except InnervoiceError as error:
            return item | {"problem": one_line(redacted_name(str(error)), 500)}
        except OSError as error:
            return item | {"problem": f"It cannot be read: {error.strerror or error}."}
        item = item_of(place.id, place.label, source, place.changed, last=last)
        if not is_whole:
            # Which conversation is the main one may depend on the rest, except in a session.
            is_main = item["first"] == f"{place.id}.{MAIN}"
            item["first"] = item["first"] if is_main else f"{place.id}."
            item["facts"] = [one for one in item["facts"] if not one.get("rest")]
        return item

    def _opened(self, place: ViewedFile) -> tuple[Source | None, bool]:
        """The source, or its beginning, and whether it is all of it; None for a large file that must be read to its end."""
        glanced: Source | None = None
        is_small_log = (
            place.is_request_log and place.size <= _WHOLE
        )  # how many it has matters there
        for enough in _GLANCES if self._is_quick and not is_small_log else ():
            if place.size <= enough:
                return self._open_source(place.id), True
            with suppress(DecodeError):
                glanced = open_beginning(place.path, enough, place.reader)
                if any(entry.title and not entry.helper for entry in glanced.entries):
                    return glanced, False
        if self._is_quick and place.size > _WHOLE:
            return glanced if glanced and glanced.entries else None, False
        return self._open_source(place.id), True

    def _sums_of(self, place: ViewedFile, deadline: float) -> SourceSums | None:
        entry = self._sums.get(place.id)
        if entry is None or entry[:2] != (place.changed, place.size):
            if monotonic() > deadline:
                return None
            try:
                sums = self._read_sums(place.id)
            except (InnervoiceError, OSError):
                sums = None
            entry = self._sums[place.id] = place.changed, place.size, sums
        return entry[2]


def sums_of(conversations: Iterable[Conversation]) -> SourceSums:
    """The sums of a source, over its conversations."""
    prices = Prices()
    models: dict[str, None] = {}
    cost = Decimal()
    thoughts = lost = 0
    for conversation in conversations:
        for row in Timeline(conversation):
            states = {seal["state"] for seal in row["seals"]}
            is_removed = row.get("empty", {}).get("word") == "stripped by a gateway"
            thoughts += row["kind"] == "thinking"
            lost += is_removed or bool(states & {"dead", "refused"})
        for turn in conversation.turns:
            if turn.answer and turn.answer.model:
                models[turn.answer.model] = None
                price = prices.of(turn.answer)
                cost += price.total if price else Decimal(str(turn.cost or 0))
    return SourceSums(tuple(models), cost, thoughts, lost)


def _meets(sums: SourceSums, filters: Filters) -> bool:
    return (
        (not filters.model or any(filters.model.lower() in model.lower() for model in sums.models))
        and (filters.cost is None or sums.cost >= filters.cost)
        and (not filters.lost or sums.lost > 0)
    )


def _sum_facts(sums: SourceSums) -> list[Fact]:
    facts = [fact(dollars(sums.cost))] if sums.cost else []
    facts += [fact(counted(sums.thoughts, "thought"))] if sums.thoughts else []
    return facts + ([fact(f"{sums.lost} lost", tone="bad")] if sums.lost else [])


def _grouped(items: list[SourceItem]) -> list[SourceItem]:
    """The items, the project with the newest session first, and in each the newest session first."""
    newest: dict[str, float] = {}
    for item in items:
        project = item.get("project", "")
        newest[project] = max(newest.get(project, 0.0), item.get("at", 0.0))
    return sorted(
        items,
        key=lambda item: (-newest[item.get("project", "")], item.get("project", ""), -item.get("at", 0.0), item["path"]),
    )  # fmt: skip


def item_of(
    id: str,  # noqa: A002 - the plain word
    label: str,
    source: Source,
    changed: float | None,
    *,
    last: float | None = None,
) -> SourceItem:
    """The item of an opened source; `last` is when its session was written last."""
    entries = source.entries
    mains = [entry for entry in entries if not entry.helper] or entries
    title = next((entry.title for entry in mains if entry.title), "") or label
    models = list(dict.fromkeys(entry.model for entry in entries if entry.model))
    times = [time for time in (last, *(entry.at for entry in entries)) if time is not None]
    at = max(times, default=None) or changed
    facts = [fact(model) for model in models[:_MODELS]]
    if len(models) > _MODELS:
        facts.append(fact(f"and {counted(len(models) - _MODELS, 'more model')}"))
    if len(entries) > 1 or (entries and entries[0].id != MAIN):  # a session is one anyway
        facts.append({**fact(counted(len(entries), "conversation")), "rest": True})
    facts.append({**fact(size(source.size)), "rest": True})
    item = SourceItem(
        id=id,
        title=one_line(_without_place(title, mains)),
        path=one_line(label, 500),
        kind=source.kind,
        first=full_id(id, mains[0]) if entries else "",
        facts=facts,
        project=_project(label, entries),
    )
    if at is not None:
        item |= {"at": at, "day": day_of(at), "time": clock(at)[:5]}
    if not entries:
        item["problem"] = "It holds no conversation."
    return item


def _without_place(title: str, entries: list[Entry]) -> str:
    """The title without the folder and the branch behind it: the list is grouped by them."""
    project = next((entry.project for entry in entries if entry.project), None)
    start = title.rfind(f" ({project}") if project and title.endswith(")") else -1
    return title[:start] if start > 0 else title


def _project(label: str, entries: list[Entry]) -> str:
    """The folder that an agent worked in, or the one that the file is in."""
    project = next((entry.project for entry in entries if entry.project), None)
    return one_line(redacted_name(project or Path(label).parent.name), 80)


def _last_time(path: Path) -> float | None:
    """When a session was written last, by its last line; None if it does not say."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        times = _TIME.findall(file.read())
    return seconds_of(load_json(times[-1])) if times else None


def _unexamined(place: ViewedFile) -> SourceItem:
    """The facts about a file without opening it; its main conversation has no name yet."""
    return SourceItem(
        id=place.id,
        title=one_line(Path(place.label).name),
        path=one_line(place.label, 500),
        kind=place.reader.kind if place.reader else "",
        first=f"{place.id}.",
        facts=[fact(size(place.size)), fact(moment(place.changed))],
        at=place.changed,
        project=one_line(Path(place.label).parent.name, 80),
    )


def _deleted(place: ViewedFile, examined: _Examined | None) -> SourceItem:
    item = _unexamined(place) if examined is None else examined.item.copy()
    return item | {
        "first": "",
        "project": "",
        "problem": "The file was deleted.",
        "is_deleted": True,
    }


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


def _fits(item: SourceItem, words: Iterable[str]) -> bool:
    labels = (fact["label"] for fact in item["facts"])
    about = (item["title"], item["path"], item["kind"], item.get("project", ""))
    text = " ".join([*about, *labels]).lower()
    return all(word in text for word in words)
