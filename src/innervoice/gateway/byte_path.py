"""The byte path: the client's body goes on as it came, but for the model's name."""

from __future__ import annotations

import re
from typing import Any

from innervoice.canon.jsontext import dump_json

__all__ = ["LAST_FRAMES", "TERMINAL", "whole_frames", "with_model"]

TERMINAL = {
    "anthropic": b"message_stop",
    "openai-chat": b"[DONE]",
    "openai-responses": b"response.completed",
    "gemini": b'"finishReason"',
    "bedrock-converse": b"messageStop",
    "mistral": b"[DONE]",
    "cohere": b"message-end",
    "ollama": b'"done":true',
}
"""What stands in the last frames of a stream; those leave when the turn is stored."""

LAST_FRAMES = {
    "anthropic": b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "openai-chat": b"data: [DONE]\n\n",
    "mistral": b"data: [DONE]\n\n",
}
"""The frame that clients wait for, where the answer has its end before it."""

_SHORTEST_FRAME = 16
"""Of an AWS event stream: lengths and checksums."""
_MODEL = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*")')
_ESCAPED_NAME = re.compile(rb'"[^"]{0,64}\\u00[^"]{0,64}"\s*:')


def with_model(body: bytes, value: dict[str, Any], model: str) -> bytes | None:
    """The body with another name of the model; None if it must be written again for that.

    A body that has the member twice could mean one model to us and another to the provider, so it is not passed on as it is. The same
    holds for a member whose name is spelled with escapes.
    """
    given = value.get("model")
    if given is None:
        return body  # the path has the name
    if body.count(b'"model"') != 1 or (b"\\u00" in body and _ESCAPED_NAME.search(body)):
        return None
    found = _MODEL.search(body)
    if found is None or found[1] != dump_json(given):
        return None
    start, end = found.span(1)
    return body[:start] + dump_json(model) + body[end:]


def whole_frames(data: bytearray, media_type: str) -> int:
    """How many of the bytes are whole frames; only these leave, so that a sign of life or an error can follow at any time."""
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
            return len(data)  # no event stream at all
        if end + length > len(data):
            break
        end += length
    return end


def _behind(data: bytearray, mark: bytes) -> int:
    place = data.rfind(mark)
    return place + len(mark) if place >= 0 else 0
