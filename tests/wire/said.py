"""What the body of a request says, found without our readers: the texts of the system prompt, of users, tools and models, the calls and the tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["leaves", "said_in"]

_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")
_HISTORY = ("messages", "input", "contents")
_HIDDEN = (
    "thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_details", "reasoningContent", "signature", "tool_plan",
    "server_tool_use", "citations", "annotations",
)  # fmt: skip
"""Reasoning, and what only its own provider understands."""


def said_in(body: dict[str, Any], dialect: str) -> list[str]:
    """Every text in a body that any other provider has to get."""
    found: list[str] = []
    for name in _SYSTEM:
        found += _texts(body.get(name))
    for name in _HISTORY:
        held = body.get(name)
        for message in [held] if isinstance(held, (str, dict)) else held or ():
            found += _texts(message)
    found += _tool_names(body)
    return [text for words in dict.fromkeys(found) for text in leaves(words) if text.strip()]


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict() if _is_hidden(value):
            return
        case {"text": str(text)}:
            yield text
        case dict():
            for name in ("content", "parts", "output", "tool_calls", "functionCall", "function_call", "toolUse", "functionResponse",
                         "function_response", "toolResult", "function"):  # fmt: skip
                if name in value and name not in _HIDDEN:
                    yield from _texts(value[name])
            for name in ("arguments", "args", "input", "response", "json"):
                if value.get("type") not in ("server_tool_use", "mcp_tool_use"):
                    yield from leaves(value.get(name))
            if isinstance(value.get("name"), str) and not {"arguments", "args", "input"}.isdisjoint(
                value
            ):
                yield value["name"]


def _is_hidden(value: dict[str, Any]) -> bool:
    kind = str(value.get("type") or "")
    usual = ("message", "function", "function_call", "function_call_output", "text", "input_text", "output_text", "tool_use", "tool_result",
             "custom", "custom_tool_call", "custom_tool_call_output", "")  # fmt: skip
    return kind not in usual or value.get("thought") is True


def leaves(value: Any) -> Iterator[str]:
    """The texts in arguments, which may be JSON in a text."""
    match value:
        case str():
            try:
                held = json.loads(value)
            except ValueError:
                held = None
            yield from leaves(held) if isinstance(held, (dict, list)) else (value,)
        case list():
            for item in value:
                yield from leaves(item)
        case dict():
            for item in value.values():
                yield from leaves(item)
        case int() | float():
            yield json.dumps(value)


def _tool_names(body: dict[str, Any]) -> Iterator[str]:
    tools = body.get("tools") or (body.get("toolConfig") or {}).get("tools") or ()
    for tool in tools:
        for holder in tool.get("functionDeclarations") or tool.get("function_declarations") or ():
            yield holder["name"]
        if tool.get("type") in (None, "function", "custom"):
            named = tool.get("function") or tool.get("toolSpec") or tool.get("custom") or tool
            if isinstance(named.get("name"), str):
                yield named["name"]
