"""The files in the given paths, and whether they changed.

Only these can be opened: an id that the page sends is looked up here and never turned into a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple, TypeAlias

from innervoice.errors import InnervoiceError
from innervoice.privacy.redactor import identifier
from innervoice.privacy.secrets import redacted_name
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.opening import FoundPaths, Source, reader_names, reader_of
from innervoice.sources.reader import Entry, Reader
from innervoice.sources.request_log import READER as REQUEST_LOG
from innervoice.sources.request_log import LogTail, TenantLines
from innervoice.view.row_types import SourceItem, SourceList, fact, moment, size

__all__ = [
    "PIPED",
    "Listing",
    "Places",
    "Stamp",
    "ViewedFile",
    "entry_id",
    "full_id",
    "item_of",
    "split_id",
    "stamp_of",
]

PIPED = "stdin"
"""The id of standard input."""
_ID_LENGTH = 10
_BEGINNING = 65_536
"""A format is recognized by so many bytes; later bytes do not change it."""
_REST = 10
_BESIDE = ("-wal",)
"""Where SQLite writes before it writes into the file itself."""

Stamp: TypeAlias = tuple[tuple[int, int, int], ...]
"""Differs if a file was changed: time, size and inode."""


class ViewedFile(NamedTuple):
    """A given file, or a file in a given folder."""

    id: str
    path: Path
    root: Path
    label: str
    """Its path, relative to the given one."""
    changed: float
    size: int
    reader: Reader | None
    """None for a given file of an unknown format."""

    @property
    def is_request_log(self) -> bool:
        """Whether it is a log of a gateway or of the emulator."""
        return self.reader is REQUEST_LOG

    def is_inside(self) -> bool:
        """Whether it is still inside the given path; a link may have replaced it."""
        return self.path.resolve().is_relative_to(self.root.resolve())

    def stamp(self) -> Stamp:
        """The stamp of the file and of those that belong to its session."""
        companions = self.reader.companions(self.path) if self.reader else []
        return stamp_of([self.path, *companions])


class Places:
    """The files, by id, newest first."""

    def __init__(self, paths: Sequence[Path], tenant: str | None = None) -> None:
        """With a tenant, only the request logs that have requests of this tenant, and only facts about these."""
        self._roots = [Path(path) for path in paths]
        self._tenant = tenant
        self._own: dict[Path, tuple[LogTail, TenantLines]] = {}
        self._lock = Lock()
        self._by_id: dict[str, ViewedFile] = {}
        self._readers: dict[Path, tuple[tuple[int, int], Reader | None]] = {}
        self.unknown = 0
        """How many files have an unknown format."""
        self.troubles: list[str] = []
        """What could not be read."""
        self._due = 0.0
        reader_names()  # loads them, which the time of a scan must not contain
        self.scan()

    @property
    def has_folder(self) -> bool:
        """Whether new files may appear."""
        return any(root.is_dir() for root in self._roots)

    def scan_if_due(self) -> None:
        """Scans the paths again, unless that was done just now, in proportion to how long it takes."""
        if monotonic() > self._due:
            self.scan()

    def scan(self) -> bool:
        """Scans the paths again; returns whether files were added, removed or reordered."""
        began = monotonic()
        paths = FoundPaths(self._roots, self._reader_of)
        places = {place.id: place for path in paths if (place := self._place(path)) is not None}
        ordered = sorted(places.values(), key=lambda place: (-place.changed, place.label))
        with self._lock:
            is_new = [*self._by_id] != [place.id for place in ordered]
            self._by_id = {place.id: place for place in ordered}
            if self._tenant is None:
                self.unknown = paths.unknown
                self.troubles = [why for _, why in paths.troubles]
        self._due = monotonic() + _REST * (monotonic() - began)
        return is_new

    def all(self) -> list[ViewedFile]:
        """Every file, newest first."""
        with self._lock:
            return [*self._by_id.values()]

    def get(self, id: str) -> ViewedFile | None:  # noqa: A002 - the plain word
        """The file of an id."""
        with self._lock:
            return self._by_id.get(id)

    def _place(self, path: Path) -> ViewedFile | None:
        root = next(root for root in self._roots if path == root or path.is_relative_to(root))
        try:
            status = path.stat()
            reader = self._reader_of(path)
        except (
            OSError
        ):  # it was removed meanwhile, or cannot be read, which is reported when it is opened
            return None
        if self._tenant is not None:
            return (
                self._own_part(path, root, status, self._tenant) if reader is REQUEST_LOG else None
            )
        return ViewedFile(
            id=_id_of(path),
            path=path,
            root=root,
            label=path.name if path == root else str(Path(root.name, path.relative_to(root))),
            changed=status.st_mtime,
            size=status.st_size,
            reader=reader,
        )

    def _own_part(
        self, path: Path, root: Path, status: os.stat_result, tenant: str
    ) -> ViewedFile | None:
        """What a tenant may know about a request log; None if it has no request there."""
        tail, own = self._own.get(path) or (LogTail(status), TenantLines(tenant))
        if not tail.is_of(status):
            tail, own = LogTail(status), TenantLines(tenant)
        self._own[path] = tail, own
        try:
            for line in tail.lines(path):
                own.is_own(line)
        except OSError:
            return None
        if not own.size:
            return None
        # Neither the name nor the time of the file is about this tenant alone.
        return ViewedFile(_id_of(path), path, root, "requests", own.at, own.size, REQUEST_LOG)

    def _reader_of(self, path: Path) -> Reader | None:
        """The format of a file; its beginning is read again only if it may have changed."""
        status = path.stat()
        is_long = status.st_size >= _BEGINNING
        beginning = (status.st_ino, -1 if is_long else status.st_mtime_ns)
        reader = self._readers.get(path)
        if reader is None or reader[0] != beginning:
            reader = self._readers[path] = beginning, reader_of(path)
        return reader[1]


def _id_of(path: Path) -> str:
    return sha256(os.fsencode(path.absolute())).hexdigest()[:_ID_LENGTH]


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """The stamp of files, including those that are written next to them."""
    stamps = []
    for path in paths:
        for file in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
            try:
                status = file.stat()
            except OSError:
                continue
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(stamps)


# ---- The list of sources: a few facts about each file, read when they are requested.
#
# A folder may have more files than can be read while a user waits: the list opens files until its time is up and says how many are left.


_PATIENCE = 2.0
"""Seconds that a page of the list may take."""
_PATIENCE_OF_SEARCH = 5.0
_REST_OF_LIST = 20
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
        waiting = [place for place in self._places.all() if self._examined_item(place) is None]
        for number, place in enumerate(waiting):
            if monotonic() > deadline:
                return len(waiting) - number
            self._examine(place)
        return 0

    def page(self, query: str, start: int, limit: int) -> SourceList:
        """Some items, newest first; files that could not be read come last."""
        words = query.lower().split()
        deadline = monotonic() + (_PATIENCE_OF_SEARCH if words else _PATIENCE)
        matches: list[SourceItem | ViewedFile] = []
        pending = 0
        for place in self._places.all():
            # A page needs the texts of its own items, a search those of all; the others are counted.
            is_needed = bool(words) or start <= len(matches) < start + limit
            item = self._examined_item(place)
            if item is None and is_needed and monotonic() < deadline:
                item = self._examine(place)
            pending += item is None
            if not words or _fits(item or _unexamined(place), words):
                matches.append(item or place)
        if not words:
            matches += [_trouble(why) for why in self._places.troubles]
        items = [
            _unexamined(item) if isinstance(item, ViewedFile) else item
            for item in matches[start : start + limit]
        ]
        following = start + limit if len(matches) > start + limit else None
        unknown = self._places.unknown
        listed = SourceList(sources=items, total=len(matches), next=following, unknown=unknown)
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
            source = self._open_source(place.id)
        except InnervoiceError as error:
            return item | {"problem": one_line(redacted_name(str(error)), 500)}
        except OSError as error:
            return item | {"problem": f"It cannot be read: {error.strerror or error}."}
        return item_of(place.id, place.label, source, place.changed)


def item_of(id: str, label: str, source: Source, changed: float | None) -> SourceItem:  # noqa: A002 - the plain word
    """The item of an opened source."""
    entries = source.entries
    title = next((entry.title for entry in entries if entry.title), "") or label
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
        path=one_line(label, 500),
        kind=source.kind,
        first=full_id(id, entries[0]) if entries else "",
        facts=facts,
    )
    if not entries:
        item["problem"] = "It holds no conversation."
    return item


def _unexamined(place: ViewedFile) -> SourceItem:
    """The facts about a file without opening it; its main conversation has no name yet."""
    return SourceItem(
        id=place.id,
        title=one_line(Path(place.label).name),
        path=one_line(place.label, 500),
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


# ---- Ids of conversations that are safe in a URL: SOURCE.CONVERSATION.


_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,80}")


def full_id(source_id: str, entry: Entry) -> str:
    """The id of a conversation for the page."""
    return f"{source_id}.{entry_id(entry)}"


def entry_id(entry: Entry) -> str:
    """The second half: the source's own id if it is safe, otherwise a hash of it."""
    if _PLAIN.fullmatch(entry.id) and identifier(entry.id) == entry.id:
        return entry.id
    return "~" + sha256(entry.id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def split_id(id: str) -> tuple[str, str]:  # noqa: A002 - the plain word
    """The source and the conversation of an id; a conversation "" is the main one."""
    source_id, _, conversation = id.partition(".")
    return source_id, conversation
