"""The server's side of Ollama's /api/chat: reads requests, writes errors and lists of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Text
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.ollama.read import OllamaReader
from innervoice.wire.ollama.write import read_media
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    NO_MODEL,
    NO_TIME,
    ModelFacts,
    OpenCalls,
    UserContent,
    assistant_turn,
    checked_messages,
    own_word,
    request_of,
    schema_format,
    with_role,
    without,
)

__all__ = [
    "NO_MODEL",
    "UNKNOWN_MODEL",
    "finish_word",
    "model_card",
    "model_list",
    "read_request",
    "write_error",
    "write_stream_error",
]

_CONTENT = UserContent("ollama", lambda _: None)


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body; it streams unless it says otherwise."""
    messages: list[Message] = []
    calls = OpenCalls()
    for message in checked_messages(body.get("messages"), "messages"):
        calls.begin(is_turn=message.get("role") == "assistant")
        messages.append(_message(message, calls))
        calls.end(messages[-1])
    options = dict(as_dict(body.get("options")))
    known: dict[str, Any] = {
        "max_tokens": options.pop("num_predict", None),
        "temperature": options.pop("temperature", None),
        "top_p": options.pop("top_p", None),
        "stop": options.pop("stop", None),
        "stream": body.get("stream") is not False,
        "tools": body.get("tools"),
    }
    read = {"model", "messages", "options", "stream", "tools"}
    if body.get("format") == "json":
        known["response_format"] = {"type": "json_object"}
        read.add("format")
    elif isinstance(body.get("format"), dict):
        known["response_format"] = schema_format(body["format"])
        read.add("format")
    think = body.get("think")
    if isinstance(think, bool) or think in ("low", "medium", "high", "max"):
        known["reasoning"] = think
        read.add("think")
    rest = {**body, "options": options} if options else body
    if options:
        read.discard("options")
    return request_of(rest, "ollama", messages, known, read)


def _message(message: dict[str, Any], calls: OpenCalls) -> Message:
    role = message.get("role")
    if role == "assistant":
        return assistant_turn(OllamaReader(Context()), {"message": message, "done": True})
    if role == "tool":
        name = message.get("tool_name")
        call_id = message.get("tool_call_id") or calls.take(name) or name
        read = ("role", "content", "images", *(() if name else ("tool_call_id",)))
        result = _CONTENT.result(call_id, message.get("content"))
        if images := _images(message):
            words = result.content
            texts = (Text(words),) if isinstance(words, str) else words
            result = result.replace(content=(*texts, *images))
        return with_role("tool", (result,), "ollama", without(message, *read))
    parts = (*_CONTENT.parts(message.get("content")), *_images(message))
    rest = without(message, "role", "content", "images")
    return with_role("system" if role == "system" else "user", parts, "ollama", rest)


def _images(message: dict[str, Any]) -> tuple[Media, ...]:
    return tuple(file for image in as_list(message.get("images")) if (file := read_media(image)))


# ---- How an answer of Ollama's /api/chat ends: its reasons, and its errors.


_DIALECT = "ollama"
_CREATED = "2026-01-01T00:00:00Z"
"""The API requires a time, and none is known."""


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error: only a text."""
    return {"error": refusal.text}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream: a line like the body of an error."""
    return Frame(dump_json(write_error(refusal)))


def finish_word(answer: Response) -> str:
    """Why the answer ended; there is no separate reason for calls."""
    usual = "length" if answer.finish_reason == "length" else "stop"
    return own_word(answer, _DIALECT) or usual


# ---- How an Ollama server describes its models.


UNKNOWN_MODEL = Refusal(text="model '{model}' not found", status=404)


def _details(model: ModelFacts) -> dict[str, Any]:
    family = model.owner
    return {
        "parent_model": "",
        "format": "",
        "family": family,
        "families": [family],
        "parameter_size": "",
        "quantization_level": "",
    }


def model_card(model: ModelFacts) -> dict[str, Any]:
    """The response of /api/show, whose sizes are named after the model's architecture."""
    sizes = {f"{model.owner}.context_length": model.context} if model.context else {}
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _details(model),
        "model_info": {"general.architecture": model.owner, **sizes},
        "capabilities": ["completion", "tools", *(["thinking"] if model.reasons else [])],
        "modified_at": NO_TIME,
    }


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    listed = [
        {
            "name": model.name,
            "model": model.name,
            "modified_at": NO_TIME,
            "size": 0,
            "digest": "",
            "details": _details(model),
        }
        for model in models
    ]
    return {"models": listed}
