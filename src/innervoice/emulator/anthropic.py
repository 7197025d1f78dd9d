"""The Messages API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.parts import Part
from innervoice.emulator import claude
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.json_access import arguments_of, as_dict, as_list
from innervoice.wire.refusals import Refusal

__all__ = ["SERVER"]


def is_on(call: EmulatedCall) -> bool:
    """Whether the model thinks in this call."""
    return claude.is_on(call.body, call)


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Refuses invalid signatures."""
    messages = [as_dict(message) for message in as_list(call.body.get("messages"))]
    return claude.check(call, messages, call.body.get("system"), call.body.get("tools"), call.body)


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn, with signed thinking."""
    body = call.body
    messages = [as_dict(message) for message in as_list(body.get("messages"))]
    prefix = claude.prefix_of(body.get("system"), body.get("tools"), messages)
    parts_here: list[Part] = [
        call.thinking(block.get("thinking", ""), block)
        for block in claude.thinking_blocks(call, draft, body, prefix)
    ]
    if draft.text:
        parts_here.append(call.text(draft.text))
    for position, (name, values) in enumerate(draft.calls):
        parts_here.append(call.tool_call(name, arguments_of(values), call.id("toolu_", position)))
    return parts_here


def _carried(text: str, seal: str) -> dict[str, Any] | None:
    return {"type": "thinking", "thinking": text, "signature": seal}


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    carried=_carried,
    overloaded=Refusal(text="Overloaded", status=529, type="overloaded_error"),
)
