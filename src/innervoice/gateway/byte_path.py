"""The byte path: the client's body is forwarded unchanged, except for the model's name."""

from __future__ import annotations

import re
from typing import Any

from innervoice.canon.jsontext import dump_json, split_members

__all__ = ["whole_frames", "with_model"]

_SHORTEST_FRAME = 16
"""Bytes of an AWS event stream: lengths and checksums."""
_MODEL = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*")')
_ESCAPED_NAME = re.compile(rb'"[^"]{0,64}\\u00[^"]{0,64}"\s*:')


def with_model(body: bytes, value: dict[str, Any], model: str) -> bytes | None:
    """The body with another model name; None if the body must be rewritten for that.

    A body that has the member twice could name one model to the gateway and another to the provider, so it is not forwarded unchanged.
    The same holds for a member whose name is spelled with escapes. Members of that name at deeper levels, as in the schemas of Claude Code's
    tools, are something else.
    """
    name_before = value.get("model")
    if name_before is None:
        return body  # the URL path has the name
    if b"\\u00" in body and _ESCAPED_NAME.search(body):
        return None
    match = _MODEL.search(body)
    if match is None or match[1] != dump_json(name_before):
        return None
    start, end = match.span(1)
    name = dump_json(model)
    changed = body[:start] + name + body[end:]
    # The last of several members counts: if it is not the one that was replaced, it still has the old name.
    return changed if body.count(b'"model"') == 1 or _asks_for(changed, name) else None


def _asks_for(body: bytes, name: bytes) -> bool:
    try:
        return bytes(split_members(body).get("model", b"")) == name
    except ValueError:
        return False


def whole_frames(data: bytearray, media_type: str) -> int:
    """How many of the bytes are whole frames; only these are sent, so that a keep-alive or an error can follow at any time."""
    if media_type == "text/event-stream":
        return max(_behind(data, b"\n\n"), _behind(data, b"\r\n\r\n"), _behind(data, b"\r\r"))
    if media_type == "application/x-ndjson":
        return _behind(data, b"\n")
    if media_type != "application/vnd.amazon.eventstream":
        return len(data)
    end = 0
    while end + 4 <= len(data):
        length = int.from_bytes(data[end : end + 4], "big")
        if length < _SHORTEST_FRAME:
            return len(data)  # not an event stream
        if end + length > len(data):
            break
        end += length
    return end


def _behind(data: bytearray, mark: bytes) -> int:
    place = data.rfind(mark)
    return place + len(mark) if place >= 0 else 0
