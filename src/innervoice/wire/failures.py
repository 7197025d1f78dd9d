"""A provider's error, in whatever shape it is written."""

from __future__ import annotations

from typing import Any

from innervoice.canon.response import Failure
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["failure_of"]


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
