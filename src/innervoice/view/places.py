"""The files in the given paths, and whether they changed.

Only these can be opened: an id that the page sends is looked up here and never turned into a path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import NamedTuple, TypeAlias

from innervoice.sources.finding import FoundPaths
from innervoice.sources.opening import reader_of
from innervoice.sources.reader import Reader

__all__ = ["PIPED", "Place", "Places", "Stamp", "stamp_of"]

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


class Place(NamedTuple):
    """A given file, or a file in a given folder."""

    id: str
    path: Path
    root: Path
    shown: str
    """Its path, relative to the given one."""
    changed: float
    size: int
    reader: Reader | None
    """None for a given file of an unknown format."""

    def is_inside(self) -> bool:
        """Whether it is still inside the given path; a link may have replaced it."""
        return self.path.resolve().is_relative_to(self.root.resolve())

    def stamp(self) -> Stamp:
        """The stamp of the file and of those that belong to its session."""
        companions = self.reader.companions(self.path) if self.reader else []
        return stamp_of([self.path, *companions])


class Places:
    """The files, by id, newest first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._roots = [Path(path) for path in paths]
        self._lock = Lock()
        self._by_id: dict[str, Place] = {}
        self._readers: dict[Path, tuple[tuple[int, int], Reader | None]] = {}
        self.unknown = 0
        """How many files have an unknown format."""
        self.troubles: list[str] = []
        """What could not be read."""
        self._due = 0.0
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
        found = FoundPaths(self._roots, self._reader_of)
        places = {place.id: place for path in found if (place := self._place(path)) is not None}
        ordered = sorted(places.values(), key=lambda place: (-place.changed, place.shown))
        with self._lock:
            is_new = [*self._by_id] != [place.id for place in ordered]
            self._by_id = {place.id: place for place in ordered}
            self.unknown = found.unknown
            self.troubles = [why for _, why in found.troubles]
        self._due = monotonic() + _REST * (monotonic() - began)
        return is_new

    def all(self) -> list[Place]:
        """Every file, newest first."""
        with self._lock:
            return [*self._by_id.values()]

    def get(self, id: str) -> Place | None:  # noqa: A002 - the plain word
        """The file of an id."""
        with self._lock:
            return self._by_id.get(id)

    def _place(self, path: Path) -> Place | None:
        root = next(root for root in self._roots if path == root or path.is_relative_to(root))
        try:
            status = path.stat()
            reader = self._reader_of(path)
        except (
            OSError
        ):  # it was removed meanwhile, or cannot be read, which is reported when it is opened
            return None
        return Place(
            id=sha256(os.fsencode(path.absolute())).hexdigest()[:_ID_LENGTH],
            path=path,
            root=root,
            shown=path.name if path == root else str(Path(root.name, path.relative_to(root))),
            changed=status.st_mtime,
            size=status.st_size,
            reader=reader,
        )

    def _reader_of(self, path: Path) -> Reader | None:
        """The format of a file; its beginning is read again only if it may have changed."""
        status = path.stat()
        is_long = status.st_size >= _BEGINNING
        beginning = (status.st_ino, -1 if is_long else status.st_mtime_ns)
        known = self._readers.get(path)
        if known is None or known[0] != beginning:
            known = self._readers[path] = beginning, reader_of(path)
        return known[1]


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
