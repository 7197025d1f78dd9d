"""`batch_completion`: one model, many conversations, at the same time."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["batch_completion"]

_WORKERS = 100


def batch_completion(
    model: str, messages: Iterable[Any] = (), *, max_workers: int = _WORKERS, **options: Any
) -> list[Any]:
    """The responses in the order of the conversations; a failed one is replaced by its error, as in litellm."""
    # Read from the package, where programs patch it.
    completion = sys.modules["innervoice.bridges.litellm"].completion

    def answer_of(conversation: Any) -> Any:
        try:
            return completion(model, conversation, **options)
        except Exception as error:  # noqa: BLE001 - it is the result
            return error

    with ThreadPoolExecutor(max_workers) as pool:
        return list(pool.map(answer_of, messages))
