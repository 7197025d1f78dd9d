"""What a request determines about its answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.canon.reasoning import ReasoningReport
from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Response
from innervoice.errors import UsageError

__all__ = ["Asked", "asked_by", "is_ignored"]


class Asked(NamedTuple):
    """What the request determines about the answer: the reasoning settings, the prefix digest and the account."""

    report: ReasoningReport | None = None
    prefix: str | None = None
    scope: str | None = None


def asked_by(request: Any) -> Asked:
    """Reads it from a request, or from the Wire that encode returned."""
    match request:
        case Wire():
            return Asked(request.reasoning_report, request.prefix, request.scope)
        case Request():
            from innervoice.planning.plan import planned  # noqa: PLC0415 - only who names the request needs it

            fitted, plan, _ = planned(request, checked=True)
            return Asked(fitted.report, plan.prefix, request.scope)
        case _:
            kind = type(request).__name__
            raise UsageError(
                f"request must be a Request or the Wire that encode returned, not {kind}"
            )


def is_ignored(report: ReasoningReport, response: Response) -> bool:
    """Whether an answer shows that the reasoning setting was not applied."""
    setting = report.requested
    if setting is None:
        return False
    if setting.effort == "none":
        return response.has_thinking or bool(response.usage.reasoning_tokens)
    return setting.show in ("full", "summary") and not response.has_thinking and response.ended
