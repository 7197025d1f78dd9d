"""A whole answer, written in one dialect as a body or as a stream: by the writer that also writes answers as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.answer import AnswerHead, AnswerWriter
from innervoice.wire.dialects import dialect_named
from innervoice.wire.write import wholes

__all__ = ["write_answer", "write_stream"]

_CREATED = 1_767_225_600
_CREATED_AT = "2026-01-01T00:00:00Z"
"""The first second of 2026: the API requires a time, and none is known."""


def write_answer(answer: Response, dialect: str) -> dict[str, Any]:
    """The body of a whole answer. Parts that were split out of one text are joined to that text again."""
    writers = list(_writers(answer, dialect))
    for writer, one in writers:
        for _ in _frames(writer, one, None):
            pass
    return writers[0][0].joined([writer.body() for writer, _ in writers])


def write_stream(answer: Response, dialect: str, size: int) -> Iterator[Frame]:
    """The same answer as a stream, its texts in deltas of `size` characters. Several choices alternate."""
    first, *others = (_frames(writer, one, size) for writer, one in _writers(answer, dialect))
    for frames in zip_longest(*others):
        yield from islice(first, 1)
        yield from filter(None, frames)
    yield from first


def _writers(answer: Response, dialect: str) -> Iterator[tuple[AnswerWriter, Response]]:
    row = dialect_named(dialect)
    known = answer.id or f"{row.id_start}0"
    for choice, one in enumerate((answer, *answer.alternatives)):
        head = AnswerHead(known, answer.model or "", _CREATED, _CREATED_AT, choice, is_exact=True)
        writer = row.answer_writer(head, Notebook())
        writer.usage = answer.usage
        writer.is_refused = one.finish_reason == "refusal"
        yield writer, one


def _frames(writer: AnswerWriter, answer: Response, size: int | None) -> Iterator[Frame]:
    writer.start()
    yield from writer.taken()
    for number, part in enumerate(wholes(answer.parts)):
        writer.begin(number, part)
        match part:
            case Text(text=text) | Thinking(text=text) | ToolCall(arguments=text):
                width = size or len(text) or 1
                for start in range(0, len(text), width):
                    writer.add(number, text[start : start + width])
                    yield from writer.taken()
            case _:
                pass
        writer.end(number, part)
        yield from writer.taken()
    writer.finish(answer)
    yield from writer.taken()
