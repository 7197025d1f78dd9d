"""Files in a history -> the same history with files that the target's dialect accepts.

- A file that the dialect accepts stays as it is.
- A text file that it does not accept becomes text, with a note.
- A file in a tool result, where results can only have text, is moved into a user message after the results, with a note.
- Any other file is refused, with an error that says what the dialect accepts: no file is left out silently.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable
from itertools import chain

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.errors import RuleError
from innervoice.wire.dialect import Dialect
from innervoice.wire.media import kind_of, way_of

__all__ = ["fit_media"]

_WAYS = {"data": "as data", "url": "by URL", "s3": "by an s3: URL", "gs": "by a gs: URL"}
_MOVED = "[the file is in the next message]"


def fit_media(
    messages: tuple[Message, ...], dialect: Dialect, notebook: Notebook
) -> tuple[Message, ...]:
    """The messages with files that the dialect accepts; raises `RuleError` for others."""
    if not any(map(_holds_files, messages)):
        return messages
    fitter = _Fitter(dialect, notebook)
    fitted: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            fitted += fitter.waiting()
            fitted.append(message)
            continue
        if message.role != "tool":
            fitted += fitter.waiting()
        fitted.append(fitter.fitted(message))
    return (*fitted, *fitter.waiting())


def _holds_files(message: Message) -> bool:
    inner: Iterable[Part] = chain.from_iterable(
        part.content
        for part in message.parts
        if isinstance(part, ToolResult) and not isinstance(part.content, str)
    )
    return any(isinstance(part, Media) for part in chain(message.parts, inner))


class _Fitter:
    def __init__(self, dialect: Dialect, notebook: Notebook) -> None:
        self._dialect = dialect.name
        self._media = dialect.files
        self._notebook = notebook
        self._moved: list[Part] = []

    def fitted(self, message: Message) -> Message:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Media):
                parts.append(self._file(part))
            elif isinstance(part, ToolResult) and not isinstance(part.content, str):
                parts.append(self._result(part))
            else:
                parts.append(part)
        if self._moved and message.role != "tool":
            # Results in the middle of a user message have their files after them.
            parts, self._moved = [*parts, *self._moved], []
        return message.replace(parts=tuple(parts))

    def waiting(self) -> list[Message]:
        """A message with the files of the results before it, if there are any."""
        moved, self._moved = self._moved, []
        return [Message("user", tuple(moved))] if moved else []

    def _result(self, result: ToolResult) -> ToolResult:
        if result.origin and result.origin.block is not None:
            return result  # it is sent back as the block of this dialect in which it came
        content: list[Text | Media | Opaque] = []
        for part in result.content:
            assert not isinstance(part, str)
            fitted = self._file(part) if isinstance(part, Media) else part
            if isinstance(fitted, Media) and not self._media.IN_RESULTS:
                self._moved += [Text(f"The file in the result of {result.call_id}:"), fitted]
                self._notebook.add("result_file_moved", fitted.mime)
                fitted = Text(_MOVED)
            content.append(fitted)
        return result.replace(content=tuple(content))

    def _file(self, part: Media) -> Media | Text:
        if part.origin and part.origin.dialect == self._dialect:
            return part  # it came in a block of this dialect, and is sent back as that
        kind = kind_of(part)
        way = way_of(part)
        accepted = self._media.ACCEPTS.get(kind, ())
        if kind == "text" and way == "data":
            _text_of(part)  # some dialects send the text itself, so it must be readable
        if way in accepted:
            mark = part.origin.cache_mark if part.origin else None
            return part.replace(origin=Origin(cache_mark=mark) if mark else None)
        if kind == "text" and part.data is not None:
            self._notebook.add("file_as_text", part.name or part.mime)
            return Text(_text_of(part))
        ways = " or ".join(_WAYS[word] for word in accepted)
        kinds = ", ".join(self._media.ACCEPTS)
        taken = (
            f"accepts such a file {ways}" if accepted else f"accepts files of these kinds: {kinds}"
        )
        raise RuleError(
            "file_refused", f"{self._dialect} {taken}; not {part.mime or 'an image'} {_WAYS[way]}"
        )


def _text_of(part: Media) -> str:
    try:
        text = b64decode(part.data or "", validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise RuleError(
            "file_refused", f"the data of {part.name or part.mime} is not base64"
        ) from None
    return f"{part.name}:\n{text}" if part.name else text
