"""What a client carries for the gateway in the opaque member of a part of its own dialect: the original part, compressed, encrypted and bound to its owner.

    base64( the part's JSON, or a handle, sealed as in `sealed_store.py` )

It is bound to the tenant, the client's dialect and the kind of part that carries it, so an envelope of another tenant, or one that was
moved to another place, cannot be opened. It is written in standard base64 throughout: google-genai refuses anything else in a
`thought_signature`. It comes back in that alphabet or in the one for URLs, in which google-genai itself writes bytes.

A part that is too large to be carried is in the record of its turn; the client carries the key of that record.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import blake2b
from typing import NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError
from innervoice.memory.retention import kept_part
from innervoice.memory.sealed_store import Sealing
from innervoice.wire.answer import Carrier

__all__ = ["EnvelopeSealer", "Handle", "Summary", "handles_of", "is_envelope", "part_of"]

_MAGIC = b"iv\x01"
_START = b64encode(_MAGIC).decode()
_STANDARD = str.maketrans("-_", "+/")
"""The alphabet for URLs -> the standard one."""
_MOST = 64 * 1024
"""The longest envelope in bytes; real clients return 200 kB unharmed."""
_UNPACKED = 16 * 1024 * 1024
_HANDLE = b"h"
"""How a handle begins; compressed data never begins like this."""
_HANDLE_SIZE = 16
_SUMMARY = "compaction"
"""The kind of part that carries a summary."""


class Summary(NamedTuple):
    """What a compaction of the gateway carries."""

    id: str
    """The id of the item, under which the store has the items that it stands for."""
    text: str
    turns: int
    """How many messages it stands for."""
    model: str
    """Who wrote it."""


class Handle(NamedTuple):
    """Names a part in the record of its turn."""

    key: bytes


def is_envelope(text: str) -> bool:
    """Whether a seal looks like an envelope; such a seal is never sent to a provider."""
    return text.startswith(_START)


class EnvelopeSealer:
    """Puts parts into envelopes and takes them out again; further secrets only open."""

    def __init__(self, secret: bytes, *older: bytes) -> None:
        self._sealing = Sealing(_MAGIC, "envelopes", secret, *older)

    def seal(self, part: Part, tenant: str, dialect: str, *, whole: bool = False) -> str:
        """The envelope of a part; with `whole` it is never a handle, because nothing is stored."""
        carried = part.carried if isinstance(part, Carrier) and part.carried else part
        content = zlib.compress(to_json(carried), 1)
        if len(content) > _MOST and not whole:
            content = _HANDLE + _handle(carried, tenant)
        return b64encode(self._sealing.seal(content, tenant, dialect, part.type)).decode()

    def open(self, text: str, tenant: str, dialect: str, slot: str) -> Part | Handle | None:
        """The part in an envelope, or its handle; None if it is not ours, belongs to another tenant or place, or is damaged."""
        try:
            content = self._opened(text, tenant, dialect, slot)
            if content is None:
                return None
            if content.startswith(_HANDLE):
                return Handle(content[len(_HANDLE) :])
            part = from_json(_unpacked(content))
        except (Base64Error, ValueError, zlib.error, DecodeError):
            return None
        return part if isinstance(part, (Thinking, Text, ToolCall)) else None

    def seal_summary(self, summary: Summary, tenant: str, dialect: str) -> str:
        """The envelope of a summary, for the block that stands for the conversation before it."""
        content = zlib.compress(dump_json(summary._asdict()), 1)
        return b64encode(self._sealing.seal(content, tenant, dialect, _SUMMARY)).decode()

    def open_summary(self, text: str, tenant: str, dialect: str) -> Summary | None:
        """The summary in an envelope; None if it is not ours, belongs to another tenant or place, or is damaged."""
        try:
            content = self._opened(text, tenant, dialect, _SUMMARY)
            return None if content is None else Summary(**load_json(_unpacked(content)))
        except (Base64Error, ValueError, TypeError, zlib.error):
            return None

    def _opened(self, text: str, tenant: str, dialect: str, slot: str) -> bytes | None:
        data = b64decode(text.translate(_STANDARD), validate=True)
        return self._sealing.open(data, tenant, dialect, slot)


def handles_of(message: Message, tenant: str) -> list[bytes]:
    """The keys of the parts of a turn that are too large to be carried."""
    return [_handle(part, tenant) for part in message.parts if _is_large(part)]


def part_of(message: Message, handle: Handle, tenant: str) -> Part | None:
    """The part of a stored turn that a handle names."""
    return next((part for part in message.parts if _handle(part, tenant) == handle.key), None)


def _unpacked(content: bytes) -> bytes:
    return zlib.decompressobj().decompress(content, _UNPACKED)


def _is_large(part: Part) -> bool:
    # Few parts are large enough to try compressing them.
    data = to_json(part)
    return len(data) > _MOST and len(zlib.compress(data, 1)) > _MOST


def _handle(part: Part, tenant: str) -> bytes:
    """A digest of the members of a part that every store keeps. The handle itself is encrypted, so the digest need not be keyed."""
    digest = blake2b(_bytes(tenant), digest_size=_HANDLE_SIZE, person=b"part")
    digest.update(to_json(kept_part(part) or part))
    return digest.digest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
