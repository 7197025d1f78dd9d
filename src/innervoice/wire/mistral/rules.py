"""What Mistral's chat API refuses about reasoning: the same as chat hosts, and every unknown member."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.chat.rules import problems_beside_shape
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.mistral.members import shape_problems
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import refused

__all__ = ["problems"]


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    messages = [as_dict(message) for message in as_list(body.get("messages"))]
    yield from shape_problems(body, target)
    yield from _answered(messages)
    yield from problems_beside_shape(body, target)
    if messages and messages[-1].get("role") == "assistant" and not messages[-1].get("prefix"):
        yield refused(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            code=3230,
        )


def _answered(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    """After each message there are as many results as it has calls; the calls of the last message may be open."""
    counts = [[0, 0]]
    for message in messages:
        if message.get("role") == "tool":
            counts[-1][1] += 1
        else:
            counts.append([len(as_list(message.get("tool_calls"))), 0])
    if messages and messages[-1].get("role") != "tool":
        counts.pop()
    if any(calls != results for calls, results in counts):
        yield refused("Not the same number of function calls and responses", code=3230)
