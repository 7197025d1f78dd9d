"""The output of the gateway with `--log-format json`, of `innervoice run --report` and of `GET /v1/explain/ID`: a line for each request, without texts."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, Mark, Turn
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.sources.request_log.read import answer_from, thinking_seconds
from innervoice.wire.json_access import as_number

__all__ = ["READER"]

_MEMBERS = frozenset({"id", "tenant", "begun", "reasoning", "usage", "seconds", "status"})
_MOST_TROUBLES = 100


def _report(line: bytes) -> dict[str, Any] | None:
    """The report in a line; None if there is none."""
    try:
        value = load_json(line)
    except ValueError:
        return None
    is_report = (
        isinstance(value, dict) and value.keys() >= _MEMBERS and isinstance(value["id"], str)
    )
    return value if is_report else None


def _recognizes(_: Data, beginning: bytes) -> bool:
    return _report(beginning.lstrip().partition(b"\n")[0]) is not None


def _open(data: Data) -> Opened:
    entries: list[Entry] = []
    troubles: list[Trouble] = []
    places: dict[str, tuple[int, int, int]] = {}
    for number, (position, line) in enumerate(data.lines(), 1):
        if not line.strip():
            continue
        report = _report(line)
        if report is None or report["id"] in places:
            if len(troubles) < _MOST_TROUBLES:
                troubles.append(Trouble(number, "expected the report of a new request"))
            continue
        places[report["id"]] = (position, position + len(line), number)
        entries.append(_entry(report, *places[report["id"]]))

    def read(entry: Entry) -> Conversation:
        if entry.id not in places:
            raise DecodeError(f"there is no request {entry.id!r} in this file")
        start, end, number = places[entry.id]
        report = _report(data.piece(start, end))
        if report is None:
            raise DecodeError(f"line {number}: expected the report of a request")
        return _conversation(entry, report, number)

    return Opened(entries, read, troubles)


def _entry(report: dict[str, Any], start: int, end: int, line: int) -> Entry:
    at, status = report.get("begun"), report.get("status")
    model = "/".join(str(report[name]) for name in ("provider", "model") if report.get(name))
    model = model or str(report.get("asked") or "")
    title = f"{report.get('dialect') or 'a client'} -> {model or 'no model'}, {status}"
    return Entry(report["id"], title, start, end, line, at=as_number(at), model=model or None)


def _conversation(entry: Entry, report: dict[str, Any], line: int) -> Conversation:
    answer = answer_from(report, None)
    seconds = report["seconds"].get("total") if isinstance(report["seconds"], dict) else None
    marks: tuple[Mark, ...] = ("api_error",) if answer.error else ()
    turn = Turn(
        message=answer.message,
        answer=answer,
        at=entry.at,
        seconds=as_number(seconds),
        thinking_seconds=thinking_seconds(report),
        line=line,
        marks=marks,
    )
    return Conversation(id=entry.id, title=entry.title, turns=(turn,))


READER = Reader(
    kind="gateway-lines",
    name="request reports of the gateway",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The requests and the answers: a line reports what happened to a request, and has no texts.",
        "Which requests belong together.",
    ),
)
