"""Numbers, times and sizes -> the words that the page shows; the page formats nothing."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Literal

from innervoice.show.visible import one_line
from innervoice.view.row_types import Fact

__all__ = ["dollars", "duration", "fact", "moment", "share", "size"]

_WHY = 600


def fact(label: str, why: str = "", tone: Literal["good", "warn", "bad"] | None = None) -> Fact:
    """A label with its sentence, both on one line and sanitized."""
    made: Fact = {"label": one_line(label, 120)}
    if why:
        made["why"] = one_line(why, _WHY)
    if tone:
        made["tone"] = tone
    return made


def size(count: int) -> str:
    """A number of bytes."""
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    if count < 1_000_000:
        return f"{count / 1000:.3g} kB" if count < 99_950 else f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


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
