"""What the Interactions API refuses about reasoning.

It says little: most refusals have one sentence (recorded in googleapis/js-genai 1735 for a thought without a signature).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.gemini.replay import is_placeholder
from innervoice.wire.gemini.rules import needs_signatures
from innervoice.wire.interactions.serve import steps_of
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import refused
from innervoice.wire.shapes import Kinds, Misfit, Needs, Words, bracketed, refusals

__all__ = ["INVALID", "problems", "results_in", "shape_problems"]

INVALID = refused("Request contains an invalid argument.")


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    yield from _settings(as_dict(body.get("generation_config")), target)
    steps = [as_dict(step) for step in steps_of(body.get("input"))]
    if not steps and not body.get("continuation_token"):
        yield refused("Invalid input at 'input'.")
    for number, step in enumerate(steps):
        yield from _signature(step, number)
    yield from _answered(steps, is_held=bool(body.get("previous_interaction_id")))
    if needs_signatures(target.model):
        yield from _signed(steps)


def _settings(config: dict[str, Any], target: Target) -> Iterator[Refusal]:
    row, level = target.row, config.get("thinking_level")
    if row.control == "none" and (level is not None or "thinking_summaries" in config):
        yield refused("Thinking is not supported for this model")
    elif level is not None and not row.efforts:
        yield refused("Thinking level is not supported for this model")
    elif level is not None and level not in row.efforts:
        yield refused(f"Thinking level {str(level).upper()} is not supported for this model.")


# ---- histories ------------------------------------------------------------------------------------


def results_in(step: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of functions that a step is, or holds."""
    if step.get("type") == "function_result":
        return [step]
    blocks = map(as_dict, as_list(step.get("content")) if step.get("type") == "user_input" else ())
    return [block for block in blocks if block.get("type") == "function_result"]


def _signature(step: dict[str, Any], number: int) -> Iterator[Refusal]:
    signature = step.get("signature")
    if step.get("type") == "thought" and not signature:
        yield INVALID
    if not signature or is_placeholder(signature):
        return
    try:
        text = str(signature).translate(str.maketrans("-_", "+/")).rstrip("=")
        b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        yield refused(f"Invalid input at 'input[{number}].signature'.")


def _answered(steps: list[dict[str, Any]], *, is_held: bool) -> Iterator[Refusal]:
    """Each call has a result behind it, and each result its call, unless the server holds the start of the conversation."""
    waiting: set[str | None] = set()
    for step in steps:
        results = results_in(step)
        for result in results:
            name = as_text(result.get("call_id"))
            if name not in waiting and not is_held:
                yield INVALID
            waiting.discard(name)
        if waiting and step.get("type") == "user_input" and not results:
            yield INVALID
        if step.get("type") == "function_call":
            waiting.add(as_text(step.get("id")))
    if waiting:
        yield INVALID


def _signed(steps: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Calls of the current turn that no signed thought led to."""
    questions = [
        number
        for number, step in enumerate(steps)
        if step.get("type") == "user_input" and not results_in(step)
    ]
    is_signed = False
    for step in steps[questions[-1] + 1 if questions else 0 :]:
        if results_in(step):
            is_signed = False
        elif step.get("type") == "thought":
            is_signed = True  # without a signature it is refused anyway
        elif step.get("type") == "function_call" and not is_signed:
            yield INVALID
            return


# ---- The members of a request of the Interactions API, after the types of google-genai 3.1.0 and recordings.
#
# Google says where something is wrong, and nothing else (recorded: "Invalid input at 'input[0].content[0].processing'.").


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
