"""Request logs that the gateway and the emulator write (`write.py`) -> conversations.

Requests that continue each other are one conversation. Where two continue the same one, the last counts, and turns that only the others had are
marked as abandoned; a request that was only sent again is marked as repeated. Requests of one session with another beginning, such as those of
subagents, are separate conversations next to the first, and so are those that a client sends for itself (`sources/housekeeping.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import SENTENCES, Note
from innervoice.canon.request import Request
from innervoice.canon.response import Failure, Response
from innervoice.canon.storage import value_from
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.sources.conversation import Conversation, Mark, Turn
from innervoice.sources.housekeeping import helper_of
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.sources.request_log.records import with_fillers
from innervoice.sources.request_log.write import FORMAT, parts_so_far
from innervoice.wire.json_access import as_number

__all__ = [
    "READER",
    "LoggedRecord",
    "LoggedThread",
    "answer_from",
    "conversation_of",
    "first_words",
    "thinking_seconds",
]

_HEAD = re.compile(rb'\{"record":"(growth|end|moved)","id":"([^"\\]+)"')
_MOST_TROUBLES = 100
_SHAPE = "The texts of some or all requests: only their shape was logged (`innervoice serve --log full` keeps texts); each dot stands for one character."


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
    helper: str | None = None
    """What a client asked for itself."""
    growth: list[_LinePlace] = field(default_factory=list)
    end: _LinePlace | None = None
    is_moved: bool = False


def _recognizes(_: Data, beginning: bytes) -> bool:
    return beginning.startswith(b'{"record":"log","format":"' + FORMAT.encode() + b'"')


def _open(data: Data) -> Opened:
    scan = _Scan(data)
    entries, lanes = scan.entries()
    levels = {request.level for request in scan.found.values()}

    def read(entry: Entry) -> Conversation:
        if entry.id not in lanes:
            raise DecodeError(f"there is no conversation {entry.id!r} in this log")
        records = [_record(data, scan.found[name]) for name in lanes[entry.id]]
        helpers = frozenset(
            name for name in lanes[entry.id] if scan.found[name].helper and name != entry.id
        )
        thread = LoggedThread(entry.id, entry.title, entry.parent, records, helpers)
        return conversation_of(thread)

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
            as_number(at),
            str(record.get("asked") or ""),
            "" if base else first_words(record.get("new")),
            base,
            record["session"] if isinstance(record.get("session"), str) else None,
            str(record.get("level")),
            isinstance(settings, dict) and bool(settings.get("tools")),
            _helper(record),
        )

    def _belongs(self, kind: str, name: str, place: _LinePlace) -> None:
        request = self.found.get(name)
        if request is None:
            self._trouble(place.line, f"the request {name[:80]!r} is not in this file")
        elif kind == "growth":
            request.growth.append(place)
        elif kind == "moved":
            request.is_moved = True
        else:
            request.end = place
            request.growth = []

    def entries(self) -> tuple[list[Entry], dict[str, list[str]]]:
        """A conversation for each request that continues no other, and the requests of each."""
        lanes = self._lanes()
        main_of = self._main_conversations(lanes)
        entries = []
        for root, names in lanes.items():
            request = self.found[root]
            parent = main_of.get(request.session or "", names[0] if request.helper else root)
            count = f"{len(names):,} request{'' if len(names) == 1 else 's'}"
            title = request.title or f"{request.asked or 'no model'}, {count}"
            if request.helper:
                title = f"asks for {request.helper}"
            entries.append(
                Entry(
                    id=root,
                    title=title,
                    start=request.place.start,
                    line=request.place.line,
                    parent=None if parent == root else parent,
                    at=request.at,
                    model=request.asked or None,
                    helper=request.helper,
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

    def _lanes(self) -> dict[str, list[str]]:
        """The requests of each conversation, by the first of them; a helper has those before it as well."""
        root_of: dict[str, str] = {}
        lanes: dict[str, list[str]] = {}
        for name, request in self.found.items():
            if request.helper and request.base:
                lanes[name] = [*self._chain(request.base), name]
            root = root_of.get(request.base or "", name)
            root_of[name] = root
            lanes.setdefault(root, []).append(name)
        return lanes

    def _chain(self, name: str) -> list[str]:
        """A request and those that it continues, the first one first."""
        chain = [name]
        while (base := self.found[chain[-1]].base) is not None:
            chain.append(base)
        return chain[::-1]

    def _main_conversations(self, conversations: dict[str, list[str]]) -> dict[str, str]:
        """The main conversation of each session: the user's own, not what a client asks for itself; the first with tools, else the one with the most requests."""
        main_of: dict[str, str] = {}
        for root, names in conversations.items():
            session = self.found[root].session
            if self.found[root].helper:
                continue
            main = main_of.get(session or "")
            if session and (main is None or self._rank(names) > self._rank(conversations[main])):
                main_of[session] = root
        return main_of

    def _rank(self, names: list[str]) -> tuple[bool, int]:
        has_tools = self.found[names[0]].has_tools
        return has_tools, 0 if has_tools else len(names)


