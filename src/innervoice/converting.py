"""Converts a response, a message or a history from one supported form to another.

    iv.convert(claude_message, to="openai-chat")     a dict for Chat Completions, reasoning in `reasoning_content`
    iv.convert(langchain_messages, to="innervoice")  a list of `Message`
    iv.convert(response, to="anthropic")             the body that the Messages API would have sent

The form of the input is recognised. A turn converted to its own dialect keeps every block, signatures included; in another dialect it
keeps its readable reasoning, and no signature, which only the host that issued it could verify.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from innervoice.answering.writing import exact_answer
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.decoding import decode
from innervoice.errors import UsageError
from innervoice.sources.stored import history_from
from innervoice.wire.dialects import (
    DIALECTS,
    HISTORY_MEMBERS,
    dialect_named,
    dialect_of,
    writer_of,
)
from innervoice.wire.objects import json_of

__all__ = ["convert"]

_ELSEWHERE = {
    "langchain": "innervoice.bridges.langchain",
    "pydantic-ai": "innervoice.bridges.pydantic_ai",
}
_TARGETS = ("innervoice", *DIALECTS, *_ELSEWHERE)


def convert(value: Any, to: str = "innervoice") -> Any:
    """Converts a value to another form. A response becomes a response if the target form has one, a message a message, and a list a list.

    :param value: A Response, a Message, a list of these; a dict, or a list of dicts, in any dialect; an SDK's object; LangChain or pydantic-ai messages.
    :param to: "innervoice", a dialect, "langchain" or "pydantic-ai".
    """
    if to not in _TARGETS:
        raise UsageError(f"to must be one of {', '.join(_TARGETS)}; not {to!r}")
    recognised = _recognised(value)
    if to == "innervoice":
        return recognised
    if to in _ELSEWHERE:
        # These modules are in a higher layer and need a library that may not be installed.
        return import_module(_ELSEWHERE[to]).from_innervoice(recognised)
    if isinstance(recognised, Response):
        return exact_answer(recognised, to).body
    if isinstance(recognised, Message):
        written = _written(recognised, to)
        return written[0] if len(written) == 1 else written
    return [item for message in recognised for item in _written(message, to)]


# ---- reading the input ------------------------------------------------------------------------------------


def _recognised(value: Any) -> Response | Message | list[Message]:
    """A response, a message, or a list of messages."""
    if isinstance(value, (Response, Message)):
        return value
    if type(value).__module__.startswith("pydantic_ai") or _are_of(value, "pydantic_ai"):
        converted: Message | list[Message] = import_module(_ELSEWHERE["pydantic-ai"]).to_innervoice(
            value
        )
        return converted
    if isinstance(value, (list, tuple)):
        return history_from(value, inline="off").messages
    plain = json_of(value)
    if isinstance(plain, dict) and _is_answer(plain):
        return decode(plain)
    messages = history_from(plain if _holds_messages(plain) else [plain], inline="off").messages
    return messages if _holds_messages(plain) else messages[0]


def _are_of(value: Any, package: str) -> bool:
    return bool(
        isinstance(value, (list, tuple))
        and value
        and all(type(item).__module__.startswith(package) for item in value)
    )


def _is_answer(plain: dict[str, Any]) -> bool:
    """Whether a dict is a whole API response, and not a message or an item of a history."""
    if "role" in plain and plain.get("type") != "message":
        return False
    is_item = plain.get("type") == "message" and "stop_reason" not in plain
    return dialect_of(plain) is not None and not is_item and not _holds_messages(plain)


def _holds_messages(plain: Any) -> bool:
    return isinstance(plain, dict) and any(
        isinstance(plain.get(name), list) for name in HISTORY_MEMBERS
    )


# ---- writing the output -------------------------------------------------------------------------------


def _written(message: Message, dialect: str) -> list[Any]:
    """A message as a dialect writes it in a history; a message with several tool results may become several."""
    if message.role == "assistant":
        return _turn(message, dialect)
    if message.role == "system" and dialect_named(dialect).system_apart:
        raise UsageError(
            f"{dialect} has no system messages; pass the system prompt as Request.system"
        )
    plain = message.replace(parts=tuple(map(_without_block, message.parts)))
    body = writer_of(dialect)(Request("x/x", (plain,), dialect=dialect), "x", "max_tokens")
    return list(body[dialect_named(dialect).history])


def _without_block(part: Part) -> Part:
    return part.replace(origin=None) if part.type != "opaque" else part


def _turn(message: Message, dialect: str) -> list[Any]:
    """A turn of the model, as the dialect's server would have sent it."""
    response = Response(parts=message.parts, ended=True, origin=message.origin)
    body = exact_answer(response, dialect).body
    return dialect_named(dialect).turn_of(body)
