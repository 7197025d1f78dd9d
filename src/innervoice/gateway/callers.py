"""Callers' virtual keys, as stored: the owner and the limits of each.

    iv-<256 random bits, base64url>      shown once, when it is created

The store has the full HMAC-SHA256 of a key, computed with a secret of the gateway for this purpose alone, and sealed facts about its
caller. A revoked key stays there as revoked, so that its holder gets that as the reason. Stored items never change: revoking stores a
second item, which counts from then on, and deletes the first.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from secrets import token_hex, token_urlsafe
from typing import Literal, NamedTuple, TypeAlias

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.rows import Row
from innervoice.gateway.names import matched, without_suffix
from innervoice.gateway.refusals import model_not_allowed
from innervoice.memory.sealed_store import SealedStore, derived
from innervoice.wire.refusals import Refused

__all__ = ["ANYBODY", "Budget", "Caller", "CallerKeys", "NewKey", "Period", "check_model", "is_key"]

Period: TypeAlias = Literal["day", "week", "month", "total"]

_TENANT = "/callers"
"""The owner under which callers are stored. No other owner's name contains a slash."""
_KIND = "caller"
_START = "iv-"
_KEY = re.compile(r"iv-[A-Za-z0-9_-]{43}")
_BYTES = 32
_HINT = len(_START) + 4
_ID = 6


class Budget(Row, frozen=True, kw_only=True):
    """How much a key may cost in a period."""

    amount: float
    """In US dollars, at list prices."""
    period: Period


class Caller(Row, frozen=True, kw_only=True):
    """The owner of a key that came with a request."""

    id: str = ""
    """The id of the key, for people and counters; empty for keys of the configuration."""
    name: str
    """The owner of the key: its tenant. Several keys may have one owner."""
    hint: str = ""
    """The beginning of the key, so that people can tell it from others."""
    models: tuple[str, ...] = ()
    """The model names that it may request; `*` stands for any text. Empty: all."""
    expires: float | None = None
    """In seconds since 1970, like the other times."""
    budget: Budget | None = None
    rpm: int | None = None
    """Requests per minute."""
    tpm: int | None = None
    """Tokens per minute, input and output."""
    streams: int | None = None
    """Concurrent answers."""
    owns_gateway: bool = False
    """Whether it may view the requests of all callers, like the operator of the gateway."""
    created: float = 0.0
    revoked: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether any of its limits is counted in the store."""
        limits = (self.rpm, self.tpm, self.streams, self.budget)
        return any(limit is not None for limit in limits)

    def may_ask(self, model: str) -> bool:
        """Whether it may request a model by this name."""
        if not self.models:
            return True
        names = {model, without_suffix(model)}
        return any(matched(glob, name) is not None for glob in self.models for name in names)


ANYBODY = Caller(name="local")
"""Everybody on this machine, where no key is needed."""


def check_model(caller: Caller, model: str) -> None:
    """Raises `Refused` for a model that the caller may not use."""
    if not caller.may_ask(model):
        raise Refused(model_not_allowed(model, caller.models))


class NewKey(NamedTuple):
    """A newly created key."""

    key: str
    """The key itself; it cannot be read again."""
    caller: Caller

    def __repr__(self) -> str:
        return f"NewKey({self.caller!r})"


class _Stored(Row, frozen=True, kw_only=True):
    digest: str
    """The digest of the key, in hexadecimal digits."""
    caller: Caller


def is_key(text: str) -> bool:
    """Whether a text has the form of a virtual key; any other text need not be looked up."""
    return _KEY.fullmatch(text) is not None


class CallerKeys:
    """The virtual keys in a store. Every method raises `StoreError` if the store cannot be used."""

    def __init__(self, sealed: SealedStore, secret: bytes, *older: bytes) -> None:
        self._sealed = sealed
        self._secrets = [derived(one, "callers' keys") for one in (secret, *older)]

    def digests(self, key: str) -> tuple[bytes, ...]:
        """The digests under which a key is looked up: one for each key of the gateway, the current one first."""
        data = key.encode("utf-8", "surrogatepass")
        return tuple(hmac.digest(secret, data, "sha256") for secret in self._secrets)

    async def add(self, caller: Caller) -> NewKey:
        """Creates a key for a caller, with its `id` and `hint`."""
        key = _START + token_urlsafe(_BYTES)
        caller = caller.replace(id=token_hex(_ID), hint=f"{key[:_HINT]}…")
        await self._put(_Stored(digest=self.digests(key)[0].hex(), caller=caller))
        return NewKey(key, caller)

    async def found(self, key: str) -> Caller | None:
        """The caller with this key, even if it is revoked or has expired."""
        digests = self.digests(key)
        items = await self._sealed.get(_TENANT, _KIND, digests)
        known = [
            stored.caller
            for item in items
            if item.data is not None
            and (stored := _read(item.data)) is not None
            and any(hmac.compare_digest(stored.digest, digest.hex()) for digest in digests)
        ]
        return _last(known)

    async def has_any(self) -> bool:
        """Whether there is any key, including one that this gateway cannot open: then a key is needed."""
        return bool(await self._sealed.store.items(_TENANT, _KIND))

    async def all(self) -> list[Caller]:
        """All callers, the oldest first, including the revoked ones."""
        callers = [stored.caller for stored in await self._all()]
        by_id = {caller.id: caller for caller in sorted(callers, key=lambda one: one.revoked or 0)}
        return sorted(by_id.values(), key=lambda one: (one.created, one.id))

    async def revoke(self, callers: Sequence[Caller], now: float, *, forget: bool = False) -> None:
        """Revokes the keys of these callers for good; with `forget` nothing about them stays stored, and their holders get the error for unknown keys."""
        ids = {caller.id for caller in callers}
        for stored in await self._all():
            caller = stored.caller
            if caller.id not in ids:
                continue
            if caller.revoked is None and not forget:
                # The new item first: at no time may the key look unknown, or be valid again.
                await self._put(stored.replace(caller=caller.replace(revoked=now)))
            if caller.revoked is None or forget:
                await self._sealed.delete(_TENANT, self._own_keys(caller))

    async def _all(self) -> list[_Stored]:
        items = await self._sealed.items(_TENANT, _KIND)
        return [stored for item in items if (stored := _read(item.data)) is not None]

    async def _put(self, stored: _Stored) -> None:
        caller = stored.caller
        keys = [bytes.fromhex(stored.digest), self._own_keys(caller)[0]]
        data = dump_json(stored)
        created = caller.revoked or caller.created
        await self._sealed.put(_TENANT, _KIND, data, keys, created=created, kept=True)

    def _own_keys(self, caller: Caller) -> list[bytes]:
        """The keys of this item only: a revoked caller has another item under the same digest."""
        state = "valid" if caller.revoked is None else "revoked"
        return self._sealed.keys(_TENANT, _KIND, caller.id, state)


def _read(data: bytes) -> _Stored | None:
    """A stored caller; None for one that cannot be read, such as one of a newer version with unknown limits."""
    try:
        return _Stored.from_row(load_json(data))
    except (TypeError, ValueError):
        return None


def _last(callers: Sequence[Caller]) -> Caller | None:
    """The record that counts, if a key was revoked just now."""
    revoked = [caller for caller in callers if caller.revoked is not None]
    return next(iter((*revoked, *callers)), None)
