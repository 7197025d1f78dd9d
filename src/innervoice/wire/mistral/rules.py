"""What Mistral's chat API refuses about reasoning: the same as chat hosts, and every unknown member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.chat.rules import problems_beside_shape
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import refused
from innervoice.wire.shapes import Kinds, Misfit, Needs, dotted, refusals

__all__ = ["BODY", "problems", "shape_problems"]


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    messages = [as_dict(message) for message in as_list(body.get("messages"))]
    yield from shape_problems(body, target)
    yield from _answered(messages)
    yield from problems_beside_shape(body, target)
    if messages and messages[-1].get("role") == "assistant" and not messages[-1].get("prefix"):
        yield refused(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            code=3230,
        )


def _answered(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    """After each message there are as many results as it has calls; the calls of the last message may be open."""
    counts = [[0, 0]]
    for message in messages:
        if message.get("role") == "tool":
            counts[-1][1] += 1
        else:
            counts.append([len(as_list(message.get("tool_calls"))), 0])
    if messages and messages[-1].get("role") != "tool":
        counts.pop()
    if any(calls != results for calls, results in counts):
        yield refused("Not the same number of function calls and responses", code=3230)


# ---- The members of a request of Mistral's chat API, after mistralai's models, and how it refuses others.
#
# The error texts follow charmbracelet/crush 1590 and Gage-Technologies/mistral-go 3 (read 2026-11-16).


_CHUNKS: Mapping[str, Any] = {
    "text": {"type": None, "text": "string"},
    "thinking": {"type": None, "thinking": "list", "closed": "boolean", "signature": None},
    "image_url": {"type": None, "image_url": ("string", "object")},
    "document_url": {"type": None, "document_url": "string", "document_name": "string"},
    "reference": {"type": None, "reference_ids": "list"},
    "file": None,
    "input_audio": {"type": None, "input_audio": None},
    "tool_reference": None,
}
_CONTENT = ("string", [Kinds("type", _CHUNKS)])
_SAID = {"role": None, "content": _CONTENT}
_CALL = {
    "id": "string",
    "type": "string",
    "index": "integer",
    "function": {"name": "string", "arguments": ("string", "object")},
}
_FUNCTION = Needs(
    {"name": "string", "description": "string", "parameters": "object", "strict": "boolean"},
    ("name",),
)
_MESSAGES = Kinds(
    "role",
    {
        "system": _SAID,
        "user": _SAID,
        "assistant": {**_SAID, "tool_calls": [_CALL], "prefix": "boolean"},
        "tool": {**_SAID, "tool_call_id": "string", "name": "string"},
    },
)
BODY = {
    "model": "string",
    "messages": [_MESSAGES],
    "temperature": "number",
    "top_p": "number",
    "top_k": "integer",
    "max_tokens": "integer",
    "min_tokens": "integer",
    "n": "integer",
    "random_seed": "integer",
    "stop": ("string", ["string"]),
    "stream": "boolean",
    "safe_prompt": "boolean",
    "presence_penalty": "number",
    "frequency_penalty": "number",
    "reasoning_effort": "string",
    "prompt_mode": "string",
    "response_format": "object",
    "tools": [
        Needs({"type": "string", "function": _FUNCTION}, ("function",)),
    ],
    "tool_choice": ("string", "object"),
    "parallel_tool_calls": "boolean",
    "metadata": "object",
    **dict.fromkeys(
        (
            "guardrails", "logprobs", "prediction", "prompt_cache_key", "prompt_logprobs", "repetition_penalty", "service_tier",
            "top_logprobs", "top_prompt_logprobs",
        )
    ),
}  # fmt: skip
_TYPES = {
    "string": ("string_type", "string"), "number": ("float_type", "number"), "integer": ("int_type", "integer"),
    "boolean": ("bool_type", "boolean"), "list": ("list_type", "list"), "object": ("dict_type", "dictionary"),
}  # fmt: skip


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, BODY, target, _worded)


def _worded(misfit: Misfit) -> Refusal:
    path = misfit.path
    code: str = misfit.what
    match misfit.what:
        case "unknown":
            code, text = "extra_forbidden", "Extra inputs are not permitted"
        case "missing":
            text = "Field required"
        case "type":
            code, wanted = _TYPES[misfit.expected[-1]]
            text = f"Input should be a valid {wanted}"
        case "untagged":
            code, path = "union_tag_not_found", misfit.path[:-1]
            text = f"Unable to extract tag using discriminator '{misfit.path[-1]}'"
        case _:
            code, path = "union_tag_invalid", misfit.path[:-1]
            tags = ", ".join(f"'{word}'" for word in misfit.expected)
            text = (
                f"Input tag '{str(misfit.value)[:100]}' found using '{misfit.path[-1]}' does not match any of the expected "
                f"tags: {tags}"
            )
    return Refusal(text=text, status=422, code=code, param=dotted(path))
