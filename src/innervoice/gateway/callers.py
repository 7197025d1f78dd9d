"""Callers' virtual keys, as stored: the owner and the limits of each.

    iv-<256 random bits, base64url>      shown once, when it is created

The store has the full HMAC-SHA256 of a key, computed with a secret of the gateway for this purpose alone, and sealed facts about its
caller. A revoked key stays there as revoked, so that its holder gets that as the reason. Stored items never change: revoking stores a
second item, which counts from then on, and deletes the first.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.rows import Row
from innervoice.gateway.config.names import matched, without_suffix
from innervoice.gateway.errors import (
    KEYS_AWAY,
    NO_KEY,
    WRONG_KEY,
    key_expired,
    key_revoked,
    model_not_allowed,
)
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.operations.state import GatewayState
from innervoice.gateway.operations.store_check import run_apart, with_store
from innervoice.memory.sealed_store import SealedStore, derived
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.store import StoreError
from innervoice.wire.refusals import Refused

__all__ = [
    "ANYBODY",
    "Budget",
    "Caller",
    "CallerKeys",
    "KnownCallers",
    "NewKey",
    "Period",
    "check_model",
    "digest_of",
    "has_stored_keys",
    "is_key",
    "with_caller_keys",
]

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
    other_paths: bool = False
    """Whether it may use paths of providers that the gateway does not read."""
    created: float = 0.0
    revoked: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether any of its limits is counted in the store."""
        limits = (self.rpm, self.tpm, self.streams, self.budget)
        return any(limit is not None for limit in limits)

    def may_ask(self, model: str, *, is_exact: bool = False) -> bool:
        """Whether it may request a model by this name. A word in brackets at its end means nothing, unless the name `is_exact`."""
        if not self.models:
            return True
        names = {model} if is_exact else {model, without_suffix(model)}
        return any(matched(glob, name) is not None for glob in self.models for name in names)


ANYBODY = Caller(name="local")
"""Everybody on this machine, where no key is needed."""


def check_model(caller: Caller, model: str, *, is_exact: bool) -> None:
    """Raises `Refused` for a model that the caller may not use; `is_exact` as in `may_ask`."""
    if not caller.may_ask(model, is_exact=is_exact):
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
        callers = [
            stored.caller
            for item in items
            if item.data is not None
            and (stored := _read(item.data)) is not None
            and any(hmac.compare_digest(stored.digest, digest.hex()) for digest in digests)
        ]
        return _last(callers)

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


# The callers' keys in the store of a gateway that does not run in this process: for commands, and for the start.


Result = TypeVar("Result")

_FILE = "sqlite:"


async def with_caller_keys(
    state: GatewayState, work: Callable[[CallerKeys], Coroutine[Any, Any, Result]]
) -> Result:
    """Opens the store, calls `work` with its keys, and closes it; raises `StoreError` if there is no store, or it cannot be used."""
    secrets = (state.key, *state.older_keys)
    return await with_store(state, lambda sealed: work(CallerKeys(sealed, *secrets)))


def has_stored_keys(state: GatewayState) -> bool | None:
    """Whether the store has callers' keys; None if it cannot be read, and may have some."""
    if state.url is None:
        return False
    if (
        state.url.startswith(_FILE)
        and not Path(state.url.removeprefix(_FILE)).expanduser().exists()
    ):
        return False
    try:
        return run_apart(lambda: with_caller_keys(state, lambda keys: keys.has_any()))
    except StoreError:
        return None


# A key that came with a request -> its caller. Results of the store are cached for a few seconds, so that most
# requests need not ask it.
#
# no key is needed ──► anybody
# a key ──► in the configuration? ──► looked up a moment ago? ──► the store
#
# A key is needed as soon as there is one, in the configuration or in the store, and wherever other machines can reach the gateway. A revoked
# key stops working in all processes within `LIMITS.fresh_key_seconds`. While the store cannot be reached, known callers are served for
# `LIMITS.stale_key_seconds`, and other keys cannot be checked.


_NOBODYS = _START + "A" * 43
"""A key that is looked up to see whether the store answers."""


class _Known:
    """What the store returned for a key."""

    __slots__ = ("asked", "caller", "said")

    def __init__(self, caller: Caller | None, said: float) -> None:
        self.caller = caller
        self.said = self.asked = said


