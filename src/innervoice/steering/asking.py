"""A request and what came of its answer -> the request that asks for the rest.

for the answer   the same request without reasoning, or with the least that the model allows
to go on         the model's own last message, where the host lets the model continue it; else that message, and a user message that
                 asks for the rest, beginning with the last characters
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from innervoice.canon.messages import Message, assistant, user
from innervoice.canon.parts import Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.target import Target
from innervoice.planning.effort_changes import without_changes
from innervoice.planning.request import FittedRequest
from innervoice.steering.seam import anchor_of

__all__ = ["AskedAgain", "asked_for_answer", "asked_to_go_on", "is_request_to_go_on", "text_of"]

_NOTICE = """Your last message was cut off by a network error, and its reader has seen all of it. Write the rest of it, and nothing else: no comment, no apology.
Begin by repeating its last {count} characters exactly as they are, and go on from there:
{anchor}"""
_NOTICED = re.compile(r"Your last message was cut off by a network error.*last (\d+) characters", re.DOTALL)  # fmt: skip


class AskedAgain(NamedTuple):
    """A request for the rest of an answer."""

    request: Request
    is_repeated: bool = False
    """Whether the model was asked to begin with the end of the text."""
    is_prefilled: bool = False
    """Whether the model continues its own last message."""
    members: Mapping[str, Any] = MappingProxyType({})
    """What the host needs in the body for that."""


def asked_for_answer(request: Request, target: Target) -> AskedAgain:
    """The request without reasoning, or with the lowest effort of a model that always reasons; no effort of its history counts any more."""
    setting, row = request.reasoning or Reasoning(), target.row
    is_bound = row.off == "never" and bool(row.efforts)
    effort: Any = row.efforts[0] if is_bound else "none"
    messages = tuple(
        one.replace(effort=None) if one.effort and one.role != "assistant" else one
        for one in without_changes(request.messages, target)
    )
    setting = setting.replace(effort=effort, budget=None)
    return AskedAgain(request.replace(reasoning=setting, messages=messages))


def asked_to_go_on(request: Request, target: Target, text: str) -> AskedAgain | None:
    """The request for what follows a text; without a text, the same request.

    None if the caller wrote the beginning of the answer, or if no repetition would show where the text goes on.
    """
    if request.messages and request.messages[-1].role == "assistant":
        return None
    if not text.strip():
        return AskedAgain(request)
    begun = request.replace(messages=(*request.messages, assistant(text.rstrip())))
    host = target.host
    members = host.continues.get(target.dialect) if host and target.row.prefill else None
    if members is not None:
        for prefilled in (begun, begun.replace(reasoning=Reasoning("none"))):
            fitted = FittedRequest(prefilled, target, checked=False)
            if not fitted.refuses_end(prefilled.messages):
                return AskedAgain(prefilled, is_prefilled=True, members=members)
    anchor = anchor_of(text)
    if anchor is None:
        return None
    notice = user(_NOTICE.format(count=len(anchor), anchor=anchor))
    return AskedAgain(begun.replace(messages=(*begun.messages, notice)), is_repeated=True)


def is_request_to_go_on(text: str) -> int | None:
    """How many characters a user message asks to repeat; None for any other message."""
    match = _NOTICED.match(text)
    return int(match[1]) if match else None


def text_of(messages: Sequence[Message]) -> str:
    """What a model reads in messages: texts, and results of tools."""
    return "\n".join(filter(None, (_text_of(part) for message in messages for part in message.parts)))  # fmt: skip


def _text_of(part: Any) -> str:
    match part:
        case Text():
            return part.text
        case ToolResult(content=str() as content):
            return content
        case ToolResult():
            return "\n".join(_text_of(item) for item in part.content or ())
        case _:
            return ""
