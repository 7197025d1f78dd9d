"""Canonical values <-> bytes for storage, with origins and seals verbatim.

The output is plain JSON: a value is an object whose `type` (or `event`) names it, a history is
an array. Fields with their default are left out, which loses nothing: the wire blocks in the origins,
where absent, null, "" and [] differ, are stored as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from innervoice.canon.answer_type import StructuredResponse
from innervoice.canon.blobs import REFERENCE, with_references, with_seals
from innervoice.canon.events import Event
from innervoice.canon.jsontext import dump_json, dump_struct, load_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.value import Value
from innervoice.errors import DecodeError, UsageError

__all__ = ["Storable", "from_json", "plain_form", "to_json", "value_from"]

Storable: TypeAlias = Response | Message | Part | Event

_NAMED_BY_TYPE: Any = Response | Message | Part


def to_json(
    value: Storable | Sequence[Storable], *, blobs: MutableMapping[str, str] | None = None
) -> bytes:
    """Writes a response, a message, a part, an event or a list of them.

    :param value: What to write.
    :param blobs: Takes long seals under a digest, to which the output refers.
    """
    if (
        blobs is None
        and isinstance(value, Value)
        and not isinstance(value, StructuredResponse)
        and (data := dump_struct(value, has_only_words=_has_only_words(value))) is not None
    ):
        return data
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    items = [item.plain() if isinstance(item, StructuredResponse) else item for item in items]
    for item in items:
        if not isinstance(item, Value):
            raise UsageError(
                "to_json takes a Response, a Message, a part, an event or a list of them, "
                f"not {type(item).__name__}"
            )
    builtins = plain_form(items)
    if blobs is not None:
        builtins = with_references(builtins, blobs)
    return dump_json(builtins if isinstance(value, (list, tuple)) else builtins[0])


def _has_only_words(value: Value) -> bool:
    """Whether it is a turn without numbers and null, which other programs' JSON may have."""
    if not isinstance(value, Message) or not _is_words(value.origin):
        return False
    return all(isinstance(part, (Text, Thinking, ToolCall)) and _is_words(part.origin) for part in value.parts)  # fmt: skip


def _is_words(origin: Origin | None) -> bool:
    if origin is None:
        return True
    if origin.cache_mark is not None or origin.members is not None:
        return False
    block = origin.block
    return block is None or (isinstance(block, dict) and all(isinstance(item, str) for item in block.values()))  # fmt: skip


def plain_form(value: Any) -> Any:
    """Canonical values as dicts, lists and scalars, in the form that is stored."""
    # A Decimal is a number beyond a float; `dump_json` can write it.
    return msgspec.to_builtins(value, builtin_types=(Decimal,))


def from_json(data: bytes | bytearray | str, *, blobs: Mapping[str, str] | None = None) -> Any:
    """Reads the output of `to_json` and returns an equal value.

    :param data: The output of `to_json`.
    :param blobs: The seals that `to_json` put there.
    """
    try:
        loaded = load_json(data)
    except ValueError as error:
        raise DecodeError(
            f"expected JSON written by to_json, but it is not valid JSON: {error}"
        ) from None
    refers = REFERENCE in data if isinstance(data, str) else REFERENCE.encode() in data
    if refers:
        loaded = with_seals(loaded, blobs or {})
    if isinstance(loaded, list):
        return [value_from(item) for item in loaded]
    return value_from(loaded)


def value_from(item: Any) -> Any:
    """The value of a plain form; raises `DecodeError` for anything else."""
    if not isinstance(item, dict) or not item.keys() & {"type", "event"}:
        raise DecodeError(
            "expected a value written by to_json, an object with 'type' or 'event', "
            f"not {type(item).__name__}"
        )
    # An event may have a member `type` of its own, so `event` is checked first.
    kind = Event if "event" in item else _NAMED_BY_TYPE
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        raise DecodeError(f"expected a value written by to_json: {error}") from None
