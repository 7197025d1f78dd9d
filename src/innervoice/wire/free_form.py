"""Calls of OpenAI's free-form tools, whose input is any text, and the calls of functions that replace them elsewhere.

A free-form call has its input as `arguments`, and the block of its dialect shows its type. The function has one argument, a string.
"""

from __future__ import annotations

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import ToolCall
from innervoice.canon.tools import FREE_FORM_INPUT
from innervoice.wire.json_access import as_dict, parsed

__all__ = ["as_function_call", "input_of_function", "is_free_form"]

_TYPES = ("custom_tool_call", "custom")


def is_free_form(call: ToolCall) -> bool:
    """Whether a call was received as one of a free-form tool."""
    return call.origin is not None and as_dict(call.origin.block).get("type") in _TYPES


def as_function_call(call: ToolCall) -> ToolCall:
    """The call of the function that replaces a free-form tool."""
    arguments = dump_json({FREE_FORM_INPUT: call.arguments}).decode()
    return call.replace(arguments=arguments, origin=None)


def input_of_function(call: ToolCall) -> str:
    """The input in a call of the function. Arguments that are not the expected object are the input as they are."""
    value = parsed(call.arguments) if call.arguments else ""
    members = list(value.values()) if isinstance(value, dict) else []
    only = members[0] if len(members) == 1 else None
    return only if isinstance(only, str) else call.arguments
