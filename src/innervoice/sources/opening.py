"""Any file, folder or bytes -> sources: finds out which program wrote them, without a hint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble

__all__ = ["READERS", "Source", "open_source", "paths_in"]

READERS: tuple[str, ...] = (
    "request_log",
    "gateway_lines",
)
"""The modules of the formats, in the order in which they are tried: the most telling first, what accepts nearly everything last."""

_BEGINNING = 65_536


class Source:
    """A file whose format is known: its conversations, and what it cannot know."""

    def __init__(self, reader: Reader, data: Data, opened: Opened) -> None:
        self.kind = reader.kind
        self.name = reader.name
        self.path = data.path
        self.size = data.size
        self.cannot_know = (*reader.cannot_know, *opened.cannot_know)
        self._opened = opened

    @property
    def entries(self) -> list[Entry]:
        """Its conversations, unread; the first is the main one."""
        return self._opened.entries

    @property
    def troubles(self) -> list[Trouble]:
        """The places that could not be read."""
        return self._opened.troubles

    def conversation(self, id: str | None = None) -> Conversation:  # noqa: A002 - the plain word
        """Reads a conversation, the main one without an id; raises `DecodeError` for one that is not there or cannot be read."""
        entry = next((entry for entry in self.entries if id is None or entry.id == id), None)
        if entry is None:
            raise DecodeError(f"there is no conversation {id!r} in this source")
        return self._opened.read(entry)

    def conversations(self) -> Iterator[Conversation]:
        """Reads all of them, one after the other."""
        return map(self._opened.read, self.entries)


def open_source(source: Path | str | bytes) -> Source:
    """Opens a file, or the bytes of one; raises `DecodeError` if no format fits, with what was expected and what came."""
    data = Data(content=source) if isinstance(source, bytes) else Data(Path(source))
    beginning = data.piece(0, _BEGINNING)
    for reader in _readers():
        if reader.recognizes(data, beginning):
            return Source(reader, data, reader.open(data))
    raise DecodeError(f"expected a session, a log, a trace or an answer; came {beginning[:40]!r}")


def paths_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The files below paths, in order; links that lead out of a folder are not followed."""
    raise NotImplementedError


def _readers() -> Iterator[Reader]:
    for name in READERS:
        reader: Reader = import_module(f"innervoice.sources.{name}").READER
        yield reader
