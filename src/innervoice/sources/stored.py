"""Values stored by innervoice, and histories of any program -> messages, and conversations.

Reads the output of `to_json` and `Conversation.save`; lists of messages, contents or items of any dialect and of LangChain; bodies of
requests; and files with one of these on each line. `history_from` also reads session files of Claude Code and Codex, and lists of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Opaque
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json
from innervoice.canon.words import role_of
from innervoice.errors import DecodeError, InnervoiceError, UsageError
from innervoice.sources.claude_code import SESSION as CLAUDE_CODE
from innervoice.sources.codex import SESSION as CODEX
from innervoice.sources.conversation import Conversation, Turn, answer_turn, with_title
from innervoice.sources.langchain import from_object, is_langchain, read_langchain
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    Trouble,
    first_values,
    is_json_lines,
    json_lines,
    read_line,
)
from innervoice.sources.transcripts import SessionFile, session_in
from innervoice.text_search import split_turn
from innervoice.wire.dialects import DIALECTS, HISTORY_MEMBERS, dialect_named, history_dialect_of
from innervoice.wire.json_access import as_text
from innervoice.wire.objects import json_of

__all__ = ["READER", "History", "check_roles", "history_from", "is_history", "request_turns"]

_SAVED = "innervoice.conversation"
_BLANKS = b"\xef\xbb\xbf \r\n\t"


def _recognizes(_: Data, beginning: bytes) -> bool:
    return any(map(_is_stored, first_values(beginning)[:1]))


def _is_stored(value: Any) -> bool:
    if isinstance(value, dict) and "response" in value:
        return False  # a log has the answer next to the request
    return _is_ours(value) or _is_saved(value) or is_history(value) or _is_message(value)


def _is_ours(value: Any) -> bool:
    """Whether `to_json` wrote the value."""
    if not isinstance(value, dict) or "content" in value or "object" in value:
        return False
    kind = value.get("type")
    return kind == "response" or (kind == "message" and ("parts" in value or "role" in value))


def _is_saved(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == _SAVED


_OTHER_ROLES = frozenset({"critic", "discriminator", "root", "unknown"})
"""Roles that messages of OpenAI's Responses may have beside the usual ones."""


def is_history(value: Any) -> bool:
    """Whether a value is a list of messages, or the body of a request."""
    if isinstance(value, dict):
        lists = (value[name] for name in HISTORY_MEMBERS if isinstance(value.get(name), list))
        value = next(lists, None)
    if not isinstance(value, list) or not value:
        return False
    items = [item for item in value if isinstance(item, dict)]
    return bool(items) and (
        any(map(_is_ours, items)) or is_langchain(items) or history_dialect_of(items) is not None
    )


def _is_message(value: Any) -> bool:
    """Whether a value is a single message, as some programs write them, one per line."""
    if not isinstance(value, dict) or "stop_reason" in value or "done" in value:
        return False
    is_plain = "role" in value and ("content" in value or "parts" in value)
    return is_plain or is_langchain([value])


# ---- a value -> messages, and the form they were stored in ----------------------------------------------------


class History(NamedTuple):
    """Messages, and the form they were stored in."""

    messages: list[Message]
    kind: str
    """A dialect, "langchain", "innervoice", "claude-code" or "codex"."""
    body: dict[str, Any] | None = None
    """The request body that contained the list; None for a list on its own."""
    items: list[Any] | None = None
    """The list as it was stored."""
    session: SessionFile | None = None
    """The session file; the messages are its main conversation."""
    request: Request | None = None
    """The settings of the body; None for a list without a body, and for LangChain."""


def history_from(
    data: bytes | str | dict[str, Any] | Sequence[Any], *, inline: str | None = None
) -> History:
    """Reads a history of another program; raises `DecodeError` for other data.

    `data` is the content of a file, parsed JSON, or a list of LangChain messages or of objects of an SDK. Reasoning between tags in
    turns of a model is split out of their text, unless `inline` is "off" and except in session files, whose parts are blocks of lines.
    """
    history = _history_from(data)
    if inline == "off" or history.session or history.kind == "innervoice":
        return history
    model = as_text((history.body or {}).get("model"))
    return history._replace(messages=[split_turn(message, model) for message in history.messages])


