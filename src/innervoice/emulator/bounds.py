"""How much of a request the emulator takes on: what is larger is refused before any work is done with it."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.wire.refusals import Refusal

__all__ = ["DEEPEST", "MOST_BYTES", "Refused", "bounded"]

MOST_BYTES = 32 * 1024 * 1024
"""The limit of the Messages API; others have similar ones."""
DEEPEST = 100
"""Objects and lists inside each other."""


class Refused(Exception):  # noqa: N818 - it is what happened to a request
    """A request is refused; the provider's words are in `refusal`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


def bounded(body: bytes) -> Any:
    """The JSON of a body; raises `Refused` for one that is too large or nested too deeply, and ValueError for one that is not JSON."""
    if len(body) > MOST_BYTES:
        raise Refused(Refusal(text="Request exceeds the maximum size", status=413))
    value = load_json(body)
    level = [value]
    for _ in range(DEEPEST):
        level = [item for holder in level for item in _items(holder)]
        if not level:
            return value
    raise Refused(Refusal(text=f"the body is nested more than {DEEPEST} levels deep"))


def _items(value: Any) -> list[Any]:
    """The objects and lists directly inside a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, (dict, list))]
