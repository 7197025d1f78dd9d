"""JSON text <-> Python values, without any loss.

msgspec is fast and strict. Input that it refuses but that occurs in practice takes a slower path:
a lone surrogate (half of an emoji cut between two deltas), integers beyond 64 bits, numbers beyond
a float. The last become `int`, which every other JSON library writes, and those of more than 512 digits
`Decimal`; both are written back as the same number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

__all__ = [
    "UNUSUAL_JSON",
    "Members",
    "NestedTooDeeplyError",
    "breaks_off",
    "dump_json",
    "dump_struct",
    "in_utf8",
    "load_damaged_json",
    "load_every_member",
    "load_finite_json",
    "load_json",
    "usual_json",
]

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_DECODER = msgspec.json.Decoder()
usual_json = _DECODER.decode
"""`load_json` without the slower path: one call less where each delta is read."""
UNUSUAL_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What `usual_json` raises for what only `load_json` may read."""


class NestedTooDeeplyError(ValueError):
    """The JSON is nested more deeply than can be handled."""


def load_json(data: bytes | bytearray | memoryview | str) -> Any:
    """Reads one JSON value; raises ValueError for invalid JSON, or if it is nested too deeply."""
    try:
        return usual_json(data)
    except UNUSUAL_JSON:
        return _load_leniently(data)


def breaks_off(text: str) -> bool:
    """Whether a text is the beginning of a JSON value, and not all of it."""
    try:
        usual_json(text)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except UNUSUAL_JSON:
        return False
    return False


def load_finite_json(data: bytes | bytearray | memoryview | str) -> Any:
    """Reads one JSON value like `load_json`, but raises ValueError for NaN, for infinity, and for a number beyond a float, which few programs can read."""
    try:
        return usual_json(data)
    except UNUSUAL_JSON:
        return _load_leniently(data, _finite)


class Members(list[tuple[str, Any]]):
    """The members of an object in their order, repeated ones too."""


def load_every_member(data: bytes | bytearray | memoryview | str) -> Any:
    """Reads one JSON value with `Members` for each object, as generously as any server does: in every UTF, with NaN; raises ValueError.

    Servers differ in which one of two members of a name counts: who has to know what a text may say to them, needs both.
    """
    text = data if isinstance(data, str) else bytes(data)
    try:
        return json.loads(text, object_pairs_hook=Members)
    except RecursionError:
        raise NestedTooDeeplyError("the JSON is nested too deeply") from None


def load_damaged_json(data: bytes) -> Any:
    """Reads one JSON value whose text is not valid UTF-8: each invalid byte becomes U+FFFD."""
    return load_json(str(data, "utf-8", "replace"))


def in_utf8(data: bytes) -> bytes:
    """Returns JSON in valid UTF-8: invalid bytes become U+FFFD as in `load_damaged_json`, and a lone surrogate becomes its escape."""
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        return data
    try:
        return data.decode("utf-8", "surrogatepass").encode("utf-8", "backslashreplace")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()


def dump_json(value: Any) -> bytes:
    """Writes a JSON value; the result has no white space."""
    try:
        data = _ENCODER.encode(value)
    except (UnicodeError, OverflowError, msgspec.MsgspecError):
        return _dump_leniently(value).encode("ascii")
    # The encoder writes null for a float that is not a number: one is searched for only if there is a null.
    if (b"null" in data or b"sNaN" in data) and _has_odd_number(value):
        return _dump_leniently(value).encode("ascii")
    return data


def dump_struct(value: msgspec.Struct, *, has_only_words: bool = False) -> bytes | None:
    """Writes a struct like its plain form, in one step; None if it may contain what only `dump_json` can write.

    With `has_only_words` nothing is searched for that cannot be there: searching takes longer than writing.
    """
    try:
        data = _ENCODER.encode(value)
    except (UnicodeError, OverflowError, msgspec.MsgspecError):
        return None
    return data if has_only_words or not (b"null" in data or b"sNaN" in data) else None


def _load_leniently(
    data: bytes | bytearray | memoryview | str,
    unusual: Callable[[str], Any] | None = None,
) -> Any:
    """`unusual` reads a number that no float can express."""
    text = data if isinstance(data, str) else str(data, "utf-8", "surrogatepass")
    try:
        if unusual is None:
            return json.loads(text, parse_float=_number)
        return json.loads(
            text,
            parse_float=lambda literal: _number(literal, unusual),
            parse_constant=unusual,
        )
    except RecursionError:
        raise NestedTooDeeplyError("the JSON is nested too deeply") from None


_USUAL_TYPES = frozenset({str, int, bool, type(None)})
_MOST_DIGITS = 512
"""A longer number would take far more memory than its text, as `1e4000` does."""


def _number(literal: str, unusual: Callable[[str], Any] | None = None) -> Any:
    number = float(literal)
    if math.isfinite(number):
        return number
    if unusual is not None:
        return unusual(literal)
    exact = Decimal(literal)
    is_whole = exact.adjusted() < _MOST_DIGITS and exact == exact.to_integral_value()
    return int(exact) if is_whole else exact


def _finite(literal: str) -> Any:
    raise ValueError(f"{literal[:20]} is not a number that JSON and a float can express")


def _has_odd_number(value: Any) -> bool:
    """Whether the value contains a number that the fast encoder would write as something else."""
    holders: list[Any] = [(value,)]
    for holder in holders:  # which grows meanwhile
        for item in holder.values() if isinstance(holder, dict) else holder:
            if type(item) in _USUAL_TYPES:
                continue
            if isinstance(item, (dict, list, tuple)):
                holders.append(item)
            elif isinstance(item, Decimal) or (isinstance(item, float) and not math.isfinite(item)):
                return True
    return False


def _dump_leniently(value: Any) -> str:
    match value:
        case dict():
            members = (f"{json.dumps(key)}:{_dump_leniently(item)}" for key, item in value.items())
            return f"{{{','.join(members)}}}"
        case list() | tuple():
            return f"[{','.join(map(_dump_leniently, value))}]"
        case Decimal():
            return {"sNaN": "NaN"}.get(text := str(value), text)
        case _:
            # JSON has no infinity; this is the spelling that Python's and JavaScript's tools write and read.
            return json.dumps(value)


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])


def split_members(data: bytes) -> dict[str, Any]:
    """The members of an object as their bytes, unparsed; raises ValueError for anything else."""
    try:
        return _MEMBERS.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def split_items(data: Any) -> list[Any]:
    """The items of an array as their bytes, unparsed; raises ValueError for anything else."""
    try:
        return _ITEMS.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
