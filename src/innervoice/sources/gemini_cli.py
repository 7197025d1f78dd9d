"""Session files of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.json` or `.jsonl`.

The format is not documented; this follows packages/core/src/services/chatRecordingService.ts and chatRecordingTypes.ts of
google-gemini/gemini-cli (read 2026-11-16), and session files quoted in public threads.

  before 0.58  One JSON object: sessionId, projectHash, startTime, lastUpdated, messages.
  since        A line for each record. The first has the members of the object without messages; `{"$set": {...}}` changes some of them; a line
               with an `id` is a message, and replaces the earlier one with this id; `{"$rewindTo": id}` undoes this message and all after it;
               `$set.messages` is the whole history as the model gets it from now on: after a compression, a resume or a cancelled turn.

A message has a type: `user`, `gemini`, or a notice of the program (`info`, `warning`, `error`) that is never sent. `thoughts` are summaries, each with
a subject and a description. `toolCalls` hold calls and their results; files since 0.58 may have the same calls in `content`, there with signatures.
Calls that the model made in several steps without text between them are in one message. Subagents are in `chats/<sessionId>/<id>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import user
from innervoice.errors import DecodeError
from innervoice.sources.beginning import first_dicts
from innervoice.sources.conversation import Conversation, Mark
from innervoice.sources.gemini_turns import NOTICES, TYPES, Record, is_injected, text_of, turns_of
from innervoice.sources.json_lines import is_json_lines, json_lines
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.sources.turns import seconds_of, title_of
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["READER"]

_HEAD = {
    "sessionId", "projectHash", "startTime", "lastUpdated", "messages", "summary", "directories", "kind", "activeExtensionName", "memoryScratchpad",
}  # fmt: skip
_BEGINNING = 1 << 20
"""How much of a file is read for its title."""


class _Session:
    """A file as it is replayed; messages that were undone or replaced stay in their place."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.records: list[Record] = []
        self.troubles: list[Trouble] = []
        self._places: dict[str, int] = {}
        """The places of the messages that the model still gets."""

    def apply(self, record: Any, line: int | None) -> None:
        """Reads the next record of a file."""
        match record:
            case {"$rewindTo": str(name)}:
                names = list(self._places)
                behind = names[names.index(name) :] if name in names else names
                self._take_away(behind, ("abandoned",))
            case {"$set": dict(members)}:
                self._change(members, line)
            case {"id": str()}:
                self._put(record, line)
            case {"sessionId": str()}:
                self._change(record, line)
            case _:
                self.troubles.append(Trouble(line, "not a record of Gemini CLI"))

    def _change(self, members: dict[str, Any], line: int | None) -> None:
        self.head.update({name: value for name, value in members.items() if name != "messages"})
        listed = members.get("messages")
        if isinstance(listed, list):
            named = {as_text(as_dict(message).get("id")): message for message in listed}
            without = sum(as_text(as_dict(message).get("id")) is None for message in listed)
            if without:
                self.troubles.append(Trouble(line, f"{without} of the messages have no id"))
            self._rebuild({name: message for name, message in named.items() if name}, line)

    def _rebuild(self, messages: dict[str, dict[str, Any]], line: int | None) -> None:
        """Sets the messages that the model gets from now on."""
        lost = [name for name in self._places if name not in messages]
        new = [name for name in messages if name not in self._places]
        # Turns that were replaced by others were compressed; those that were only removed were cancelled.
        self._take_away(lost, () if new else ("abandoned",))
        if list(messages) != [*self._places, *new]:  # others precede those that stay
            stay = {name: self.records[place] for name, place in self._places.items()}
            taken = set(self._places.values())
            self.records = [
                record for place, record in enumerate(self.records) if place not in taken
            ]
            self._places = {}
            for name in messages:
                self._places[name] = len(self.records)
                self.records.append(stay.get(name) or Record({}, line))
        for message in messages.values():
            self._put(message, line)
        if lost and new:
            place = self._places[new[0]]
            self.records[place] = self.records[place]._replace(marks=("compaction",))

    def _put(self, message: dict[str, Any], line: int | None) -> None:
        if message.get("type") not in TYPES:
            kind = f"{message.get('type')!r:.40}"
            self.troubles.append(Trouble(line, f"a message of the unknown type {kind}"))
        place = self._places.setdefault(message["id"], len(self.records))
        if place == len(self.records):
            self.records.append(Record(message, line))
        else:
            self.records[place] = self.records[place]._replace(message=message)

    def _take_away(self, names: Iterable[str], marks: tuple[Mark, ...]) -> None:
        for name in names:
            place = self._places.pop(name)
            record = self.records[place]
            self.records[place] = record._replace(marks=(*record.marks, *marks))


