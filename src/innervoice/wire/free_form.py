"""Calls of OpenAI's free-form tools, whose input is any text, and the calls of functions that stand for them elsewhere.

A free-form call has its input as `arguments`, and the block of its dialect says what it is. The function has one argument, a string.
"""

from __future__ import annotations

from innervoice.canon.jsontext import dump_json
from innervoice.canon.origin import Origin
from innervoice.canon.parts import ToolCall
from innervoice.canon.tools import FREE_FORM_INPUT
from innervoice.wire.json_access import as_dict, parsed

__all__ = ["as_free_form", "as_function_call", "is_free_form"]

_TYPES = ("custom_tool_call", "custom")


def is_free_form(call: ToolCall) -> bool:
    """Whether the wire had a call as one of a free-form tool."""
    return call.origin is not None and as_dict(call.origin.block).get("type") in _TYPES


def as_function_call(call: ToolCall) -> ToolCall:
    """The call of the function that stands for a free-form tool."""
    arguments = dump_json({FREE_FORM_INPUT: call.arguments}).decode()
    return call.replace(arguments=arguments, origin=None)


def as_free_form(call: ToolCall, dialect: str) -> ToolCall:
    """The free-form call that a call of the function stands for. Arguments that are not the expected object are its input as they are."""
    value = parsed(call.arguments) if call.arguments else ""
    match value:
        case {**members} if len(members) == 1 and isinstance(only := [*members.values()][0], str):  # noqa: RUF015
            text = only
        case _:
            text = call.arguments
    said = {"name": call.name, "input": text}
    block = {
        "openai-chat": {"id": call.id, "type": "custom", "custom": said},
        "openai-responses": {
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": call.id,
            **said,
        },
    }.get(dialect)
    if block is None:
        return call  # the client's dialect has no such tools
    return call.replace(arguments=text, origin=Origin(dialect=dialect, block=block))