class KnownCallers:
    """The callers of one process. Without `keys` there is no store that could have any."""

    def __init__(
        self,
        keys: CallerKeys | None,
        *,
        calls: StoreCalls | None = None,
        assume_keys: bool = False,
        on_store: Callable[[bool], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`assume_keys`: until the store has been read, there may be keys in it. `on_store` is called when the store stops answering, and when it answers again."""
        self._keys = keys
        self._calls = calls or StoreCalls()
        self.now = now
        self._configured: dict[bytes, Caller] = {}
        self._is_exposed = False
        self._has_stored: bool | None = None
        self._assume_keys = assume_keys
        self._look_again = self._count_again = float("-inf")
        self._stored_names: frozenset[str] = frozenset()
        self._on_store = on_store
        self._is_store_there = True
        self._known: Bounded[bytes, _Known] = Bounded(LIMITS.known_callers)
        self._unknown: Bounded[bytes, _Known] = Bounded(LIMITS.unknown_callers)

    def configure(self, secrets: Mapping[str, str], *, exposed: bool) -> None:
        """Sets the keys of a configuration, by their owners; `exposed` if other machines can reach the gateway."""
        self._configured = {
            digest_of(secret): Caller(name=name) for name, secret in secrets.items()
        }
        self._is_exposed = exposed

    @property
    def is_key_needed(self) -> bool:
        """Whether a request without a key is refused, as far as is known."""
        return bool(self._configured or self._is_exposed or self._has_stored)

    def admits_without_store(self) -> bool:
        """Whether any caller is served while the store does not answer."""
        if self._keys is None or self._configured:
            return True
        if not self.is_key_needed and not (self._has_stored is None and self._assume_keys):
            return True
        oldest = self._calls.clock() - LIMITS.stale_key_seconds
        return any(known.said > oldest for known in self._known.values())

    async def _from_store(
        self, work: Callable[[], Coroutine[Any, Any, Result]], seconds: float
    ) -> Result:
        """The result of a call of the store; raises `StoreError` if it fails."""
        try:
            result = await self._calls.wait(work, seconds)
        except StoreError:
            self._see_store(is_there=False)
            raise
        self._see_store(is_there=True)
        return result

    def _see_store(self, *, is_there: bool) -> None:
        if is_there != self._is_store_there:
            self._is_store_there = is_there
            self._on_store(is_there)

    async def is_store_there(self) -> bool:
        """Whether the store answers what is needed to check a key."""
        keys = self._keys
        if keys is None:
            return True
        try:
            await self._from_store(keys.has_any, LIMITS.first_key_seconds)
            await self._from_store(lambda: keys.found(_NOBODYS), LIMITS.first_key_seconds)
        except StoreError:
            return False
        return True

    async def are_several(self) -> bool:
        """True if the keys of the gateway have several owners, revoked ones included; also as long as that cannot be known."""
        names = {caller.name for caller in self._configured.values()}
        if len(names) > 1 or self._keys is None:
            return len(names) > 1
        if self._calls.clock() >= self._count_again:
            try:
                stored = await self._from_store(self._keys.all, LIMITS.first_key_seconds)
            except StoreError:
                return True
            self._stored_names = frozenset(caller.name for caller in stored)
            self._count_again = self._calls.clock() + LIMITS.fresh_key_seconds
        return len(names | self._stored_names) > 1

    def is_own(self, key: str) -> bool:
        """True if a key is one of the gateway, valid or not: it is never sent on."""
        return is_key(key) or self._configured_caller(key) is not None

    def key_among(self, keys: Sequence[str]) -> str | None:
        """Returns the key that says who calls: the first of the gateway's own, or else the first; None if there is none."""
        return next((key for key in keys if self.is_own(key)), keys[0] if keys else None)

    async def of(self, key: str | None) -> Caller:
        """The caller with this key; raises `Refused` for a key that is not valid."""
        if not self.is_key_needed and await self._is_open():
            return ANYBODY
        if key is None:
            raise Refused(NO_KEY)
        if configured := self._configured_caller(key):
            return configured
        caller = await self._looked_up(key) if self._keys and is_key(key) else None
        if caller is None:
            raise Refused(WRONG_KEY)
        if caller.revoked is not None:
            raise Refused(key_revoked(_date(caller.revoked)))
        if caller.expires is not None and caller.expires <= self.now():
            raise Refused(key_expired(_date(caller.expires)))
        return caller

    # ---- whether a key is needed -----------------------------------------------------------------

    async def _is_open(self) -> bool:
        """Whether there is no key at all. Once there was one, a key is needed until the next start."""
        if self._keys is None:
            return True
        if self._calls.clock() >= self._look_again:
            # Other requests need not ask at the same time, unless nothing is known yet.
            is_decisive = self._has_stored is None and self._assume_keys
            if self._has_stored is not None:
                self._look_again = self._calls.clock() + LIMITS.fresh_key_seconds
            try:
                wait = LIMITS.first_key_seconds if is_decisive else LIMITS.store_seconds
                self._has_stored = await self._from_store(self._keys.has_any, wait)
            except StoreError:
                if is_decisive:
                    raise Refused(KEYS_AWAY) from None
            self._look_again = self._calls.clock() + LIMITS.fresh_key_seconds
        return not self._has_stored

    # ---- the owner of a key -----------------------------------------------------------------------

    def _configured_caller(self, key: str) -> Caller | None:
        # Nobody can choose the digest of a key, so how long this takes reveals nothing of one.
        return self._configured.get(digest_of(key))

    async def _looked_up(self, key: str) -> Caller | None:
        """The caller of a virtual key; raises `Refused` if it cannot be determined."""
        assert self._keys is not None
        keys, clock = self._keys, self._calls.clock
        digest = keys.digests(key)[0]
        cached = self._known.get(digest) or self._unknown.get(digest)
        if cached is not None and clock() - cached.asked < LIMITS.fresh_key_seconds:
            return cached.caller
        is_known = cached is not None and cached.caller is not None
        if cached is not None and is_known:
            cached.asked = clock()  # others use the cached result while this one asks
        try:
            wait = LIMITS.store_seconds if is_known else LIMITS.first_key_seconds
            caller = await self._from_store(lambda: keys.found(key), wait)
        except StoreError:
            if cached is not None and is_known and clock() - cached.said < LIMITS.stale_key_seconds:
                return cached.caller
            raise Refused(KEYS_AWAY) from None
        self._keep(digest, _Known(caller, clock()))
        return caller

    def _keep(self, digest: bytes, entry: _Known) -> None:
        """Caches a result of the store. Guessed keys never push out known ones."""
        cache, other = self._known, self._unknown
        if entry.caller is None:
            cache, other = other, cache
        other.pop(digest, None)
        cache[digest] = entry


def digest_of(key: str) -> bytes:
    """The value that is compared instead of a key of the configuration."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
