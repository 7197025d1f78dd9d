"""The server's side of Cohere's chat API: reads requests, writes errors and lists of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.cohere.read import CohereReader
from innervoice.wire.cohere.write import read_media
from innervoice.wire.json_access import as_dict
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    NO_MODEL,
    ModelFacts,
    UserContent,
    assistant_turn,
    checked_messages,
    known,
    own_word,
    request_of,
    schema_format,
    with_role,
    without,
)

__all__ = [
    "NO_MODEL",
    "UNKNOWN_MODEL",
    "counted",
    "finish_word",
    "model_card",
    "model_list",
    "read_request",
    "write_error",
    "write_stream_error",
]


def _read_block(block: dict[str, Any]) -> Part | None:
    """An image, or a document, which is possible in tool results."""
    match block:
        case {"type": "document", "document": {"data": data}}:
            text = data if isinstance(data, str) else dump_json(data).decode()
            return Text(text, origin=Origin(dialect="cohere", block=block))
        case _:
            return read_media(block)


_CONTENT = UserContent("cohere", _read_block)
_TURN = ("role", "content", "tool_calls", "tool_plan", "citations")
"""What the reader of answers reads of a message."""
_OPTIONS = ("max_tokens", "temperature", "tools", "stream", "response_format")


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    messages = [_message(message) for message in checked_messages(body.get("messages"), "messages")]
    options = {name: body.get(name) for name in _OPTIONS}
    form = as_dict(body.get("response_format"))
    if form.keys() == {"type", "schema"}:
        options["response_format"] = schema_format(form["schema"])
    options["top_p"], options["stop"] = body.get("p"), body.get("stop_sequences")
    read = {"model", "messages", "p", "stop_sequences", *_OPTIONS}
    choice = body.get("tool_choice")
    if choice in ("REQUIRED", "NONE"):
        options["tool_choice"] = choice.lower()
        read.add("tool_choice")
    elsewhere: dict[str, Any] = {}
    match body.get("thinking"):
        case {"type": "disabled", **rest} if not rest:
            options["reasoning"] = False
            read.add("thinking")
        case {"type": "enabled", "token_budget": int(budget), **rest} if not rest:
            options["reasoning"] = budget
            read.add("thinking")
        case {"type": "enabled"}:
            elsewhere["reasoning"] = (None, Reasoning("medium"))
        case _:
            pass
    return request_of(body, "cohere", messages, options, read, elsewhere=elsewhere)


def _message(message: dict[str, Any]) -> Message:
    role = message.get("role")
    if role == "assistant":
        answer = {"message": message, "finish_reason": "COMPLETE"}
        return assistant_turn(CohereReader(Context()), answer, without(message, *_TURN))
    beside = without(message, "role", "content", "tool_call_id")
    if role == "tool":
        result = _CONTENT.result(message.get("tool_call_id"), message.get("content"))
        return with_role("tool", (result,), "cohere", beside)
    parts = _CONTENT.parts(message.get("content"))
    return with_role("system" if role == "system" else "user", parts, "cohere", beside)


# ---- How an answer of Cohere's chat API ends: its reasons, its counts, and its errors.


_DIALECT = "cohere"
_NO_ID = "00000000-0000-0000-0000-000000000000"
_WORDS = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "content_filter": "ERROR_TOXIC",
    "error": "ERROR",
}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error: Cohere's errors have no types."""
    return {"id": _NO_ID, "message": refusal.text}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream ends the message."""
    delta = {"finish_reason": "ERROR", "error": refusal.text}
    return Frame(dump_json({"type": "message-end", "delta": delta}), "message-end")


# ---- the message -----------------------------------------------------------------------------------


def finish_word(answer: Response) -> str:
    usual = _WORDS["tool_calls" if answer.tool_calls else "stop"]
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason or "", usual)


def counted(usage: Usage) -> dict[str, Any]:
    counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    billed = {name: count for name, count in counts.items() if count is not None}
    if not billed:
        return {}
    tokens = dict(billed)
    if usage.reasoning_tokens is not None:
        tokens["reasoning_tokens"] = usage.reasoning_tokens
    written: dict[str, Any] = {"billed_units": billed, "tokens": tokens}
    if usage.cached_input_tokens is not None:
        written["cached_tokens"] = usage.cached_input_tokens
    return written


# ---- the stream ------------------------------------------------------------------------------------


# ---- How Cohere's API describes its models.


UNKNOWN_MODEL = Refusal(
    text="model '{model}' not found, make sure the correct model ID was used and that you have access to the model.",
    status=404,
)


def model_card(model: ModelFacts) -> dict[str, Any]:
    sizes = known(context_length=model.context)
    return {"name": model.name, "endpoints": ["chat"], "finetuned": False, **sizes}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"models": [model_card(model) for model in models]}
