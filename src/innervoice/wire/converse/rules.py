"""What Converse refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.rules import claude, claude_is_on, company, effort, is_forced, last_turn
from innervoice.wire.shapes import as_dict, as_list

__all__ = ["problems"]

_NAMES = {"temperature": "temperature", "top_p": "topP", "stop": "stopSequences"}
_MEMBERS = {
    "anthropic-adaptive": {"thinking", "output_config", "anthropic_beta"},
    "anthropic-enabled": {"thinking", "output_config", "anthropic_beta"},
    "nova": {"reasoningConfig"},
    "qwen-string": {"reasoning_config"},
    "converse-effort": {"reasoning_effort"},
}


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    fields = as_dict(body.get("additionalModelRequestFields"))
    config = as_dict(body.get("inferenceConfig"))
    for name in sorted(fields.keys() - _MEMBERS.get(ask.control, set())):
        yield f"{name}: Extra inputs are not permitted"
    if ask.control.startswith("anthropic"):
        yield from claude(fields, ask, config.get("maxTokens"))
        on = claude_is_on(fields, ask)
    else:
        yield from effort(fields.get("reasoning_effort"), ask, "reasoning_effort")
        yield from effort(fields.get("reasoning_config"), ask, "reasoning_config")
        on = bool(fields) or ask.default != "none"
    yield from company(config, ask, _NAMES, on=on)
    choice = as_dict(body.get("toolConfig")).get("toolChoice")
    if on and is_forced(choice) and not ask.forced_tools:
        yield "Thinking may not be enabled when tool_choice forces tool use."
    yield from last_turn(body.get("messages"), ask)
    for number, message in enumerate(map(as_dict, as_list(body.get("messages")))):
        if {"text": ""} in as_list(message.get("content")):
            yield f"The text field in the ContentBlock object at messages.{number}.content is blank."
