"""The files below the paths that were named, and whether they changed.

Only these can be opened: an id that the page sends is looked up here and never made into a path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeAlias

from innervoice.sources.opening import paths_in

__all__ = ["PIPED", "Place", "Places", "Stamp", "stamp_of"]

PIPED = "stdin"
"""The id of what came on standard input."""
_ID_LENGTH = 10
_BESIDE = ("-wal",)
"""Where SQLite writes before it writes into the file itself."""

Stamp: TypeAlias = tuple[tuple[int, int, int], ...]
"""Differs if a file was changed: when, how large, which."""


class Place(NamedTuple):
    """A file that was named, or is below a folder that was named."""

    id: str
    path: Path
    root: Path
    shown: str
    """Its path below what was named."""
    changed: float
    size: int

    def is_inside(self) -> bool:
        """Whether it still lies below what was named; a link may have taken its place."""
        return self.path.resolve().is_relative_to(self.root.resolve())


class Places:
    """The files, by id, newest first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._roots = [Path(path) for path in paths]
        self._lock = Lock()
        self._by_id: dict[str, Place] = {}
        self.scan()

    @property
    def has_folder(self) -> bool:
        """Whether new files may come."""
        return any(root.is_dir() for root in self._roots)

    def scan(self) -> bool:
        """Looks at the paths again; whether files came, went or changed their order."""
        found = {place.id: place for place in self._found()}
        ordered = sorted(found.values(), key=lambda place: (-place.changed, place.shown))
        with self._lock:
            is_new = [*self._by_id] != [place.id for place in ordered]
            self._by_id = {place.id: place for place in ordered}
        return is_new

    def all(self) -> list[Place]:
        """Every file, newest first."""
        with self._lock:
            return [*self._by_id.values()]

    def get(self, id: str) -> Place | None:  # noqa: A002 - the plain word
        """The file of an id."""
        with self._lock:
            return self._by_id.get(id)

    def _found(self) -> Iterator[Place]:
        for root in self._roots:
            for path in paths_in([root]):
                try:
                    status = path.stat()
                except OSError:  # it went away meanwhile
                    continue
                yield Place(
                    _id_of(path), path, root, _shown(path, root), status.st_mtime, status.st_size
                )


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """The stamp of files, with what is written beside them."""
    stamps = []
    for path in paths:
        for file in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
            try:
                status = file.stat()
            except OSError:
                continue
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(stamps)


def _id_of(path: Path) -> str:
    return sha256(os.fsencode(path.absolute())).hexdigest()[:_ID_LENGTH]


def _shown(path: Path, root: Path) -> str:
    if path == root:
        return path.name
    return str(Path(root.name, path.relative_to(root)))
