"""The server's side of Mistral's chat API: as chat, with thinking as chunks of the content.

In a stream a call is sent whole and the usage with the finish reason. A body that does not validate is refused with
status 422 and a list of details under `message`
(https://github.com/editor-code-assistant/eca/issues/231, read 2026-11-15).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.parts import Text
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.wire.chat import serve as chat
from innervoice.wire.chat.read import write_usage
from innervoice.wire.chat.serve import read_request as read_chat
from innervoice.wire.chat.serve import write_stream_error
from innervoice.wire.mistral.read import MistralReader
from innervoice.wire.mistral.write import read_media
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import NO_MODEL, ModelFacts, UserContent, known
from innervoice.wire.write import wholes

__all__ = [
    "NO_MODEL",
    "UNKNOWN_MODEL",
    "WORDS",
    "model_card",
    "model_list",
    "read_request",
    "write_error",
    "write_stream_error",
]

_DIALECT = "mistral"
_CONTENT = UserContent(_DIALECT, read_media)
WORDS = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "error": "error"}


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    return read_chat(body, MistralReader, _CONTENT)


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a completion; reasoning is not counted separately."""
    message = chat.message_of(answer, _DIALECT, _thinking)
    texts = [part.text for part in wholes(answer.parts) if isinstance(part, Text)]
    if isinstance(message["content"], str) and len(texts) > 1:
        message["content"] = [{"type": "text", "text": text} for text in texts]
    message["content"] = message["content"] or ""
    message.setdefault("tool_calls", None)
    usage = write_usage(answer.usage.replace(reasoning_tokens=None))
    word = chat.word_of(answer, _DIALECT, WORDS)
    return chat.completion(answer, message, word, usage)


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error, which is not wrapped."""
    usual = "invalid_request_error"
    if refusal.status >= 500:
        usual = "internal_server_error"
    elif refusal.status == 429:
        usual = "rate_limited"
    invalid = refusal.status == 422
    return {
        "object": "error",
        "message": {"detail": [_detail(refusal)]} if invalid else refusal.text,
        "type": refusal.type or usual,
        "param": None if invalid else refusal.param,
        "code": None if invalid else refusal.code,
    }


def _detail(refusal: Refusal) -> dict[str, Any]:
    steps = refusal.param.split(".") if refusal.param else []
    place = [int(step) if step.isdecimal() else step for step in steps]
    kind = refusal.code if isinstance(refusal.code, str) else "extra_forbidden"
    return {"type": kind, "loc": ["body", *place], "msg": refusal.text, "input": None}


# ---- How Mistral's API describes its models.


UNKNOWN_MODEL = Refusal(text="Invalid model: {model}", type="invalid_model", code="1500")


def model_card(model: ModelFacts) -> dict[str, Any]:
    """A base model; the SDK refuses a card without a type or without abilities."""
    abilities = {"completion_chat": True, "function_calling": True, "reasoning": model.reasons}
    card = {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner}
    sizes = known(max_context_length=model.context)
    return {**card, "type": "base", "name": model.name, "capabilities": abilities, **sizes}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"object": "list", "data": [model_card(model) for model in models]}
