"""Seals: signed claims about a piece of reasoning.

A seal is a value in a block that only its provider can read: here the claims (which model, which account,
which text, what was before it) and an HMAC of them, in base64. So the emulator can distinguish a forged seal from a genuine
one in the wrong place, as the providers do.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json

__all__ = ["Sealer", "digest"]

_MAC = 16


def digest(value: Any) -> str:
    """A short digest of any JSON value; the order of keys does not matter."""
    return blake2b(dump_json(_sorted(value)), digest_size=9).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


class Sealer:
    """Makes seals with one key and reads them again."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, **claims: Any) -> str:
        """A seal over these claims."""
        content = dump_json(claims)
        return b64encode(self._mac(content) + content).decode("ascii")

    def claims(self, seal: Any) -> dict[str, Any] | None:
        """The claims of a seal; None if it was not made with this key."""
        try:
            text = str(seal).translate(str.maketrans("-_", "+/"))
            raw = b64decode(text + "=" * (-len(text) % 4), validate=True)
        except ValueError:
            return None
        if not hmac.compare_digest(raw[:_MAC], self._mac(raw[_MAC:])):
            return None
        claims: dict[str, Any] = load_json(raw[_MAC:])
        return claims

    def _mac(self, content: bytes) -> bytes:
        return hmac.digest(self._key, content, "sha256")[:_MAC]
