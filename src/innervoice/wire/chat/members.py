"""The members of a request of Chat Completions: OpenAI's, and the additional ones of compatible hosts.

After the types of the openai SDK 3.49.0. Strict hosts refuse other members; most compatible hosts ignore them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.openai_words import openai_worded
from innervoice.wire.refusals import Refusal
from innervoice.wire.shapes import Kinds, Misfit, Needs, bracketed, is_strict, refusals

__all__ = ["shape_problems"]

_BREAK = {"prompt_cache_breakpoint": None}
_TEXT = Needs({"type": None, "text": "string", **_BREAK}, ("text",))
_PARTS = Kinds(
    "type",
    {
        "text": _TEXT,
        "image_url": Needs(
            {"type": None, "image_url": {"url": "string", "detail": "string"}, **_BREAK}, ("image_url",)
        ),
        "input_audio": Needs(
            {"type": None, "input_audio": {"data": "string", "format": "string"}, **_BREAK}, ("input_audio",)
        ),
        "refusal": {"type": None, "refusal": "string"},
        "audio": None,
        "file": Needs(
            {"type": None, "file": {"file_data": "string", "file_id": "string", "filename": "string"}, **_BREAK},
            ("file",),
        ),
    },
)  # fmt: skip
_CONTENT = ("string", [_PARTS])
_CALLED = {"name": "string", "arguments": "string"}
_FREE = {"name": "string", "input": "string"}
_SAID = {"role": None, "content": _CONTENT, "name": "string"}
_ASSISTANT = {
    **_SAID, "refusal": "string", "audio": "object", "function_call": "object", "annotations": "list",
}  # fmt: skip
_FUNCTION = Needs(
    {"name": "string", "description": "string", "parameters": "object", "strict": "boolean"},
    ("name",),
)
_CUSTOM = Needs({"name": "string", "description": "string", "format": "object"}, ("name",))
_TOOLS = Kinds(
    "type",
    {
        "function": Needs({"type": None, "function": _FUNCTION}, ("function",)),
        "custom": Needs({"type": None, "custom": _CUSTOM}, ("custom",)),
    },
)
_SETTINGS: Mapping[str, Any] = {
    "model": "string",
    "temperature": "number",
    "top_p": "number",
    "n": "integer",
    "seed": "integer",
    "stream": "boolean",
    "stream_options": "object",
    "stop": ("string", ["string"]),
    "max_tokens": "integer",
    "max_completion_tokens": "integer",
    "presence_penalty": "number",
    "frequency_penalty": "number",
    "logit_bias": "object",
    "logprobs": "boolean",
    "top_logprobs": "integer",
    "reasoning_effort": "string",
    "response_format": "object",
    "tools": [_TOOLS],
    "tool_choice": ("string", "object"),
    "parallel_tool_calls": "boolean",
    "store": "boolean",
    "user": "string",
    "verbosity": "string",
    "metadata": "object",
    **dict.fromkeys(
        (
            "audio", "function_call", "functions", "modalities", "moderation", "prediction", "prompt_cache_key",
            "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "service_tier", "web_search_options",
        )
    ),
}  # fmt: skip
_ELSEWHERE: Mapping[str, Any] = {
    "reasoning": "object",
    "thinking": ("object", "boolean"),
    "thinking_budget": "integer",
    "enable_thinking": "boolean",
    "chat_template_args": "object",
    "chat_template_kwargs": "object",
    "reasoning_format": "string",
    "include_reasoning": "boolean",
    "reasoning_split": "boolean",
    "prompt_mode": "string",
}
"""Settings of compatible hosts. OpenAI has none of them."""


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the host refuses about the shape of a body."""
    return refusals(body, _shape(target), target, lambda misfit: _worded(misfit, target))


def _worded(misfit: Misfit, target: Target) -> Refusal:
    """The refusal in OpenAI's words, or in those that the host's row has for unknown members."""
    own = target.host.says.get("unknown_member") if target.host else None
    if own is None or misfit.what != "unknown":
        return openai_worded(misfit)
    place = bracketed(misfit.path[:-1])
    at = f" at '{place}'" if place else ""
    return Refusal(text=own.replace("{name}", str(misfit.path[-1])).replace("{at}", at))


def _shape(target: Target) -> Needs:
    """The shape of a body at a host, with the members that its row and the model's add."""
    further = dict.fromkeys(target.host.knows if target.host else ())
    replayed = dict.fromkeys([target.row.replay_field] if target.row.replay_field else [])
    common = {"type": None, "id": "string", **further}
    calls = Kinds(
        "type",
        {
            "function": Needs({**common, "function": _CALLED}, ("id", "function")),
            "custom": Needs({**common, "custom": _FREE}, ("id", "custom")),
        },
    )
    message = Kinds(
        "role",
        {
            "system": _SAID,
            "assistant": {**_ASSISTANT, "tool_calls": [calls], **further, **replayed},
            "user": _SAID,
            "function": _SAID,
            "tool": {**_SAID, "tool_call_id": "string"},
            "developer": _SAID,
        },
    )
    elsewhere = {} if is_strict(target) else _ELSEWHERE
    members = {**_SETTINGS, **elsewhere, **further, "messages": [message]}
    lacks = target.host.lacks if target.host else ()
    return Needs({name: members[name] for name in members if name not in lacks}, ("messages",))
