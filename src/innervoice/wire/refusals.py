"""How an API refuses a request."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from innervoice.canon.value import Value

__all__ = ["NO_HEADERS", "Headers", "Refusal", "Refused"]

Headers: TypeAlias = Mapping[str, str]
"""Headers of a request, their names in lower case."""
NO_HEADERS: Headers = MappingProxyType({})


class Refusal(Value, frozen=True, kw_only=True):
    """A refusal in an API's own words."""

    text: str
    status: int = 400
    type: str | None = None
    """The provider's word for the type of error; None: the dialect's usual one for the status."""
    code: str | int | None = None
    param: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Additional headers of the response: `retry-after`, `allow`."""


class Refused(Exception):  # noqa: N818 - it is what happened to a request
    """A request is refused; `refusal` has the message."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal
