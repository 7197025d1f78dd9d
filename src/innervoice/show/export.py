"""A view -> JSON for logs and for people; it cannot be read back.

Seals, wire blocks, item ids, call ids and the provider's raw usage are left out; a call and its result
share a number instead. Use `to_json` for lossless storage.
"""

from __future__ import annotations

import json
from typing import Any, assert_never

from innervoice.canon.response import Response
from innervoice.privacy.redactor import Redactor, identifier
from innervoice.show.policy import (
    Answer,
    Block,
    Item,
    Policy,
    Remark,
    Result,
    Showable,
    ShownCall,
    ShownTurn,
    Thought,
    view_of,
)
from innervoice.show.visible import DANGEROUS

__all__ = ["export", "export_json"]

# These occur only inside JSON strings; escaped, a JSON parser reads the same characters.
_ESCAPES = {code: f"\\u{code:04x}" for code in [*DANGEROUS, *range(0xD800, 0xE000)]}
_SCREEN = Redactor("screen")
_ABOUT_THINKING = {"stopped_inside_thinking": "empty"}


def export(value: Showable, show: Policy = "full") -> Any:
    """A dict for a response or a message, a list for a list, with only what the policy shows.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    """
    turns = view_of(value, show)
    if isinstance(value, (list, tuple)):
        return [_value(item, turn, show) for item, turn in zip(value, turns, strict=True)]
    return _value(value, turns[0], show)


def export_json(value: Showable, show: Policy = "full") -> bytes:
    """The same as one line of JSON that is safe to print on a terminal.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    """
    text = json.dumps(export(value, show), ensure_ascii=False, separators=(",", ":"))
    return text.translate(_ESCAPES).encode()


def _value(value: Any, turn: ShownTurn, show: Policy) -> dict[str, Any]:
    parts = [_part(item) for item in turn.items if not isinstance(item, Remark)]
    if isinstance(value, Response):
        return {"type": "response", **_response(value, show), "parts": parts}
    effort = {"effort": value.effort} if value.effort else {}
    return {"type": "message", "role": value.role, "parts": parts, **effort}


def _response(response: Response, show: Policy) -> dict[str, Any]:
    usage = response.usage
    status = response.status
    error = response.error
    about = {
        "provider": _name(response.provider),
        "model": _name(response.model),
        "id": identifier(response.id) if response.id else response.id,
        "status": _ABOUT_THINKING.get(status, status) if show == "none" else status,
        "finish_reason": response.finish_reason,
        "error": _present(
            {
                "type": _name(error.type),
                "code": _name(error.code),
                "message": _name(error.message),
            }
        )
        if error
        else None,
        "usage": _present(
            {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "reasoning_tokens": usage.reasoning_tokens if show != "none" else None,
                "cached_input_tokens": usage.cached_input_tokens,
                "total_tokens": usage.total_tokens,
            }
        ),
        # Most notes are about reasoning, and even their codes reveal it.
        "notes": [note.code for note in response.notes] if show != "none" else None,
        "alternatives": [export(other, show) for other in response.alternatives],
    }
    return _present(about)


def _part(item: Item) -> dict[str, Any]:
    match item:
        case Thought():
            form = "hidden" if item.hidden_blocks else "summary" if item.summary else "full"
            measure = (
                {"blocks": item.hidden_blocks}
                if item.hidden_blocks
                else {"characters": item.characters}
            )
            text = {"text": item.text} if item.text else {}
            unfinished = {} if item.complete else {"complete": False}
            return {"type": "thinking", "form": form, **measure, **text, **unfinished}
        case Answer():
            return {"type": "text", "text": item.text}
        case ShownCall():
            return {
                "type": "tool_call",
                "call": item.number,
                "name": item.name,
                "arguments": item.arguments,
            }
        case Result():
            about = {
                "type": "tool_result",
                "call": item.call.number if item.call else None,
                "name": item.call.name if item.call else None,
            }
            return _present(about) | {"text": item.text, "error": item.error}
        case Block():
            return {"type": "block", "kind": item.kind}
        case Remark():
            return {"type": "remark", "text": item.text}
        case _:
            assert_never(item)


def _name(value: Any) -> Any:
    return _SCREEN.name(value) if isinstance(value, str) else value


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, {}, [])}
