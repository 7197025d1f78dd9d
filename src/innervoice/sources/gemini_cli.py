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
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message, user
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.usage import Usage
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, Mark, Turn, seconds_of, title_of
from innervoice.sources.native_turns import Author, answer_from, author_of
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    Trouble,
    first_dicts,
    is_json_lines,
    json_lines,
)
from innervoice.wire.dialects import reader_of
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.serve import assistant_turn

__all__ = ["NOTICES", "READER", "TYPES", "Record", "is_injected", "text_of", "turns_of"]

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
            by_id = {as_text(as_dict(message).get("id")): message for message in listed}
            without = sum(as_text(as_dict(message).get("id")) is None for message in listed)
            if without:
                self.troubles.append(Trouble(line, f"{without} of the messages have no id"))
            self._rebuild({name: message for name, message in by_id.items() if name}, line)

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
        subagent = Data(path)
        entry = _entry(subagent, _session(subagent, _BEGINNING))
        if entry is None or entry.id in files:
            troubles.append(Trouble(None, f"{path.name} is not the session of a subagent"))
            continue
        files[entry.id] = subagent
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
    model = next(filter(None, models), None)
    project, folder = _project(data.path), _folder(data.path)
    return Entry(name, title, parent=parent, at=at, model=model, project=project, folder=folder)


def _project(path: Path | None) -> str | None:
    """The name of the project in `tmp/PROJECT/chats/FILE`; older versions have a hash there."""
    folder = path.parent if path else None
    name = folder.parent.name if folder and folder.name == "chats" else ""
    return name if name and len(name) < 64 else None


