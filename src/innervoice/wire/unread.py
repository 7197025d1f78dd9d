"""What an answer has that no reader read: for a body of a known API of which nothing was read.

A body says who answered, when, and for how many tokens, also if the answer is empty. Any other member with a text may be content, of
a revision of the API that is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["reasoning_like", "unread_members"]

_MOST = 3
_DEEPEST = 8
_HOLDERS = frozenset({
    "choices", "message", "delta", "candidates", "content", "parts", "output", "steps", "response", "interaction", "messages",
    "content_block", "item", "contentBlockDelta", "contentBlockStart", "messageStart", "messageStop", "metadata", "result",
})  # fmt: skip
"""Members whose own members are looked at."""
_KNOWN = frozenset({
    "_request_id", "avgLogprobs", "background", "billing", "citationMetadata", "citations", "container", "context_management",
    "conversation", "created", "created_at", "createTime", "completed_at", "done_reason", "echo", "effort", "error", "errors",
    "event_id", "event_type", "finishMessage", "finishReason", "finish_message", "finish_reason", "frequency_penalty",
    "generation_time", "groundingMetadata", "id", "incomplete_details", "index", "input", "instructions", "interaction_id",
    "logprobs", "max_output_tokens", "metrics", "model", "modelVersion", "moderation", "name", "native_finish_reason", "nvext",
    "obfuscation", "object", "p", "parallel_tool_calls", "performanceConfig", "previous_interaction_id", "previous_response_id",
    "prompt", "promptFeedback", "prompt_cache_key", "prompt_cache_retention", "prompt_filter_results", "provider", "reasoning",
    "request_id", "responseId", "response_format", "response_id", "role", "safetyRatings", "safety_identifier", "serviceTier",
    "service_tier", "status", "stopReason", "stop_details", "stop_reason", "stop_sequence", "store", "system_fingerprint",
    "temperature", "text", "timings", "tool_choice", "tools", "top_p", "trace", "truncation", "type", "updated", "usage",
    "usageMetadata", "user", "additionalModelResponseFields", "content_filter_results", "time_info", "x_groq", "previous_interaction",
    "stop", "finish_details", "matched_stop", "prompt_logprobs", "prompt_token_ids", "token_ids", "kv_transfer_params",
})  # fmt: skip
"""Members that an empty answer may have."""


def unread_members(value: Any) -> list[str]:
    """The members of a body, as paths, that have texts and are not known to say something else than an answer."""
    return list(dict.fromkeys(".".join(path) for path in _unread(value, ())))[:_MOST]


def _unread(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(path) > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from _unread(item, path)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _HOLDERS:
                yield from _unread(item, (*path, name))
            elif name not in _KNOWN and _has_text(item, 0):
                yield (*path, name)


def _has_text(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if depth > _DEEPEST or not isinstance(value, (dict, list)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return any(_has_text(item, depth + 1) for item in items)


_LIKE = re.compile(
    r"think|thought|reason(?!s?$|_code)|deliberat|signature|encrypted", re.IGNORECASE
)
_NOT_REASONING = frozenset({"compaction", "compaction_trigger", "mcp_list_tools", "image_generation_call"})  # fmt: skip


def reasoning_like(block: Any) -> str | None:
    """The type of a block of an unknown kind that looks like reasoning, or the name of the member that does; None for others."""
    if not isinstance(block, dict):
        return None
    kind = block["type"] if isinstance(block.get("type"), str) else ""
    if kind in _NOT_REASONING:
        return None
    if _LIKE.search(kind):
        return str(kind[:60])
    names = (str(name) for name, value in block.items() if value)
    name = next((name for name in names if _LIKE.search(name)), None)
    return None if name is None else (kind or name)[:60]
