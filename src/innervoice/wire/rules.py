"""What the rules of all dialects share.

A rule looks at a body that would leave and at the model's row, and says what the API would refuse. The
same rules check what we write and what an emulator is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.shapes import as_dict, as_list

__all__ = ["claude", "claude_is_on", "company", "effort", "is_forced", "last_turn"]

LEAST_BUDGET = 1024


def effort(word: Any, ask: Ask, where: str) -> Iterator[str]:
    """An effort must be a word that the model takes, or "none" where that switches it off."""
    taken = [*ask.efforts, *(["none"] if ask.off == "value" else [])]
    if word is not None and word not in taken:
        yield f"{where}: {word!r} is not supported; supported values are {', '.join(taken) or 'none at all'}"


def company(body: dict[str, Any], ask: Ask, names: dict[str, str], *, on: bool) -> Iterator[str]:
    """Parameters that the model refuses, always or while it reasons; `names` are the wire's for ours."""
    refused = {*ask.refuses_always, *(ask.refuses if on else ())}
    for ours, wire in names.items():
        if ours in refused and body.get(wire) is not None:
            yield f"{wire} is not supported with this model{' while it reasons' if ours in ask.refuses else ''}"


def is_forced(choice: Any) -> bool:
    """Whether a tool choice, in any dialect's form, leaves no choice."""
    if isinstance(choice, str):
        return choice.lower() in ("required", "any")
    kinds = {str(as_dict(choice).get("type")), *as_dict(choice)}
    return bool(kinds & {"any", "tool", "function"})


def last_turn(messages: Any, ask: Ask) -> Iterator[str]:
    """The last message must not be the model's own where it takes no prefill."""
    turns = as_list(messages)
    if turns and as_dict(turns[-1]).get("role") == "assistant" and not ask.prefill:
        yield "the conversation must end with a user message; this model takes no prefill"


def claude(fields: dict[str, Any], ask: Ask, limit: Any) -> Iterator[str]:
    """Thinking and effort of Claude, wherever they stand."""
    thinking = fields.get("thinking")
    if thinking is not None:
        kind = as_dict(thinking).get("type")
        on = "adaptive" if ask.control == "anthropic-adaptive" else "enabled"
        off = {"never": None, "between_tools": "between_tools"}.get(ask.off, "disabled")
        if kind not in (on, off):
            yield f'"thinking.type.{kind}" is not supported for this model'
        budget = as_dict(thinking).get("budget_tokens")
        if kind == "enabled" and (not isinstance(budget, int) or budget < LEAST_BUDGET):
            yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        elif (
            kind == "enabled"
            and isinstance(limit, int)
            and isinstance(budget, int)
            and budget >= limit
        ):
            yield "max_tokens must be greater than thinking.budget_tokens"
    word = as_dict(fields.get("output_config")).get("effort")
    if word is not None and word not in ask.efforts:
        yield f"output_config.effort: {word!r} is not one of {', '.join(ask.efforts) or 'none'}"


def claude_is_on(fields: dict[str, Any], ask: Ask) -> bool:
    """Whether Claude will think."""
    kind = as_dict(fields.get("thinking")).get("type")
    return kind in ("adaptive", "enabled") if kind else ask.default != "none"
