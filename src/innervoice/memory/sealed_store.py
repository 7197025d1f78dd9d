"""Items that only the gateway's key opens, in any store.

Large ones are compressed, and all are bound to their tenant, kind and id (below): one that was moved to another place cannot be opened. An item
that cannot be opened is treated as missing.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from importlib import import_module
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from innervoice.memory.stores.store import FoundItem, Store, StoredItem

if TYPE_CHECKING:
    import asyncio

__all__ = ["SealedStore", "Sealing", "derived"]

_MAGIC = b"s\x01"
_KEY_SIZE = 16
_UNPACKED = 64 * 1024 * 1024
_STORED = b"\x78\x01\x01"
"""The beginning of a zlib stream with one piece, which is not compressed."""
_PLAIN = b"\0"
"""Before data that is in no stream, as versions between 0.2.1 and 0.3 wrote it for a while."""
_SHORT = 16 * 1024
_LARGE = 256 * 1024
"""Data that takes long to compress."""


class SealedStore:
    """Seals items before they are stored, and opens them afterwards. With `older` secrets, items from before a rotation are still found."""

    def __init__(self, store: Store, secret: bytes, *older: bytes) -> None:
        self.store = store
        self._put_soon: Callable[..., asyncio.Future[None] | None] | None = getattr(
            store, "put_soon", None
        )
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
        sealed = self._sealing.seal(_packed(data), tenant, kind, name)
        await self.store.put(StoredItem(name, tenant, kind, sealed, created, kept), keys)

    def put_soon(
        self,
        tenant: str,
        kind: str,
        data: bytes,
        keys: Sequence[bytes],
        *,
        created: float,
        id: str,  # noqa: A002 - the item's
    ) -> asyncio.Future[None] | None:
        """Stores data from the event loop, if the store can do that without delaying others; None if only `put` can."""
        if self._put_soon is None or len(data) > _LARGE:
            return None
        sealed = self._sealing.seal(_packed(data), tenant, kind, id)
        return self._put_soon(StoredItem(id, tenant, kind, sealed, created), keys)

    async def get(
        self, tenant: str, kind: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of one kind under any of these keys, opened; those in `known` are returned without data."""
        opened = []
        for item in await self.store.get(tenant, keys, known):
            if item.data is None:
                opened.append(item)
            elif (data := self._opened(item.data, tenant, kind, item.id)) is not None:
                opened.append(item._replace(data=data))
        return opened

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind, opened."""
        opened = []
        for item in await self.store.items(tenant, kind):
            data = self._opened(item.data, tenant, kind, item.id)
            if data is not None:
                opened.append(item._replace(data=data))
        return opened

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys; returns how many."""
        return await self.store.delete(tenant, keys)

    def _opened(self, sealed: bytes, tenant: str, kind: str, name: str) -> bytes | None:
        packed = self._sealing.open(sealed, tenant, kind, name)
        if packed is None:
            return None
        if packed.startswith(_PLAIN):
            return packed[len(_PLAIN) :]
        if (stored := _stored(packed)) is not None:
            return stored
        unpacking = zlib.decompressobj()
        try:
            data = unpacking.decompress(packed, _UNPACKED)
        except zlib.error:
            return None
        return data if unpacking.eof else None


def _packed(data: bytes) -> bytes:
    """The data as it is sealed, always a zlib stream: version 0.2.1 reads nothing else.

    Compressing a short text takes longer than writing it, so its stream has it as it is.
    """
    if len(data) >= _SHORT:
        return zlib.compress(data, 1)
    size = len(data)
    sizes = size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
    return b"".join((_STORED, sizes, data, zlib.adler32(data).to_bytes(4, "big")))


def _stored(packed: bytes) -> bytes | None:
    """The data of a stream that has it as it is; None for another one."""
    start = len(_STORED) + 4
    size = int.from_bytes(packed[len(_STORED) : start - 2], "little")
    is_whole = packed.startswith(_STORED) and len(packed) == start + size + 4
    return packed[start : start + size] if is_whole else None


def _digest(secret: bytes, *facts: str) -> bytes:
    digest = blake2b(key=secret, digest_size=_KEY_SIZE)
    for fact in facts:
        data = fact.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


# ---- Data that can be opened only with the gateway's key, and only in its place.
#
# magic | key id (4) | nonce (12) | AES-GCM of the data
#
# Each purpose has its own key, derived from the gateway's by HKDF: data that was sealed for one purpose is useless for any other. The
# associated data names the owner and the place, so data that was moved cannot be opened.


_ID = 4
_NONCE = 12


def derived(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose alone."""
    hkdf = import_module("cryptography.hazmat.primitives.kdf.hkdf")
    hashes = import_module("cryptography.hazmat.primitives.hashes")
    key: bytes = hkdf.HKDF(hashes.SHA256(), 32, None, f"innervoice {purpose}".encode()).derive(
        secret
    )
    return key


class Sealing:
    """Seals data for one purpose with the first secret, and opens data that any of them has sealed."""

    def __init__(self, magic: bytes, purpose: str, secret: bytes, *older: bytes) -> None:
        self._magic = magic
        ciphers = [_cipher(derived(one, purpose)) for one in (secret, *older)]
        self._id, self._own = ciphers[0]
        self._ciphers = dict(ciphers)

    def seal(self, data: bytes, *place: str) -> bytes:
        """The data, sealed for a place."""
        nonce = os.urandom(_NONCE)
        closed: bytes = self._own.encrypt(nonce, data, _bound_to(place))
        return self._magic + self._id + nonce + closed

    def open(self, sealed: bytes, *place: str) -> bytes | None:
        """The data; None if it is not ours, of another place, or damaged."""
        start = len(self._magic)
        head = start + _ID
        cipher = self._ciphers.get(sealed[start:head])
        if cipher is None or not sealed.startswith(self._magic):
            return None
        nonce, closed = sealed[head : head + _NONCE], sealed[head + _NONCE :]
        try:
            data: bytes = cipher.decrypt(nonce, closed, _bound_to(place))
        except (import_module("cryptography.exceptions").InvalidTag, ValueError):
            return None
        return data


def _cipher(key: bytes) -> tuple[bytes, Any]:
    aead = import_module("cryptography.hazmat.primitives.ciphers.aead")
    return blake2b(key, digest_size=_ID).digest(), aead.AESGCM(key)


def _bound_to(place: tuple[str, ...]) -> bytes:
    return b"\0".join(fact.encode("utf-8", "surrogatepass") for fact in place)
