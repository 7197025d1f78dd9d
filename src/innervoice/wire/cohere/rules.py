"""What Cohere's chat API refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import company, refused
from innervoice.wire.shapes import Kinds, Misfit, Needs, bracketed, refusals, type_name

__all__ = ["BODY", "problems", "shape_problems"]

_NAMES = {"temperature": "temperature", "top_p": "p", "stop": "stop_sequences"}


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    thinking = body.get("thinking")
    kind = as_dict(thinking).get("type")
    if thinking is not None and kind not in ("enabled", "disabled"):
        yield refused("invalid request: thinking.type must be one of enabled, disabled", status=422)
    budget = as_dict(thinking).get("token_budget")
    if budget is not None and (not isinstance(budget, int) or budget < 1):
        yield refused(
            "invalid request: thinking.token_budget must be a positive integer", status=422
        )
    yield from company(body, target, _NAMES, on=kind != "disabled")
    for message in map(as_dict, as_list(body.get("messages"))):
        if "tool_plan" in message and target.row.control == "cohere":
            yield refused("invalid request: tool_plan is not supported by this model")


# ---- The members of a request of Cohere's chat API, after cohere's types, and how it refuses others.
#
# The error texts follow OpenRouterTeam/openrouter-examples 71 (read 2026-11-16).


_CONTENT = (
    "string",
    [
        Kinds(
            "type",
            {
                "text": {"type": None, "text": "string"},
                "thinking": {"type": None, "thinking": "string"},
                "image_url": {"type": None, "image_url": None},
                "document": {"type": None, "document": None},
            },
        )
    ],
)
_SAID = {"role": None, "content": _CONTENT}
_CALL = {
    "id": "string", "type": "string", "function": {"name": "string", "arguments": "string"},
}  # fmt: skip
_FUNCTION = Needs(
    {"name": "string", "description": "string", "parameters": "object"}, ("name",)
)  # fmt: skip
_MESSAGES = Kinds(
    "role",
    {
        "system": _SAID,
        "user": _SAID,
        "assistant": {**_SAID, "tool_calls": [_CALL], "tool_plan": "string", "citations": "list"},
        "tool": {**_SAID, "tool_call_id": "string"},
    },
)
BODY = {
    "model": "string",
    "messages": [_MESSAGES],
    "stream": "boolean",
    "tools": [Needs({"type": "string", "function": _FUNCTION}, ("function",))],
    "strict_tools": "boolean",
    "tool_choice": "string",
    "temperature": "number",
    "p": "number",
    "k": "integer",
    "max_tokens": "integer",
    "stop_sequences": ["string"],
    "seed": "integer",
    "frequency_penalty": "number",
    "presence_penalty": "number",
    "logprobs": "boolean",
    "response_format": "object",
    "thinking": {"type": None, "token_budget": None},
    "documents": "list",
    "citation_options": "object",
    "safety_mode": "string",
    "priority": "integer",
    "raw_prompting": "boolean",
}
_USAGE = "For proper usage, please refer to https://docs.cohere.com/reference/chat"
_TYPES = {"list": "array", "null": "null"}


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, BODY, target, _worded)


def _worded(misfit: Misfit) -> Refusal:
    place = bracketed(misfit.path)
    match misfit.what:
        case "unknown":
            text = f"unknown field: parameter '{misfit.path[-1]}' is not a valid field. {_USAGE}"
        case "missing" | "untagged":
            text = f"invalid request: {place} is required"
        case "type":
            type_here, wanted = type_name(misfit.value), misfit.expected[-1]
            text = (
                f"invalid type: parameter {place} is of type {_TYPES.get(type_here, type_here)} but should be of type "
                f"{_TYPES.get(wanted, wanted)}. {_USAGE}"
            )
        case _:
            text = f"invalid request: {place} must be one of {', '.join(misfit.expected)}"
    return Refusal(text=text, status=422)
