"""What a client carries for us in the opaque slot of a foreign part: the part itself, compressed, encrypted and bound to its owner.

    base64( "iv" version | key id (4) | nonce (12) | AES-GCM of the part's JSON )

Associated data are the tenant and the client's dialect, so an envelope of another tenant, or one that was moved into another
API, does not open. It is standard base64 throughout: google-genai refuses anything else in a `thought_signature`.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import blake2b
from importlib import import_module
from secrets import token_bytes
from typing import Any

from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError

__all__ = ["EnvelopeSealer", "derived", "is_envelope"]

_MAGIC = b"iv\x01"
_START = b64encode(_MAGIC).decode()
_NONCE = 12
_HEAD = len(_MAGIC) + 4
_MOST = 64 * 1024
"""The longest envelope in bytes; real clients return 200 kB unharmed."""
_UNPACKED = 4 * 1024 * 1024


def derived(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose alone: what it made is useless for any other."""
    hkdf = import_module("cryptography.hazmat.primitives.kdf.hkdf")
    hashes = import_module("cryptography.hazmat.primitives.hashes")
    made: bytes = hkdf.HKDF(hashes.SHA256(), 32, None, f"innervoice {purpose}".encode()).derive(
        secret
    )
    return made


def is_envelope(text: str) -> bool:
    """Whether a seal looks like one of ours; such a seal never goes to a provider."""
    return text.startswith(_START)


class EnvelopeSealer:
    """Puts parts into envelopes and takes them out again; further secrets only open."""

    def __init__(self, secret: bytes, *older: bytes) -> None:
        ciphers = [_cipher(one) for one in (secret, *older)]
        self._id, self._own = ciphers[0]
        self._ciphers = dict(ciphers)

    def seal(self, part: Part, tenant: str, dialect: str) -> str | None:
        """The envelope of a part; None for one that is too large to be carried."""
        nonce = token_bytes(_NONCE)
        packed = zlib.compress(to_json(part), 1)
        if len(packed) > _MOST:
            return None
        closed = self._own.encrypt(nonce, packed, _bound_to(tenant, dialect))
        return b64encode(_MAGIC + self._id + nonce + closed).decode()

    def open(self, text: str, tenant: str, dialect: str) -> Part | None:
        """The part in an envelope; None if it is not ours, not of this tenant, or damaged."""
        try:
            data = b64decode(text, validate=True)
        except (Base64Error, ValueError):
            return None
        cipher = self._ciphers.get(data[len(_MAGIC) : _HEAD])
        if cipher is None or not data.startswith(_MAGIC):
            return None
        nonce, closed = data[_HEAD : _HEAD + _NONCE], data[_HEAD + _NONCE :]
        try:
            packed = cipher.decrypt(nonce, closed, _bound_to(tenant, dialect))
            part = from_json(zlib.decompressobj().decompress(packed, _UNPACKED))
        except (
            import_module("cryptography.exceptions").InvalidTag,
            ValueError,
            zlib.error,
            DecodeError,
        ):
            return None
        return part if isinstance(part, (Thinking, Text, ToolCall)) else None


def _cipher(secret: bytes) -> tuple[bytes, Any]:
    aead = import_module("cryptography.hazmat.primitives.ciphers.aead")
    key = derived(secret, "envelopes")
    return blake2b(key, digest_size=4).digest(), aead.AESGCM(key)


def _bound_to(tenant: str, dialect: str) -> bytes:
    return b"\0".join((tenant.encode(), dialect.encode()))
