"""Shared by the tests: response bodies as hosts send them, and the codes of notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import innervoice as iv

__all__ = ["completion", "frames", "noted", "read_both_ways"]


def completion(content: Any = None, *, finish: str = "stop", **members: Any) -> dict[str, Any]:
    """A complete chat completion with these members in its message."""
    message = {"role": "assistant", "content": content, **members}
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def frames(deltas: Iterable[dict[str, Any]], *, finish: str = "stop") -> Iterator[bytes]:
    """A streamed chat completion, a frame for each delta."""
    for delta in deltas:
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    yield b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n"


def read_both_ways(content: str, *, finish: str = "stop", field: str = "", **hints: Any):
    """The same response, read complete and as a stream of small deltas; both must be equal."""
    members = {"reasoning_content": field} if field else {}
    whole = iv.decode(completion(content, finish=finish, **members), **hints)
    deltas = [{"reasoning_content": field[at : at + 5]} for at in range(0, len(field), 5)]
    deltas += [{"content": content[at : at + 3]} for at in range(0, len(content), 3)]
    streamed = iv.fold(iv.decode_stream(frames(deltas, finish=finish), **hints))
    assert (whole.text, whole.thinking, whole.status) == (
        streamed.text,
        streamed.thinking,
        streamed.status,
    )
    assert noted(whole) == noted(streamed)
    return whole


def noted(value: Any) -> set[str]:
    """The note codes of a response or a wire."""
    return {note.code for note in value.notes}
