"""Writes a request log. Code that serves requests only hands over its data; a thread reads, reduces and writes it.

    begin ──► {"record": "request", "id", "base", "kept", "new": [messages], "settings"}     the request that it continues, and what is new
    grow  ──► {"record": "growth", "id", "steps": [...]}                                     the answer as it arrives, a `Recast` included
    end   ──► {"record": "end", "id", "response", "report"}

Nothing waits for the disk: if it fails, the log is lost, which is reported once, and the disk is tried again later. Data that comes faster
than it can be written is left out, and counted in the log.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.canon.bounded import Bounded
from innervoice.canon.events import (
    Event,
    PartEnd,
    PartStart,
    Recast,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.response import Response
from innervoice.canon.storage import plain_form, value_from
from innervoice.conversation.body import SplitBody
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.folding import FoldedPart, PartFolder
from innervoice.privacy.redactor import short_hash
from innervoice.sources.request_log.chains import MOST_SETTINGS, RequestChains
from innervoice.sources.request_log.files import LogBounds, LogFiles
from innervoice.sources.request_log.records import MOST_FILLED, Keeper, Level, with_fillers

__all__ = [
    "AFFINITY",
    "FORMAT",
    "Asked",
    "GrowthWriter",
    "LoggedRequest",
    "RequestLog",
    "parts_so_far",
    "session_of",
]

AFFINITY = (
    "x-claude-code-session-id",
    "session-id",
    "thread-id",
    "x-session-id",
    "x-session-affinity",
)
"""Headers that show which requests belong together; in lower case."""

FORMAT = "innervoice.requests"
VERSION = 1
_MOST_WAITING = 64_000_000
"""Bytes of bodies that may wait to be written; more is left out."""
_MOST_JOBS = 50_000
_GATHER_SECONDS = 0.02
"""How long lines are gathered before they are written together."""
_AGAIN = 30.0
"""Seconds until a failed disk is tried again."""


class Asked(NamedTuple):
    """A request as received."""

    id: str
    at: float
    dialect: str
    body: bytes
    model: str = ""
    """The model name that the client sent."""
    tenant: str = ""
    caller: str = ""
    """The id of the caller's key, never the key."""
    session: str = ""
    """The client's id of a session, which shows which requests belong together; only a hash of it is written."""
    split: SplitBody | None = None
    """The body in pieces, if it was split before."""


def session_of(headers: Mapping[str, str]) -> str:
    """The client's id of a session, which shows which requests belong together; the names of headers are in lower case."""
    return next((headers[name] for name in AFFINITY if headers.get(name)), "")