def check_roles(items: Iterable[Any]) -> None:
    """Raises `UsageError` for a message whose role is no word of any API: it would be read as the user's."""
    for number, item in enumerate(items):
        role = item.get("role") if isinstance(item, Mapping) else None
        if isinstance(role, str) and role_of(role) is None and role not in _OTHER_ROLES:
            text = f"expected the role system, user, assistant or tool in message {number}, got {role[:100]!r}"
            raise UsageError(text)


def _history_from(data: bytes | str | dict[str, Any] | Sequence[Any]) -> History:
    if isinstance(data, (str, bytes)):
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        try:
            value = load_json(raw)
        except ValueError:
            value = None
        if value is None or _is_session_line(value):
            session = session_in(raw, CODEX, CLAUDE_CODE)
            return History(session.messages, session.kind, session=session)
        return _from_value(value)
    if isinstance(data, dict):
        return _from_value(json_of(data))
    if not isinstance(data, Iterable):
        raise DecodeError(f"expected a list of messages, or a body that holds one, not {data!r}")
    items: list[Any] = [item.message if isinstance(item, Response) else item for item in data]
    if items and all(isinstance(item, Message) for item in items):
        return History(items, "innervoice")
    return _from_value([json_of(from_object(item)) for item in items])


def _from_value(value: Any) -> History:
    if _is_whole(value):
        stored = from_json(dump_json(value))
        return History([stored.message if isinstance(stored, Response) else stored], "innervoice")
    if isinstance(value, list) and value and all(map(_is_whole, value)):
        stored = from_json(dump_json(value))
        messages = [item.message if isinstance(item, Response) else item for item in stored]
        return History(messages, "innervoice")
    items = value if isinstance(value, list) else _member_of(value)
    if not items:
        raise DecodeError(
            "expected a list of messages, contents or items, or a body or session file that holds one"
        )
    body = None if items is value else dict(value)
    if is_langchain(items):
        return History(read_langchain(items), "langchain", body, items)
    dialect = history_dialect_of(items)
    if dialect is None:
        raise DecodeError(
            "expected messages with a role, contents with parts, or items with a type"
        )
    row = dialect_named(dialect)
    if body is not None and body.get(row.history) is not items:
        # Messages with only a role and a text look alike; the member that contains them does not.
        row = next(
            other for other in map(dialect_named, DIALECTS) if body.get(other.history) is items
        )
    read = row.request_reader(body or {row.history: items})
    return History(
        list(read.messages), row.name, body, items, request=None if body is None else read
    )


def _is_whole(value: Any) -> bool:
    """Whether `to_json` wrote the value, and it has its parts."""
    return _is_ours(value) and "parts" in value


def _is_session_line(value: Any) -> bool:
    """Whether the only line of a file is a line of a session."""
    match value:
        case {"type": "response_item", "payload": dict()}:
            return True
        case {"type": "user" | "assistant", "message": dict()}:
            return True
        case _:
            return False


def _member_of(value: Any) -> list[Any] | None:
    names = HISTORY_MEMBERS if isinstance(value, dict) else ()
    return next((value[name] for name in names if isinstance(value.get(name), list)), None)


def request_turns(body: Any) -> tuple[list[Turn], Request | None]:
    """The turns and settings of the body of a request; a body that cannot be read is one turn that contains it as it is."""
    if not body:
        return [], None
    for name in ("input", "prompt"):  # a text in place of a list
        if isinstance(body, dict) and isinstance(body.get(name), str):
            rest = {key: value for key, value in body.items() if key != name}
            body = {**rest, "input": [{"role": "user", "content": body[name]}]}
    try:
        history = history_from(body)
    except DecodeError:
        return [Turn(message=Message("user", (Opaque(body),)))], None
    return [Turn(message=message) for message in history.messages], settings_of(history.request)


