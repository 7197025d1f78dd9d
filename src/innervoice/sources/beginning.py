"""The first bytes of a file -> the JSON values in them, the last one completed where the bytes end.

A format is recognized by these alone, so that a folder of thousands of large files can be listed without reading them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from innervoice.canon.jsontext import load_json

__all__ = ["first_dicts", "first_values"]

_MOST_LINES = 64
_DEEPEST = 64
"""Deeper nesting says nothing about a format."""
_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_OPEN_STRING = re.compile(
    r'"[^"\\]*(?:\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89abAB])[0-9a-fA-F]{4})[^"\\]*)*',
    re.DOTALL,
)
"""A string without its end, up to its last whole character."""
_CLOSERS = {"{": "}", "[": "]"}


def first_dicts(beginning: bytes) -> list[dict[str, Any]]:
    """The objects among the first values."""
    return [value for value in first_values(beginning) if isinstance(value, dict)]


@lru_cache(maxsize=4)
def first_values(beginning: bytes) -> tuple[Any, ...]:
    """The values of the first lines, or the beginning of a value with many lines; () if it is not JSON. Do not modify them."""
    text = beginning.removeprefix(_BOM).lstrip()
    if not text.startswith((b"{", b"[")):
        return ()
    *lines, last = text.split(b"\n", _MOST_LINES)
    # A line that ends in the middle of a value is followed by the rest of it, not by another value.
    goes_on = lines and lines[0].rstrip().endswith((b"{", b"[", b",", b":"))
    if not goes_on and (
        values := [value for line in lines if (value := _loaded(line)) is not None]
    ):
        more = _completed(last) if len(lines) < _MOST_LINES else None
        return (*values, *([] if more is None else [more]))
    value = _completed(text)
    return () if value is None else (value,)


def _loaded(line: bytes) -> Any:
    """The object or list of a line; None if the line is not one."""
    if not line.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return load_json(line)
    except ValueError:
        return None


def _completed(data: bytes) -> Any:
    """The value that begins here, as far as the text goes; None if it is not JSON."""
    try:
        return load_json(data)
    except ValueError:
        pass
    text = data.decode("utf-8", "ignore")
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return load_json(_closed(text))
    except ValueError:
        return None


def _closed(text: str) -> str:
    """The text up to its last whole value, or up to the middle of a string at its end, with everything open closed."""
    open_brackets: list[str] = []
    end_of_value, closers = 0, ""
    before = ""
    end = 0
    for token in _TOKEN.finditer(text):
        if text[end : token.start()].strip():
            break  # a string without an end
        word, end = token[0], token.end()
        if word in _CLOSERS:
            open_brackets.append(_CLOSERS[word])
            if len(open_brackets) > _DEEPEST:
                break
        elif word in ("}", "]"):
            if not open_brackets or open_brackets.pop() != word:
                break
        elif (
            word in (",", ":")
            or _is_key(open_brackets, before)
            or (end == len(text) and word[0] != '"')
        ):
            before = word
            continue
        before = word
        end_of_value, closers = end, "".join(reversed(open_brackets))
        if not open_brackets:
            return text[:end]
    if 0 < len(open_brackets) <= _DEEPEST and not _is_key(open_brackets, before):
        start = len(text) - len(text[end:].lstrip())
        if string := _OPEN_STRING.match(text, start):
            return text[: string.end()] + '"' + "".join(reversed(open_brackets))
    return text[:end_of_value] + closers


def _is_key(open_brackets: list[str], before: str) -> bool:
    """Whether a string at this point would be the name of a member."""
    return bool(open_brackets) and open_brackets[-1] == "}" and before in ("{", ",")
