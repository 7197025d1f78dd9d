"""Blocks that stand for the whole conversation before them: how one is asked for, and what of one can be sent to another provider.

Anthropic's summary is plain text, which every model can read. OpenAI's is encrypted: without it the model would not know what was said
before, so a request that cannot carry it is refused, and not sent without it. The last point that every model can read is the one before
it: `repair` cuts a history back to there.

A model whose provider makes no compactions is asked for a summary in words (`for_summary`); whoever asked gets it as a compaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from innervoice.canon.messages import Message, user
from innervoice.canon.parts import Opaque, Part, Text
from innervoice.canon.request import Request
from innervoice.planning.decisions import Decision
from innervoice.wire.dialects import dialect_named

__all__ = [
    "SUMMARY_ASKED",
    "UNASKED",
    "UNREADABLE",
    "asks_for_compaction",
    "compaction_of",
    "cut_back",
    "for_summary",
    "readable_compaction",
    "readable_point",
    "summary_message",
]

UNREADABLE = "compaction_unreadable"
UNASKED = "compaction_unasked"
_HEAD = "Summary of the conversation before this message:"
SUMMARY_ASKED = """Write a summary that will stand in place of the conversation above. A model that goes on with the work will read it and nothing else of what was said.

Write down:
- what the user wants, and every instruction and limit that is still in force;
- what was done and what was found out, with the exact names of files, commands and identifiers, and exact numbers;
- what was decided, and why; which errors came up, and what solved them;
- what is not finished, and the next step.

Leave out what no longer matters. Answer with the summary alone, as text. Do not call tools, and do not go on with the work."""


def compaction_of(part: Part) -> dict[str, Any] | None:
    """The block of a compaction; None for any other part."""
    origin = part.origin
    if not isinstance(part, Opaque) or origin is None or origin.dialect is None:
        return None
    value = part.value
    kinds = dialect_named(origin.dialect).compactions
    return value if isinstance(value, dict) and value.get("type") in kinds else None


def asks_for_compaction(part: Part) -> bool:
    """Whether a part asks the provider for a compaction, in place of an answer."""
    origin = part.origin
    if not isinstance(part, Opaque) or origin is None or origin.dialect is None:
        return False
    asked = dialect_named(origin.dialect).compaction_asked
    return asked is not None and isinstance(part.value, dict) and part.value.get("type") == asked


def readable_compaction(block: dict[str, Any]) -> Text | None:
    """The summary as a text, if it is one."""
    content = block.get("content")
    if not isinstance(content, str) or not content.strip():
        return None
    return Text(f"{_HEAD}\n\n{content}")


def summary_message(summary: str) -> Message:
    """A summary as every model reads it, in place of the compaction that had it."""
    return user(f"{_HEAD}\n\n{summary}")


def for_summary(request: Request) -> Request:
    """The request without what a summary does not need: its model must write text, whatever the conversation's answers look like."""
    return request.replace(
        tools=(), tool_choice=None, parallel_tool_calls=None, response_format=None
    )


def readable_point(number: int) -> str:
    """Where a history can go on from whose message with this number cannot be read, in words."""
    if number == 0:
        return "nothing before it is in the history, so there is no point to go on from"
    return f"the last readable point is the end of message {number - 1}"


def cut_back(messages: Sequence[Message], decisions: Iterable[Decision]) -> list[Message]:
    """The history up to the first compaction that the plan found to be unreadable; all of it if there is none."""
    place = next((item for item in decisions if item.note == UNREADABLE), None)
    if place is None:
        return list(messages)
    before = list(messages[: place.message])
    parts = messages[place.message].parts[: place.part]
    return [*before, messages[place.message].replace(parts=parts)] if parts else before
