"""What Chat Completions and its compatible hosts refuse about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.rules import company, effort, is_forced
from innervoice.wire.shapes import as_dict, as_list

__all__ = ["problems"]

_SAMPLING = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "stop",
)
_NAMES = {name: name for name in _SAMPLING}


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    on = _is_on(body, ask)
    yield from effort(body.get("reasoning_effort"), ask, "reasoning_effort")
    yield from _thinking(body, ask)
    yield from _reasoning(as_dict(body.get("reasoning")), ask)
    yield from company(body, ask, _NAMES, on=on)
    if ask.limit == "max_completion_tokens" and "max_tokens" in body:
        yield "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    functions = [
        tool for tool in as_list(body.get("tools")) if as_dict(tool).get("type") == "function"
    ]
    if on and functions and not ask.tools:
        yield "Function tools with reasoning_effort are not supported; use /v1/responses or set it to 'none'."
    if on and is_forced(body.get("tool_choice")) and not ask.forced_tools:
        yield "Thinking mode does not support this tool_choice"


def _is_on(body: dict[str, Any], ask: Ask) -> bool:
    template = as_dict(body.get("chat_template_kwargs"))
    if body.get("reasoning_effort") == "none" or body.get("enable_thinking") is False:
        return False
    if as_dict(body.get("thinking")).get("type") == "disabled" or False in template.values():
        return False
    reasoning = as_dict(body.get("reasoning"))
    if reasoning.get("effort") == "none" or reasoning.get("enabled") is False:
        return False
    said = {
        "reasoning_effort",
        "enable_thinking",
        "thinking",
        "reasoning",
        "chat_template_kwargs",
    } & body.keys()
    return bool(said) or ask.default != "none"


def _thinking(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    kind = as_dict(body.get("thinking")).get("type")
    if kind == "disabled" and ask.off == "never":
        yield "thinking cannot be disabled for this model"
    if body.get("enable_thinking") is False and ask.off == "never":
        yield "enable_thinking must be true for this model"
    budget = body.get("thinking_budget")
    if budget is not None and (not ask.budget or not ask.budget[0] <= budget <= ask.budget[1]):
        yield f"thinking_budget {budget} is invalid"


def _reasoning(reasoning: dict[str, Any], ask: Ask) -> Iterator[str]:
    if "effort" in reasoning and "max_tokens" in reasoning:
        yield 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified'
    yield from effort(reasoning.get("effort"), ask, "reasoning.effort")
    if reasoning.get("enabled") is False and ask.off == "never":
        yield "Reasoning is mandatory for this endpoint and cannot be disabled."
