"""Captured answers -> conversations: one body, one stream (SSE, JSON lines, an AWS event stream), or one body per line.

A stream that was cut off, or still grows, yields the parts so far.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Response
from innervoice.decoding import StreamDecoder, checked, read_answer
from innervoice.errors import ProviderError
from innervoice.frames.eventstream import EventStream
from innervoice.frames.frame import FrameError
from innervoice.sources.batch_file import batch_form_of
from innervoice.sources.conversation import Conversation, answer_turn, with_title
from innervoice.sources.litellm_log import is_record
from innervoice.sources.reader import (
    NO_HINTS,
    Data,
    Entry,
    Hints,
    LineLog,
    Opened,
    Reader,
    first_values,
    is_json_lines,
    json_lines,
)
from innervoice.sources.stored import is_history, request_turns
from innervoice.wire.dialects import ENVELOPE_MEMBERS, dialect_of
from innervoice.wire.json_access import as_dict

__all__ = ["READER", "is_answer", "is_stream", "read_captured"]

_WRAPPERS = ("response", "body")
"""Members under which logs keep an answer."""
_PIECE = 1 << 20
_BLANKS = b"\xef\xbb\xbf \r\n\t"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""The beginnings of lines of server-sent events."""
_PRELUDE = 12


def _recognizes(data: Data, beginning: bytes) -> bool:
    if data.hints.provider or data.hints.dialect:
        return bool(beginning.strip())
    return is_stream(beginning) or any(map(_is_captured, first_values(beginning)[:1]))


def _is_captured(value: Any) -> bool:
    """Whether a value is an answer and not a line of another format that contains one."""
    return is_answer(value) and not batch_form_of(value) and not is_record(value)


def is_stream(beginning: bytes) -> bool:
    """Whether these bytes begin an SSE stream or an AWS event stream."""
    if beginning[:1] == b"\x00" and len(beginning) >= _PRELUDE:
        try:
            EventStream().feed(beginning[:_PRELUDE])
        except FrameError:
            return False
        return True
    return beginning[:_PIECE].lstrip(_BLANKS).startswith(_FIELDS)


def is_answer(value: Any) -> bool:
    """Whether a value is an answer, or a message of a stream."""
    return dialect_of(value) is not None or (isinstance(value, dict) and _is_whole(value))


def read_captured(body: Any, hints: Hints = NO_HINTS) -> Response:
    """The answer in a body or a stream; a provider's error is its `error`. Raises `DecodeError` for anything else."""
    response = read_answer(body, **hints._asdict())
    return _checked(response)


def _checked(response: Response) -> Response:
    try:
        return checked(response)
    except ProviderError:
        return response


# ---- one answer or many --------------------------------------------------------------------------------


def _open(data: Data) -> Opened:
    log = LineLog(data)
    if not _is_log(data):
        return Opened([Entry("answer")], lambda entry: _whole(entry, data))
    for line in json_lines(data, log.troubles):
        value = _unwrap(line.value)
        model = value.get("model") if isinstance(value, dict) else None
        log.add(line, str(line.number), model=model if isinstance(model, str) else None)
    return log.opened(lambda entry, value: _logged(entry, value, data.hints))


def _logged(entry: Entry, value: Any, hints: Hints) -> Conversation:
    """A line of a log; some keep the request next to the answer."""
    answer = read_captured(_unwrap(value), hints)
    request_body = value if is_history(value) else as_dict(value).get("request")
    if not is_history(request_body):
        return _conversation(entry, answer)
    turns, request = request_turns(request_body)
    numbered = [turn.replace(line=entry.line) for turn in [*turns, answer_turn(answer)]]
    return with_title(Conversation(id=entry.id, turns=tuple(numbered), request=request))


def _conversation(entry: Entry, answer: Response) -> Conversation:
    return Conversation(id=entry.id, turns=(answer_turn(answer, line=entry.line),))


def _is_log(data: Data) -> bool:
    """Whether each line is an answer. The first one decides: a stream of lines begins with a piece of an answer."""
    if is_stream(data.piece(0, _PIECE)) or not is_json_lines(data):
        return False
    return any(_is_whole(_unwrap(line.value)) for line in islice(json_lines(data, []), 1))


def _whole(entry: Entry, data: Data) -> Conversation:
    beginning = data.piece(0, _PIECE)
    if not beginning.lstrip(_BLANKS).startswith((b"{", b"[")):
        return _conversation(entry, _streamed(data))
    try:
        value = load_json(data.piece().lstrip(_BLANKS))
    except ValueError:
        return _conversation(entry, _streamed(data))
    return _logged(entry, value, data.hints)


def _streamed(data: Data) -> Response:
    decoder = StreamDecoder(**data.hints._asdict())
    start = 0
    while piece := data.piece(start, start + _PIECE):
        decoder.feed(piece)
        start += len(piece)
    decoder.finish()
    return _checked(decoder.response)


def _unwrap(value: Any) -> Any:
    if isinstance(value, dict) and not _is_whole(value):
        for name in _WRAPPERS:
            inner = value.get(name)
            if isinstance(inner, str) or (isinstance(inner, dict) and _is_whole(inner)):
                return inner
    return value


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole answer, not a piece of a stream."""
    if not isinstance(value, dict):
        return isinstance(value, str)
    if isinstance(choices := value.get("choices"), list):
        return any(isinstance(choice, dict) and "message" in choice for choice in choices)
    if isinstance(candidates := value.get("candidates"), list):
        return all(
            isinstance(candidate, dict) and "finishReason" in candidate for candidate in candidates
        )
    if "done" in value:
        return value["done"] is True
    kind = value.get("type")
    return (
        (kind == "message" and "content" in value)
        or value.get("object") == "response"
        or kind == "error"
        or isinstance(value.get("error"), (dict, str))
        or (isinstance(value.get("output"), dict) and "message" in value["output"])
        or (isinstance(value.get("message"), dict) and "finish_reason" in value)
        or ("type" not in value and not ENVELOPE_MEMBERS.isdisjoint(value))
    )


READER = Reader(
    kind="captured",
    name="captured answers",
    recognizes=_recognizes,
    open=_open,
    cannot_know=("The request.", "When the answer was written, and how long it took."),
)
