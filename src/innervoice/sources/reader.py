"""The interface of every format of a source: how it is recognized, and how its conversations are found and read.

A file may be larger than the memory: a reader first lists entries (positions and a title, no content) and reads a conversation when it is
requested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json, split_members
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation

__all__ = [
    "CUT_LINE",
    "NO_HINTS",
    "Data",
    "Entry",
    "Hints",
    "JsonLine",
    "LineLog",
    "Opened",
    "Reader",
    "Trouble",
    "broken_line",
    "first_dicts",
    "first_values",
    "folder_name",
    "is_json_lines",
    "json_lines",
    "members_at",
    "read_line",
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
    project: str | None = None
    """The name of the folder that an agent worked in."""
    folder: str | None = None
    """The path of that folder."""
    helper: str | None = None
    """What a program asked for itself with it, such as a title, in a few words; None for a conversation of the user."""


def folder_name(path: Any) -> str | None:
    """The last name in the path of a folder, of any system; None if there is none."""
    text = path if isinstance(path, str) else ""
    return text.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or None


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


# ---- Files of JSON lines: the position of each line, without keeping any of them.


_BOM = b"\xef\xbb\xbf"


class JsonLine(NamedTuple):
    """A line that is not blank: its number from 1, its place, and its value."""

    number: int
    start: int
    end: int
    value: Any


def is_json_lines(data: Data) -> bool:
    """Whether the first line is JSON and not the only one: not one value over many lines."""
    lines = (text for _, line in data.lines() if (text := line.removeprefix(_BOM).strip()))
    try:
        load_json(next(lines, b""))
    except ValueError:
        return False
    return next(lines, None) is not None


def json_lines(data: Data, troubles: list[Trouble]) -> Iterator[JsonLine]:
    """The lines one after the other; one that is not JSON is skipped, and added to the troubles."""
    for number, (start, line) in enumerate(data.lines(), 1):
        text = line.removeprefix(_BOM).strip()
        if not text:
            continue
        try:
            yield JsonLine(number, start, start + len(line), load_json(text))
        except ValueError:
            troubles.append(broken_line(number, line))


class LineLog:
    """The index of a log in which every line is a conversation."""

    def __init__(self, data: Data) -> None:
        self.troubles: list[Trouble] = []
        self._data = data
        self._entries: list[Entry] = []
        self._counts: dict[str, int] = {}
        self._models: dict[str, str] = {}

    def add(
        self, line: JsonLine, name: str, *, model: str | None = None, at: float | None = None
    ) -> None:
        """Adds a line; if its name was used before, a number is appended."""
        count = self._counts[name] = self._counts.get(name, 0) + 1
        # A log names few models, and would otherwise hold each name many times.
        model = self._models.setdefault(model, model) if model else None
        unique = name if count == 1 else f"{name}~{count}"
        self._entries.append(
            Entry(unique, start=line.start, end=line.end, line=line.number, model=model, at=at)
        )

    def skip(self, line: JsonLine, why: str) -> None:
        """Adds the reason why a line is not a conversation."""
        self.troubles.append(Trouble(line.number, why))

    def opened(
        self, read: Callable[[Entry, Any], Conversation], cannot_know: tuple[str, ...] = ()
    ) -> Opened:
        """The source; `read` turns the value of a line into a conversation."""
        if not self._entries:
            first = self.troubles[0] if self.troubles else Trouble(1, "the file is empty")
            raise DecodeError(
                f"expected a conversation on each line; line {first.line}: {first.why}"
            )
        self._counts.clear()
        data = self._data
        return Opened(
            self._entries,
            lambda entry: read(entry, read_line(data, entry)),
            self.troubles,
            cannot_know,
        )


def read_line(data: Data, entry: Entry) -> Any:
    """The value of the line of an entry; raises `DecodeError` if the file changed and the line is no longer JSON."""
    try:
        return load_json(data.piece(entry.start, entry.end).removeprefix(_BOM).strip())
    except ValueError:
        raise DecodeError(f"line {entry.line}: expected JSON; the file has changed") from None


def members_at(line: bytes, *names: str) -> dict[str, Any]:
    """Some members of the object on a line, without reading the others; {} if the line is not an object; raises `ValueError` if it is not JSON."""
    try:
        members = split_members(line)
    except ValueError:
        value = load_json(line)
        return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}  # fmt: skip
    return {name: load_json(members[name]) for name in names if name in members}


# ---- The first bytes of a file -> the JSON values in them, the last one completed where the bytes end.
#
# A format is recognized by these alone, so that a folder of thousands of large files can be listed without reading them.


_MOST_LINES = 64
_DEEPEST = 64
"""Deeper nesting says nothing about a format."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_OPEN_STRING = re.compile(
    r'"[^"\\]*(?:\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89abAB])[0-9a-fA-F]{4})[^"\\]*)*',
    re.DOTALL,
)
"""A string without its end, up to its last whole character."""
_CLOSERS = {"{": "}", "[": "]"}