def _helper(record: dict[str, Any]) -> str | None:
    settings = record.get("settings")
    system = settings.get("system") if isinstance(settings, dict) else None
    texts = [system] if isinstance(system, str) else []
    new = record.get("new")
    for message in new if isinstance(new, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
            texts += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    row = helper_of(texts)
    return row.asks_for if row else None


def _record(data: Data, entry: _Found) -> LoggedRecord:
    """A request with everything that was written about it."""
    request = _loaded(data, entry.place)
    steps = [step for place in entry.growth for step in _steps(_loaded(data, place))]
    end = _loaded(data, entry.end) if entry.end else None
    return LoggedRecord(entry.id, entry.place.line, entry.base, request, steps, end)


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


# ---- The records of requests that continue each other -> one conversation.


_TITLE = 200
_SETTINGS = (
    "system", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "max_tokens", "temperature", "top_p", "stop",
    "response_format", "stream", "dialect",
)  # fmt: skip
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens")


class LoggedRecord(NamedTuple):
    """A request with everything that was written about it."""

    id: str
    line: int
    base: str | None
    request: dict[str, Any]
    steps: list[Any]
    """The steps of an answer that has no end yet."""
    end: dict[str, Any] | None


class LoggedThread(NamedTuple):
    """The requests of a conversation, in the order in which they arrived."""

    id: str
    title: str
    parent: str | None
    records: list[LoggedRecord]
    helpers: frozenset[str] = frozenset()
    """The requests among them that a client sent for itself: what only these have is not part of the conversation."""


def first_words(new: Any) -> str:
    """The user's first message; "" if it was not kept."""
    for message in new if isinstance(new, list) else ():
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        for part in message.get("parts") or ():
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str) and text.strip():
                return text.strip()[:_TITLE]
    return ""


def conversation_of(lane: LoggedThread) -> Conversation:
    """The conversation; raises `DecodeError` for records that cannot be read."""
    by_id = {record.id: record for record in lane.records}
    path: list[LoggedRecord] = []
    records = [one for one in lane.records if one.id not in lane.helpers] or lane.records
    record: LoggedRecord | None = records[-1]
    while record is not None:
        path.append(record)
        record = by_id.get(record.base or "")
    path.reverse()
    on_path = {record.id for record in path}
    composed = _Composed()
    before = -1
    for record in path:
        place = lane.records.index(record, before + 1)
        aside = [one for one in lane.records[before + 1 : place] if one.id not in on_path | lane.helpers]  # fmt: skip
        composed.add(record, aside)
        before = place
    return Conversation(
        id=lane.id,
        title=lane.title,
        turns=tuple(composed.of_the_user(lane.helpers)),
        parent=lane.parent,
        request=_settings(path),
    )


