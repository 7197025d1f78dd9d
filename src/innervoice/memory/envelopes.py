"""What a client carries for us in the opaque slot of a foreign part: the part itself, compressed, encrypted and bound to its owner.

    base64( "iv" version | key id (4) | nonce (12) | AES-GCM of the part's JSON, or of a handle )

Associated data are the tenant, the client's dialect and the kind of part whose slot it is, so an envelope of another tenant, or one that
was moved to another place, does not open. It is standard base64 throughout: google-genai refuses anything else in a `thought_signature`.

A part that is too large to be carried is in the record of its turn; the client carries the key under which that is found.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import blake2b
from importlib import import_module
from secrets import token_bytes
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError
from innervoice.memory.keeping import kept_part

__all__ = ["EnvelopeSealer", "Handle", "derived", "handles_of", "is_envelope", "part_of"]

_MAGIC = b"iv\x01"
_START = b64encode(_MAGIC).decode()
_NONCE = 12
_HEAD = len(_MAGIC) + 4
_MOST = 64 * 1024
"""The longest envelope in bytes; real clients return 200 kB unharmed."""
_UNPACKED = 16 * 1024 * 1024
_HANDLE = b"h"
"""How a handle begins; no compressed data does."""
_HANDLE_SIZE = 16


class Handle(NamedTuple):
    """Names a part in the record of its turn."""

    key: bytes


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

    def seal(self, part: Part, tenant: str, dialect: str, *, whole: bool = False) -> str:
        """The envelope of a part; with `whole` it is never a handle, because nothing is stored."""
        nonce = token_bytes(_NONCE)
        content = zlib.compress(to_json(part), 1)
        if len(content) > _MOST and not whole:
            content = _HANDLE + _handle(part, tenant)
        closed = self._own.encrypt(nonce, content, _bound_to(tenant, dialect, part.type))
        return b64encode(_MAGIC + self._id + nonce + closed).decode()

    def open(self, text: str, tenant: str, dialect: str, slot: str) -> Part | Handle | None:
        """The part in an envelope, or where it is; None if it is not ours, not of this tenant and place, or damaged."""
        try:
            data = b64decode(text, validate=True)
        except (Base64Error, ValueError):
            return None
        cipher = self._ciphers.get(data[len(_MAGIC) : _HEAD])
        if cipher is None or not data.startswith(_MAGIC):
            return None
        nonce, closed = data[_HEAD : _HEAD + _NONCE], data[_HEAD + _NONCE :]
        try:
            content = cipher.decrypt(nonce, closed, _bound_to(tenant, dialect, slot))
            if content.startswith(_HANDLE):
                return Handle(content[len(_HANDLE) :])
            part = from_json(zlib.decompressobj().decompress(content, _UNPACKED))
        except (
            import_module("cryptography.exceptions").InvalidTag,
            ValueError,
            zlib.error,
            DecodeError,
        ):
            return None
        return part if isinstance(part, (Thinking, Text, ToolCall)) else None


def handles_of(message: Message, tenant: str) -> list[bytes]:
    """The keys of the parts of a turn that are too large to be carried."""
    return [_handle(part, tenant) for part in message.parts if _is_large(part)]


def part_of(message: Message, handle: Handle, tenant: str) -> Part | None:
    """The part of a stored turn that a handle names."""
    return next((part for part in message.parts if _handle(part, tenant) == handle.key), None)


def _is_large(part: Part) -> bool:
    # Few parts are worth compressing to find out.
    data = to_json(part)
    return len(data) > _MOST and len(zlib.compress(data, 1)) > _MOST


def _handle(part: Part, tenant: str) -> bytes:
    """A digest of what is kept of a part in every store. The handle itself is encrypted, so it need not be keyed."""
    made = blake2b(_bytes(tenant), digest_size=_HANDLE_SIZE, person=b"part")
    made.update(to_json(kept_part(part) or part))
    return made.digest()


def _cipher(secret: bytes) -> tuple[bytes, Any]:
    aead = import_module("cryptography.hazmat.primitives.ciphers.aead")
    key = derived(secret, "envelopes")
    return blake2b(key, digest_size=4).digest(), aead.AESGCM(key)


def _bound_to(tenant: str, dialect: str, slot: str) -> bytes:
    return b"\0".join(map(_bytes, (tenant, dialect, slot)))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
