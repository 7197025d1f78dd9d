"""Messages for an exported file: without seals and secrets, and only what the policy shows of the reasoning.

The output can be read back by `from_json`. It cannot be sent back as sealed reasoning: a seal belongs to the owner of the account, not in a
file that is shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.show.policy import Policy, thought_about
from innervoice.show.secrets import redacted
from innervoice.sources.conversation import Turn

__all__ = ["message_for_file", "messages_for_file", "parts_for_file", "turn_for_file"]

_LEFT_OUT = "left out: it may contain data that only its provider can read"


def messages_for_file(messages: Iterable[Message], show: Policy) -> list[Message]:
    """The messages; one of which nothing is shown is left out."""
    exported = [message_for_file(message, show) for message in messages]
    return _with_numbered_calls([message for message in exported if message.parts])


def _with_numbered_calls(messages: list[Message]) -> list[Message]:
    """The messages with calls and results that are matched by numbers: some programs put seals into ids."""
    numbers: dict[str, str] = {}

    def numbered(part: Part) -> Part:
        match part:
            case ToolCall(id=id_):
                return part.replace(id=numbers.setdefault(id_, f"call_{len(numbers) + 1}"))
            case ToolResult(call_id=id_):
                return part.replace(call_id=numbers.setdefault(id_, f"call_{len(numbers) + 1}"))
            case _:
                return part

    return [message.replace(parts=tuple(map(numbered, message.parts))) for message in messages]


def message_for_file(message: Message, show: Policy) -> Message:
    """A message."""
    return message.replace(
        parts=tuple(parts_for_file(message.parts, show)), origin=_origin(message.origin)
    )


def turn_for_file(turn: Turn) -> Response | Message:
    """A turn with all of its reasoning, for a renderer that applies the policy; an answer if its status and tokens are known."""
    parts = tuple(parts_for_file(turn.message.parts, "full"))
    if turn.answer is None or turn.message.role != "assistant":
        return turn.message.replace(parts=parts, origin=None)
    error = turn.answer.error
    if error is not None and error.message:
        error = error.replace(message=redacted(error.message))
    return turn.answer.replace(parts=parts, error=error, alternatives=(), origin=None)


def parts_for_file(parts: Iterable[Part], show: Policy) -> Iterator[Part]:
    """Parts; reasoning that is not shown stays as a part without a text, and with `none` not at all."""
    for part in parts:
        is_reasoning = bool(thought_about([part], "length")) or isinstance(part, Thinking)
        if is_reasoning and show == "none":
            continue
        yield _part(part, show)


def _part(part: Any, show: Policy) -> Part:
    match part:
        case Thinking():
            thoughts = thought_about([part], show)
            text = part.text if show == "full" else "".join(thought.text for thought in thoughts)
            form = part.form if text or not part.text else "hidden"
            made: Part = part.replace(text=redacted(text), form=form, origin=_origin(part.origin))
        case Text():
            made = part.replace(text=redacted(part.text), origin=_origin(part.origin))
        case ToolCall():
            made = part.replace(
                name=redacted(part.name),
                arguments=redacted(part.arguments),
                origin=_origin(part.origin),
            )
        case ToolResult(content=str(content)):
            made = part.replace(content=redacted(content), origin=_origin(part.origin))
        case ToolResult(content=content):
            inner = tuple(_part(item, show) for item in content)
            made = part.replace(content=inner, origin=_origin(part.origin))
        case Media():
            url = None if part.url is None else redacted(part.url)
            name = None if part.name is None else redacted(part.name)
            made = part.replace(url=url, name=name, origin=_origin(part.origin))
        case Opaque():
            kind = part.value.get("type") if isinstance(part.value, dict) else None
            named = {"type": kind} if isinstance(kind, str) else {}
            made = Opaque({**named, "innervoice": _LEFT_OUT}, complete=part.complete)
    return made


def _origin(origin: Origin | None) -> Origin | None:
    """The origin, in names alone; markup has characters of the text and positions, which change where something was removed."""
    if origin is None:
        return None
    return Origin(provider=origin.provider, model=origin.model, dialect=origin.dialect)
