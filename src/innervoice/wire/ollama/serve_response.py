"""An answer -> a response of Ollama's /api/chat, whole or as the lines of a stream.

After ollama's server/routes.go (fb3076099, 2026-08-21): thinking, then content, each call whole, and a
last line that is done and has the counts. Durations are left out, for nothing here knows a clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.ollama.write import write_assistant
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_part, own_word, pieces
from innervoice.wire.write import block_of, wholes

__all__ = [
    "finish_word", "write_answer", "write_error", "write_stream", "write_stream_error",
]  # fmt: skip

_DIALECT = "ollama"
_CREATED = "2026-01-01T00:00:00Z"
"""The wire wants a time, and we know none."""


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a response."""
    parts = tuple(own for part in wholes(answer.parts) if (own := _own(part)) is not None)
    message = write_assistant(Message("assistant", parts))
    origin = answer.origin
    kept = as_dict(origin.block) if origin and origin.dialect == _DIALECT else {}
    usage = answer.usage
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {
        "model": answer.model or "",
        "created_at": _CREATED,
        "message": {**message, **kept},
        "done": True,
        "done_reason": finish_word(answer),
        **{name: count for name, count in counts.items() if count is not None},
    }


def write_stream(answer: Response, size: int) -> Iterator[Frame]:
    """The lines of a response."""
    whole = write_answer(answer)
    head = {"model": whole["model"], "created_at": whole["created_at"]}
    message = dict(whole["message"])
    for name in ("thinking", "content"):
        text = message.pop(name, "")
        for piece in pieces(text, size):
            said = {"role": "assistant", "content": "", name: piece}
            yield Frame(dump_json({**head, "message": said, "done": False}))
    for call in as_list(message.pop("tool_calls", None)):
        called = {"role": "assistant", "content": "", "tool_calls": [call]}
        yield Frame(dump_json({**head, "message": called, "done": False}))
    yield Frame(dump_json({**whole, "message": {"content": "", **message}}))


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error: a text, and nothing else."""
    return {"error": refusal.text}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream: a line like the body of one."""
    return Frame(dump_json(write_error(refusal)))


def _own(part: Part) -> Part | None:
    """A part as this dialect can write it: reasoning in its field, others without foreign blocks."""
    own = own_part(part, _DIALECT)
    if isinstance(own, Thinking) and own.text and block_of(own) is None:
        return own.replace(origin=Origin(dialect=_DIALECT, block={"thinking": own.text}))
    return own


def finish_word(answer: Response) -> str:
    """Why the answer ended; there is no separate reason for calls."""
    usual = "length" if answer.finish_reason == "length" else "stop"
    return own_word(answer, _DIALECT) or usual
