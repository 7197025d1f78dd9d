"""The members of a request of the Responses API, after the types of the openai SDK 3.49.0 and recorded requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.openai_words import openai_worded
from innervoice.wire.refusals import Refusal
from innervoice.wire.shapes import Kinds, Needs, Words, refusals

__all__ = ["BODY", "shape_problems"]

_BREAK = {"type": None, "prompt_cache_breakpoint": None}
_INPUT = {
    "input_text": {**_BREAK, "text": "string"},
    "input_image": {**_BREAK, "detail": None, "file_id": "string", "image_url": "string"},
    "input_file": {
        **_BREAK, "detail": None, "file_data": "string", "file_id": "string", "file_url": "string", "filename": "string",
    },
}  # fmt: skip
_PARTS = Kinds(
    "type",
    {
        **_INPUT,
        "input_audio": None,
        "output_text": {"type": None, "text": "string", "annotations": "list", "logprobs": "list"},
        "refusal": {"type": None, "refusal": "string"},
        "computer_screenshot": None,
        "summary_text": {"type": None, "text": "string"},
        "reasoning_text": {"type": None, "text": "string"},
    },
)
_OUTPUT = ("string", [_PARTS])
_ITEM: Mapping[str, Any] = {"type": None, "id": "string", "status": None}
_CALL = {
    **_ITEM, "call_id": "string", "name": "string", "namespace": None, "caller": None, "async": None,
}  # fmt: skip
_RESULT = {**_ITEM, "call_id": "string", "output": _OUTPUT, "caller": None}
_OPEN = (
    "additional_tools", "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction",
    "compaction_trigger", "computer_call", "computer_call_output", "configuration_update", "file_search_call",
    "image_generation_call", "item_reference", "local_shell_call", "local_shell_call_output", "mcp_approval_request",
    "mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output", "shell_call", "shell_call_output",
    "tool_search_call", "tool_search_output", "web_search_call",
)  # fmt: skip
_ITEMS = Kinds(
    "type",
    {
        "message": Needs(
            {
                **_ITEM,
                "role": Words("assistant", "system", "developer", "user"),
                "content": _OUTPUT,
                "phase": None,
            },
            ("role", "content"),
        ),
        "function_call": Needs({**_CALL, "arguments": "string"}, ("call_id", "name", "arguments")),
        "function_call_output": Needs({**_RESULT, "name": None, "namespace": None}, ("call_id", "output")),
        "custom_tool_call": Needs({**_CALL, "input": "string"}, ("call_id", "name", "input")),
        "custom_tool_call_output": Needs(_RESULT, ("call_id", "output")),
        "reasoning": {**_ITEM, "summary": "list", "content": "list", "encrypted_content": "string"},
        **dict.fromkeys(_OPEN),
    },
    usual="message",
)  # fmt: skip
_TOOL = {
    "type": None, "name": "string", "description": "string", "allowed_callers": None, "async": None, "defer_loading": "boolean",
}  # fmt: skip
_TOOLS = Kinds(
    "type",
    {
        "function": Needs(
            {**_TOOL, "parameters": "object", "strict": "boolean", "output_schema": None}, ("name",)
        ),
        "custom": Needs({**_TOOL, "format": "object"}, ("name",)),
        **dict.fromkeys(
            (
                "apply_patch", "code_interpreter", "computer", "computer_use_preview", "file_search", "image_generation",
                "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search", "web_search",
                "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
            )
        ),
    },
)  # fmt: skip
BODY: Mapping[str, Any] = {
    "model": "string",
    "input": ("string", [_ITEMS]),
    "instructions": "string",
    "max_output_tokens": "integer",
    "max_tool_calls": "integer",
    "temperature": "number",
    "top_p": "number",
    "top_logprobs": "integer",
    "stream": "boolean",
    "stream_options": "object",
    "store": "boolean",
    "background": "boolean",
    "include": "list",
    "previous_response_id": "string",
    "conversation": ("string", "object"),
    "reasoning": {
        "effort": "string", "summary": "string", "generate_summary": "string", "context": None, "mode": None,
    },
    "text": {"format": "object", "verbosity": "string"},
    "tools": [_TOOLS],
    "tool_choice": ("string", "object"),
    "parallel_tool_calls": "boolean",
    "metadata": "object",
    "client_metadata": "object",  # Codex sends it
    "user": "string",
    **dict.fromkeys(
        (
            "access_programs", "context_management", "image", "moderation", "prompt", "prompt_cache_key",
            "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "service_tier", "truncation",
        )
    ),
}  # fmt: skip


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, BODY, target, openai_worded)
