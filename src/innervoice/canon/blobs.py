"""Long seals stored separately: a value in its JSON form <-> the same with references in place of its seals.

Signatures and encrypted reasoning may have many thousand characters, which not every database column or front end can hold. A
reference is `{"innervoice.blob": digest}`; it occurs only in an origin, in place of one of its `seals`, and the digest is
that of the seal, so that equal ones are stored once.

Where a seal must not be written at all, it is replaced by `{"innervoice.seal": {"size": 436, "hash": "1a2b3c4d"}}`: enough to see that
it existed, and to tell it from others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json
from innervoice.errors import DecodeError

__all__ = [
    "REFERENCE",
    "SealFacts",
    "seal_facts",
    "seal_placeholder",
    "with_references",
    "with_seals",
]

REFERENCE = "innervoice.blob"
_PLACEHOLDER = "innervoice.seal"
_SHORTEST = 64  # seals that are not longer than a reference stay where they are
_FOREIGN = ("block", "value", "raw")  # members with another program's JSON


def with_references(value: Any, blobs: MutableMapping[str, str]) -> Any:
    """The value without its long seals, which are put into `blobs`."""

    def put(seal: Any) -> Any:
        if not isinstance(seal, str) or len(seal) < _SHORTEST:
            return seal
        digest = blake2b(seal.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        blobs[digest] = seal
        return {REFERENCE: digest}

    return _changed(value, put)


def with_seals(value: Any, blobs: Mapping[str, str]) -> Any:
    """The value with its seals back in their places."""

    def take(seal: Any) -> Any:
        digest = seal.get(REFERENCE) if isinstance(seal, dict) else None
        if digest is None:
            return seal
        if digest not in blobs:
            raise DecodeError(
                f"a seal was stored separately under {digest!r}, which is missing from blobs"
            )
        return blobs[digest]

    return _changed(value, take)


class SealFacts(NamedTuple):
    """The facts about a seal that may be shown."""

    size: int
    """In characters."""
    hash: str
    """The first 8 hex digits of a digest."""


def seal_facts(seal: Any) -> SealFacts:
    """The size and the hash of a seal, or of the seal that a placeholder replaces."""
    match seal:
        case {"innervoice.seal": {"size": int(size), "hash": str(known)}}:
            return SealFacts(size, known[:8])
        case str():
            text = seal
        case _:
            text = dump_json(seal).decode()
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return SealFacts(len(text), digest[:8])


def seal_placeholder(seal: Any) -> dict[str, Any]:
    """The placeholder of a seal that is not written."""
    return {_PLACEHOLDER: seal_facts(seal)._asdict()}


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_changed(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {
        key: item if key in _FOREIGN else _changed(item, change) for key, item in value.items()
    }
    for path in changed.get("seals", ()) if "block" in changed else ():
        changed["block"] = _with_member(changed["block"], path.split("."), change)
    return changed


def _with_member(block: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    """The block with one member changed, and nothing else touched."""
    if not path:
        return change(block)
    name, *rest = path
    if not isinstance(block, dict) or name not in block:
        return block
    return {**block, name: _with_member(block[name], rest, change)}
