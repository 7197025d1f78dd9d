"""The dialects by name, and which of them a message looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from innervoice.canon.request import Request
from innervoice.errors import UsageError
from innervoice.frames.eventstream import event_bytes
from innervoice.frames.frame import Frame
from innervoice.frames.lines import line_bytes
from innervoice.frames.sse import sse_bytes
from innervoice.wire.json_access import as_text
from innervoice.wire.media import MediaModule
from innervoice.wire.protocol import Context, Reader
from innervoice.wire.refusals import Refusal, Target
from innervoice.wire.serve_request import Server

__all__ = [
    "DIALECTS", "dialect_of", "framing_of", "media_of", "reader_of", "request_reader_of", "rules_of", "server_of", "writer_of",
]  # fmt: skip

# name -> the module and class of its reader, imported when it is used
_READERS = {
    "anthropic": ("anthropic.read", "AnthropicReader"),
    "openai-chat": ("chat.read", "ChatReader"),
    "openai-responses": ("responses.read", "ResponsesReader"),
    "gemini": ("gemini.read", "GeminiReader"),
    "bedrock-converse": ("converse.read", "ConverseReader"),
    "mistral": ("mistral.read", "MistralReader"),
    "cohere": ("cohere.read", "CohereReader"),
    "ollama": ("ollama.read", "OllamaReader"),
}
DIALECTS = tuple(_READERS)

_CONVERSE = {
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
}
_ANTHROPIC = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
}
_COHERE = ("message-start", "content-", "tool-", "citation-", "message-end")


def reader_of(dialect: str, context: Context) -> Reader:
    """A reader for one answer."""
    return _reader_class(dialect)(context)


@cache
def _reader_class(dialect: str) -> type[Reader]:
    try:
        module, name = _READERS[dialect]
    except KeyError:
        raise UsageError(f"dialect must be one of {', '.join(DIALECTS)}; not {dialect!r}") from None
    reader: type[Reader] = getattr(import_module(f"innervoice.wire.{module}"), name)
    return reader


@cache
def writer_of(dialect: str) -> Callable[[Request, str, str], dict[str, Any]]:
    """The function that writes a request: (request, model, name of the limit) -> body."""
    folder = _READERS[dialect][0].split(".")[0]
    writer: Callable[[Request, str, str], dict[str, Any]] = import_module(
        f"innervoice.wire.{folder}.write"
    ).write
    return writer


def request_reader_of(dialect: str) -> Callable[[dict[str, Any]], Request]:
    """The function that reads the body of a request."""
    if dialect not in _READERS:
        raise UsageError(f"dialect must be one of {', '.join(DIALECTS)}; not {dialect!r}")
    folder = _READERS[dialect][0].split(".")[0]
    reader: Callable[[dict[str, Any]], Request] = import_module(
        f"innervoice.wire.{folder}.serve_request"
    ).read_request
    return reader


def media_of(dialect: str) -> MediaModule:
    """How a dialect holds files."""
    folder = _READERS[dialect][0].split(".")[0]
    media: MediaModule = import_module(f"innervoice.wire.{folder}.media")
    return media


def rules_of(dialect: str) -> Callable[[dict[str, Any], Target], Iterator[Refusal]]:
    """The function that says why an API would refuse a body."""
    folder = _READERS[dialect][0].split(".")[0]
    rules: Callable[[dict[str, Any], Target], Iterator[Refusal]] = import_module(
        f"innervoice.wire.{folder}.rules"
    ).problems
    return rules


_FRAMINGS = {"bedrock-converse": event_bytes, "ollama": line_bytes}


def framing_of(dialect: str) -> Callable[[Frame], bytes]:
    """How a server of a dialect puts the frames of a stream on the wire."""
    return _FRAMINGS.get(dialect, sse_bytes)


def server_of(dialect: str) -> Server:
    """The server's side: writes answers, streams and errors."""
    folder = _READERS[dialect][0].split(".")[0]
    server: Server = import_module(f"innervoice.wire.{folder}.serve_request")
    return server


def dialect_of(value: Any, name: str | None = None) -> str | None:  # noqa: C901 - one return for each dialect
    """The dialect that a message looks like, or None if it could be of any."""
    if isinstance(value, list):
        return dialect_of(value[0]) if value else None
    if not isinstance(value, dict):
        return None
    kind = as_text(value.get("type"))
    if "choices" in value:
        return "openai-chat"
    if value.get("object") == "response" or (
        isinstance(kind, str) and kind.startswith("response.")
    ):
        return "openai-responses"
    if kind in _ANTHROPIC or (kind == "message" and "content" in value) or "bytes" in value:
        return "anthropic"
    if not value.keys().isdisjoint({"candidates", "usageMetadata", "promptFeedback"}):
        return "gemini"
    if (
        name in _CONVERSE
        or not value.keys().isdisjoint(_CONVERSE)
        or "message" in _keys(value.get("output"))
    ):
        return "bedrock-converse"
    if kind and kind.startswith(_COHERE):
        return "cohere"
    if "done" in value and ("message" in value or "response" in value):
        return "ollama"
    if isinstance(value.get("output"), list):
        return "openai-responses"
    if isinstance(value.get("message"), dict) and "finish_reason" in value:
        return "cohere"
    if isinstance(value.get("result"), dict):
        return dialect_of(value["result"]) or "openai-chat"
    return "openai-chat" if "response" in value else None


def _keys(value: Any) -> set[str]:
    return set(value) if isinstance(value, dict) else set()
