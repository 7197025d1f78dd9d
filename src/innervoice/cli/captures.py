"""A captured file -> the responses in it: one body, one stream, or one body per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.wire.dialects import ENVELOPE_MEMBERS

__all__ = ["answers_in"]

_WRAPPERS = ("response", "body")
"""Members under which logs keep an answer."""


def answers_in(data: bytes) -> list[Any]:
    """The values to decode: one for each line, or the whole file."""
    text = data.lstrip(b"\xef\xbb\xbf \r\n\t")
    if not text.startswith((b"{", b"[")) or b"\n" not in text.strip():
        return [_unwrapped(data)]
    values = list(_lines(text))
    if values and all(_is_whole(value) for value in values):
        return values
    return [_unwrapped(data)]


def _lines(text: bytes) -> Iterator[Any]:
    """The values of a file of JSON lines; nothing if it is none."""
    for line in text.split(b"\n"):
        if not line.strip():
            continue
        try:
            value = load_json(line)
        except ValueError:
            yield None
            return
        yield _unwrap(value)


def _unwrapped(data: bytes) -> Any:
    """A single body, out of what a log wraps around it; a stream stays as it is."""
    try:
        value = load_json(data)
    except ValueError:
        return data
    inner = _unwrap(value)
    return data if inner is value else inner


def _unwrap(value: Any) -> Any:
    if isinstance(value, dict) and not _is_whole(value):
        for name in _WRAPPERS:
            if isinstance(value.get(name), (dict, str)) and (
                isinstance(value[name], str) or _is_whole(value[name])
            ):
                return value[name]
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
