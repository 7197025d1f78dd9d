"""Writes the reasoning setting as members of a body, one function for each kind of control.

The `control` of a model's row (`catalog/models.toml`) names one of `CONTROLS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from innervoice.canon.reasoning import Show
from innervoice.canon.rows import Host, ModelRow

__all__ = ["CONTROLS", "MEMBERS", "Choice", "fields_of", "is_claude"]


class Choice(NamedTuple):
    """The reasoning setting that is sent."""

    off: bool = False
    effort: str | None = None
    budget: int | None = None
    show: Show | None = None


Fields = dict[str, Any]


def _without_none(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


def _anthropic_adaptive(choice: Choice, row: ModelRow) -> Fields:
    if choice.off:
        return {"thinking": {"type": _OFF.get(row.off, "disabled")}}
    thinking = _without_none({"type": "adaptive", "display": _DISPLAY.get(choice.show or "")})
    effort = {"output_config": {"effort": choice.effort}} if choice.effort else {}
    return {"thinking": thinking, **effort}


def _anthropic_enabled(choice: Choice, row: ModelRow) -> Fields:
    if choice.off:
        return {"thinking": {"type": "disabled"}}
    budget = choice.budget or (row.budget[0] if row.budget else 1024)
    display = _DISPLAY.get(choice.show or "")
    effort = {"output_config": {"effort": choice.effort}} if choice.effort and row.efforts else {}
    return {
        "thinking": _without_none({"type": "enabled", "budget_tokens": budget, "display": display}),
        **effort,
    }


_OFF = {"between_tools": "between_tools"}
_DISPLAY = {"full": "summarized", "summary": "summarized", "hidden": "omitted"}


def _effort(choice: Choice, row: ModelRow) -> Fields:
    if choice.off:
        return {"reasoning_effort": "none"}
    return _without_none({"reasoning_effort": choice.effort})


def _responses(choice: Choice, row: ModelRow) -> Fields:
    summary = {"full": "detailed", "summary": "auto"}.get(choice.show or "")
    if choice.off:
        return {"reasoning": {"effort": "none"}}
    inner = _without_none({"effort": choice.effort, "summary": summary})
    return {"reasoning": inner} if inner else {}


def _gemini(choice: Choice, row: ModelRow) -> Fields:
    level = row.control == "gemini-level"
    visible = None if choice.show is None else choice.show != "hidden"
    config: Fields = {"includeThoughts": False if choice.off else visible}
    if choice.off and not level:
        config["thinkingBudget"] = 0
    elif level:
        config["thinkingLevel"] = choice.effort.upper() if choice.effort else None
    else:
        config["thinkingBudget"] = choice.budget
    config = _without_none(config)
    return {"generationConfig": {"thinkingConfig": config}} if config else {}


def _interactions(choice: Choice, row: ModelRow) -> Fields:
    summaries = None if choice.show is None else ("none" if choice.show == "hidden" else "auto")
    config = _without_none(
        {
            "thinking_level": None if choice.off else choice.effort,
            "thinking_summaries": "none" if choice.off else summaries,
        }
    )
    return {"generation_config": config} if config else {}


def _thinking_type(choice: Choice, row: ModelRow) -> Fields:
    on = "adaptive" if row.control == "thinking-adaptive" else "enabled"
    if choice.off:
        return {"thinking": {"type": "disabled"}}
    if row.off == "never":
        return _without_none({"reasoning_effort": choice.effort})
    return _without_none({"thinking": {"type": on}, "reasoning_effort": choice.effort})


def _enable_thinking(choice: Choice, row: ModelRow) -> Fields:
    return _without_none(
        {
            "enable_thinking": not choice.off,
            "thinking_budget": None if choice.off else choice.budget,
            "reasoning_effort": None if choice.off else choice.effort,
        }
    )


def _template(choice: Choice, row: ModelRow) -> Fields:
    name = "thinking" if row.control == "template-thinking" else "enable_thinking"
    holder = "chat_template_args" if row.control == "template-args" else "chat_template_kwargs"
    fields: Fields = {holder: {name: not choice.off}}
    return _without_none({**fields, "reasoning_effort": None if choice.off else choice.effort})


def _openrouter(choice: Choice, row: ModelRow) -> Fields:
    exclude = True if choice.show == "hidden" else None
    if choice.off:
        return {"reasoning": {"effort": "none"}}
    inner = _without_none(
        {"effort": choice.effort, "max_tokens": choice.budget, "exclude": exclude}
    )
    return {"reasoning": inner or {"enabled": True}}


def _toggle(choice: Choice, row: ModelRow) -> Fields:
    fields: Fields = {"reasoning": {"enabled": not choice.off}}
    return _without_none({**fields, "reasoning_effort": None if choice.off else choice.effort})


def _groq(choice: Choice, row: ModelRow) -> Fields:
    form = {"full": "parsed", "summary": "parsed", "hidden": "hidden"}.get(choice.show or "")
    effort = "none" if choice.off else choice.effort
    return _without_none(
        {"reasoning_effort": effort, "reasoning_format": None if choice.off else form}
    )


def _cohere(choice: Choice, row: ModelRow) -> Fields:
    if choice.off:
        return {"thinking": {"type": "disabled"}}
    return {"thinking": _without_none({"type": "enabled", "token_budget": choice.budget})}


def _ollama(choice: Choice, row: ModelRow) -> Fields:
    return {"think": False if choice.off else choice.effort or True}


def _nova(choice: Choice, row: ModelRow) -> Fields:
    if choice.off:
        return {"reasoningConfig": {"type": "disabled"}}
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": choice.effort or "medium"}}


def _qwen_string(choice: Choice, row: ModelRow) -> Fields:
    return {} if choice.off else {"reasoning_config": choice.effort or "high"}


def _nothing(choice: Choice, row: ModelRow) -> Fields:
    return {}


def fields_of(choice: Choice, row: ModelRow, host: Host | None = None) -> Fields:
    """The members for the body; none for off, if a model is off by default. A host may have a member of its own for a budget."""
    fields = {} if choice.off and row.off == "omit" else CONTROLS[row.control](choice, row)
    if choice.budget is None or choice.off or row.budget or not (host and host.budget_member):
        return fields
    value: Any = choice.budget
    for name in reversed(host.budget_member.split(".")):
        value = {name: value}
    return {**fields, **value}


CONTROLS: dict[str, Callable[[Choice, ModelRow], Fields]] = {
    "anthropic-adaptive": _anthropic_adaptive,
    "anthropic-enabled": _anthropic_enabled,
    "effort": _effort,
    "responses": _responses,
    "gemini-level": _gemini,
    "gemini-budget": _gemini,
    "interactions": _interactions,
    "thinking-type": _thinking_type,
    "thinking-adaptive": _thinking_type,
    "enable-thinking": _enable_thinking,
    "template": _template,
    "template-thinking": _template,
    "template-args": _template,
    "openrouter": _openrouter,
    "toggle": _toggle,
    "groq": _groq,
    "cerebras": _effort,
    "mistral": _effort,
    "cohere": _cohere,
    "ollama": _ollama,
    "nova": _nova,
    "qwen-string": _qwen_string,
    "converse-effort": _effort,
    "none": _nothing,
}


_THINKING = frozenset({"thinking", "reasoning_effort"})
_BUDGETS = frozenset(
    {"custom_params", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget"}
)
_TEMPLATE = frozenset({"chat_template_kwargs", "reasoning_effort"}) | _BUDGETS
MEMBERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(CONTROLS, frozenset({"reasoning_effort"})),
    "thinking-type": _THINKING,
    "thinking-adaptive": _THINKING,
    "enable-thinking": frozenset({"enable_thinking", "thinking_budget", "reasoning_effort"}),
    "template": _TEMPLATE,
    "template-thinking": _TEMPLATE,
    "template-args": frozenset({"chat_template_args", "reasoning_effort"}),
    "openrouter": frozenset({"reasoning", "reasoning_effort", "include_reasoning"}),
    "toggle": frozenset({"reasoning", "reasoning_effort"}),
    "groq": frozenset({"reasoning_effort", "reasoning_format", "include_reasoning"}),
    "none": frozenset(),
}
"""The members of a chat body that a host with this control reads as a reasoning setting."""


def is_claude(row: ModelRow) -> bool:
    """Whether a row is one of Claude's, at any host."""
    return row.control.startswith("anthropic")
