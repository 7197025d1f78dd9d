"""Session logs and other files that are not tables -> tables: a row for each answer of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from innervoice.bulk.files import InputFile
from innervoice.bulk.table import Table
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation
from innervoice.sources.opening import open_source, reader_of

__all__ = ["as_sessions", "session_tables"]

_LINES = frozenset(("batch", "litellm", "stored"))
"""Sources whose lines are independent of each other: they are read as rows, a piece at a time."""
_ANYTHING = "captured"
"""The source format that nearly everything looks like."""


def as_sessions(files: Sequence[InputFile], *, any_source: bool = False) -> list[InputFile] | None:
    """The files as sessions, if they are sessions; with `any_source`, if they are of any source format."""
    if not files or not all(_is_local(file) for file in files):
        return None
    reader = reader_of(Path(files[0].path))
    if reader is None or reader.kind == _ANYTHING or (reader.kind in _LINES and not any_source):
        return None
    return [file._replace(format="session") for file in files]


def _is_local(file: InputFile) -> bool:
    is_text = file.format in ("json", "jsonl") and file.compression is None
    return is_text and Path(file.path).is_file()


def session_tables(file: InputFile) -> Iterator[Table]:
    """The answers of each conversation of a file."""
    try:
        source = open_source(file.path)
        for entry in source.entries:
            yield _of_conversation(file, source.conversation(entry.id))
    except DecodeError as error:
        yield _unreadable(file, 1, str(error))
        return
    for trouble in source.troubles:
        yield _unreadable(file, trouble.line or 1, trouble.why)


def _unreadable(file: InputFile, line: int, why: str) -> Table:
    return Table(file.path, [line], {}, {0: why}, lambda _: "")


def _of_conversation(file: InputFile, conversation: Conversation) -> Table:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    prompt: list[dict[str, Any]] = []
    for number, turn in enumerate(conversation.turns, 1):
        if turn.message.role != "assistant":
            prompt.append(_asked(turn.message))
            continue
        answer = turn.answer or Response(parts=turn.message.parts, ended=True)
        model = answer.model or (turn.message.origin.model if turn.message.origin else None)
        rows.append(
            {
                "id": conversation.id,
                "turn": len(rows),
                "prompt": prompt or None,
                "model": model,
                "answer": answer,
            }
        )
        numbers.append(turn.line or number)
        prompt = []
    return Table.of_rows(
        file.path, rows, numbers=numbers, raw=lambda index: to_json(rows[index]["answer"]).decode()
    )


def _asked(message: Message) -> dict[str, Any]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    members = {"call_id": results[0].call_id} if results else {}
    return {"role": message.role, "content": _said(message), **members}


def _said(message: Message) -> str:
    """The text of a message to the model."""
    texts = []
    for part in message.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, ToolResult):
            content = part.content
            texts += (
                [content]
                if isinstance(content, str)
                else [one.text for one in content if isinstance(one, Text)]
            )
    return "\n\n".join(texts)