def _folder(path: Path | None) -> str | None:
    """The path of the project, which the program notes in the folder above `chats`."""
    if path is None or path.parent.name != "chats":
        return None
    try:
        return (path.parent.parent / ".project_root").read_text("utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _companions(path: Path) -> list[Path]:
    """The files of subagents: in a folder next to it, named after the id of the session."""
    name = _name_in(Data(path).piece(0, 4096))
    if name is None:
        return []
    try:
        files = sorted((path.parent / name).iterdir())
    except OSError:  # there is none, as for most sessions
        return []
    return [
        file
        for file in files
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


# ---- Messages of Gemini CLI's session files -> turns.
#
# The content of a message is described in `sources/gemini_cli.py`. A message of the model becomes a turn with its thoughts, its text and its calls, in this
# order, and a turn with the results of the calls; results that a later user message repeats (as in the model's history) stay there.


NOTICES = ("info", "warning")
"""Types of messages that only the user sees."""
TYPES = ("user", "gemini", "error", *NOTICES)
_INJECTED = ("<session_context>", "This is the Gemini CLI.")
"""The beginnings of texts that the program puts in front of the conversation."""


class Record(NamedTuple):
    """A message, the line where it first appeared, and what happened to it."""

    message: dict[str, Any]
    line: int | None
    marks: tuple[Mark, ...] = ()


def turns_of(records: list[Record]) -> Iterator[Turn]:
    """The turns of a session."""
    answered = {
        part.call_id
        for record in records
        if record.message.get("type") == "user"
        for part in _user_parts(record.message.get("content"))
        if isinstance(part, ToolResult)
    }
    for record in records:
        yield from _turns(record, answered)


def _turns(record: Record, answered: set[str]) -> Iterator[Turn]:
    message, at = record.message, seconds_of(record.message.get("timestamp"))
    facts: dict[str, Any] = {"at": at, "line": record.line, "marks": record.marks}
    match message.get("type"):
        case "user":
            parts = _user_parts(message.get("content"))
            texts = [part.text for part in parts if isinstance(part, Text)]
            if texts and is_injected(texts[0]):
                facts["marks"] = (*record.marks, "injected")
            results = tuple(part for part in parts if isinstance(part, ToolResult))
            rest = tuple(part for part in parts if not isinstance(part, ToolResult))
            if results:
                yield Turn(message=Message("tool", results), **facts)
            if rest or not results:
                yield Turn(message=Message("user", rest), **facts)
        case "gemini":
            yield from _model_turns(message, facts, answered)
        case "error":
            facts["marks"] = (*record.marks, "api_error")
            yield Turn(message=Message("assistant", (Text(text_of(message)),)), **facts)


def _model_turns(
    message: dict[str, Any], facts: dict[str, Any], answered: set[str]
) -> Iterator[Turn]:
    author = author_of(None, as_text(message.get("model")) or None)
    author = author if author.dialect else Author(author.provider, author.model, GEMINI.name)
    content = _answered(message.get("content"), author)
    thoughts = "".join(part.text for part in content if isinstance(part, Thinking))
    called = {part.id for part in content if isinstance(part, ToolCall)}
    calls = [
        {**call, "id": _wire_id(call["id"], call.get("name"))}
        for call in map(as_dict, as_list(message.get("toolCalls")))
        if as_text(call.get("id"))
    ]
    parts = (
        *(thought for thought in _thoughts(message, author) if thought.text not in thoughts),
        *content,
        *(_call(call, author) for call in calls if call["id"] not in called),
    )
    answer = answer_from(
        author, parts, id=as_text(message.get("id")), usage=_usage(message.get("tokens"))
    )
    yield Turn(message=answer.message, answer=answer, **facts)
    results = tuple(
        result for call in calls if call["id"] not in answered for result in _results(call)
    )
    if results:
        last = seconds_of(calls[-1].get("timestamp"))
        yield Turn(message=Message("tool", results), **{**facts, "at": last})


def _thoughts(message: dict[str, Any], author: Author) -> Iterator[Thinking]:
    for thought in map(as_dict, as_list(message.get("thoughts"))):
        subject, about = as_text(thought.get("subject")), as_text(thought.get("description"))
        # The API sends the subject in bold before the description, and the program separates them.
        text = "\n\n".join(piece for piece in (f"**{subject}**" if subject else "", about) if piece)
        yield Thinking(text, "summary" if text else "hidden", origin=author.origin)


def _wire_id(name: str, tool: Any) -> str:
    """The id of a call as the API has it: the program puts the name of the tool before it (0.61.0)."""
    prefix = f"{tool}__" if isinstance(tool, str) and tool else ""
    return name.removeprefix(prefix) or name


def _call(call: dict[str, Any], author: Author) -> ToolCall:
    name = as_text(call.get("name")) or ""
    return ToolCall(call["id"], name, arguments_of(call.get("args")), origin=author.origin)


def _results(call: dict[str, Any]) -> Iterator[ToolResult]:
    """The result of a call, as the model got it; a call that was never run has none."""
    failed = call.get("status") in ("error", "cancelled")
    result = call.get("result")
    results = [part for part in _user_parts(result) if isinstance(part, ToolResult)]
    if results:
        same = [part for part in results if part.call_id == call["id"]] or results[:1]
        yield same[0].replace(call_id=call["id"], error=failed or same[0].error)
    elif result is not None and result != []:
        parts = tuple(part for part in _user_parts(result) if isinstance(part, (Text, Opaque)))
        whole = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts
        yield ToolResult(call["id"], whole, failed)


def _usage(tokens: Any) -> Usage | None:
    """The counts of the Gemini API: thoughts are not included in the output, and results of its own tools not in the input."""
    counts = as_dict(tokens)
    if not counts:
        return None
    thoughts, output = as_count(counts.get("thoughts")), as_count(counts.get("output"))
    input_tokens, tools = as_count(counts.get("input")), as_count(counts.get("tool"))
    return Usage(
        input_tokens=None if input_tokens is None else input_tokens + (tools or 0),
        output_tokens=None if output is None else output + (thoughts or 0),
        reasoning_tokens=thoughts,
        cached_input_tokens=as_count(counts.get("cached")),
        raw=counts,
    )


# ---- contents --------------------------------------------------------------------------------------


def _wire_parts(content: Any) -> list[Any]:
    """The parts of a content, which may be a text, a part or a list of these."""
    listed = content if isinstance(content, list) else [] if content in (None, "") else [content]
    return [{"text": item} if isinstance(item, str) else _with_wire_id(item) for item in listed]


def _with_wire_id(part: Any) -> Any:
    """A part whose call or result has the id of the API."""
    for kind in ("functionCall", "functionResponse"):
        inner = as_dict(as_dict(part).get(kind))
        if name := as_text(inner.get("id")):
            return {**part, kind: {**inner, "id": _wire_id(name, inner.get("name"))}}
    return part


def _user_parts(content: Any) -> tuple[Part, ...]:
    """Parts of the user, or of a tool."""
    parts = _wire_parts(content)
    if not parts:
        return ()
    try:
        read = GEMINI.request_reader({"contents": [{"role": "user", "parts": parts}]})
    except DecodeError:
        return (Opaque(content, origin=None),)
    return tuple(part for message in read.messages for part in message.parts)


def _answered(content: Any, author: Author) -> tuple[Part, ...]:
    """Parts of the model."""
    parts = _wire_parts(content)
    if not parts:
        return ()
    context = Context(provider=author.provider, model=author.model, whole=True)
    answer = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    return assistant_turn(reader_of(GEMINI.name, context), answer).parts


def text_of(message: dict[str, Any]) -> str:
    """The text of a message."""
    return "".join(
        as_text(as_dict(part).get("text")) or "" for part in _wire_parts(message.get("content"))
    )


def is_injected(text: str) -> bool:
    """Whether the program wrote a text of the user."""
    return text.startswith(_INJECTED)
