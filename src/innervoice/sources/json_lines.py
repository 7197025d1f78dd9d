"""Files of JSON lines: the position of each line, without keeping any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json, split_members
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation
from innervoice.sources.reader import Data, Entry, Opened, Trouble

__all__ = ["JsonLine", "LineLog", "is_json_lines", "json_lines", "members_at", "read_line"]

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
            is_cut = not line.endswith(b"\n")
            why = "the file ends in the middle of this line" if is_cut else "not valid JSON"
            troubles.append(Trouble(number, why))


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
