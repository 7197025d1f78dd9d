"""Numbers, times and sizes -> the words that the page shows; the page formats nothing."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from innervoice.privacy.redactor import Redactor, size
from innervoice.show.visible import one_line
from innervoice.view.row_types import Fact

__all__ = ["dollars", "duration", "fact", "moment", "share", "size"]

_WHY = 600
_LOOKED_AT = 8 * _WHY
"""How many characters of a text are examined; the rest could not be shown."""
_SCREEN = Redactor("screen")


@lru_cache(maxsize=4096)
def _line(text: str, limit: int) -> str:
    # The same few facts stand at most rows.
    return one_line(_SCREEN.name(text[:_LOOKED_AT]), limit)


def fact(label: str, why: str = "", tone: Literal["good", "warn", "bad"] | None = None) -> Fact:
    """A label with its sentence, both on one line, sanitized, and without what is private."""
    row: Fact = {"label": _line(label, 120)}
    if why:
        row["why"] = _line(why, _WHY)
    if tone:
        row["tone"] = tone
    return row


def duration(seconds: float) -> str:
    """Seconds, or minutes if there are many; "" for an invalid time."""
    if not 0 <= seconds < 1e9:
        return ""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def moment(at: float) -> str:
    """A time in the local time zone; "" for an invalid time."""
    try:
        return datetime.fromtimestamp(at).isoformat(" ", "seconds")  # noqa: DTZ006 - local time
    except (ValueError, OverflowError, OSError):
        return ""


def dollars(amount: Decimal) -> str:
    """An amount of money with two significant digits."""
    if amount >= 1 or not amount:
        return f"${amount:,.2f}"
    return f"${amount:.{min(1 - amount.adjusted(), 8)}f}"


def share(part: float, whole: float) -> str:
    """A share of a whole, in percent."""
    if not whole or not part:
        return "0%"
    percent = 100 * part / whole
    return f"{percent:.0f}%" if percent >= 1 else "under 1%"
