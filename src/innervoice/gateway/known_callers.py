"""A key that came with a request -> its caller. Results of the store are cached for a few seconds, so that most requests need not ask it.

    no key is needed ──► anybody
    a key ──► in the configuration? ──► looked up a moment ago? ──► the store

A key is needed as soon as there is one, in the configuration or in the store, and wherever other machines can reach the gateway. A revoked
key stops working in all processes within `FRESH_SECONDS`. While the store cannot be reached, known callers are served for
`STALE_SECONDS`, and other keys cannot be checked.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from hmac import compare_digest

from innervoice.gateway.callers import ANYBODY, Caller, CallerKeys, is_key
from innervoice.gateway.refusals import KEYS_AWAY, NO_KEY, WRONG_KEY, key_expired, key_revoked
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.store import StoreError
from innervoice.wire.refusals import Refused

__all__ = ["FRESH_SECONDS", "STALE_SECONDS", "KnownCallers", "digest_of"]

FRESH_SECONDS = 5.0
STALE_SECONDS = 600.0
_FIRST_WAIT = 2.0
"""How long the look-up of an unknown key may take; after that the request is refused."""
_NEXT_WAIT = 0.25
_MOST_KNOWN = 10_000
_MOST_UNKNOWN = 1_000


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
        now: Callable[[], float] = time.time,
    ) -> None:
        """`assume_keys`: until the store has been read, there may be keys in it."""
        self._keys = keys
        self._calls = calls or StoreCalls()
        self.now = now
        self._configured: dict[bytes, Caller] = {}
        self._is_exposed = False
        self._has_stored: bool | None = None
        self._assume_keys = assume_keys
        self._look_again = float("-inf")
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._unknown: OrderedDict[bytes, _Known] = OrderedDict()

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
                self._look_again = self._calls.clock() + FRESH_SECONDS
            try:
                wait = _FIRST_WAIT if is_decisive else _NEXT_WAIT
                self._has_stored = await self._calls.wait(self._keys.has_any, wait)
            except StoreError:
                if is_decisive:
                    raise Refused(KEYS_AWAY) from None
            self._look_again = self._calls.clock() + FRESH_SECONDS
        return not self._has_stored

    # ---- the owner of a key -----------------------------------------------------------------------

    def _configured_caller(self, key: str) -> Caller | None:
        given, found = digest_of(key), None
        for known, caller in self._configured.items():
            if compare_digest(given, known):
                found = caller
        return found

    async def _looked_up(self, key: str) -> Caller | None:
        """The caller of a virtual key; raises `Refused` if it cannot be determined."""
        assert self._keys is not None
        keys, clock = self._keys, self._calls.clock
        digest = keys.digests(key)[0]
        known = self._known.get(digest) or self._unknown.get(digest)
        if known is not None and clock() - known.asked < FRESH_SECONDS:
            return known.caller
        is_known = known is not None and known.caller is not None
        if known is not None and is_known:
            known.asked = clock()  # others use the cached result while this one asks
        try:
            wait = _NEXT_WAIT if is_known else _FIRST_WAIT
            caller = await self._calls.wait(lambda: keys.found(key), wait)
        except StoreError:
            if known is not None and is_known and clock() - known.said < STALE_SECONDS:
                return known.caller
            raise Refused(KEYS_AWAY) from None
        self._keep(digest, _Known(caller, clock()))
        return caller

    def _keep(self, digest: bytes, known: _Known) -> None:
        """Caches a result of the store. Guessed keys never push out known ones."""
        kept, other, most = self._known, self._unknown, _MOST_KNOWN
        if known.caller is None:
            kept, other, most = self._unknown, self._known, _MOST_UNKNOWN
        other.pop(digest, None)
        kept[digest] = known
        kept.move_to_end(digest)
        if len(kept) > most:
            kept.popitem(last=False)


def digest_of(key: str) -> bytes:
    """The value that is compared instead of a key of the configuration."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
