"""Session files of JSON lines -> conversations, with the line of each part; and the index of such a file.

The modules of the programs (`claude_code.py`, `codex.py`) say what the lines mean, each with a `SessionFormat`. All branches of a
session are read, including those that the user abandoned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.errors import DecodeError
from innervoice.sources.conversation import seconds_of
from innervoice.sources.reader import Data, Trouble, members_at
from innervoice.sources.reader import Entry as SourceEntry
from innervoice.wire.json_access import as_dict

__all__ = [
    "IN_PIECES",
    "MAIN",
    "Line",
    "LinePosition",
    "SessionFile",
    "SessionFormat",
    "SessionIndex",
    "SessionThread",
    "SessionTurn",
    "ThreadPosition",
    "entries_in",
    "session_in",
    "with_author",
]

Entry: TypeAlias = dict[str, Any]
"""The object of a line."""


class LinePosition(NamedTuple):
    """The position of a part: the index of its line, and of its block there; None for the whole line."""

    line: int
    block: int | None


class Line(NamedTuple):
    """A line of a file; `entry` is its parsed JSON, None if it is not valid JSON."""

    text: bytes
    ending: bytes
    entry: Any


class SessionTurn:
    """A message, assembled from the lines that contain it."""

    def __init__(self, message: Message, name: str | None = None) -> None:
        self.message = message.replace(parts=())
        self.name = name
        self.spots: list[LinePosition] = []
        self.lines: list[int] = []

    def add(self, line: int, block: int | None, parts: list[Part]) -> None:
        """Adds parts from a line."""
        self.message = self.message.replace(parts=(*self.message.parts, *parts))
        self.spots += [LinePosition(line, block)] * len(parts)
        if line not in self.lines:
            self.lines.append(line)

    def thinking_seconds(self, entries: list[Entry], seconds: float | None) -> float | None:
        """How long it thought, of the seconds that all of it took; None if the times of its lines do not say."""
        times = [seconds_of(entries[line].get("timestamp")) for line in self.lines]
        known = [time for time in times if time is not None]
        are_apart = len(known) == 1 or len({*known}) > 1
        if seconds is None or len(known) < len(times) or not are_apart or known != sorted(known):
            return None
        thoughts, others = set[int](), set[int]()
        for spot, part in zip(self.spots, self.message.parts, strict=True):
            (thoughts if isinstance(part, Thinking) else others).add(spot.line)
        before, total = known[-1] - seconds, 0.0
        for line, time in zip(self.lines, known, strict=True):
            if line in thoughts:
                if line in others:
                    return None
                total += time - before
            before = time
        return round(total, 3) if thoughts else None


class SessionThread(NamedTuple):
    """The turns of one conversation; a session may have several."""

    turns: list[SessionTurn]
    name: str = ""
    """The id of the subagent, or of the line that it began with; "" for the main conversation."""

    @property
    def messages(self) -> list[Message]:
        """The messages of the conversation."""
        return [turn.message for turn in self.turns]

    def line_of(self, message: int, part: int | None) -> int:
        """The line number of a part, starting at 1."""
        turn = self.turns[message]
        has_spot = part is not None and part < len(turn.spots)
        return (turn.spots[part].line if has_spot and part is not None else turn.lines[0]) + 1


class SessionFormat(NamedTuple):
    """How one program writes sessions, and how its lines are changed in a repair."""

    kind: str
    threads: Callable[[list[Entry]], dict[str, list[SessionTurn]]]
    """The turns of each conversation of a file, by its name."""
    edited: Callable[[Entry, set[int | None], dict[int | None, str]], Entry | None]
    """A line without the blocks with these numbers and with other ids for calls and results; None if nothing remains."""
    moved: Callable[[Entry, Entry, LinePosition, dict[int | None, str]], Entry]
    """A line after another one, with the result at a position of a third, which may get another id."""
    answered: Callable[[Entry, str, ToolCall], Entry]
    """A line with the missing result of a call, to stand after this line."""
    relink: Callable[[list[Entry], dict[int, Entry | None], dict[int, list[Entry]]], None]
    """Adapts lines that refer to other lines, after these were changed, removed or added."""


class SessionFile(NamedTuple):
    """A session file; its first thread is the main conversation."""

    format: SessionFormat
    lines: list[Line]
    threads: list[SessionThread]

    @property
    def kind(self) -> str:
        """The program, such as "codex"."""
        return self.format.kind

    @property
    def messages(self) -> list[Message]:
        """The main conversation."""
        return self.threads[0].messages


def session_in(data: bytes, *formats: SessionFormat) -> SessionFile:
    """Reads a session file of one of these formats; raises `DecodeError` for other data. A truncated line is ignored."""
    lines = [_line(line) for line in data.splitlines(keepends=True)]
    entries = [as_dict(line.entry) for line in lines]
    for form in formats:
        if threads := form.threads(entries):
            threads_by_name = [SessionThread(turns, name) for name, turns in threads.items()]
            return SessionFile(form, lines, threads_by_name)
    for number, line in enumerate(lines, 1):
        if line.entry is None and line.text.strip():
            raise DecodeError(f"expected JSON, or JSON on every line; line {number} is not JSON")
    raise DecodeError(
        "expected a session file of Claude Code or Codex: no line of it is a message or an item"
    )


def entries_in(data: Data, start: int, end: int | None, *members: str) -> list[Entry]:
    """The objects of the lines of a piece, with these members alone (all without names); {} for a line that is not an object.

    The lines themselves are not kept: for reading, unlike for a repair, a large file needs them no longer.
    """
    entries: list[Entry] = []
    for position, line in data.lines(start):
        if end is not None and position >= end:
            break
        try:
            entries.append(as_dict(members_at(line, *members) if members else load_json(line)))
        except ValueError:
            entries.append({})
    return entries


def _line(raw: bytes) -> Line:
    text = raw.rstrip(b"\r\n")
    try:
        entry = load_json(text)
    except ValueError:
        entry = None
    return Line(text, raw[len(text) :], entry)


def with_author(part: Part, provider: str | None, model: str | None) -> Part:
    """The part with the provider and model that wrote it."""
    if part.origin is None or model is None:
        return part
    return part.replace(origin=part.origin.replace(provider=provider, model=model))


# ---- the index of a file, and where a large file is cut into pieces ---------------------------------------


MAIN = "main"
LARGE = 56 << 20
"""The size in bytes from which a file is shown in pieces: once read, it takes several times as much memory."""
_PIECE = 4 << 20
IN_PIECES = "The file is large and shown in pieces, each of which begins with a user turn; what spans two pieces, such as an abandoned branch, is not detected."


class ThreadPosition(NamedTuple):
    """Where the conversation of an entry is: a name in a piece of the file, which ends at `end`."""

    name: str
    start: int
    end: int | None
    line: int


class _Piece:
    def __init__(self, start: int, line: int) -> None:
        self.start = start
        self.line = line
        self.threads: dict[str, SourceEntry] = {}


class SessionIndex:
    """Collects the facts about a session file, line by line; "" is the name of its main conversation."""

    def __init__(self, data: Data) -> None:
        self.troubles: list[Trouble] = []
        self.positions: dict[str, ThreadPosition] = {}
        """By the ids of the entries."""
        self.folder: str | None = None
        """The path of the folder that the session began in."""
        self._is_large = data.size > LARGE
        self._pieces = [_Piece(0, 1)]

    def begins_turn(self, start: int, line: int) -> bool:
        """Begins a user turn; returns True if a new piece begins as well."""
        last = self._pieces[-1]
        if not self._is_large or start - last.start < _PIECE or not last.threads:
            return False
        self._pieces.append(_Piece(start, line))
        return True

    def add(self, name: str, at: float | None) -> None:
        """Adds a line of a conversation."""
        threads = self._pieces[-1].threads
        if name not in threads:
            threads[name] = SourceEntry(name, at=at)

    def learn(self, name: str, *, title: str = "", model: str | None = None) -> None:
        """Sets the title and the model of a conversation; the first values count."""
        threads = self._pieces[-1].threads
        thread = threads[name]
        threads[name] = thread._replace(title=thread.title or title, model=thread.model or model)

    def knows(self, name: str) -> tuple[bool, bool]:
        """Whether the title and the model of a conversation are known."""
        thread = self._pieces[-1].threads[name]
        return bool(thread.title), thread.model is not None

    @property
    def title(self) -> str:
        """The title of the first main conversation."""
        return next((piece.threads[""].title for piece in self._pieces if "" in piece.threads), "")

    @property
    def is_cut(self) -> bool:
        """Whether the file is shown in pieces."""
        return len(self._pieces) > 1

    def entries(self, title: str = "", project: str | None = None) -> list[SourceEntry]:
        """The entries, the main conversation of each piece before its subagents; `title` is the program's title of the session."""
        entries: list[SourceEntry] = []
        total = len(self._pieces)
        for number, piece in enumerate(self._pieces, 1):
            tail = "" if number == 1 else f"~{number}"
            end = self._pieces[number].start if number < total else None
            # The file of a subagent has no main conversation except its own.
            first = "" if "" in piece.threads else next(iter(piece.threads), "")
            for name in sorted(piece.threads, key=lambda name: name != first):
                entry_id = (MAIN if name == first else name) + tail
                self.positions[entry_id] = ThreadPosition(name, piece.start, end, piece.line)
                thread = piece.threads[name]
                called = (title if name == first else "") or thread.title
                entries.append(
                    thread._replace(
                        id=entry_id,
                        title=called
                        if total == 1
                        else f"{called} (part {number} of {total})".lstrip(),
                        start=piece.start,
                        end=end,
                        line=piece.line,
                        parent=None if name == first else MAIN + tail,
                        project=project,
                        folder=self.folder,
                    )
                )
        return entries
