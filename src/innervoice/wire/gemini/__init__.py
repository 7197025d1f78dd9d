"""Google's generateContent, on AI Studio and Vertex."""

from __future__ import annotations

from typing import Any

from innervoice.frames.frame import Frame
from innervoice.frames.sse import sse_bytes
from innervoice.wire.dialect import Code, Dialect

__all__ = ["DIALECT"]

_MEMBERS = {"candidates", "usageMetadata", "promptFeedback", "usage_metadata", "prompt_feedback"}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return not value.keys().isdisjoint(_MEMBERS)


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    return any("parts" in item for item in items)


def _turn_of(body: dict[str, Any]) -> list[Any]:
    return [body["candidates"][0]["content"]]


def _framing(frame: Frame) -> bytes:
    """Server-sent events; a keep-alive is a blank line, because Google's SDKs treat a comment as a broken message."""
    return b"\n" if frame.data is None else sse_bytes(frame)


DIALECT = Dialect(
    name="gemini",
    package=__name__,
    counts="totalTokens",
    counts_at=(":generateContent", ":countTokens"),
    counted_in="generateContentRequest",
    endpoints={
        "POST /models/{model}:countTokens": "count",
        "POST /{provider/model}:countTokens": "count",
        "GET /models": "models",
        "GET /models/{model}": "model",
    },
    versions=("v1beta", "v1alpha", "v1"),
    server_state={"cachedContent": "send what it contains in contents"},
    file_references=("fileUri", "file_uri"),
    tool_members=frozenset({"behavior", "response", "responseJsonSchema"}),
    schema="GEMINI",
    places={
        "seed": ("generationConfig", "seed"),
        "top_k": ("generationConfig", "topK"),
        "presence_penalty": ("generationConfig", "presencePenalty"),
        "frequency_penalty": ("generationConfig", "frequencyPenalty"),
    },
    holders=("systemInstruction",),
    switches=("gemini-level", "gemini-budget"),
    said_by={
        ("toolConfig", "functionCallingConfig"): ("tool_choice",),
        ("generationConfig", "thinkingConfig"): ("reasoning",),
        ("generationConfig", "responseSchema"): ("response_format",),
        ("generationConfig", "responseMimeType"): ("response_format",),
    },
    home="gemini",
    path="/models/{model}:{verb}",
    bare_path="/{provider/model}:{verb}",
    verbs=("generateContent", "streamGenerateContent?alt=sse"),
    key_header="x-goog-api-key",
    history="contents",
    system_apart=True,
    limit="maxOutputTokens",
    lacks=("parallel_tool_calls",),
    files_in_turns=True,
    flags_errors=True,
    joins_turns=True,
    turns_are_items=True,  # googleapis/python-genai issue 1938, read 2026-11-17
    framing=_framing,
    streams_lists=True,
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    turn_of=_turn_of,
    error_is_quiet=True,
    last_mark=b'"finishReason"',
    seals=("thoughtSignature",),
    reasoning_keys=("thought",),
    code=Code(
        batches="batch:API",
        reader="read:GeminiReader",
        answer_writer="answer:GeminiWriter",
        grammar="grammar:GeminiGrammar",
        replay="replay:REPLAY",
    ),
)
