"""Building the bytes of streams, as servers write them."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

__all__ = ["aws", "ndjson", "sse"]


def sse(*events: Any, named: bool = False, done: bool = False, end: str = "\n\n") -> bytes:
    """Server-sent events; with `named` the type of each is its name, as Anthropic and OpenAI write them."""
    text = ""
    for event in events:
        if named:
            text += f"event: {event['type']}\n"
        text += f"data: {json.dumps(event, ensure_ascii=False)}{end}"
    return (text + ("data: [DONE]\n\n" if done else "")).encode()


def ndjson(*lines: Any) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def aws(*events: tuple[str, Any], kind: str = "event") -> bytes:
    """An AWS event stream of (name, payload)."""
    return b"".join(
        aws_message(name, json.dumps(payload).encode(), kind=kind) for name, payload in events
    )


def aws_message(name: str, payload: bytes, *, kind: str = "event") -> bytes:
    names = {":message-type": kind, f":{kind}-type": name, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in names.items()
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))
