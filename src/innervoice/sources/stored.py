"""Values stored by innervoice, and histories of any program -> conversations.

Reads the output of `to_json` and `Conversation.save`; lists of messages, contents or items of any dialect and of LangChain; bodies of
requests; and files with one of these on each line.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.sessions.foreign import history_from
from innervoice.sessions.langchain import is_langchain
from innervoice.sources.beginning import first_values
from innervoice.sources.conversation import Conversation, Turn
from innervoice.sources.json_lines import is_json_lines, json_lines, read_line
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.sources.turns import answer_turn, settings_of, with_title
from innervoice.wire.dialects import HISTORY_MEMBERS, history_dialect_of
from innervoice.wire.json_access import as_text

__all__ = ["READER", "is_history"]

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
