"""Request logs that the gateway and the emulator write (`request_log_writer.py`) -> conversations.

Requests that continue each other are one conversation. Where two continue the same one, the last counts, and turns that only the others had are
marked as abandoned. Requests of one session with another beginning, such as those of subagents, are separate conversations next to the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.sources.request_lanes import (
    LoggedRecord,
    LoggedThread,
    conversation_of,
    first_words,
)
from innervoice.sources.request_log_writer import FORMAT

__all__ = ["READER"]

_HEAD = re.compile(rb'\{"record":"(growth|end|moved)","id":"([^"\\]+)"')
_MOST_TROUBLES = 100
_SHAPE = 'The texts of some or all requests: only their shape was logged (log = "shape"); each dot stands for one character.'


class _LinePlace(NamedTuple):
    start: int
    end: int
    line: int


@dataclass(slots=True)
class _Found:
    """A request of the file, not yet read."""

    id: str
    place: _LinePlace
    at: float | None
    asked: str
    title: str
    base: str | None
    session: str | None
    level: str
    has_tools: bool = False
    growth: list[_LinePlace] = field(default_factory=list)
    end: _LinePlace | None = None
    is_moved: bool = False


def _recognizes(_: Data, beginning: bytes) -> bool:
    return beginning.startswith(b'{"record":"log","format":"' + FORMAT.encode() + b'"')


def _open(data: Data) -> Opened:
    scan = _Scan(data)
    entries, lanes = scan.entries()
    levels = {found.level for found in scan.found.values()}

    def read(entry: Entry) -> Conversation:
        if entry.id not in lanes:
            raise DecodeError(f"there is no conversation {entry.id!r} in this log")
        records = [_record(data, scan.found[name]) for name in lanes[entry.id]]
        return conversation_of(LoggedThread(entry.id, entry.title, entry.parent, records))

    return Opened(entries, read, scan.troubles, (_SHAPE,) if "shape" in levels else ())


class _Scan:
    """The index of a log."""

    def __init__(self, data: Data) -> None:
        self.found: dict[str, _Found] = {}
        self.troubles: list[Trouble] = []
        for number, (position, line) in enumerate(data.lines(), 1):
            place = _LinePlace(position, position + len(line), number)
            if not line.endswith(b"\n"):
                self._trouble(
                    number, "the line has no end: it is being written, or the file was cut"
                )
            elif line.strip():
                self._add(line, place)
        self.found = {name: one for name, one in self.found.items() if not one.is_moved}

    def _trouble(self, line: int | None, why: str) -> None:
        if len(self.troubles) < _MOST_TROUBLES:
            self.troubles.append(Trouble(line, why))

    def _add(self, line: bytes, place: _LinePlace) -> None:
        if head := _HEAD.match(line):
            self._belongs(head[1].decode(), head[2].decode("utf-8", "replace"), place)
            return
        try:
            record = load_json(line)
        except ValueError:
            self._trouble(place.line, "expected a line of JSON")
            return
        match record:
            case {"record": "request", "id": str(name)}:
                if name in self.found:
                    self._trouble(place.line, f"the request {name[:80]!r} is already in this file")
                else:
                    self.found[name] = self._request(name, record, place)
            case {"record": "lost", "count": int(count)}:
                self._trouble(place.line, f"{count} records came faster than they could be written, or the disk failed")  # fmt: skip
            case {"record": "log"}:
                pass
            case _:
                self._trouble(place.line, "expected a record of a log of requests")

    def _request(self, name: str, record: dict[str, Any], place: _LinePlace) -> _Found:
        base = record.get("base")
        if base is not None and (not isinstance(base, str) or base not in self.found):
            self._trouble(place.line, "it continues a request that is not in this file")
            base = None
        at, settings = record.get("at"), record.get("settings")
        if "unread" in record:
            self._trouble(place.line, "the body of the request could not be read")
        return _Found(
            name,
            place,
            float(at) if isinstance(at, (int, float)) else None,
            str(record.get("asked") or ""),
            "" if base else first_words(record.get("new")),
            base,
            record["session"] if isinstance(record.get("session"), str) else None,
            str(record.get("level")),
            isinstance(settings, dict) and bool(settings.get("tools")),
        )

    def _belongs(self, kind: str, name: str, place: _LinePlace) -> None:
        found = self.found.get(name)
        if found is None:
            self._trouble(place.line, f"the request {name[:80]!r} is not in this file")
        elif kind == "growth":
            found.growth.append(place)
        elif kind == "moved":
            found.is_moved = True
        else:
            found.end = place
            found.growth = []

    def entries(self) -> tuple[list[Entry], dict[str, list[str]]]:
        """A conversation for each request that continues no other, and the requests of each."""
        root_of: dict[str, str] = {}
        lanes: dict[str, list[str]] = {}
        for name, found in self.found.items():
            root = root_of.get(found.base or "", name)
            root_of[name] = root
            lanes.setdefault(root, []).append(name)
        main_of = self._main_conversations(lanes)
        entries = []
        for root, names in lanes.items():
            found = self.found[root]
            parent = main_of[found.session] if found.session else root
            count = f"{len(names):,} request{'' if len(names) == 1 else 's'}"
            title = found.title or f"{found.asked or 'no model'}, {count}"
            entries.append(
                Entry(
                    id=root,
                    title=title,
                    start=found.place.start,
                    line=found.place.line,
                    parent=None if parent == root else parent,
                    at=found.at,
                    model=found.asked or None,
                )
            )
        first_line = {entry.parent or entry.id: entry.line for entry in reversed(entries)}
        # A session stands where it began, its main conversation first.
        entries.sort(
            key=lambda entry: (
                first_line[entry.parent or entry.id],
                entry.parent is not None,
                entry.line,
            )
        )
        return entries, lanes

    def _main_conversations(self, conversations: dict[str, list[str]]) -> dict[str, str]:
        """The main conversation of each session: the first with tools, else the one with the most requests.

        Agents ask for a title, or for a summary, in requests of their own, often before the user's; these have no tools.
        """
        main_of: dict[str, str] = {}
        for root, names in conversations.items():
            session = self.found[root].session
            main = main_of.get(session or "")
            if session and (main is None or self._rank(names) > self._rank(conversations[main])):
                main_of[session] = root
        return main_of

    def _rank(self, names: list[str]) -> tuple[bool, int]:
        has_tools = self.found[names[0]].has_tools
        return has_tools, 0 if has_tools else len(names)


def _record(data: Data, found: _Found) -> LoggedRecord:
    """A request with everything that was written about it."""
    request = _loaded(data, found.place)
    steps = [step for place in found.growth for step in _steps(_loaded(data, place))]
    end = _loaded(data, found.end) if found.end else None
    return LoggedRecord(found.id, found.place.line, found.base, request, steps, end)


def _steps(record: dict[str, Any]) -> Iterator[Any]:
    steps = record.get("steps")
    yield from steps if isinstance(steps, list) else ()


def _loaded(data: Data, place: _LinePlace) -> dict[str, Any]:
    try:
        record = load_json(data.piece(place.start, place.end))
    except ValueError as error:
        raise DecodeError(f"line {place.line}: expected a line of JSON: {error}") from None
    if not isinstance(record, dict):
        raise DecodeError(f"line {place.line}: expected a record, not {type(record).__name__}")
    return record


READER = Reader(
    kind="gateway-log",
    name="a request log of innervoice",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "Whether a seal still matches the messages before it: only its size and a hash are in the log.",
        "What images and documents show: only their sizes are in the log.",
    ),
)