# ---- files -----------------------------------------------------------------------------------------


def _recognizes(_: Data, beginning: bytes) -> bool:
    if b'"sessionId"' not in beginning[:4096]:
        return False
    first = next(iter(first_dicts(beginning)), {})
    is_head = as_text(first.get("sessionId")) is not None and first.keys() <= _HEAD
    return is_head and not first.keys().isdisjoint(("projectHash", "startTime", "messages"))


def _records(
    data: Data, troubles: list[Trouble], end: int | None
) -> Iterator[tuple[int | None, Any]]:
    """The records of a file, each with its line; only those that begin before `end`, if it has several."""
    if is_json_lines(data):
        lines = json_lines(data, troubles)
        yield from (
            (line.number, line.value)
            for line in takewhile(lambda line: end is None or line.start < end, lines)
        )
        return
    try:
        yield None, load_json(data.piece())
    except ValueError as error:
        troubles.append(Trouble(None, f"expected JSON, or a record on every line: {error}"))


def _session(data: Data, end: int | None = None) -> _Session:
    session = _Session()
    for line, record in _records(data, session.troubles, end):
        session.apply(record, line)
    return session


def _open(data: Data) -> Opened:
    beginning = _session(data, _BEGINNING)
    main = _entry(data, beginning)
    if main is None:
        why = beginning.troubles[0].why if beginning.troubles else "it has no sessionId"
        raise DecodeError(f"expected a session of Gemini CLI; {why}")
    files = {main.id: data}
    entries = [main]
    troubles: list[Trouble] = []
    for path in _companions(data.path) if data.path else ():
        lane = Data(path)
        entry = _entry(lane, _session(lane, _BEGINNING))
        if entry is None or entry.id in files:
            troubles.append(Trouble(None, f"{path.name} is not the session of a subagent"))
            continue
        files[entry.id] = lane
        entries.append(entry._replace(parent=main.id))

    def read(entry: Entry) -> Conversation:
        session = _session(files[entry.id])
        troubles.extend(trouble for trouble in session.troubles if trouble not in troubles)
        turns = tuple(turns_of(session.records))
        return Conversation(id=entry.id, title=entry.title, turns=turns, parent=entry.parent)

    is_noticed = any(record.message.get("type") in NOTICES for record in beginning.records)
    return Opened(entries, read, troubles, (_NOTICED,) if is_noticed else ())


_NOTICED = "Notices of the program that were not sent to a model: they are left out."


def _entry(data: Data, session: _Session) -> Entry | None:
    """The entry of a file, by its beginning."""
    name = as_text(session.head.get("sessionId"))
    if not name:
        return None
    messages = [record.message for record in session.records]
    texts = (text_of(message) for message in messages if message.get("type") == "user")
    title = title_of(user(text) for text in texts if not is_injected(text))
    models = (as_text(message.get("model")) for message in messages)
    parent = data.path.parent.name if data.path and session.head.get("kind") == "subagent" else None
    at = seconds_of(session.head.get("startTime"))
    return Entry(name, title, parent=parent, at=at, model=next(filter(None, models), None))


def _companions(path: Path) -> list[Path]:
    """The files of subagents: in a folder next to it, named after the id of the session."""
    name = _name_in(Data(path).piece(0, 4096))
    if name is None:
        return []
    try:
        found = sorted((path.parent / name).iterdir())
    except OSError:  # there is none, as for most sessions
        return []
    return [
        file
        for file in found
        if file.suffix in (".json", ".jsonl") and file.is_file() and not file.is_symlink()
    ]


def _name_in(head: bytes) -> str | None:
    """The id of a session, from the first bytes of its file."""
    _, _, rest = head.partition(b'"sessionId"')
    quoted = rest.lstrip(b" \t\r\n:").split(b'"')
    name = str(quoted[1], "utf-8", "replace") if len(quoted) > 2 else ""
    return name if name and not set(name) & set("/\\\0") and name not in (".", "..") else None


READER = Reader(
    kind="gemini-cli",
    name="a Gemini CLI session",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "How long the model took, and why it stopped.",
        "The reasoning itself: the thoughts are summaries.",
        "The system prompt, the tools and the settings of a request.",
        "Whether the Gemini API, Vertex AI or Code Assist answered; the Gemini API is assumed.",
        "Whether calls of one turn were made at once, or one after the other.",
    ),
    companions=_companions,
)
