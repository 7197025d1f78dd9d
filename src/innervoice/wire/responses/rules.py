"""What the Responses API refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.cards import Ask
from innervoice.wire.rules import company, effort
from innervoice.wire.shapes import as_dict, as_list

__all__ = ["problems"]

_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_logprobs": "top_logprobs",
    "stop": "stop",
}


def problems(body: dict[str, Any], ask: Ask) -> Iterator[str]:
    """Why the API would refuse a body."""
    reasoning = as_dict(body.get("reasoning"))
    word = reasoning.get("effort")
    yield from effort(word, ask, "reasoning.effort")
    on = word != "none" if word else ask.default != "none"
    yield from company(body, ask, _NAMES, on=on)
    for number, item in enumerate(map(as_dict, as_list(body.get("input")))):
        if item.get("type") == "reasoning" and "summary" not in item:
            yield f"Input[{number}] missing required field 'summary'"
        if item.get("id") == "":
            yield f"Invalid 'input[{number}].id': ''. Expected an ID that begins with 'rs'."
