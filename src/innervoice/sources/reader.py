"""The interface of every format of a source: how it is recognized, and how its conversations are found and read.

A file may be larger than the memory: a reader first lists entries (positions and a title, no content) and reads a conversation when it is
requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from innervoice.sources.conversation import Conversation

__all__ = [
    "CUT_LINE",
    "NO_HINTS",
    "Data",
    "Entry",
    "Hints",
    "Opened",
    "Reader",
    "Trouble",
    "broken_line",
]

CUT_LINE = "the file ends in the middle of this line"
"""What a trouble says of the last line of a file that is still written, or was cut."""


class Hints(NamedTuple):
    """What the caller knows about the answers in a source; the rest is detected."""

    provider: str | None = None
    model: str | None = None
    dialect: str | None = None
    inline: str | None = None


NO_HINTS = Hints()


class Data:
    """The bytes of a source: a file, or bytes in memory. A file is read in pieces, and never kept."""

    def __init__(
        self, path: Path | None = None, content: bytes | None = None, hints: Hints = NO_HINTS
    ) -> None:
        self.path = path
        self.hints = hints
        self._content = content

    @property
    def size(self) -> int:
        """In bytes."""
        if self._content is not None:
            return len(self._content)
        assert self.path is not None
        return self.path.stat().st_size

    def piece(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` to `end`."""
        if self._content is not None:
            return self._content[start:end]
        assert self.path is not None
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read() if end is None else file.read(end - start)

    def lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """The lines from `start` on, each with its position; only one line at a time is in memory."""
        position = start
        if self._content is not None:
            while position < len(self._content):
                end = self._content.find(b"\n", position) + 1 or len(self._content)
                yield position, self._content[position:end]
                position = end
            return
        assert self.path is not None
        with self.path.open("rb") as file:
            file.seek(start)
            for line in file:
                yield position, line
                position += len(line)


class Trouble(NamedTuple):
    """A place of a source that could not be read."""

    line: int | None
    why: str


def broken_line(number: int, line: bytes) -> Trouble:
    """The trouble with a line that is not JSON; the last one may only be incomplete."""
    is_cut = not line.endswith(b"\n")
    return Trouble(
        number, "the file ends in the middle of this line" if is_cut else "not valid JSON"
    )


class Entry(NamedTuple):
    """A conversation of a source that was found, but not read yet."""

    id: str
    title: str = ""
    start: int = 0
    end: int | None = None
    """Where it is in the file, for a format whose conversations are independent of each other."""
    line: int = 1
    """The number of the line at `start`."""
    parent: str | None = None
    at: float | None = None
    model: str | None = None


class Opened(NamedTuple):
    """A source whose entries are known."""

    entries: list[Entry]
    read: Callable[[Entry], Conversation]
    """The conversation of an entry; raises `DecodeError` if it cannot be read."""
    troubles: list[Trouble] = []  # noqa: RUF012 - never changed
    cannot_know: tuple[str, ...] = ()
    """What this file lacks in addition to what its format lacks, in sentences."""


class Reader(NamedTuple):
    """One format."""

    kind: str
    """In one word, such as `gemini-cli`."""
    name: str
    """In words, such as `a Gemini CLI session`."""
    recognizes: Callable[[Data, bytes], bool]
    """Whether this is the format; also gets the first 64 kB."""
    open: Callable[[Data], Opened]
    cannot_know: tuple[str, ...] = ()
    """What no file of this format contains, in sentences: `When a turn was written.`"""
    companions: Callable[[Path], list[Path]] = lambda _: []
    """Files next to this one that belong to the same session, such as those of subagents; they are not listed separately."""
