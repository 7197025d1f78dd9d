"""What Cohere's chat API refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.cohere.members import shape_problems
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import company, refused

__all__ = ["problems"]

_NAMES = {"temperature": "temperature", "top_p": "p", "stop": "stop_sequences"}


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    thinking = body.get("thinking")
    kind = as_dict(thinking).get("type")
    if thinking is not None and kind not in ("enabled", "disabled"):
        yield refused("invalid request: thinking.type must be one of enabled, disabled", status=422)
    budget = as_dict(thinking).get("token_budget")
    if budget is not None and (not isinstance(budget, int) or budget < 1):
        yield refused(
            "invalid request: thinking.token_budget must be a positive integer", status=422
        )
    yield from company(body, target, _NAMES, on=kind != "disabled")
    for message in map(as_dict, as_list(body.get("messages"))):
        if "tool_plan" in message and target.row.control == "cohere":
            yield refused("invalid request: tool_plan is not supported by this model")
