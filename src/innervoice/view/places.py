"""The files in the given paths, and whether they changed.

Only these can be opened: an id that the page sends is looked up here and never turned into a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple, TypeAlias

from innervoice.privacy.redactor import identifier
from innervoice.sources.opening import FoundPaths, reader_names, reader_of
from innervoice.sources.reader import Entry, Reader
from innervoice.sources.request_log import READER as REQUEST_LOG
from innervoice.sources.request_log import LogTail, TenantLines

__all__ = [
    "PIPED",
    "Places",
    "Stamp",
    "ViewedFile",
    "entry_id",
    "full_id",
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
        try:
            return self.path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # links in a circle
            return False

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
        self.deleted: dict[str, ViewedFile] = {}
        """Files that were there before."""
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
            self.deleted |= {id_: place for id_, place in self._by_id.items() if id_ not in places}
            self.deleted = {id_: place for id_, place in self.deleted.items() if id_ not in places}
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