class _Composed:
    """Turns, and which of them the last request has."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._owners: list[str] = []
        """The requests that the turns were first in."""
        self._owner = ""
        self._live: list[int] = []
        self._answer: int | None = None

    def add(self, record: LoggedRecord, aside: list[LoggedRecord]) -> None:
        """Adds a request; those in `aside` came before it, and no request continues them."""
        request = record.request
        self._owner = record.id
        shared = request.get("kept")
        count = shared if isinstance(shared, int) and shared >= 0 else 0
        # The same messages as before, and nothing new: it was only sent again.
        is_again = bool(record.base) and not request.get("new") and count >= len(self._live)
        self._mark("abandoned", self._live[count:])
        del self._live[count:]
        if self._answer is not None:
            if request.get("answer") is True:
                self._live.append(self._answer)
            else:
                self._mark("repeated" if is_again else "abandoned", [self._answer])
        elif request.get("answer") is True and record.base:
            self._live.append(self._put(Turn(message=Message("assistant"))))
        for other in aside:
            is_same = _is_same_request(other, record)
            if not is_same:
                self._mark("abandoned", [self._put(turn) for turn in _new_turns(other)])
            if answer := _answer_turn(other):
                self._mark("repeated" if is_same else "abandoned", [self._put(answer)])
        self._live += [self._put(turn) for turn in _new_turns(record)]
        answer = _answer_turn(record)
        self._answer = None if answer is None else self._put(answer)

    def of_the_user(self, helpers: frozenset[str]) -> Iterator[Turn]:
        """The turns without those that only helpers had."""
        for turn, owner in zip(self.turns, self._owners, strict=True):
            if owner not in helpers or not turn.marks:
                yield turn

    def _put(self, turn: Turn) -> int:
        self.turns.append(turn)
        self._owners.append(self._owner)
        return len(self.turns) - 1

    def _mark(self, mark: Mark, places: list[int]) -> None:
        for place in places:
            turn = self.turns[place]
            if not turn.marks:
                self.turns[place] = turn.replace(marks=(mark,))


def _is_same_request(one: LoggedRecord, other: LoggedRecord) -> bool:
    """Whether a request was only sent again."""
    return one.base == other.base and all(
        one.request.get(name) == other.request.get(name) for name in ("kept", "new")
    )


def _new_turns(record: LoggedRecord) -> list[Turn]:
    new = record.request.get("new")
    at = as_number(record.request.get("at"))
    turns = []
    for item in new if isinstance(new, list) else ():
        message = value_from(with_fillers(item))
        if not isinstance(message, Message):
            raise DecodeError(f"line {record.line}: expected messages in `new`")
        turns.append(Turn(message=message, at=at, line=record.line))
    return turns


def _answer_turn(record: LoggedRecord) -> Turn | None:
    """The answer to a request, as far as it was received; None if nothing was."""
    if record.end is None:
        if not record.steps:
            return None
        parts = parts_so_far(record.steps)
        requested = record.request.get("asked")
        so_far = Response(parts=parts, model=requested if isinstance(requested, str) else None)
        return Turn(message=so_far.message, answer=so_far, line=record.line)
    report = record.end.get("report")
    report = report if isinstance(report, dict) else {}
    stored = record.end.get("response")
    response = None if stored is None else value_from(with_fillers(stored))
    if response is not None and not isinstance(response, Response):
        raise DecodeError(f"line {record.line}: expected an answer in `response`")
    response = answer_from(report, response)
    seconds = report.get("seconds")
    total = as_number(seconds.get("total")) if isinstance(seconds, dict) else None
    is_error = not response.parts and response.error is not None
    marks: tuple[Mark, ...] = ("api_error",) if is_error else ()
    at = as_number(record.end.get("at"))
    return Turn(
        message=response.message,
        answer=response,
        at=at,
        seconds=total,
        thinking_seconds=thinking_seconds(report),
        line=record.line,
        marks=marks,
    )


def thinking_seconds(report: dict[str, Any]) -> float | None:
    """How long an answer thought, by the gateway's report."""
    thinking = report.get("thinking")
    return as_number(thinking.get("thinking_seconds")) if isinstance(thinking, dict) else None


def answer_from(report: dict[str, Any], response: Response | None) -> Response:
    """An answer with the facts of the gateway's report."""
    answer = response or Response()
    changes: dict[str, Any] = {}
    for name in ("provider", "model"):
        value = report.get(name)
        if getattr(answer, name) is None and isinstance(value, str) and value:
            changes[name] = value
    usage = report.get("usage")
    if answer.usage == Usage() and isinstance(usage, dict):
        counts = {name: usage.get(name) for name in _COUNTS}
        changes["usage"] = Usage(
            **{name: count for name, count in counts.items() if isinstance(count, int)}
        )
    if notes := _notes(report.get("notes"), answer.notes):
        changes["notes"] = (*answer.notes, *notes)
    status, kind = report.get("status"), report.get("error")
    is_failed = isinstance(kind, str) or (isinstance(status, int) and status >= 400)
    if is_failed and answer.error is None:
        code = status if isinstance(status, int) else None
        changes["error"] = Failure(type=kind if isinstance(kind, str) else None, code=code)
    elif response is None and not is_failed:
        changes["ended"] = True
    return answer.replace(**changes)


def _notes(rows: Any, earlier: tuple[Note, ...]) -> list[Note]:
    """The notes of a report that the answer does not have."""
    codes = {note.code for note in earlier}
    notes = []
    for note in rows if isinstance(rows, list) else ():
        match note:
            case {"code": str(code), **rest} if code in SENTENCES and code not in codes:
                detail, count = rest.get("detail"), rest.get("count")
                text = detail if isinstance(detail, str) else None
                notes.append(Note(code, text, count if isinstance(count, int) else 1))
    return notes


def _settings(path: list[LoggedRecord]) -> Request | None:
    """The settings of the last request."""
    stored = next((record.request["settings"] for record in reversed(path) if isinstance(record.request.get("settings"), dict)), None)  # fmt: skip
    if stored is None:
        return None
    stored = with_fillers(stored)
    model = stored.get("model")
    ends = (record.end.get("report") for record in reversed(path) if record.end)
    for report in ends:
        if isinstance(report, dict) and report.get("provider") and report.get("model"):
            model = f"{report['provider']}/{report['model']}"
            break
    fields = {name: stored[name] for name in _SETTINGS if name in stored}
    try:
        return Request(model if isinstance(model, str) else "", (), **fields)
    except (InnervoiceError, TypeError, ValueError) as error:
        raise DecodeError(f"expected the settings of a request: {error}") from None
