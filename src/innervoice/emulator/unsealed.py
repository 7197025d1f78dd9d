"""Hosts whose reasoning carries no seal: Mistral, Cohere, Ollama. Each takes back whatever it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part, Thinking
from innervoice.emulator.brain import AnswerDraft
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.seals import digest
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import refused

__all__ = ["check", "is_on", "parts"]


def is_on(call: EmulatedCall) -> bool:
    """Whether it reasons in this call."""
    body, row = call.body, call.target.row
    match call.dialect:
        case "cohere":
            off = as_dict(body.get("thinking")).get("type") == "disabled"
        case "ollama":
            off = body.get("think") is False
        case _:
            word = body.get("reasoning_effort")
            return word not in (None, "none") or (word is None and row.default != "none")
    return not off and row.control != "none"


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Mistral's ids of calls are nine letters and digits."""
    if call.dialect != "mistral":
        return
    for message in map(as_dict, as_list(call.body.get("messages"))):
        for made in map(as_dict, as_list(message.get("tool_calls"))):
            if not re.fullmatch(r"[A-Za-z0-9]{9}", str(made.get("id"))):
                yield refused(
                    f"Tool call id was {made.get('id')} but must be a-z, A-Z, 0-9, with a length of 9.",
                    code=3280,
                )


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn."""
    hidden = call.behaviour.show == "hidden"
    made: list[Part] = [Thinking(thought) for thought in (() if hidden else draft.thoughts)]
    if draft.text:
        made.append(call.text(draft.text))
    for position, (name, values) in enumerate(draft.calls):
        made.append(call.tool_call(name, dump_json(values).decode(), _id(call, position)))
    return made


def _id(call: EmulatedCall, position: int) -> Any:
    if call.dialect == "mistral":
        return digest([call.number, position])[:9]
    return call.id("call_", position)
