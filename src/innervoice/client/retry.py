"""Whether and when a request is sent again.

Waits grow with every try and are drawn at random between nothing and their bound, so that clients which failed together
do not come back together. What the host says about when to come back wins over that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from innervoice.wire.json_access import as_dict, as_list

__all__ = ["LONGEST_WAIT", "Backoff", "is_transient", "retry_after"]

LONGEST_WAIT = 60.0
"""A host that says to come back later than this is not waited for: the error tells the caller when."""

_FIRST_BOUND = 0.5
_LAST_BOUND = 8.0
# What the official SDKs try again, and what no second try can mend.
_TRANSIENT = frozenset({408, 409, 425, 429})
_PERMANENT = frozenset({501, 505})
_OUT_OF_MONEY = ("insufficient_quota", "billing_not_active", "insufficient_balance")


class Backoff:
    """How long to wait before the next try."""

    def __init__(self, retries: int, *, draw: Callable[[], float] = random.random) -> None:
        self.retries = retries
        self._draw = draw

    def wait(self, tries: int, hint: float | None) -> float | None:
        """Seconds before the next try after so many second tries; None: there is none."""
        if tries >= self.retries:
            return None
        if hint is not None:
            return hint if hint <= LONGEST_WAIT else None
        return self._draw() * min(_LAST_BOUND, _FIRST_BOUND * 2.0**tries)


def is_transient(status: int, headers: Mapping[str, str], kind: str | None = None) -> bool:
    """Whether the same request may succeed a little later; `kind` is the provider's word for the error."""
    told = headers.get("x-should-retry", "").lower()
    if told in ("true", "false"):
        return told == "true"
    if kind and any(word in kind for word in _OUT_OF_MONEY):
        return False
    return status in _TRANSIENT or (status >= 500 and status not in _PERMANENT)


def retry_after(headers: Mapping[str, str], now: float, body: Any = None) -> float | None:
    """In how many seconds the host wants to be asked again, by its headers or in Google's error details."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after")
    if told:
        seconds = _number(told)
        return seconds if seconds is not None else _until(told, now)
    for detail in as_list(as_dict(as_dict(body).get("error")).get("details")):
        delay = as_dict(detail).get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1])
    return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    # Also false for a number that is none.
    return number if number is not None and 0 <= number < 1e9 else None


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