class LoggedRequest:
    """A request in progress."""

    __slots__ = ("_log", "asked", "file", "growth", "keeper")

    def __init__(self, log: RequestLog, asked: Asked, keeper: Keeper) -> None:
        self._log = log
        self.asked = asked
        self.keeper = keeper
        self.growth = GrowthWriter(keeper)
        self.file = -1
        """The number of the file that contains it."""

    def grow(self, events: Sequence[Event]) -> None:
        """Adds a part of its answer."""
        self._log.add(lambda: self._log.write_growth(self, events))

    def end(
        self, response: Response | None, report: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        """Ends it. `report` returns its report; it is called later, in another thread."""
        self._log.add(lambda: self._log.write_end(self, response, report))


class RequestLog:
    """The log of one process. `say` is called if the log cannot be written."""

    def __init__(
        self,
        place: Path,
        *,
        by: str,
        bounds: LogBounds | None = None,
        say: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = LogFiles(place, bounds)
        self._by, self._say, self._clock = by, say, clock
        self._keepers: dict[Level, Keeper] = {
            "shape": Keeper("shape"),
            "full": Keeper("full"),
        }
        self._settings: Bounded[tuple[Level, bytes], dict[str, Any]] = Bounded(MOST_SETTINGS)
        self._chains = RequestChains()
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        self._given = self._taken = 0
        """Bytes of bodies that were handed over, and that were read."""
        self._lost = 0
        self._number = 0
        self._open: dict[str, LoggedRequest] = {}
        self._lines: list[bytes] = []
        self._failed_at: float | None = None
        self._has_said = False

    # ---- from any thread -----------------------------------------------------------------------

    @property
    def place(self) -> Path:
        """The folder or the file."""
        return self._files.place

    @property
    def written(self) -> list[Path]:
        """The files that this process has begun."""
        return self._files.written

    def begin(self, asked: Asked, level: Level) -> LoggedRequest | None:
        """Begins a request; None if there is no room for it."""
        if self._given - self._taken > _MOST_WAITING or self._jobs.qsize() > _MOST_JOBS:
            self._lost += 1
            return None
        logged = LoggedRequest(self, asked, self._keepers[level])
        self._given += len(asked.body)
        self.add(lambda: self._begin(logged))
        return logged

    def add(self, job: Callable[[], None]) -> None:
        """Runs a job in the log's own thread."""
        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)
            self._thread.start()

    def flush(self, seconds: float = 10.0) -> bool:
        """Waits until everything so far is written; returns whether it is."""
        event = threading.Event()

        def write() -> None:
            self._write()
            event.set()

        self.add(write)
        self._hurry.set()
        return event.wait(seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Writes the rest, for a limited time."""
        if self._thread is not None:
            self._jobs.put(None)
            self._hurry.set()
            self._thread.join(seconds)
            self._thread = None
        self._files.close()

    # ---- in the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            jobs = [self._jobs.get()]
            # Waking up takes longer than writing a line, and takes the interpreter away from those who answer.
            self._hurry.wait(_GATHER_SECONDS)
            self._hurry.clear()
            while not self._jobs.empty():
                jobs.append(self._jobs.get())
            for job in jobs:
                if job is not None:
                    self._do(job)
            self._write()
            if None in jobs:
                return

    def _do(self, job: Callable[[], None]) -> None:
        try:
            job()
        except OSError as error:
            self._lost += 1
            self._fail(error)
        except Exception:  # noqa: BLE001 - whatever a caller sends, the next one's request is logged
            self._lost += 1

    def _begin(self, logged: LoggedRequest) -> None:
        self._taken += len(logged.asked.body)
        if self._is_ready():
            self._open[logged.asked.id] = logged
            self._write_request(logged)

    def _write_request(self, logged: LoggedRequest) -> None:
        question, keeper = logged.asked, logged.keeper
        session = short_hash(question.session) if question.session else None
        record: dict[str, Any] = {
            "record": "request",
            "id": question.id,
            "at": round(question.at, 3),
            "level": keeper.level,
            "tenant": question.tenant,
            "caller": question.caller,
            "dialect": question.dialect,
            "asked": keeper.name(question.model),
            "session": session,
        }
        logged.file = self._number
        owner = f"{question.tenant}\0{question.caller}\0{question.session}"
        try:
            body = question.split or SplitBody(question.body, question.dialect, question.model)
            grown = self._chains.growth(question.id, body, owner)
        except Exception as error:  # noqa: BLE001 - readers of dialects may raise anything for what nobody serves
            self._line({**record, "unread": type(error).__name__, "bytes": len(question.body)})
            return
        record |= {"base": grown.base, "kept": grown.shared, "answer": grown.has_answer}
        record["new"] = keeper.messages(grown.new)
        if grown.settings is not None:
            digest, settings = grown.settings
            place = keeper.level, digest
            if self._settings.used(place) is None:
                self._settings[place] = keeper.settings(settings)
            record["settings"] = self._settings[place]
        self._line(record)

    def write_growth(self, logged: LoggedRequest, events: Sequence[Event]) -> None:
        """Writes the received part of an answer."""
        if logged.asked.id not in self._open or not self._is_ready():
            return
        steps = logged.growth.steps(events)
        if steps and logged.file == self._number:
            self._line({"record": "growth", "id": logged.asked.id, "steps": steps})

    def write_end(
        self,
        logged: LoggedRequest,
        response: Response | None,
        report: Callable[[], dict[str, Any]] | None,
    ) -> None:
        """Writes how a request ended."""
        if self._open.pop(logged.asked.id, None) is None or not self._is_ready():
            return
        if logged.file != self._number:
            self._write_request(logged)
        keeper = logged.keeper
        record: dict[str, Any] = {
            "record": "end",
            "id": logged.asked.id,
            "at": round(time.time(), 3),
        }
        if response is not None:
            record["response"] = keeper.response(response)
            self._chains.answered(logged.asked.id, response.message, response.id)
        if report is not None:
            record["report"] = keeper.report(report())
        self._line(record)

    # ---- the file ------------------------------------------------------------------------------

    def _is_ready(self) -> bool:
        """Whether there is a file to write to; a new file begins without any known requests."""
        if self._failed_at is not None and self._clock() - self._failed_at < _AGAIN:
            self._lost += 1
            return False
        if not self._lines and self._files.is_full:
            self._leave()
            self._files.open_next()
            self._failed_at = None
            self._number += 1
            self._chains = RequestChains()
            self._line({"record": "log", "format": FORMAT, "version": VERSION, "by": self._by, "at": round(time.time(), 3)})  # fmt: skip
        if self._lost:
            self._line({"record": "lost", "count": self._lost})
            self._lost = 0
        return True

    def _leave(self) -> None:
        """Notes in a full file which requests end in another one."""
        if self._files.path is None:
            return
        for name, logged in self._open.items():
            if logged.file == self._number:
                self._line({"record": "moved", "id": name})
        self._write()

    def _line(self, record: dict[str, Any]) -> None:
        members = {name: value for name, value in record.items() if value is not None}
        self._lines.append(dump_json(members) + b"\n")

    def _write(self) -> None:
        if not self._lines:
            return
        try:
            self._files.write(b"".join(self._lines))
        except OSError as error:
            self._fail(error)
        self._lines = []

    def _fail(self, error: OSError) -> None:
        """Handles a failing disk: the log is lost, and nothing else."""
        self._files.close()
        self._lost += len(self._lines)
        self._lines = []
        self._failed_at = self._clock()
        if not self._has_said:
            self._has_said = True
            reason = error.strerror or type(error).__name__
            self._say(f"The request log cannot be written to {self._files.place}: {reason}")


# ---- An answer that grows, in a request log: the steps of a stream, coalesced, and back.
#
# A step is an event in its plain form. The end of a text does not repeat the text: its pieces are there. The last two words wait for the next
# piece, so that a key that arrives in several pieces is still recognized, and so is a key after its name.


_LONGEST_WORDS = 512
_LONGEST = 8192
_LAST_WORDS = re.compile(r"(?:\S+\s+){0,2}\S*\Z")
_PEM_START, _PEM_END = "-----BEGIN ", "-----END "
_DELTAS = {TextDelta: ("text_delta", "text"), ThinkingDelta: ("thinking_delta", "text"), ToolCallDelta: ("tool_call_delta", "arguments")}  # fmt: skip
_MEMBERS = dict(_DELTAS.values())
_FACTS = ("form", "complete", "origin")
"""The members of the end of a text, besides the text."""


class GrowthWriter:
    """The steps of one answer."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._held: dict[int, tuple[str, str]] = {}
        """The words that may continue, by the number of the part."""
        self._seen: set[int] = set()

    def steps(self, events: Iterable[Event]) -> list[dict[str, Any]]:
        """The steps that these events add."""
        pieces: list[tuple[str, int, list[str]] | dict[str, Any]] = []
        for event in events:
            match event:
                case TextDelta() | ThinkingDelta() | ToolCallDelta():
                    name, member = _DELTAS[type(event)]
                    text = getattr(event, member)
                    last = pieces[-1] if pieces else None
                    if isinstance(last, tuple) and last[:2] == (name, event.index):
                        last[2].append(text)
                    else:
                        pieces.append((name, event.index, [text]))
                case PartStart() | PartEnd() | Recast():
                    pieces += self._step(event)
        return [step for piece in pieces if (step := self._written(piece))]

    def _step(self, event: PartStart | PartEnd | Recast) -> list[dict[str, Any]]:
        keep = self._keeper.part
        if isinstance(event, PartStart):
            step: dict[str, Any] = {"event": "part_start", "index": event.index, "type": event.type}
            return [{**step, "part": keep(event.part)} if event.part else step]
        if isinstance(event, Recast):
            parts = [keep(part) for part in event.parts]
            return [{"event": "recast", "index": event.index, "parts": parts}]
        return [{"event": "part_end", "index": event.index, "whole": event.part}]

    def _written(self, piece: tuple[str, int, list[str]] | dict[str, Any]) -> dict[str, Any] | None:
        if isinstance(piece, tuple):
            return self._delta(*piece)
        if piece["event"] == "recast":
            self._held.clear()
            self._seen.clear()
        if piece["event"] != "part_end":
            return piece
        index, part = piece["index"], piece.pop("whole")
        waiting = self._held.pop(index, None)
        record = self._keeper.part(part)
        if index not in self._seen or not isinstance(part, (Text, Thinking)):
            return {**piece, "part": record}
        rest = {"rest": self._keeper.text(waiting[1])} if waiting else {}
        facts = {name: record[name] for name in _FACTS if name in record}
        return {**piece, **rest, **facts}

    def _delta(self, name: str, index: int, texts: list[str]) -> dict[str, Any] | None:
        self._seen.add(index)
        _, before = self._held.pop(index, (name, ""))
        text = before + "".join(texts)
        end = _settled(text)
        if end < len(text):
            self._held[index] = (name, text[end:])
        if not end:
            return None
        return {"event": name, "index": index, _MEMBERS[name]: self._keeper.text(text[:end])}


def _settled(text: str) -> int:
    """How much of a text can be written: the rest may belong to a key."""
    window = max(0, len(text) - _LONGEST)
    begun = text.rfind(_PEM_START, window)
    if begun >= 0 and _PEM_END not in text[begun:]:
        return begun
    match = _LAST_WORDS.search(text, max(0, len(text) - _LONGEST_WORDS))
    return match.start() if match else len(text)


def parts_so_far(steps: Iterable[Any]) -> tuple[Part, ...]:
    """The parts of an answer that has no end yet; raises `DecodeError` for a value that is not a step."""
    folder = PartFolder(FoldedPart)
    try:
        for step in steps:
            _feed(folder, step)
        return tuple(folded.now() for folded in folder.parts)
    except (InnervoiceError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise DecodeError(f"expected the steps of an answer: {error}") from None


def _feed(folder: PartFolder[FoldedPart], step: Any) -> None:
    if not isinstance(step, dict):
        raise DecodeError(f"expected the steps of an answer, not {type(step).__name__}")
    name = step.get("event")
    if name in _MEMBERS:
        folder.add(step["index"], _text(step[_MEMBERS[name]]))
    elif name != "part_end" or "part" in step:
        folder.feed(value_from(with_fillers(step)))
    else:
        index = step["index"]
        folder.add(index, _text(step.get("rest", "")))
        folded = folder.parts[index]
        facts = {"complete": True, **{name: step[name] for name in _FACTS if name in step}}
        folded.end(value_from({**plain_form(folded.now()), **facts}))


def _text(piece: Any) -> str:
    """A piece of a text, or dots where only its length was kept."""
    if isinstance(piece, int):
        return "·" * min(max(piece, 0), MOST_FILLED)
    if not isinstance(piece, str):
        raise DecodeError(f"expected a piece of a text, not {type(piece).__name__}")
    return piece
