"""The members of a request of the Messages API, beta ones included, and how it refuses others.

After the types of the anthropic SDK 2.8.0 and recorded requests; the error texts follow dirac-run/dirac 57, RooCodeInc/Roo-Code 11429 and
anthropics/claude-code 18947 (read 2026-11-16).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.refusals import Refusal
from innervoice.wire.shapes import Kinds, Misfit, Needs, Words, dotted, refusals

__all__ = ["BODY", "shape_problems"]

_CACHE = Needs({"type": Words("ephemeral"), "ttl": "string"}, ("type",))
_TEXT = {"type": None, "text": "string", "citations": None, "cache_control": _CACHE}
_IMAGE = {"type": None, "source": "object", "transformations": None, "cache_control": _CACHE}
_DOCUMENT = {
    "type": None, "source": "object", "title": "string", "context": "string", "citations": None, "cache_control": _CACHE,
}  # fmt: skip
_SEARCH_RESULT = {
    "type": None, "source": "string", "title": "string", "content": "list", "citations": None, "cache_control": _CACHE,
}  # fmt: skip
_RESULT_BLOCKS = Kinds(
    "type",
    {
        "document": _DOCUMENT,
        "image": _IMAGE,
        "search_result": _SEARCH_RESULT,
        "text": _TEXT,
        "tool_reference": {"type": None, "tool_name": "string", "cache_control": _CACHE},
    },
)
_USE = {
    "type": None, "id": "string", "name": "string", "input": None, "caller": None, "toolset_name": None,
    "cache_control": _CACHE,
}  # fmt: skip
_SERVER_RESULT = {
    "type": None, "tool_use_id": "string", "content": None, "caller": None, "cache_control": _CACHE,
}  # fmt: skip
_SERVER_RESULTS = (
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "web_fetch_tool_result",
    "web_search_tool_result",
)
_BLOCKS = Kinds(
    "type",
    {
        **dict.fromkeys(_SERVER_RESULTS, _SERVER_RESULT),
        "compaction": None,
        "container_upload": {"type": None, "file_id": "string", "cache_control": _CACHE},
        "document": _DOCUMENT,
        "fallback": None,
        "image": _IMAGE,
        "mcp_tool_listing": None,
        "mcp_tool_result": {**_SERVER_RESULT, "is_error": "boolean"},
        "mcp_tool_use": {**_USE, "server_name": "string"},
        "redacted_thinking": {"type": None, "data": None},
        "search_result": _SEARCH_RESULT,
        "server_tool_use": _USE,
        "text": _TEXT,
        "thinking": {"type": None, "thinking": None, "signature": None},
        "tool_addition": {"type": None, "tool": "object", "cache_control": _CACHE},
        "tool_removal": {"type": None, "tool": "object", "cache_control": _CACHE},
        "tool_result": Needs(
            {
                "type": None,
                "tool_use_id": "string",
                "content": ("string", [_RESULT_BLOCKS]),
                "is_error": "boolean",
                "toolset_name": None,
                "cache_control": _CACHE,
            },
            ("tool_use_id",),
        ),
        "tool_use": Needs(_USE, ("id", "name", "input")),
    },
)
_TOOL = {
    "type": None, "name": "string", "description": "string", "input_schema": "object", "cache_control": _CACHE, "strict": "boolean",
    "defer_loading": "boolean", "allowed_callers": "list", "eager_input_streaming": "boolean", "input_examples": "list",
}  # fmt: skip
_SERVER_TOOLS = (
    "advisor_20260301", "bash_20241022", "bash_20250124", "browser_toolset_20260801", "code_execution_20250522",
    "code_execution_20250825", "code_execution_20260120", "code_execution_20260521", "computer_20241022", "computer_20250124",
    "computer_20251124", "computer_toolset_20260801", "mcp_toolset", "memory_20250818", "text_editor_20241022",
    "text_editor_20250124", "text_editor_20250429", "text_editor_20250728", "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119", "tool_search_tool_regex", "tool_search_tool_regex_20251119", "web_fetch_20250910",
    "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318", "web_search_20250305", "web_search_20260209",
    "web_search_20260318",
)  # fmt: skip
_TOOLS = Kinds(
    "type",
    {"custom": Needs(_TOOL, ("name",)), **dict.fromkeys(_SERVER_TOOLS)},
    usual="custom",
)
_MESSAGE = Needs(
    {
        "role": Words("user", "assistant", "system"),
        "content": ("string", [_BLOCKS]),
        "clear_at": None,
        "output_config": None,
    },
    ("role", "content"),
)
_CHOICE = {"type": None, "disable_parallel_tool_use": "boolean"}
_THINKING = {"type": None, "display": None, "block_binding": None}

BODY = Needs(
    {
        "model": "string",
        "messages": [_MESSAGE],
        "max_tokens": "integer",
        "system": ("string", [Kinds("type", {"text": _TEXT})]),
        "stop_sequences": ["string"],
        "stream": "boolean",
        "temperature": "number",
        "top_p": "number",
        "top_k": "integer",
        "tools": [_TOOLS],
        "tool_choice": Kinds(
            "type",
            {
                "auto": _CHOICE,
                "any": _CHOICE,
                "tool": Needs({**_CHOICE, "name": "string"}, ("name",)),
                "none": {"type": None},
            },
        ),
        "thinking": Kinds(
            "type",
            {
                "adaptive": _THINKING,
                "between_tools": {"type": None},
                "disabled": {"type": None},
                "enabled": {**_THINKING, "budget_tokens": None},
            },
        ),
        "output_config": {"effort": "string", "format": "object", "task_budget": None},
        "output_format": "object",
        "context_management": {"edits": "list"},
        "metadata": {"user_id": "string"},
        "cache_control": _CACHE,
        "mcp_servers": "list",
        **dict.fromkeys(
            (
                "compaction", "container", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "service_tier",
                "speed", "thread", "user_profile_id", "workspace_id",
            )
        ),
        # In the body instead of in headers, at Vertex and Bedrock.
        "anthropic_version": "string",
        "anthropic_beta": "list",
    },
    ("messages",),
)  # fmt: skip
_TYPES = {"list": "list", "object": "dictionary"}


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, BODY, target, _worded)


def _worded(misfit: Misfit) -> Refusal:
    place = dotted(misfit.path)
    quoted = [f"'{word}'" for word in misfit.expected]
    match misfit.what:
        case "unknown":
            text = f"{place}: Extra inputs are not permitted"
        case "missing":
            text = f"{place}: Field required"
        case "type":
            wanted = _TYPES.get(misfit.expected[-1], misfit.expected[-1])
            text = f"{place}: Input should be a valid {wanted}"
        case "word":
            text = f"{place}: Input should be {' or '.join(quoted[:2])}"
        case "untagged":
            text = f"{dotted(misfit.path[:-1])}: Unable to extract tag using discriminator 'type'"
        case _:
            text = (
                f"{dotted(misfit.path[:-1])}: Input tag '{str(misfit.value)[:100]}' found using 'type' does not match any of the "
                f"expected tags: {', '.join(quoted)}"
            )
    return Refusal(text=text)
