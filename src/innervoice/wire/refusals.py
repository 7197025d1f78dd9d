"""How an API refuses a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from innervoice.canon.jsontext import NestedTooDeeplyError, load_finite_json
from innervoice.canon.response import Failure
from innervoice.canon.value import Value
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = [
    "DEEPEST",
    "MOST_BYTES",
    "NO_HEADERS",
    "OUT_OF_MONEY",
    "Headers",
    "Refusal",
    "Refused",
    "bounded",
    "failure_of",
    "status_of",
]

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
    details: Any = None
    """What a provider says beyond this, in the form of its dialect; None: nothing."""
    headers: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Additional headers of the response: `retry-after`, `allow`."""


class Refused(Exception):  # noqa: N818 - it is what happened to a request
    """A request is refused; `refusal` has the message."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


# ---- A provider's error, in whatever shape it is written.


def _code_of(code: Any) -> str | int | None:
    """A provider's code, if it is a text or a number that fits."""
    if isinstance(code, str) or (type(code) is int and abs(code) < 2**63):
        return code
    return as_count(code)


def _detailed(holder: Any) -> str | None:
    """The texts of a list of details, as servers that validate a body write them."""
    details = map(as_dict, as_list(as_dict(holder).get("detail")))
    return "; ".join(text for item in details if (text := as_text(item.get("msg")))) or None


def failure_of(error: Any) -> Failure:
    """A provider's error, in any shape."""
    detail = error
    if isinstance(error, list) and error:
        return failure_of(error[0])
    if isinstance(error, dict):
        inner = error.get("error", error)
        detail = inner if inner is not None else error
    if isinstance(detail, dict):
        code = detail.get("code", detail.get("errorCode"))
        if code is None:
            code = as_dict(detail.get("details")).get("error_code")
        kind = (
            as_text(detail.get("type"))
            or as_text(detail.get("status"))
            or as_text(detail.get("__type"))
        )
        message = (
            as_text(detail.get("message"))
            or as_text(detail.get("Message"))
            or as_text(detail.get("errorMessage"))
            or as_text(as_dict(error).get("message"))
            or as_text(as_dict(error).get("detail"))
            or _detailed(detail.get("message"))
            or _detailed(detail)
        )
        return Failure(
            type=kind,
            code=_code_of(code),
            message=message,
            raw=error,
        )
    return Failure(message=as_text(detail), raw=error)


# The providers' names for an error inside an answer, without an HTTP status.
_WORDS = (
    ("overloaded", 529),
    ("unavailable", 503),
    ("rate_limit", 429),
    ("throttl", 429),
    ("resource_exhausted", 429),
    ("insufficient_quota", 429),
    ("timeout", 504),
    ("server_error", 500),
    ("servererror", 500),
    ("api_error", 500),
    ("internal", 500),
    ("authentication", 401),
    ("unauthorized", 401),
    ("permission", 403),
    ("accessdenied", 403),
    ("not_found", 404),
    ("notfound", 404),
    ("invalid", 400),
    ("validation", 400),
    ("bad_request", 400),
)
_STATUS = re.compile("[45][0-9][0-9]")
OUT_OF_MONEY = ("insufficient_quota", "billing_not_active", "insufficient_balance")
"""Words for an account that cannot pay, whatever the status."""


def status_of(failure: Failure) -> int:
    """The HTTP status that corresponds to a provider's type of error, or 0 if there is none."""
    code = str(failure.code or "")
    if _STATUS.fullmatch(code):
        return int(code)
    # Some providers send no type, or just "error"; then only the message is left.
    for text in (f"{failure.type} {code}".lower(), (failure.message or "").lower()):
        for word, status in _WORDS:
            if word in text:
                return status
    return 0


# ---- Size limits of requests to a server: larger ones are refused before any work is done with them.


MOST_BYTES = 32 * 1024 * 1024
"""The limit of the Messages API; others have similar ones."""
DEEPEST = 100
"""The depth of nested objects and lists."""


def bounded(body: bytes, *, most: int = MOST_BYTES, deepest: int = DEEPEST) -> Any:
    """The JSON of a body; raises `Refused` for one that is too large or nested too deeply, and ValueError for one that is not JSON."""
    if len(body) > most:
        raise Refused(Refusal(text="Request exceeds the maximum size", status=413))
    try:
        value = load_finite_json(body)
    except NestedTooDeeplyError:
        raise _too_deep(deepest) from None
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(deepest):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return value
    raise _too_deep(deepest)


def _too_deep(deepest: int) -> Refused:
    return Refused(Refusal(text=f"the body is nested more than {deepest} levels deep"))
