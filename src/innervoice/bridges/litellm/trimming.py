"""`trim_messages`: a history, shortened to a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.bridges.litellm.models import entry_of
from innervoice.bridges.litellm.tokens import token_counter

__all__ = ["trim_messages"]

_RATIO = 0.75


def trim_messages(
    messages: Sequence[Any],
    model: str | None = None,
    trim_ratio: float = _RATIO,
    return_response_tokens: bool = False,
    max_tokens: int | None = None,
) -> Any:
    """The system messages and the newest others that fit, whole; with `return_response_tokens` also the tokens left for the answer.

    The limit is `max_tokens`, or `trim_ratio` of the model's input limit; an unknown model has none. The last message always stays, and
    a tool result is never kept without the message with its call.
    """
    kept = list(messages)
    found = entry_of(model) if model else None
    window = found[1].get("max_input_tokens") if found else None
    limit = int(window * trim_ratio) if max_tokens is None and window else max_tokens
    if limit is not None:
        kept = _fitting(kept, model or "", limit)
    if not return_response_tokens:
        return kept
    used = token_counter(model=model or "", messages=kept)
    return kept, max(0, int(window or limit or 0) - used)


def _fitting(messages: list[Any], model: str, limit: int) -> list[Any]:
    system = [message for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    start = len(others)
    for first in range(len(others) - 1, -1, -1):
        if others[first]["role"] == "tool":
            continue  # it needs the call before it
        kept = [*system, *others[first:]]
        if start < len(others) and token_counter(model=model, messages=kept) > limit:
            break
        start = first
    return [*system, *others[start:]]
