"""AWS event streams: bytes -> frames.

A message is: total length and headers length (4 bytes each, big endian), a CRC-32 of these eight bytes,
the headers, the payload, and a CRC-32 of all before it. Headers are typed; the ones that matter are
strings. https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html, read 2026-11-15.

InvokeModel wraps each message of a model's own stream in an event `chunk`, as base64 in `bytes`; it is unwrapped here.
"""

from __future__ import annotations

import binascii
import struct
from base64 import b64decode, b64encode
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.frames.frame import LIMIT, Frame, FrameError

__all__ = ["EventStream", "chunk_bytes", "event_bytes", "opened_chunk"]

_CHUNK = "chunk"

_PRELUDE = 12
_SHORTEST = _PRELUDE + 4
# Header value types -> bytes of their value; 6 and 7 carry their own length.
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES, _STRING = 6, 7


class EventStream:
    """Cuts an event stream into frames and checks both checksums of each."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._length = 0  # of the message that is coming, once its prelude is here

    def feed(self, data: bytes) -> list[Frame]:
        """The messages that are complete now."""
        self._buffer += data
        frames: list[Frame] = []
        start = 0
        while True:
            if not self._length:
                if len(self._buffer) - start < _PRELUDE:
                    break
                self._length = self._read_prelude(start)
            if len(self._buffer) - start < self._length:
                break
            frames.append(_read(bytes(self._buffer[start : start + self._length])))
            start += self._length
            self._length = 0
        if start:
            del self._buffer[:start]
        return frames

    def finish(self) -> list[Frame]:
        """Returns nothing: a message that is cut off is not a frame."""
        if self._buffer:
            raise FrameError(
                f"the event stream ends inside a message, after {len(self._buffer)} bytes of it"
            )
        return []

    def _read_prelude(self, start: int) -> int:
        length, _, checksum = unpack_from(">III", self._buffer, start)
        if crc32(self._buffer[start : start + 8]) != checksum:
            raise FrameError(
                "the checksum of an event's prelude is wrong: the stream is damaged or not an event stream"
            )
        if not _SHORTEST <= length <= self._limit:
            raise FrameError(
                f"an event has {length} bytes; expected between {_SHORTEST} and {self._limit}"
            )
        return int(length)


def _read(message: bytes) -> Frame:
    (headers_length,) = unpack_from(">I", message, 4)
    (checksum,) = unpack_from(">I", message, len(message) - 4)
    if crc32(message[:-4]) != checksum:
        raise FrameError("the checksum of an event is wrong: the stream is damaged")
    end = _PRELUDE + headers_length
    if end > len(message) - 4:
        raise FrameError("the headers of an event are longer than the event")
    headers = _headers(message[_PRELUDE:end])
    kind = headers.get(":message-type", "event")
    name = (
        headers.get(":exception-type") or headers.get(":error-code") or headers.get(":event-type")
    )
    data = message[end:-4]
    if name == _CHUNK and kind == "event" and (opened := _opened(data)) is not None:
        return Frame(opened)
    return Frame(data, name, failed=kind != "event")


def _opened(data: bytes) -> bytes | None:
    try:
        return opened_chunk(load_json(data))
    except ValueError:
        return None


def opened_chunk(value: Any) -> bytes | None:
    """The message in the payload of an event `chunk`; None if the payload is something else."""
    held = value.get("bytes") if isinstance(value, dict) else None
    if not isinstance(held, str):
        return None
    try:
        return b64decode(held, validate=True)
    except (ValueError, binascii.Error):
        return None


def _headers(data: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    position = 0
    try:
        while position < len(data):
            size = data[position]
            name = data[position + 1 : position + 1 + size].decode("utf-8", "replace")
            position += 1 + size
            kind = data[position]
            position += 1
            if kind in (_BYTES, _STRING):
                (length,) = unpack_from(">H", data, position)
                position += 2
                if kind == _STRING:
                    headers[name] = data[position : position + length].decode("utf-8", "replace")
            else:
                length = _FIXED[kind]
            position += length
    except (IndexError, KeyError, struct.error):
        raise FrameError("the headers of an event cannot be read") from None
    return headers


def event_bytes(frame: Frame) -> bytes:
    """A frame as a server writes it; this framing has no keep-alives."""
    if frame.data is None:
        return b""
    kind = "exception" if frame.failed else "event"
    named = {
        ":message-type": kind,
        f":{kind}-type": frame.name or "",
        ":content-type": "application/json",
    }
    headers = b"".join(
        bytes([len(name)])
        + name.encode()
        + bytes([_STRING])
        + pack(">H", len(value.encode()))
        + value.encode()
        for name, value in named.items()
    )
    prelude = pack(">II", _SHORTEST + len(headers) + len(frame.data), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers + frame.data
    return message + pack(">I", crc32(message))


def chunk_bytes(frame: Frame) -> bytes:
    """A frame of a model's own stream as InvokeModel writes it; errors are separate events."""
    if frame.data is None or frame.failed:
        return event_bytes(frame)
    held = dump_json({"bytes": b64encode(frame.data).decode()})
    return event_bytes(Frame(held, _CHUNK))