def settings_of(request: Request | None) -> Request | None:
    """A request without its messages."""
    return request.replace(messages=()) if request else None


# ---- one or many ------------------------------------------------------------------------------------------


def _open(data: Data) -> Opened:
    troubles: list[Trouble] = []
    lines = _lines(data, troubles)
    if lines is None:
        return Opened([Entry("main")], lambda entry: _whole(entry, load_whole(data)))
    entries, are_turns = lines
    if not are_turns:
        return Opened(entries, lambda entry: _whole(entry, read_line(data, entry)), troubles)

    def read(entry: Entry) -> Conversation:
        turns = [turn for line in json_lines(data, []) for turn in _turns(line.value, line.number)]
        return with_title(Conversation(id=entry.id, turns=tuple(turns)))

    return Opened([Entry("main")], read, troubles)


def load_whole(data: Data) -> Any:
    """The only value of a file."""
    try:
        return load_json(data.piece().lstrip(_BLANKS))
    except ValueError as error:
        raise DecodeError(f"expected one JSON value, or one on each line: {error}") from None


def _lines(data: Data, troubles: list[Trouble]) -> tuple[list[Entry], bool] | None:
    """An entry for each line, and whether the lines are turns of one conversation; None for a file that is one value."""
    if not is_json_lines(data):
        return None
    entries: list[Entry] = []
    are_turns = False
    for line in json_lines(data, troubles):
        value = line.value
        are_turns = are_turns or ((_is_message(value) or _is_ours(value)) and not _is_answer(value))
        entries.append(Entry(str(line.number), start=line.start, end=line.end, line=line.number))
    return entries, are_turns


def _is_answer(value: Any) -> bool:
    """Whether this is a whole response: on separate lines, each is a conversation."""
    return _is_ours(value) and value.get("type") == "response"


def _whole(entry: Entry, value: Any) -> Conversation:
    if _is_saved(value):
        return _saved(entry, value)
    if isinstance(value, dict) and (_is_ours(value) or _is_message(value)):
        turns, request = _turns(value, entry.line), None
    elif isinstance(value, list) and value and all(map(_is_ours, value)):
        turns, request = [turn for item in value for turn in _turns(item, None)], None
    else:
        history = history_from(value)
        turns = [Turn(message=message) for message in history.messages]
        request = settings_of(history.request)
    return with_title(Conversation(id=entry.id, turns=tuple(turns), request=request))


def _saved(entry: Entry, value: dict[str, Any]) -> Conversation:
    messages = value.get("messages")
    stored = from_json(dump_json(messages)) if isinstance(messages, list) else []
    try:
        request = Request(
            as_text(value.get("model")) or "unknown", (), system=as_text(value.get("system"))
        )
    except InnervoiceError as error:
        raise DecodeError(f"not a saved conversation: {error}") from None
    turns = tuple(map(_turn, stored))
    return with_title(Conversation(id=entry.id, turns=turns, request=request))


def _turns(value: Any, line: int | None) -> list[Turn]:
    """The turns of a single value."""
    if _is_ours(value):
        return [_turn(from_json(dump_json(value))).replace(line=line)]
    messages = history_from(value if is_history(value) else [value]).messages
    return [Turn(message=message, line=line) for message in messages]


def _turn(stored: Any) -> Turn:
    match stored:
        case Response():
            return answer_turn(stored)
        case Message():
            return Turn(message=stored)
        case _:
            raise DecodeError(
                f"expected messages and responses in a history, not {type(stored).__name__}"
            )


READER = Reader(
    kind="stored",
    name="a stored history or request",
    recognizes=_recognizes,
    open=_open,
    cannot_know=("When a turn was written, and how long it took.",),
)
