"""The members of a chat body that ask for reasoning -> a reasoning setting.

OpenAI has `reasoning_effort`; every other host has its own members. One function reads the value of each member into words that
`Reasoning.from_any` accepts, and leaves values that it does not understand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from innervoice.wire.json_access import as_dict
from innervoice.wire.serve_request import Spelling, setting_of, without

__all__ = ["chat_setting"]

Asked: TypeAlias = dict[str, Any]
_SHOWN = {"parsed": "full", "raw": "full", "hidden": "hidden"}
_SWITCHES = ("enable_thinking", "thinking")


def _effort(value: Any) -> tuple[Asked, Any]:
    if value == "default":  # Groq's word for on
        return {"enabled": True}, None
    return ({"effort": value}, None) if isinstance(value, str) else ({}, value)


def _reasoning(value: Any) -> tuple[Asked, Any]:
    """OpenRouter's object."""
    if not isinstance(value, dict):
        return {}, value
    asked = {name: value[name] for name in ("enabled", "exclude", "summary") if name in value}
    if isinstance(value.get("max_tokens"), int):
        asked["budget"] = value["max_tokens"]
    effort, _ = _effort(value.get("effort"))
    return {**asked, **effort}, without(value, "effort", "max_tokens", *asked)


def _thinking(value: Any) -> tuple[Asked, Any]:
    """The object of DeepSeek, Z.ai and others, modelled on Anthropic's; or a switch."""
    if isinstance(value, bool):
        return {"enabled": value}, None
    given = as_dict(value)
    kind = given.get("type")
    if kind not in ("enabled", "disabled", "adaptive", "auto"):
        return {}, value
    asked: Asked = {"enabled": kind != "disabled"}
    if isinstance(given.get("budget_tokens"), int):
        asked["budget"] = given["budget_tokens"]
    return asked, without(given, "type", "budget_tokens")


def _switch(value: Any) -> tuple[Asked, Any]:
    return ({"enabled": value}, None) if isinstance(value, bool) else ({}, value)


def _budget(value: Any) -> tuple[Asked, Any]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return {}, value
    return ({"budget": value} if value else {"enabled": False}), None


def _template(value: Any) -> tuple[Asked, Any]:
    """Arguments of a chat template, in which the switch has one of two names."""
    given = as_dict(value)
    switch = next((name for name in _SWITCHES if isinstance(given.get(name), bool)), None)
    if switch is None:
        return {}, value
    asked: Asked = {"enabled": given[switch]}
    if isinstance(given.get("thinking_budget"), int):
        asked["budget"] = given["thinking_budget"]
    return asked, without(given, switch, "thinking_budget")


def _format(value: Any) -> tuple[Asked, Any]:
    return ({"show": _SHOWN[value]}, None) if value in _SHOWN else ({}, value)


def _included(value: Any) -> tuple[Asked, Any]:
    return (
        ({"show": "full" if value else "hidden"}, None) if isinstance(value, bool) else ({}, value)
    )


_READ: dict[str, Callable[[Any], tuple[Asked, Any]]] = {
    "chat_template_args": _template,
    "chat_template_kwargs": _template,
    "enable_thinking": _switch,
    "thinking": _thinking,
    "thinking_budget": _budget,
    "include_reasoning": _included,
    "reasoning_format": _format,
    "reasoning": _reasoning,
    "reasoning_effort": _effort,
}
"""In rising order: if two members disagree, the later one counts."""


def chat_setting(body: dict[str, Any]) -> tuple[Spelling | None, dict[str, Any]]:
    """The reasoning setting of a body, and the other contents of its members."""
    asked: Asked = {}
    members: dict[str, Any] = {}
    left: dict[str, Any] = {}
    is_off = False
    for name, read in _READ.items():
        if body.get(name) is None:
            continue
        found, rest = read(body[name])
        if found:
            members[name] = body[name]
            is_off = is_off or found.get("enabled") is False or found.get("effort") == "none"
            asked |= found
        if rest:
            left[name] = rest
    if is_off:
        asked = {"enabled": False}
    setting = setting_of(asked)
    if setting is None:
        return None, {name: body[name] for name in _READ if name in body}
    is_switch = asked.get("enabled") is True and asked.keys().isdisjoint(("effort", "budget"))
    return Spelling(setting, members, is_switch), left
