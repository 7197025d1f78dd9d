"""Items that only the gateway's key opens, in any store.

    "s" version | key id (4) | nonce (12) | AES-GCM of the compressed data

Associated data are the tenant, the kind and the id of the item: one that was moved to another place does not open. What does not open is
as good as not there.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from hashlib import blake2b
from importlib import import_module
from secrets import token_bytes, token_hex
from typing import Any

from innervoice.memory.envelopes import derived
from innervoice.memory.stores.store import FoundItem, Store, StoredItem

__all__ = ["SealedStore"]

_MAGIC = b"s\x01"
_ID = 4
_NONCE = 12
_KEY_SIZE = 16
_UNPACKED = 64 * 1024 * 1024


class SealedStore:
    """Seals what goes into a store, and opens what comes out. With `older` secrets, what was stored before a rotation is still found."""

    def __init__(self, store: Store, secret: bytes, *older: bytes) -> None:
        self.store = store
        ciphers = [_cipher(one) for one in (secret, *older)]
        self._id, self._own = ciphers[0]
        self._ciphers = dict(ciphers)
        self._lookup = [derived(one, "names in the store") for one in (secret, *older)]

    def keys(self, tenant: str, *facts: str) -> list[bytes]:
        """The keys of something that has a name, the current one first; a store that is stolen does not tell the name."""
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
        nonce = token_bytes(_NONCE)
        closed = self._own.encrypt(nonce, zlib.compress(data, 1), _bound_to(tenant, kind, name))
        sealed = _MAGIC + self._id + nonce + closed
        await self.store.put(StoredItem(name, tenant, kind, sealed, created, kept), keys)

    async def get(
        self, tenant: str, kind: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of one kind under any of these keys, opened; those in `known` come without data."""
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
        head = len(_MAGIC) + _ID
        cipher = self._ciphers.get(sealed[len(_MAGIC) : head])
        if cipher is None or not sealed.startswith(_MAGIC):
            return None
        nonce, closed = sealed[head : head + _NONCE], sealed[head + _NONCE :]
        try:
            packed = cipher.decrypt(nonce, closed, _bound_to(tenant, kind, name))
            unpacking = zlib.decompressobj()
            data = unpacking.decompress(packed, _UNPACKED)
        except (import_module("cryptography.exceptions").InvalidTag, ValueError, zlib.error):
            return None
        return data if unpacking.eof else None


def _cipher(secret: bytes) -> tuple[bytes, Any]:
    aead = import_module("cryptography.hazmat.primitives.ciphers.aead")
    key = derived(secret, "store")
    return blake2b(key, digest_size=_ID).digest(), aead.AESGCM(key)


def _bound_to(tenant: str, kind: str, name: str) -> bytes:
    return f"{tenant}\0{kind}\0{name}".encode("utf-8", "surrogatepass")


def _digest(secret: bytes, *facts: str) -> bytes:
    made = blake2b(key=secret, digest_size=_KEY_SIZE)
    for fact in facts:
        data = fact.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little"))
        made.update(data)
    return made.digest()
