"""An answer -> Bedrock's Converse: a whole response, or the events of a stream.

Rules, after botocore's service model 2023-09-30 (1.44.0) and recordings:

  1. Reasoning and text have no start event: a block begins with its first delta.
  2. In a stream `text`, `signature` and `redactedContent` stand directly under `reasoningContent`, one a delta.
  3. `metadata` with the usage comes behind `messageStop`. There is no count of reasoning tokens.
  4. The kind of an error is in a header, or in the name of its frame; the body has the message alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.converse.write import write_part
from innervoice.wire.json_access import arguments_of
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve_response import own_part, own_word, pieces
from innervoice.wire.write import block_of, wholes

__all__ = [
    "METRICS", "counted", "error_type", "stop_reason", "write_answer", "write_error", "write_stream", "write_stream_error",
]  # fmt: skip

_DIALECT = "bedrock-converse"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
    "refusal": "refusal",
    "pause": "end_turn",  # the API has no word for it
    "error": "malformed_model_output",
}
_ERRORS = {
    400: "ValidationException",
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
# A stream knows these alone.
_STREAM_ERRORS = (
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
)
METRICS = {"latencyMs": 0}  # there is no clock here


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a whole answer."""
    return {
        "output": {"message": {"role": "assistant", "content": _blocks(answer)}},
        "stopReason": stop_reason(answer),
        "usage": counted(answer.usage),
        "metrics": METRICS,
    }


def write_stream(answer: Response, size: int) -> Iterator[Frame]:
    """The same answer as a stream, its texts in deltas of `size` characters."""
    yield _event("messageStart", role="assistant")
    for index, block in enumerate(_blocks(answer)):
        start, deltas = _unfolded(block, size)
        if start is not None:
            yield _event("contentBlockStart", contentBlockIndex=index, start=start)
        for delta in deltas:
            yield _event("contentBlockDelta", contentBlockIndex=index, delta=delta)
        yield _event("contentBlockStop", contentBlockIndex=index)
    yield _event("messageStop", stopReason=stop_reason(answer))
    yield _event("metadata", usage=counted(answer.usage), metrics=METRICS)


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal; `error_type` is for its header."""
    return {"message": refusal.text}


def error_type(refusal: Refusal) -> str:
    """The kind of a refusal, as the header `x-amzn-errortype` of an answer has it."""
    usual = "ValidationException" if refusal.status < 500 else "InternalServerException"
    return refusal.type or _ERRORS.get(refusal.status, usual)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    kind = error_type(refusal)
    name = kind[:1].lower() + kind[1:]
    if name not in _STREAM_ERRORS:
        name = "modelStreamErrorException"
    return Frame(dump_json(write_error(refusal)), name, failed=True)


def _event(name: str, **members: Any) -> Frame:
    return Frame(dump_json(members), name)


def stop_reason(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted(usage: Usage) -> dict[str, int]:
    """The counts; tokens read from the cache are not input here, but are in the total."""
    read, written, cached = (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cached_input_tokens,
    )
    counts = {
        "inputTokens": read - (cached or 0),
        "outputTokens": written,
        "totalTokens": read + written,
    }
    return counts if cached is None else {**counts, "cacheReadInputTokens": cached}


# ---- blocks ---------------------------------------------------------------------------------------


def _blocks(answer: Response) -> list[Any]:
    blocks = map(_block, wholes(answer.parts))
    return [block for block in blocks if block is not None]


def _block(part: Part) -> Any:
    """A block of this dialect unchanged; any other part in the plain form, if the dialect has one for it."""
    own = own_part(part, _DIALECT)
    if isinstance(own, Thinking) and not isinstance(block_of(own), dict):
        return {"reasoningContent": {"reasoningText": {"text": own.text}}}
    return write_part(own) if own else None


def _unfolded(block: Any, size: int) -> tuple[Any, list[dict[str, Any]]]:
    """The start event of a block, if it has one, and its deltas."""
    match block:
        case {"text": str(text)}:
            return None, [{"text": piece} for piece in _pieces(text, size)]
        case {"toolUse": {"input": value, **use}}:
            cut = _pieces(arguments_of(value), size)
            return {"toolUse": use}, [{"toolUse": {"input": piece}} for piece in cut]
        case {"reasoningContent": {"redactedContent": data}}:
            return None, [{"reasoningContent": {"redactedContent": data}}]
        case {"reasoningContent": {"reasoningText": {"text": str(text), **rest}}}:
            # The signature of a text that is not shown begins its block.
            seal = [{"signature": rest["signature"]}] if "signature" in rest else []
            shown = [{"text": piece} for piece in _pieces(text, size)] if text or not seal else []
            return None, [{"reasoningContent": delta} for delta in (*shown, *seal)]
        case _:
            return block, []


def _pieces(text: str, size: int) -> list[str]:
    """The text in pieces, at least one: without a delta there is no block."""
    return pieces(text, size) or [text]
