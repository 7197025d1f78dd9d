"""An answer -> Gemini's generateContent: a whole response, or the many of a stream.

Rules, after https://ai.google.dev/gemini-api/docs/thought-signatures (read 2026-11-15) and recordings:

  1. Every message of a stream has new parts only, and no name; the last has the reason and the counts too.
  2. Text without a signature comes in pieces. A part with one, a call and anything else come whole.
  3. A candidate without parts has no member for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.gemini.write import write_part
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_part, own_word, pieces
from innervoice.wire.write import wholes

__all__ = [
    "counted", "finish_word", "write_answer", "write_error", "write_stream", "write_stream_error",
]  # fmt: skip

_DIALECT = "gemini"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "refusal": "SAFETY",
    "pause": "CONTINUATION",
    "error": "OTHER",
}
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_PLAIN = {"text", "thought"}


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a whole answer."""
    body = _response(answer, _parts(answer), last=True)
    for index, other in enumerate(answer.alternatives, 1):
        body["candidates"] += _response(other, _parts(other), last=True, index=index)["candidates"]
    return body


def write_stream(answer: Response, size: int) -> Iterator[Frame]:
    """The same answer as a stream, its texts in deltas of `size` characters."""
    for index, other in enumerate(answer.alternatives, 1):
        for parts, last in _with_last(_cut(_parts(other), size)):
            yield Frame(
                dump_json(_response(other.replace(usage=Usage()), parts, last=last, index=index))
            )
    for parts, last in _with_last(_cut(_parts(answer), size)):
        yield Frame(dump_json(_response(answer, parts, last=last)))


def _with_last(messages: list[list[Any]]) -> Iterator[tuple[list[Any], bool]]:
    for number, parts in enumerate(messages, 1):
        yield parts, number == len(messages)


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    usual = "INVALID_ARGUMENT" if refusal.status < 500 else "INTERNAL"
    kind = refusal.type or _ERRORS.get(refusal.status, usual)
    return {"error": {"code": refusal.status, "message": refusal.text, "status": kind}}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json(write_error(refusal)), failed=True)


def _response(answer: Response, parts: list[Any], *, last: bool, index: int = 0) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": index}
    if not parts:
        candidate["content"] = {"role": "model"}
    made: dict[str, Any] = {"candidates": [candidate]}
    if last:
        if reason := finish_word(answer):
            candidate["finishReason"] = reason
        if usage := counted(answer.usage):
            made["usageMetadata"] = usage
    if answer.model is not None:
        made["modelVersion"] = answer.model
    if answer.id is not None:
        made["responseId"] = answer.id
    return made


def finish_word(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted(usage: Usage) -> dict[str, int]:
    """The counts; candidates are counted without thoughts."""
    output, thought = usage.output_tokens, usage.reasoning_tokens
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": None if output is None else output - (thought or 0),
        "thoughtsTokenCount": thought,
        "cachedContentTokenCount": usage.cached_input_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


# ---- parts ----------------------------------------------------------------------------------------


def _parts(answer: Response) -> list[Any]:
    parts = map(_part, wholes(answer.parts))
    return [part for part in parts if part is not None]


def _part(part: Part) -> Any:
    """A part of this dialect unchanged; any other part in the plain form, if the dialect has one for it."""
    own = own_part(part, _DIALECT)
    return write_part(own, {}, set()) if own else None


def _cut(parts: list[Any], size: int) -> list[list[Any]]:
    """The parts of each message of a stream.

    A text goes on from message to message. One that does not, behind another of its kind, begins in the
    message where that one ends: otherwise they could not be distinguished.
    """
    messages: list[list[Any]] = []
    before = None
    for part in parts:
        kind = _text_kind(part)
        cut = _pieces(part, size) if kind else [part]
        if kind and kind == before:
            messages[-1].append(cut.pop(0))
        messages += [[piece] for piece in cut]
        before = kind
    return messages or [[]]


def _text_kind(part: Any) -> str | None:
    """What kind of text the next message may go on with behind this part, if any."""
    if not isinstance(part, dict) or not part.keys() <= _PLAIN:
        return None
    if not isinstance(part.get("text", ""), str):
        return None
    return "thinking" if part.get("thought") is True else "text"


def _pieces(part: dict[str, Any], size: int) -> list[dict[str, Any]]:
    cut = pieces(part.get("text"), size)
    return [{**part, "text": piece} for piece in cut] or [part]
