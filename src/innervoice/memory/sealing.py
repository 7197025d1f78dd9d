"""Data that can be opened only with the gateway's key, and only in its place.

    magic | key id (4) | nonce (12) | AES-GCM of the data

Each purpose has its own key, derived from the gateway's by HKDF: data that was sealed for one purpose is useless for any other. The
associated data names the owner and the place, so data that was moved cannot be opened.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib import import_module
from secrets import token_bytes
from typing import Any

__all__ = ["Sealing", "derived"]

_ID = 4
_NONCE = 12


def derived(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose alone."""
    hkdf = import_module("cryptography.hazmat.primitives.kdf.hkdf")
    hashes = import_module("cryptography.hazmat.primitives.hashes")
    made: bytes = hkdf.HKDF(hashes.SHA256(), 32, None, f"innervoice {purpose}".encode()).derive(
        secret
    )
    return made


class Sealing:
    """Seals data for one purpose with the first secret, and opens data that any of them has sealed."""

    def __init__(self, magic: bytes, purpose: str, secret: bytes, *older: bytes) -> None:
        self._magic = magic
        ciphers = [_cipher(derived(one, purpose)) for one in (secret, *older)]
        self._id, self._own = ciphers[0]
        self._ciphers = dict(ciphers)

    def seal(self, data: bytes, *place: str) -> bytes:
        """The data, sealed for a place."""
        nonce = token_bytes(_NONCE)
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
