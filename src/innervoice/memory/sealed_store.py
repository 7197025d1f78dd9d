"""Items that only the gateway's key opens, in any store.

They are compressed, and bound to their tenant, kind and id (`sealing.py`): one that was moved to another place cannot be opened. An item
that cannot be opened is treated as missing.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from hashlib import blake2b
from secrets import token_hex

from innervoice.memory.sealing import Sealing, derived
from innervoice.memory.stores.store import FoundItem, Store, StoredItem

__all__ = ["SealedStore"]

_MAGIC = b"s\x01"
_KEY_SIZE = 16
_UNPACKED = 64 * 1024 * 1024


class SealedStore:
    """Seals items before they are stored, and opens them afterwards. With `older` secrets, items from before a rotation are still found."""

    def __init__(self, store: Store, secret: bytes, *older: bytes) -> None:
        self.store = store
        self._sealing = Sealing(_MAGIC, "store", secret, *older)
        self._lookup = [derived(one, "names in the store") for one in (secret, *older)]

    def keys(self, tenant: str, *facts: str) -> list[bytes]:
        """The keys for a name, the current one first; a stolen store does not reveal the name."""
        return [_digest(secret, tenant, *facts) for secret in self._lookup]

    async def put(
        self,
        tenant: str,
        kind: str,
        data: bytes,
        keys: Sequence[bytes],
        *,
        created: float,
        id: str | None = None,  # noqa: A002 - the item's
        kept: bool = False,
    ) -> None:
        """Stores data under these keys."""
        name = id or token_hex(16)
        sealed = self._sealing.seal(zlib.compress(data, 1), tenant, kind, name)
        await self.store.put(StoredItem(name, tenant, kind, sealed, created, kept), keys)

    async def get(
        self, tenant: str, kind: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of one kind under any of these keys, opened; those in `known` are returned without data."""
        found = []
        for item in await self.store.get(tenant, keys, known):
            if item.data is None:
                found.append(item)
            elif (data := self._opened(item.data, tenant, kind, item.id)) is not None:
                found.append(item._replace(data=data))
        return found

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind, opened."""
        found = []
        for item in await self.store.items(tenant, kind):
            data = self._opened(item.data, tenant, kind, item.id)
            if data is not None:
                found.append(item._replace(data=data))
        return found

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys; returns how many."""
        return await self.store.delete(tenant, keys)

    def _opened(self, sealed: bytes, tenant: str, kind: str, name: str) -> bytes | None:
        packed = self._sealing.open(sealed, tenant, kind, name)
        if packed is None:
            return None
        unpacking = zlib.decompressobj()
        try:
            data = unpacking.decompress(packed, _UNPACKED)
        except zlib.error:
            return None
        return data if unpacking.eof else None


def _digest(secret: bytes, *facts: str) -> bytes:
    made = blake2b(key=secret, digest_size=_KEY_SIZE)
    for fact in facts:
        data = fact.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little"))
        made.update(data)
    return made.digest()
