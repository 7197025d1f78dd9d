"""The callers' keys in the store of a gateway that does not run in this process: for commands, and for the start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from innervoice.gateway.callers import CallerKeys
from innervoice.gateway.state import GatewayState
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.stores.store import StoreError

__all__ = ["has_stored_keys", "with_caller_keys"]

Result = TypeVar("Result")

_WAIT = 10.0
_FILE = "sqlite:"


async def with_caller_keys(
    state: GatewayState, work: Callable[[CallerKeys], Coroutine[Any, Any, Result]]
) -> Result:
    """Opens the store, calls `work` with its keys, and closes it; raises `StoreError` if there is no store, or it cannot be used."""
    store = state.open_store()
    if store is None:
        raise StoreError("no store is configured")
    try:
        sealed = SealedStore(store, state.key, *state.older_keys)
        async with asyncio.timeout(_WAIT):
            return await work(CallerKeys(sealed, state.key, *state.older_keys))
    except TimeoutError:
        raise StoreError(f"no answer within {_WAIT:g} s") from None
    finally:
        await store.close()


def has_stored_keys(state: GatewayState) -> bool | None:
    """Whether the store has callers' keys; None if it cannot be read, and may have some."""
    if state.url is None:
        return False
    if (
        state.url.startswith(_FILE)
        and not Path(state.url.removeprefix(_FILE)).expanduser().exists()
    ):
        return False
    # In a separate thread: a reload happens while an event loop runs.
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(
                lambda: asyncio.run(with_caller_keys(state, lambda keys: keys.has_any()))
            ).result()
        except StoreError:
            return None
