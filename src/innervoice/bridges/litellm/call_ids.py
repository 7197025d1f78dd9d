"""Tool calls and results whose ids a program lost: the results belong to the calls in order.

crewAI rebuilds the calls of a stream by name and arguments, so neither the call nor its result has an id. Providers refuse that.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.bridges.litellm.litellm_object import plain
from innervoice.canon.jsontext import dump_json
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["PairedMessages", "paired"]


class PairedMessages(NamedTuple):
    """Messages whose calls and results have ids."""

    messages: list[Any]
    added: int
    """How many ids were missing."""

    @property
    def notes(self) -> list[str]:
        """A note about what was added, for `_hidden_params`."""
        if not self.added:
            return []
        return ["messages: tool calls or results without ids were matched in order"]


def paired(messages: Iterable[Any]) -> PairedMessages:
    """The messages, with missing ids filled in; a result gets the id of the first call that has no result yet."""
    made: list[Any] = []
    open_calls: list[Any] = []
    added = 0
    for message in map(plain, messages):
        if _lacks_ids(message):
            added += 1
            message = _with_ids(message, len(made))  # noqa: PLW2901 - the same message, completed
        if calls := as_list(as_dict(message).get("tool_calls")):
            open_calls = [as_dict(call).get("id") for call in calls]
        if as_dict(message).get("role") == "tool":
            if not message.get("tool_call_id") and open_calls:
                added += 1
                message = {**message, "tool_call_id": open_calls[0]}  # noqa: PLW2901
            open_calls = [name for name in open_calls if name != message.get("tool_call_id")]
        made.append(message)
    return PairedMessages(made, added)


def _lacks_ids(message: Any) -> bool:
    calls = as_list(as_dict(message).get("tool_calls"))
    return any(isinstance(call, dict) and not call.get("id") for call in calls)


def _with_ids(message: dict[str, Any], position: int) -> dict[str, Any]:
    """The same ids in every request, so that caches and bound reasoning stay valid."""
    calls = []
    for number, call in enumerate(map(as_dict, message["tool_calls"])):
        digest = blake2b(dump_json([position, number, call.get("function")]), digest_size=10)
        calls.append({**call, "id": call.get("id") or f"call_{digest.hexdigest()}"})
    return {**message, "tool_calls": calls}
