"""The sources in the given paths, by id: listed, opened, read and held in a bounded cache.

A file may be larger than the memory. The list holds a few facts about each file; positions of conversations, conversations and rows are held
while they are used, and read again when their file changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock, RLock
from time import monotonic, time
from typing import Generic, NamedTuple, TypeVar

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.errors import InnervoiceError, UsageError
from innervoice.privacy.secrets import redacted_name
from innervoice.show.visible import one_line, visible
from innervoice.sources.conversation import Conversation
from innervoice.sources.opening import Source, open_beginning, open_source, open_tenant_log
from innervoice.sources.reader import CUT_LINE, Entry
from innervoice.view.listing import Filters, Listing, SourceSums, item_of, sums_of
from innervoice.view.outline import outline_of
from innervoice.view.places import (
    PIPED,
    Places,
    Stamp,
    entry_id,
    full_id,
    split_id,
)
from innervoice.view.row_types import (
    Fact,
    Head,
    Outline,
    Row,
    SourceItem,
    SourceList,
    ThreadRow,
    clock,
    fact,
    moment,
)
from innervoice.view.rows import Timeline, head_facts

__all__ = ["BoundedCache", "Library", "NotInLibraryError", "bytes_of_conversation"]

_POSITIONS = 24 << 20
_CONVERSATIONS = 24 << 20
_TIMELINES = 24 << 20
_EARLY = 256 << 10
"""A larger file is shown by its first bytes, until it is read."""
_ENTRY = 400
"""About how many bytes an entry takes."""
_MOST_THREADS = 200
NO_FILTERS = Filters()
_TROUBLES = 50
_MOMENT = 5.0
"""Seconds after its last change in which a file may end in the middle of a line."""


class NotInLibraryError(UsageError):
    """There is no source or conversation with this id."""


class _Opened(NamedTuple):
    source: Source
    stamp: Stamp


class Library:
    """Sources in the given paths, and from standard input; with a tenant, request logs as if they had only its requests, and nothing else."""

    def __init__(
        self, paths: Sequence[Path | str], piped: bytes | None = None, *, tenant: str | None = None
    ) -> None:
        self.tenant = tenant
        self._places = Places([Path(path) for path in paths], tenant)
        self._piped = None if piped is None else open_source(piped)
        self._listing = Listing(self._places, self.source, self._sums, is_quick=tenant is None)
        self._opened = BoundedCache[_Opened](_POSITIONS)
        self._conversations = BoundedCache[tuple[Stamp, Conversation]](_CONVERSATIONS)
        self._timelines = BoundedCache[tuple[Stamp, Timeline]](_TIMELINES)
        # One reader at a time: two would need the memory twice, and share one interpreter anyway. Looking for titles does not wait for it.
        self._reading = RLock()
        self._opening = Lock()
        self.is_closed = False

    @property
    def is_live(self) -> bool:
        """Whether anything in it can grow."""
        return self._places.has_folder or bool(self._places.all())

    def close(self) -> None:
        """Ends long operations, because the server stops."""
        self.is_closed = True

    def request_logs(self) -> list[Path]:
        """The files that are request logs, those that were added just now included."""
        self._places.scan_if_due()
        return [place.path for place in self._places.all() if place.is_request_log and place.is_inside()]  # fmt: skip

    def scan(self) -> bool:
        """Looks for new and changed files; returns whether any were added, removed or reordered."""
        return self._places.scan()

    def examine(self, seconds: float) -> int:
        """Examines files for a limited time; returns how many are left."""
        return self._listing.examine(monotonic() + seconds)

    def sources(
        self, query: str = "", start: int = 0, limit: int = 50, filters: Filters = NO_FILTERS
    ) -> SourceList:
        """A page of the list, newest first; the first page includes files that were added just now."""
        if not start:
            self._places.scan_if_due()
        filters = filters._replace(words=tuple(query.lower().split()))
        listed = self._listing.page(filters, start, limit)
        if self._piped is not None and start == 0 and filters.is_empty:
            listed["sources"].insert(0, self._item(PIPED))
            listed["total"] += 1
        return listed

    def _sums(self, source_id: str) -> SourceSums:
        conversations = (one for _, one in self.all_conversations(source_id))
        return sums_of(one for one in conversations if isinstance(one, Conversation))

    def source(self, id: str) -> Source:  # noqa: A002 - the plain word
        """The opened source of an id, opened again if its file changed."""
        return self._open(split_id(id)[0]).source

    def canonical_id(self, id: str) -> str:  # noqa: A002
        """The full id of a conversation; `SOURCE.` is the main one."""
        source_id, conversation = split_id(id)
        return id if conversation else full_id(source_id, self._entry(id)[1])

    def stamp(self, id: str) -> Stamp:  # noqa: A002
        """Differs if the file of a conversation has changed."""
        place = self._places.get(split_id(id)[0])
        return () if place is None else place.stamp()

    def conversation(self, id: str) -> Conversation:  # noqa: A002
        """The conversation of an id."""
        with self._reading:
            opened, entry = self._entry(id)
            cached = self._conversations.get(id)
            if cached is not None and cached[0] == opened.stamp:
                return cached[1]
            self._conversations.make_room(id, _expected(opened.source, entry))
            conversation = opened.source.conversation(entry.id)
            size = bytes_of_conversation(conversation)
            self._conversations.put(id, (opened.stamp, conversation), size)
            return conversation

    def rows(self, id: str) -> Timeline:  # noqa: A002
        """All rows of a conversation, made when they are asked for."""
        return self.stamped_rows(id)[1]

    def stamped_rows(self, id: str) -> tuple[Stamp, Timeline]:  # noqa: A002
        """The rows, and the stamp of the file that they are made from."""
        with self._reading:
            opened, entry = self._entry(id)
            cached = self._timelines.get(id)
            if cached is not None and cached[0] == opened.stamp:
                return cached
            self._timelines.make_room(id, _expected(opened.source, entry))
            timeline = Timeline(self.conversation(id))
            size = bytes_of_conversation(timeline.conversation)
            self._timelines.put(id, (opened.stamp, timeline), size)
            return opened.stamp, timeline

    def outline(self, id: str) -> Outline:  # noqa: A002
        """All rows of a conversation in brief."""
        return outline_of(self.rows(id))

    def early_rows(self, id: str, end: int) -> tuple[Head, list[Row]] | None:  # noqa: A002
        """The first rows of a large file that was not read yet, by its first bytes alone; None if that is not worth it, or not possible.

        What depends on the rest of the file, such as sums, abandoned turns and missing results, is not known then.
        """
        source_id, wanted = split_id(id)
        place = self._places.get(source_id)
        if place is None or self.tenant is not None or place.size < _EARLY:
            return None
        opened = self._opened.get(source_id)
        if opened is not None and opened.source.entries:
            id = full_id(source_id, opened.source.entries[0]) if not wanted else id  # noqa: A001
        if self._timelines.get(id) is not None:
            return None
        try:
            source = open_beginning(place.path, _EARLY, place.reader)
            entry = source.entries[0]
            if wanted not in ("", entry.id):
                return None
            conversation = source.conversation(entry.id)
        except (InnervoiceError, OSError, IndexError):
            return None
        head = Head(
            id=full_id(source_id, entry),
            title=one_line(conversation.title or entry.title),
            source=item_of(source_id, place.label, source, place.changed),
            lanes=[],
            facts=[],
            cannot_know=[],
            troubles=[],
        )
        return head, Timeline(conversation)[:end]

    def head(self, id: str) -> Head:  # noqa: A002
        """The head above the timeline of a conversation."""
        with self._reading:
            source_id, _ = split_id(id)
            opened, entry = self._entry(id)
            source = opened.source
            conversation = self.conversation(id)
            head = Head(
                id=full_id(source_id, entry),
                title=one_line(conversation.title or entry.title or redacted_name(entry.id)),
                source=self._item(source_id),
                lanes=_threads(source_id, source.entries, entry),
                facts=head_facts(conversation),
                cannot_know=[*source.cannot_know],
                troubles=_troubles(source, is_growing=self._is_growing(source_id)),
            )
            if len(source.entries) > len(head["lanes"]):
                head["lanes_total"] = len(source.entries)
            return head

    def all_conversations(
        self, source_id: str | None = None
    ) -> Iterator[tuple[str, Conversation | Exception]]:
        """Reads every conversation once, of one source or of all, newest first, and keeps none of them."""
        everything = [
            *([PIPED] if self._piped else []),
            *(place.id for place in self._places.all()),
        ]
        for one in everything if source_id is None else [source_id]:
            try:
                source = self.source(one)
            except (InnervoiceError, OSError) as error:
                yield one, error
                continue
            for entry in source.entries:
                if self.is_closed:
                    return
                # A conversation that is being viewed is read again; two large ones in memory at a time may be too much.
                self._conversations.make_room(None, _expected(source, entry))
                self._timelines.make_room(None, _expected(source, entry))
                try:
                    yield full_id(one, entry), source.conversation(entry.id)
                except (InnervoiceError, OSError) as error:
                    yield full_id(one, entry), error

    def _open(self, source_id: str) -> _Opened:
        if source_id == PIPED and self._piped is not None:
            return _Opened(self._piped, ())
        place = self._places.get(source_id)
        if place is None or not place.is_inside():
            raise NotInLibraryError(
                f"There is no source {source_id!r} in the paths that were passed."
            )
        stamp = place.stamp()  # before it is read, so that what is written meanwhile is noticed
        cached = self._opened.get(source_id)
        if cached is not None and cached.stamp == stamp:
            return cached
        with self._opening:
            cached = self._opened.get(source_id)
            if cached is not None and cached.stamp == stamp:
                return cached
            self._opened.drop(source_id)
            opened = _Opened(self._source(place.path), stamp)
            self._opened.put(source_id, opened, _ENTRY * len(opened.source.entries))
            return opened

    def _source(self, path: Path) -> Source:
        return open_source(path) if self.tenant is None else open_tenant_log(path, self.tenant)

    def _entry(self, id: str) -> tuple[_Opened, Entry]:  # noqa: A002
        source_id, wanted = split_id(id)
        opened = self._open(source_id)
        own = [entry for entry in opened.source.entries if not entry.helper]
        for entry in (own or opened.source.entries) if not wanted else opened.source.entries:
            if wanted in ("", entry.id) or (wanted.startswith("~") and wanted == entry_id(entry)):
                return opened, entry
        raise NotInLibraryError(f"There is no conversation {id!r} in the paths that were passed.")

    def _is_growing(self, source_id: str) -> bool:
        place = self._places.get(source_id)
        return place is not None and time() - place.path.stat().st_mtime < _MOMENT

    def _item(self, source_id: str) -> SourceItem:
        source = self._open(source_id).source
        place = self._places.get(source_id)
        if place is None:
            return item_of(source_id, "standard input", source, None)
        # The time of the file would tell a tenant about the requests of others.
        changed = place.path.stat().st_mtime if self.tenant is None else place.changed
        return item_of(source_id, place.label, source, changed)


def _expected(source: Source, entry: Entry) -> int:
    """About how many bytes a conversation will take, before it is read."""
    end = source.size if entry.end is None else entry.end
    return 3 * (end - entry.start)


def _troubles(source: Source, *, is_growing: bool) -> list[str]:
    """The places that could not be read, except the last line of a file that is still being written."""
    remaining = [
        trouble for trouble in source.troubles if not (is_growing and trouble.why == CUT_LINE)
    ]
    troubles = [
        visible(why if line is None else f"line {line}: {why}")
        for line, why in remaining[:_TROUBLES]
    ]
    more = len(remaining) - len(troubles)
    return [*troubles, f"and {more:,} more"] if more else troubles


def _threads(source_id: str, entries: Sequence[Entry], current: Entry) -> list[ThreadRow]:
    """The conversations of a source; if there are very many, those around the one that is shown."""
    place = next(number for number, entry in enumerate(entries) if entry is current)
    start = max(0, min(place - _MOST_THREADS // 2, len(entries) - _MOST_THREADS))
    by_id = {
        entry.id: full_id(source_id, entry) for entry in entries[start : start + _MOST_THREADS]
    }
    return [_thread(entry, by_id) for entry in entries[start : start + _MOST_THREADS]]


def _thread(entry: Entry, by_id: dict[str, str]) -> ThreadRow:
    row = ThreadRow(
        id=by_id[entry.id],
        title=one_line(entry.title or redacted_name(entry.id)),
        parent=by_id.get(entry.parent) if entry.parent else None,
        facts=_thread_facts(entry),
    )
    if entry.helper:
        row["helper"] = one_line(entry.helper, 80)
    return row


def _thread_facts(entry: Entry) -> list[Fact]:
    facts = [fact(entry.model)] if entry.model else []
    return facts if entry.at is None else [*facts, fact(clock(entry.at), moment(entry.at))]


# ---- A cache that is bounded by bytes, not by the number of its entries.


Held = TypeVar("Held")


class BoundedCache(Generic[Held]):
    """Keeps the most recently used entries, up to a number of bytes; the newest stays, however large it is, because it is being read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[Hashable, tuple[Held, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: Hashable) -> Held | None:
        """The value of a key."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Hashable, value: Held, size: int) -> None:
        """Adds a value of this many bytes, and drops the least recently used ones."""
        with self._lock:
            self._let_go(key)
            self._held[key] = value, size
            self.size += size
            while self.size > self._limit and len(self._held) > 1:
                self._let_go(next(iter(self._held)))

    def make_room(self, key: Hashable, size: int) -> None:
        """Drops a key, and makes room for so many bytes, before the new value is created."""
        with self._lock:
            self._let_go(key)
            while self._held and self.size + size > self._limit:
                self._let_go(next(iter(self._held)))

    def drop(self, key: Hashable) -> None:
        """Drops a key, if it exists."""
        with self._lock:
            self._let_go(key)

    def _let_go(self, key: Hashable) -> None:
        _, size = self._held.pop(key, (None, 0))
        self.size -= size


# ---- About how much memory a conversation takes, to limit the caches.


_PART = 2_000
"""A part, its origin and the members of its wire block; the texts in the block are those of the part."""


def bytes_of_conversation(conversation: Conversation) -> int:
    """About how many bytes its values take."""
    return sum(_PART + _bytes_of_parts(turn.message.parts) for turn in conversation.turns)


def _bytes_of_parts(parts: Iterable[Part]) -> int:
    total = 0
    for part in parts:
        total += _PART
        match part:
            case Text() | Thinking():
                total += len(part.text)
            case ToolCall():
                total += len(part.arguments)
            case ToolResult():
                content = part.content
                total += len(content) if isinstance(content, str) else _bytes_of_parts(content)
            case Media():
                total += len(part.data or "")
            case Opaque():
                total += len(str(part.value))
    return total
