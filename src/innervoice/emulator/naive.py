"""What a program without a plan would send: the history converted to the target's form, seals included.

Programs that pass reasoning from one provider to the next do this: a thought becomes a thought of the target, anything that looks
like a seal becomes its seal, and a field that the format does not have is lost.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Thinking, is_inline
from innervoice.canon.request import Request, Wire
from innervoice.catalog.targets import target_of
from innervoice.emulator.dialect_server import server_for
from innervoice.planning.encode import encode
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict

__all__ = ["naive_wire"]


def naive_wire(request: Request) -> Wire:
    """The body for a request without planning its history."""
    last = tuple(request.messages[-1:]) if request.messages else ()
    bare = encode(request.replace(messages=last if last and last[0].role == "user" else ()))
    messages = tuple(_carried(message, bare.dialect) for message in request.messages)
    dialect = dialect_named(bare.dialect)
    model = target_of(request).model
    written = dialect.writer(request.replace(messages=messages, store=True), model, dialect.limit)
    return bare.replace(body={**bare.body, dialect.history: written[dialect.history]})


def _carried(message: Message, dialect: str) -> Message:
    if message.role != "assistant":
        return message
    parts = [carried for part in message.parts if (carried := _part(part, dialect)) is not None]
    home = message.origin and message.origin.dialect == dialect
    return message.replace(parts=tuple(parts), origin=message.origin if home else None)


def _part(part: Part, dialect: str) -> Part | None:
    if isinstance(part, Thinking) and not is_inline(part):
        if part.origin and part.origin.dialect == dialect:
            return part
        block = server_for(dialect).carried(part.text, _seal(part))
        return part.replace(origin=Origin(dialect=dialect, block=block)) if block else None
    if part.origin is None or part.origin.dialect == dialect:
        return part
    return None if isinstance(part, Opaque) else part.replace(origin=None)


def _seal(part: Part) -> str:
    """The first value in a block that looks like a seal."""
    origin = part.origin
    for path in origin.seals if origin else ():
        value: Any = origin.block if origin else None
        for name in path.split("."):
            value = as_dict(value).get(name)
        if isinstance(value, str) and len(value) > 40:
            return value
    return ""
