"""The records of requests that continue each other -> one conversation."""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.notes import SENTENCES, Note
from innervoice.canon.request import Request
from innervoice.canon.response import Failure, Response
from innervoice.canon.storage import value_from
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.sources.conversation import Conversation, Mark, Turn
from innervoice.sources.request_growth import parts_so_far
from innervoice.sources.request_records import with_fillers

__all__ = ["LoggedRecord", "LoggedThread", "answer_from", "conversation_of", "first_words"]

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
    record: LoggedRecord | None = lane.records[-1]
    while record is not None:
        path.append(record)
        record = by_id.get(record.base or "")
    path.reverse()
    on_path = {record.id for record in path}
    composed = _Composed()
    before = -1
    for record in path:
        place = lane.records.index(record, before + 1)
        aside = [one for one in lane.records[before + 1 : place] if one.id not in on_path]
        composed.add(record, aside)
        before = place
    return Conversation(
        id=lane.id,
        title=lane.title,
        turns=tuple(composed.turns),
        parent=lane.parent,
        request=_settings(path),
    )


class _Composed:
    """Turns, and which of them the last request has."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._live: list[int] = []
        self._answer: int | None = None

    def add(self, record: LoggedRecord, aside: list[LoggedRecord]) -> None:
        """Adds a request; those in `aside` came before it, and no request continues them."""
        request = record.request
        kept = request.get("kept")
        count = kept if isinstance(kept, int) and kept >= 0 else 0
        self._abandon(self._live[count:])
        del self._live[count:]
        if self._answer is not None:
            if request.get("answer") is True:
                self._live.append(self._answer)
            else:
                self._abandon([self._answer])
        elif request.get("answer") is True and record.base:
            self._live.append(self._put(Turn(message=Message("assistant"))))
        for other in aside:
            self._abandon([self._put(turn) for turn in _new_turns(other)])
            if answer := _answer_turn(other):
                self._abandon([self._put(answer)])
        self._live += [self._put(turn) for turn in _new_turns(record)]
        answer = _answer_turn(record)
        self._answer = None if answer is None else self._put(answer)

    def _put(self, turn: Turn) -> int:
        self.turns.append(turn)
        return len(self.turns) - 1

    def _abandon(self, places: list[int]) -> None:
        for place in places:
            turn = self.turns[place]
            if not turn.marks:
                self.turns[place] = turn.replace(marks=("abandoned",))


def _new_turns(record: LoggedRecord) -> list[Turn]:
    new = record.request.get("new")
    at = _number(record.request.get("at"))
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
        asked = record.request.get("asked")
        so_far = Response(parts=parts, model=asked if isinstance(asked, str) else None)
        return Turn(message=so_far.message, answer=so_far, line=record.line)
    report = record.end.get("report")
    report = report if isinstance(report, dict) else {}
    given = record.end.get("response")
    response = None if given is None else value_from(with_fillers(given))
    if response is not None and not isinstance(response, Response):
        raise DecodeError(f"line {record.line}: expected an answer in `response`")
    response = answer_from(report, response)
    seconds = report.get("seconds")
    total = _number(seconds.get("total")) if isinstance(seconds, dict) else None
    is_error = not response.parts and response.error is not None
    marks: tuple[Mark, ...] = ("api_error",) if is_error else ()
    at = _number(record.end.get("at"))
    return Turn(
        message=response.message,
        answer=response,
        at=at,
        seconds=total,
        line=record.line,
        marks=marks,
    )


def answer_from(report: dict[str, Any], response: Response | None) -> Response:
    """An answer with the facts of the gateway's report."""
    made = response or Response()
    changes: dict[str, Any] = {}
    for name in ("provider", "model"):
        told = report.get(name)
        if getattr(made, name) is None and isinstance(told, str) and told:
            changes[name] = told
    usage = report.get("usage")
    if made.usage == Usage() and isinstance(usage, dict):
        counts = {name: usage.get(name) for name in _COUNTS}
        changes["usage"] = Usage(
            **{name: count for name, count in counts.items() if isinstance(count, int)}
        )
    if notes := _notes(report.get("notes"), made.notes):
        changes["notes"] = (*made.notes, *notes)
    status, kind = report.get("status"), report.get("error")
    is_failed = isinstance(kind, str) or (isinstance(status, int) and status >= 400)
    if is_failed and made.error is None:
        code = status if isinstance(status, int) else None
        changes["error"] = Failure(type=kind if isinstance(kind, str) else None, code=code)
    elif response is None and not is_failed:
        changes["ended"] = True
    return made.replace(**changes)


def _notes(given: Any, known: tuple[Note, ...]) -> list[Note]:
    """The notes of a report that the answer does not have."""
    codes = {note.code for note in known}
    found = []
    for note in given if isinstance(given, list) else ():
        match note:
            case {"code": str(code), **rest} if code in SENTENCES and code not in codes:
                detail, count = rest.get("detail"), rest.get("count")
                told = detail if isinstance(detail, str) else None
                found.append(Note(code, told, count if isinstance(count, int) else 1))
    return found


def _settings(path: list[LoggedRecord]) -> Request | None:
    """The settings of the last request."""
    given = next((record.request["settings"] for record in reversed(path) if isinstance(record.request.get("settings"), dict)), None)  # fmt: skip
    if given is None:
        return None
    given = with_fillers(given)
    model = given.get("model")
    ends = (record.end.get("report") for record in reversed(path) if record.end)
    for report in ends:
        if isinstance(report, dict) and report.get("provider") and report.get("model"):
            model = f"{report['provider']}/{report['model']}"
            break
    known = {name: given[name] for name in _SETTINGS if name in given}
    try:
        return Request(model if isinstance(model, str) else "", (), **known)
    except (InnervoiceError, TypeError, ValueError) as error:
        raise DecodeError(f"expected the settings of a request: {error}") from None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
