"""Forms with several parts (`multipart/form-data`), read while they arrive: fields as a whole, files only where they are wanted.

What could be read in two ways is an error: two names of a part, a part that another server would end elsewhere, an encoding.
"""

from __future__ import annotations

import re
from email import message_from_bytes
from email.message import Message
from typing import Any, NamedTuple

__all__ = ["Form", "FormReader", "form_of"]

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_MOST_HEAD, _MOST_FIELD = 65_536, 1_048_576
_PLAIN = ("7bit", "8bit", "binary")


class Form(NamedTuple):
    """A whole form."""

    fields: list[tuple[str, str | None]]
    """Names with texts; None stands for a file."""
    files: list[bytes]


class FormReader:
    """Reads one form; every method raises `ValueError` for one that has no single meaning."""

    def __init__(self, content_type: str, *, keeps_files: bool = False) -> None:
        header = message_from_bytes(
            b"content-type: " + content_type.encode("latin-1") + b"\r\n\r\n"
        )
        boundary = _only(header, "content-type", "boundary")
        if not boundary:
            raise ValueError("the form cannot be read")
        self._delimiter = b"\n--" + boundary.encode("latin-1")
        self._keeps_files = keeps_files
        self._rest = bytearray(b"\n")
        """What was not read yet; a line break stands before what begins a line."""
        self._name: str | None = None
        """The field that is being read."""
        self._is_head = self._is_file = self._is_over = False
        self.files: list[bytes] = []

    def feed(self, piece: bytes) -> list[tuple[str, str | None]]:
        """Reads a piece; returns the fields that have ended and the files that have begun in it."""
        self._rest += piece
        found: list[tuple[str, str | None]] = []
        while self._read_head(found) if self._is_head else self._read_part(found):
            pass
        return found

    def end(self) -> None:
        """The form has ended."""
        if not self._is_over:
            raise ValueError("the form breaks off")

    def _read_head(self, found: list[tuple[str, str | None]]) -> bool:
        """Reads the head of a part; returns False if more has to arrive first."""
        end = _END_OF_HEAD.search(self._rest)
        if end is None:
            if len(self._rest) > _MOST_HEAD:
                raise ValueError("a part of the form has a head that is too long")
            return False
        part = message_from_bytes(bytes(self._rest[: end.end()]))
        encodings = part.get_all("content-transfer-encoding", [])
        name = _only(part, "content-disposition", "name")
        if part.defects or name is None or any(each.lower() not in _PLAIN for each in encodings):
            raise ValueError("a part of the form cannot be read")
        self._name, self._is_head = name, False
        self._is_file = bool(part.get_filename())
        if self._is_file:
            found.append((name, None))
        self._rest[: end.end()] = b"\n"
        return True

    def _read_part(self, found: list[tuple[str, str | None]]) -> bool:
        """Reads what is in a part, or before the first one; the same."""
        rest = self._rest
        place = rest.find(self._delimiter)
        if place >= 0 and self._is_over:
            raise ValueError("the form goes on behind its end")
        if place < 0:
            self._shorten()
            return False
        start = place + len(self._delimiter)
        is_last, end = rest.startswith(b"--", start), rest.find(b"\n", start)
        if not is_last and end < 0:
            if len(rest) - start > _MOST_HEAD:
                raise ValueError("a boundary of the form cannot be read")
            return False
        if not is_last and rest[start:end].strip():
            raise ValueError("a boundary of the form cannot be read")
        self._end_part(bytes(rest[1:place]).removesuffix(b"\r"), found)
        del rest[: start + 2 if is_last else end + 1]
        self._is_head, self._is_over = not is_last, is_last
        return True

    def _end_part(self, data: bytes, found: list[tuple[str, str | None]]) -> None:
        if self._is_file and self._keeps_files:
            self.files.append(data)
        elif self._name is not None and not self._is_file:
            found.append((self._name, data.decode("utf-8", "replace")))
        self._name = None

    def _shorten(self) -> None:
        """Keeps no more of a file than may be the beginning of its end."""
        is_field = self._name is not None and not self._is_file
        if is_field and len(self._rest) > _MOST_FIELD:
            raise ValueError("a field of the form is too long")
        if not is_field and not (self._is_file and self._keeps_files):
            del self._rest[: -len(self._delimiter) - 1]


def form_of(body: bytes, content_type: str) -> Form:
    """Reads a whole form; raises `ValueError` for one that has no single meaning."""
    reader = FormReader(content_type, keeps_files=True)
    fields = reader.feed(body)
    reader.end()
    return Form(fields, reader.files)


def _only(message: Message, header: str, name: str) -> str | None:
    """A parameter of a header; None if there is none. Raises `ValueError` for several."""
    if len(message.get_all(header, [])) > 1:
        raise ValueError(f"a part of the form has {header} twice")
    parameters: list[tuple[str, Any]] = message.get_params([], header)
    values = [value for key, value in parameters if key.lower() == name]
    if len(values) > 1:
        raise ValueError(f"a part of the form has two parameters {name}")
    value = message.get_param(name, header=header) if values else None
    return value[2] if isinstance(value, tuple) else value
