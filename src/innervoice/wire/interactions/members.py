"""The members of a request of the Interactions API, after the types of google-genai 3.1.0 and recordings.

Google says where something is wrong, and nothing else (recorded: "Invalid input at 'input[0].content[0].processing'.").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.refusals import Refusal
from innervoice.wire.shapes import Kinds, Misfit, Needs, Words, bracketed, refusals

__all__ = ["shape_problems"]

_FILE = {"type": None, "data": "string", "mime_type": "string", "uri": "string"}
_CONTENTS = {
    "text": Needs({"type": None, "text": "string", "annotations": "list"}, ("text",)),
    "image": {**_FILE, "resolution": None},
    "audio": {**_FILE, "channels": "integer", "sample_rate": "integer"},
    "document": _FILE,
    "video": {**_FILE, "name": "string", "resolution": None, "processing": None},
}
_CONTENT = Kinds("type", _CONTENTS)
_RESULT = {
    "type": None, "call_id": "string", "name": "string", "is_error": "boolean", "signature": "string",
    "result": ("string", [_CONTENT], "object"),
}  # fmt: skip
_SAID = Kinds("type", {**_CONTENTS, "function_result": Needs(_RESULT, ("call_id", "result"))})
_CALL = {
    "type": None,
    "id": "string",
    "name": "string",
    "arguments": "object",
    "signature": "string",
}
_OPEN = (
    "code_execution_call", "code_execution_result", "file_search_call", "file_search_result", "google_maps_call",
    "google_maps_result", "google_search_call", "google_search_result", "mcp_server_tool_call", "mcp_server_tool_result",
    "processing_call", "processing_result", "retrieval_call", "retrieval_result", "url_context_call", "url_context_result",
)  # fmt: skip
_STEPS = Kinds(
    "type",
    {
        **_CONTENTS,  # a list of contents is short for one step of the user
        "user_input": {"type": None, "content": ([_SAID], "string")},
        "model_output": {"type": None, "content": [_CONTENT], "error": "object"},
        "thought": {"type": None, "signature": "string", "summary": [_CONTENT]},
        "function_call": Needs(_CALL, ("id", "name")),
        "function_result": Needs(_RESULT, ("call_id", "result")),
        **dict.fromkeys(_OPEN),
    },
)
_TOOLS = Kinds(
    "type",
    {
        "function": Needs(
            {"type": None, "name": "string", "description": "string", "parameters": "object"},
            ("name",),
        ),
        **dict.fromkeys(
            (
                "code_execution", "computer_use", "file_search", "google_maps", "google_search", "mcp_server", "retrieval",
                "url_context",
            )
        ),
    },
)  # fmt: skip
_MODES = Words("auto", "any", "none", "validated")
_SETTINGS = {
    "max_output_tokens": "integer",
    "seed": "integer",
    "stop_sequences": ["string"],
    "temperature": "number",
    "top_p": "number",
    "top_k": "number",
    "thinking_level": "string",
    "thinking_summaries": Words("auto", "none"),
    "tool_choice": (_MODES, {"allowed_tools": {"mode": _MODES, "tools": ["string"]}}),
    **dict.fromkeys(("image_config", "speech_config", "transcription_config", "video_config")),
}
_BODY = {
    "model": "string",
    "input": ("string", [_STEPS], _CONTENT),
    "system_instruction": "string",
    "generation_config": _SETTINGS,
    "tools": [_TOOLS],
    "response_format": ("object", "list"),
    "response_mime_type": "string",
    "response_modalities": ["string"],
    "previous_interaction_id": "string",
    "continuation_token": "string",
    "store": "boolean",
    "stream": "boolean",
    "background": "boolean",
    "cached_content": "string",
    "labels": "object",
    "safety_settings": "list",
    **dict.fromkeys(("environment", "service_tier", "webhook_config")),
}


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, _BODY, target, _worded)


def _worded(misfit: Misfit) -> Refusal:
    return Refusal(text=f"Invalid input at '{bracketed(misfit.path)}'.")
