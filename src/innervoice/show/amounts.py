"""Amounts in words: money, shares of a whole, and what an answer thought."""

from __future__ import annotations

from decimal import Decimal

from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.show.policy import counted
from innervoice.show.transcript import NOTICEABLE, duration

__all__ = ["dollars", "share", "thinking_line"]


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


def thinking_line(metrics: ThinkingMetrics) -> str:
    """The metrics in one line, with ~ before what is estimated; "" if nothing is known that is worth a line."""
    thought, later = _thought(metrics), _later(metrics)
    return "; ".join(filter(None, (thought, later)))


def _thought(metrics: ThinkingMetrics) -> str:
    tokens, about = metrics.thinking_tokens, "~" if metrics.estimated else ""
    if tokens == 0:
        return "no reasoning"
    facts = [_noticeable("", metrics.thinking_seconds)]
    if tokens is not None:
        part = f" ({about}{share(tokens, metrics.output_tokens)})" if metrics.output_tokens else ""
        facts.append(f"{about}{counted(tokens, 'token')}{part}")
    if metrics.cost is not None:
        facts.append(f"{about}{dollars(metrics.cost)}")
    words = ", ".join(filter(None, facts))
    return f"thought {words}" if words else ""


def _later(metrics: ThinkingMetrics) -> str:
    """When the answer began, or at least when it ended."""
    began = _noticeable("first answer after ", metrics.first_answer_seconds)
    return began or _noticeable("took ", metrics.total_seconds)


def _noticeable(before: str, seconds: float | None) -> str:
    return f"{before}{duration(seconds)}" if seconds is not None and seconds >= NOTICEABLE else ""
