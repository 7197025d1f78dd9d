"""The index of a session file: its conversations, and where a large file is cut into pieces."""

from __future__ import annotations

from typing import NamedTuple

from innervoice.sources.reader import Data, Entry, Trouble

__all__ = ["IN_PIECES", "MAIN", "SessionIndex", "SessionThread"]

MAIN = "main"
LARGE = 32 << 20
"""The size in bytes from which a file is shown in pieces: once read, it takes several times as much memory."""
_PIECE = 4 << 20
IN_PIECES = "The file is large and shown in pieces, each of which begins with a user turn; what spans two pieces, such as an abandoned branch, is not detected."


class SessionThread(NamedTuple):
    """Where the conversation of an entry is: a name in a piece of the file, which ends at `end`."""

    name: str
    start: int
    end: int | None
    line: int


class _Piece:
    def __init__(self, start: int, line: int) -> None:
        self.start = start
        self.line = line
        self.lanes: dict[str, Entry] = {}


class SessionIndex:
    """Collects the facts about a session file, line by line; "" is the name of its main conversation."""

    def __init__(self, data: Data) -> None:
        self.troubles: list[Trouble] = []
        self.lanes: dict[str, SessionThread] = {}
        """By the ids of the entries."""
        self._is_large = data.size > LARGE
        self._pieces = [_Piece(0, 1)]

    def begins_turn(self, start: int, line: int) -> bool:
        """Begins a user turn; returns True if a new piece begins as well."""
        last = self._pieces[-1]
        if not self._is_large or start - last.start < _PIECE or not last.lanes:
            return False
        self._pieces.append(_Piece(start, line))
        return True

    def add(self, name: str, at: float | None) -> None:
        """Adds a line of a conversation."""
        lanes = self._pieces[-1].lanes
        if name not in lanes:
            lanes[name] = Entry(name, at=at)

    def learn(self, name: str, *, title: str = "", model: str | None = None) -> None:
        """Sets the title and the model of a conversation; the first values count."""
        lanes = self._pieces[-1].lanes
        thread = lanes[name]
        lanes[name] = thread._replace(title=thread.title or title, model=thread.model or model)

    def knows(self, name: str) -> tuple[bool, bool]:
        """Whether the title and the model of a conversation are known."""
        thread = self._pieces[-1].lanes[name]
        return bool(thread.title), thread.model is not None

    @property
    def title(self) -> str:
        """The title of the first main conversation."""
        return next((piece.lanes[""].title for piece in self._pieces if "" in piece.lanes), "")

    @property
    def is_cut(self) -> bool:
        """Whether the file is shown in pieces."""
        return len(self._pieces) > 1

    def entries(self, title: str = "") -> list[Entry]:
        """The entries, the main conversation of each piece before its subagents; `title` is the program's title of the session."""
        entries: list[Entry] = []
        total = len(self._pieces)
        for number, piece in enumerate(self._pieces, 1):
            tail = "" if number == 1 else f"~{number}"
            end = self._pieces[number].start if number < total else None
            # The file of a subagent has no main conversation except its own.
            first = "" if "" in piece.lanes else next(iter(piece.lanes), "")
            for name in sorted(piece.lanes, key=lambda name: name != first):
                entry_id = (MAIN if name == first else name) + tail
                self.lanes[entry_id] = SessionThread(name, piece.start, end, piece.line)
                thread = piece.lanes[name]
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
                    )
                )
        return entries
