"""Anthropic's Messages API, also in the envelopes of Bedrock and Vertex."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import Code, Dialect
from innervoice.wire.json_access import as_text

__all__ = ["DIALECT"]

_EVENTS = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
}
_BLOCKS = {"thinking", "redacted_thinking", "tool_use", "tool_result"}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    kind = as_text(value.get("type"))
    # Bedrock sends each event as base64 under "bytes".
    return kind in _EVENTS or (kind == "message" and "content" in value) or "bytes" in value


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    if any("tool_calls" in item or item.get("role") == "tool" for item in items):
        return False  # Cohere and Mistral have thinking blocks, too
    contents = (item["content"] for item in items if isinstance(item.get("content"), list))
    return any(
        isinstance(block, dict)
        and as_text(block.get("type")) in _BLOCKS
        and not isinstance(block.get("thinking"), list)
        for content in contents
        for block in content
    )


def _turn_of(body: dict[str, Any]) -> list[Any]:
    return [{"role": "assistant", "content": body["content"]}]


DIALECT = Dialect(
    name="anthropic",
    package=__name__,
    has_prefill=True,
    effort_path=("output_config", "effort"),
    effort_members={"role": "system"},
    effort_follows=True,
    effort_flag="mid-conversation-output-config-2026-07-01",
    counts="input_tokens",
    counts_at=("/messages", "/messages/count_tokens"),
    counted=("model", "messages", "system", "tools", "tool_choice", "thinking"),
    endpoints={
        "POST /messages/count_tokens": "count",
        "GET /models": "models",
        "GET /models/{model}": "model",
        # Claude Code checks at its start whether a server is there.
        "GET /api/hello": "hello",
    },
    open_tools=True,
    decodes_texts=True,
    tool_members=frozenset(
        {
            "allowed_callers",
            "cache_control",
            "defer_loading",
            "eager_input_streaming",
            "input_examples",
        }
    ),
    cache_marks="all",
    places={"top_k": ("top_k",)},
    part_places={"document": {"context": ("context",), "citations": ("citations",)}},
    server_state={
        "container": "send the request without it, and without the tools that run in it",
        "compaction": "ask for a summary in a message",
    },
    file_references=("file_id",),
    switches=("anthropic-adaptive",),
    said_by={
        **{("thinking", name): ("reasoning",) for name in ("type", "display", "budget_tokens")},
        ("output_config", "format"): ("response_format",),
        ("output_format",): ("response_format",),
    },
    formats=("json_schema",),
    schema="CLAUDE",
    home="anthropic",
    path="/v1/messages",
    headers={"anthropic-version": "2023-06-01"},
    key_header="x-api-key",
    system_apart=True,
    demands_limit=True,
    flags_errors=True,
    refuses_blanks=True,
    joins_turns=True,
    closing=b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    shows_asked=True,
    compactions=("compaction",),
    last_mark=b"message_stop",
    id_start="msg_",
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    turn_of=_turn_of,
    seals=("signature", "data"),
    reasoning_blocks=("thinking", "redacted_thinking"),
    is_local=True,
    code=Code(
        batches="batch:API",
        reader="read:AnthropicReader",
        answer_writer="answer:AnthropicWriter",
        grammar="grammar:AnthropicGrammar",
        replay="replay:REPLAY",
        stored_answers="serve:STORED",
        without_reasoning="write:without_thinking_edits",
    ),
)
