"""Whether and when a request is retried.

The wait is chosen at random between 0 and a bound that doubles with every retry, so that clients which failed together do not return
together. If the host asks for a certain wait, that one is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from innervoice.wire.json_access import as_dict, as_list

__all__ = ["LONGEST_WAIT", "Backoff", "is_transient", "retry_after"]

LONGEST_WAIT = 60.0
"""If the host asks for a longer wait, the request is not retried; the error has `retry_after`."""

_FIRST_BOUND = 0.5
_LAST_BOUND = 8.0
# The statuses that the official SDKs retry, and those that no retry can fix.
_TRANSIENT = frozenset({408, 409, 425, 429})
_PERMANENT = frozenset({501, 505})
_OUT_OF_MONEY = ("insufficient_quota", "billing_not_active", "insufficient_balance")


class Backoff:
    """How long to wait before a retry."""

    def __init__(
        self,
        retries: int,
        *,
        draw: Callable[[], float] = random.random,
        longest: float = LONGEST_WAIT,
    ) -> None:
        self.retries = retries
        self._draw = draw
        self._longest = longest

    def wait(self, tries: int, hint: float | None) -> float | None:
        """Seconds to wait after this many retries; None if there is no further retry."""
        if tries >= self.retries:
            return None
        if hint is not None:
            return hint if hint <= self._longest else None
        return self._draw() * min(_LAST_BOUND, _FIRST_BOUND * 2.0**tries)


def is_transient(status: int, headers: Mapping[str, str], kind: str | None = None) -> bool:
    """Whether the same request may succeed later; `kind` is the provider's word for the error."""
    advice = headers.get("x-should-retry", "").lower()
    if advice in ("true", "false"):
        return advice == "true"
    if kind and any(word in kind for word in _OUT_OF_MONEY):
        return False
    return status in _TRANSIENT or (status >= 500 and status not in _PERMANENT)


def retry_after(headers: Mapping[str, str], now: float, body: Any = None) -> float | None:
    """The seconds that the host asks to wait, in its headers or in Google's error details."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("retry-after")
    if header:
        seconds = _number(header)
        return seconds if seconds is not None else _until(header, now)
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
    # Also false for NaN.
    return number if number is not None and 0 <= number < 1e9 else None


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
