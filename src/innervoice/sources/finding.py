"""Folders -> the files in them that a reader recognizes, in sorted order, each session once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from innervoice.sources.reader import Reader, Trouble

__all__ = ["FoundPaths"]

_HIDDEN = frozenset({".claude", ".codex", ".gemini", ".opencode", ".qwen", ".local", ".innervoice"})
"""Hidden folders in which programs keep sessions; others are not searched."""


class FoundPaths(Iterator[Path]):
    """The files below paths, one after the other: those of a folder, then those of its folders.

    A file that was named is returned in any case. Companions of a session, such as the files of its subagents, are left out.
    """

    def __init__(self, paths: Iterable[Path], reader_of: Callable[[Path], Reader | None]) -> None:
        self.unknown = 0
        """How many files have an unknown format."""
        self.troubles: list[Trouble] = []
        """What could not be read."""
        self._reader_of = reader_of
        self._companions: set[Path] = set()
        self._seen: set[Path] = set()
        self._found = self._walk(paths)

    def __next__(self) -> Path:
        return next(self._found)

    def _walk(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in map(Path, paths):
            if path.is_dir():
                yield from self._below(path, path.resolve())
            elif self._is_new(path):
                yield path

    def _below(self, folder: Path, root: Path) -> Iterator[Path]:
        try:
            inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._said(folder, error)
            return
        files: list[Path] = []
        folders: list[Path] = []
        for entry in inside:
            path = folder / entry.name
            try:
                if entry.is_symlink() and not path.resolve().is_relative_to(root):
                    continue
                if entry.is_dir():
                    if (not entry.name.startswith(".") or entry.name in _HIDDEN) and self._is_new(
                        path
                    ):
                        folders.append(path)
                elif entry.is_file() and not entry.name.startswith("."):
                    files.append(path)
            except OSError as error:
                self._said(path, error)
        yield from self._known(files)
        for path in folders:
            yield from self._below(path, root)

    def _known(self, files: list[Path]) -> Iterator[Path]:
        """The files of known formats that are not companions; a companion may come before its session."""
        paths: list[Path] = []
        for path in files:
            try:
                reader = self._reader_of(path)
                if reader is not None:
                    paths.append(path)
                    self._companions.update(reader.companions(path))
                elif path not in self._companions:
                    self.unknown += 1
            except OSError as error:
                self._said(path, error)
        for path in paths:
            if path not in self._companions and self._is_new(path):
                yield path

    def _is_new(self, path: Path) -> bool:
        """False for a file that was found before, under another name."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            return False
        is_new = real not in self._seen
        self._seen.add(real)
        return is_new

    def _said(self, path: Path, error: OSError) -> None:
        self.troubles.append(Trouble(None, f"{path}: cannot be read: {error.strerror or error}"))
