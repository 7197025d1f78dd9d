"""Size limits of requests to a server: larger ones are refused before any work is done with them."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import NestedTooDeeplyError, load_json
from innervoice.wire.refusals import Refusal, Refused

__all__ = ["DEEPEST", "MOST_BYTES", "bounded"]

MOST_BYTES = 32 * 1024 * 1024
"""The limit of the Messages API; others have similar ones."""
DEEPEST = 100
"""The depth of nested objects and lists."""


def bounded(body: bytes, *, most: int = MOST_BYTES, deepest: int = DEEPEST) -> Any:
    """The JSON of a body; raises `Refused` for one that is too large or nested too deeply, and ValueError for one that is not JSON."""
    if len(body) > most:
        raise Refused(Refusal(text="Request exceeds the maximum size", status=413))
    try:
        value = load_json(body)
    except NestedTooDeeplyError:
        raise _too_deep(deepest) from None
    level = [value]
    for _ in range(deepest):
        level = [item for holder in level for item in _items(holder)]
        if not level:
            return value
    raise _too_deep(deepest)


def _too_deep(deepest: int) -> Refused:
    return Refused(Refusal(text=f"the body is nested more than {deepest} levels deep"))


def _items(value: Any) -> list[Any]:
    """The objects and lists directly inside a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, (dict, list))]
