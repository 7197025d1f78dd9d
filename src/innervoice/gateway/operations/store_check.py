"""Whether the store of a gateway can be used, and whether all gateways that share it have the same key.

Each gateway leaves a mark in the store, sealed with its key. A mark that it cannot open belongs to a gateway with another key: neither can
read the turns and the callers of the other. After a rotation, the mark of the older key is removed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import Any, TypeVar

from innervoice.gateway.limits import LIMITS
from innervoice.gateway.operations.state import GatewayState
from innervoice.memory.sealed_store import SealedStore, derived
from innervoice.memory.stores.store import StoreError

__all__ = ["OTHER_KEY", "has_other_keys", "run_apart", "start_notes", "with_store"]

Result = TypeVar("Result")

_TENANT = "/gateways"
"""The owner under which marks are stored. No caller's name contains a slash."""
_KIND = "key"
OTHER_KEY = "a gateway with another key uses the same store, and neither can read what the other stores; give all of them the same server.key"


async def has_other_keys(sealed: SealedStore) -> bool:
    """Whether a gateway with another key has marked the store."""
    opened = await sealed.items(_TENANT, _KIND)
    return len(opened) < len(await sealed.store.items(_TENANT, _KIND))


async def _mark(sealed: SealedStore, state: GatewayState) -> None:
    """Leaves the mark of this gateway's key, and removes those of the older ones."""
    name, *older = (_name(key) for key in (state.key, *state.older_keys))
    keys = sealed.keys(_TENANT, _KIND)
    await sealed.put(_TENANT, _KIND, b"", [keys[0]], created=time.time(), id=name, kept=True)
    if older:
        await sealed.delete(_TENANT, keys[1:])


def _name(key: bytes) -> str:
    return blake2b(derived(key, "mark of a gateway"), digest_size=16).hexdigest()


def start_notes(state: GatewayState) -> Iterator[str]:
    """What an operator should know of the store before requests come."""

    async def work(sealed: SealedStore) -> bool:
        await _mark(sealed, state)
        return await has_other_keys(sealed)

    if state.url is None:
        return
    try:
        if run_apart(lambda: with_store(state, work)):
            yield OTHER_KEY
    except StoreError as error:
        yield f"the store cannot be used ({error}); until it can, a request without a key of the configuration is refused"


async def with_store(
    state: GatewayState, work: Callable[[SealedStore], Coroutine[Any, Any, Result]]
) -> Result:
    """Opens the store, calls `work` with it, and closes it; raises `StoreError` if there is no store, or it cannot be used."""
    store = state.open_store()
    if store is None:
        raise StoreError("no store is configured")
    try:
        async with asyncio.timeout(LIMITS.keys_command_seconds):
            return await work(SealedStore(store, state.key, *state.older_keys))
    except TimeoutError:
        raise StoreError(f"no answer within {LIMITS.keys_command_seconds:g} s") from None
    finally:
        await store.close()


def run_apart(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Runs a coroutine in a thread of its own: a reload happens while an event loop runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()