def first_dicts(beginning: bytes) -> list[dict[str, Any]]:
    """The objects among the first values."""
    return [value for value in first_values(beginning) if isinstance(value, dict)]


@lru_cache(maxsize=4)
def first_values(beginning: bytes) -> tuple[Any, ...]:
    """The values of the first lines, or the beginning of a value with many lines; () if it is not JSON. Do not modify them."""
    text = beginning.removeprefix(_BOM).lstrip()
    if not text.startswith((b"{", b"[")):
        return ()
    *lines, last = text.split(b"\n", _MOST_LINES)
    # A line that ends in the middle of a value is followed by the rest of it, not by another value.
    goes_on = lines and lines[0].rstrip().endswith((b"{", b"[", b",", b":"))
    if not goes_on and (
        values := [value for line in lines if (value := _loaded(line)) is not None]
    ):
        more = _completed(last) if len(lines) < _MOST_LINES else None
        return (*values, *([] if more is None else [more]))
    value = _completed(text)
    return () if value is None else (value,)


def _loaded(line: bytes) -> Any:
    """The object or list of a line; None if the line is not one."""
    if not line.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return load_json(line)
    except ValueError:
        return None


def _completed(data: bytes) -> Any:
    """The value that begins here, as far as the text goes; None if it is not JSON."""
    try:
        return load_json(data)
    except ValueError:
        pass
    text = data.decode("utf-8", "ignore")
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return load_json(_closed(text))
    except ValueError:
        return None


def _closed(text: str) -> str:
    """The text up to its last whole value, or up to the middle of a string at its end, with everything open closed."""
    open_brackets: list[str] = []
    end_of_value, closers = 0, ""
    before = ""
    end = 0
    for token in _TOKEN.finditer(text):
        if text[end : token.start()].strip():
            break  # a string without an end
        word, end = token[0], token.end()
        if word in _CLOSERS:
            open_brackets.append(_CLOSERS[word])
            if len(open_brackets) > _DEEPEST:
                break
        elif word in ("}", "]"):
            if not open_brackets or open_brackets.pop() != word:
                break
        elif (
            word in (",", ":")
            or _is_key(open_brackets, before)
            or (end == len(text) and word[0] != '"')
        ):
            before = word
            continue
        before = word
        end_of_value, closers = end, "".join(reversed(open_brackets))
        if not open_brackets:
            return text[:end]
    if 0 < len(open_brackets) <= _DEEPEST and not _is_key(open_brackets, before):
        start = len(text) - len(text[end:].lstrip())
        if string := _OPEN_STRING.match(text, start):
            return text[: string.end()] + '"' + "".join(reversed(open_brackets))
    return text[:end_of_value] + closers


def _is_key(open_brackets: list[str], before: str) -> bool:
    """Whether a string at this point would be the name of a member."""
    return bool(open_brackets) and open_brackets[-1] == "}" and before in ("{", ",")
