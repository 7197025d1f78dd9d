"""The turns of a gateway: the recently used ones in memory, all of them in a store.

A slow, full or unreachable store never makes a request fail: turns in memory are used, turns that could not be stored are stored later,
and the state is reported.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.canon.storage import from_json, to_json
from innervoice.errors import DecodeError
from innervoice.memory.recent_turns import RecentTurns
from innervoice.memory.records import TurnRecord, TurnsByKey
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.store_calls import SlowStoreError, StoreCalls
from innervoice.memory.stores.store import StoreError

__all__ = ["LookedUp", "Turns"]

KIND = "turn"
_READ_SECONDS = 0.25
"""How long a look-up may take. Lost reasoning hurts more than a quarter of a second, and a busy machine needs some of it."""
_WRITE_SECONDS = 0.25
"""How long the end of an answer waits until its turn is stored; after that it is stored in the background."""
_MOST = 10_000

Value = TypeVar("Value")


class LookedUp(NamedTuple):
    """The turns that were found, and whether the store could be reached."""

    turns: TurnsByKey
    is_whole: bool


class _Unsaved(NamedTuple):
    """A turn on its way into the store."""

    tenant: str
    created: float
    data: bytes
    keys: tuple[bytes, ...]


class Turns:
    """Keeps turns in memory and, if there is one, in a store that outlives the process."""

    def __init__(
        self,
        sealed: SealedStore | None = None,
        *,
        recent: RecentTurns | None = None,
        calls: StoreCalls | None = None,
    ) -> None:
        # An empty one that is passed is falsy, but must be used.
        self._recent = RecentTurns() if recent is None else recent
        self._sealed = sealed
        self._calls = calls or StoreCalls()
        self._unsaved: OrderedDict[str, _Unsaved] = OrderedDict()
        """Turns that are not in the store yet."""
        self._late: OrderedDict[str, None] = OrderedDict()
        """Those of them that are not being stored at the moment."""
        self._passing: OrderedDict[str, None] = OrderedDict()
        """Turns that must not be stored."""

    async def put(
        self, record: TurnRecord, keys: Sequence[bytes], stored: Message | None = None
    ) -> bool:
        """Keeps a turn in memory, and `stored` of it in the store; returns whether everything is where it should be."""
        kept = record.message if stored is None else stored
        data = to_json(kept)
        self._recent.put(record, keys, len(data) + _left_out(record.message, kept))
        if self._sealed is None:
            return True
        if stored is None:
            _keep(self._passing, record.id, None)
            return True
        soon = self._sealed.put_soon(
            record.tenant, KIND, data, keys, created=record.created, id=record.id
        )
        if soon is not None:
            try:
                await soon
            except StoreError:
                pass  # it can still wait for the store
            else:
                self._catch_up()
                return True
        _keep(self._unsaved, record.id, _Unsaved(record.tenant, record.created, data, tuple(keys)))
        try:
            await self._calls.wait(lambda: self._save(record.id), _WRITE_SECONDS)
        except SlowStoreError:
            return False  # it is still on its way
        except StoreError:
            if record.id in self._unsaved:
                _keep(self._late, record.id, None)
            return False
        self._catch_up()
        return True

    async def get(self, tenant: str, keys: Sequence[bytes]) -> LookedUp:
        """The turns of a tenant under any of these keys."""
        recent = self._recent.get(tenant, keys)
        if self._sealed is None or not keys:
            return LookedUp(recent, is_whole=True)
        try:
            records = await self._calls.wait(
                lambda: self._looked_up(tenant, keys, recent), _READ_SECONDS
            )
        except StoreError:
            return LookedUp(recent, is_whole=False)
        self._catch_up()
        return LookedUp(records, is_whole=True)

    async def forget(self, tenant: str | None = None) -> None:
        """Deletes the turns of a tenant, or of all, here and in the store; raises `StoreError` if the store cannot be used."""
        self._recent.forget(tenant)
        for name in [name for name, one in self._unsaved.items() if tenant in (None, one.tenant)]:
            self._unsaved.pop(name)
            self._late.pop(name, None)
        if self._sealed is not None:
            await self._sealed.store.forget(tenant)

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> None:
        """Deletes the turns under any of these keys, here and in the store; raises `StoreError` if the store cannot be used."""
        for name in self._recent.delete(tenant, keys):
            self._unsaved.pop(name, None)
            self._late.pop(name, None)
        if self._sealed is not None:
            await self._sealed.delete(tenant, keys)

    def __len__(self) -> int:
        """How many turns are in memory."""
        return len(self._recent)

    async def close(self) -> None:
        """Stores turns that are not stored yet, if the store can be used."""
        with contextlib.suppress(StoreError):
            await self._calls.wait(self._save_late, _WRITE_SECONDS)
        await self._calls.close(_WRITE_SECONDS)

    # ---- the store -----------------------------------------------------------------------------

    async def _save(self, name: str) -> None:
        if name not in self._unsaved or self._sealed is None:
            return
        tenant, created, data, keys = self._unsaved[name]
        self._late.pop(name, None)
        try:
            await self._sealed.put(tenant, KIND, data, keys, created=created, id=name)
        except BaseException:
            _keep(self._late, name, None)
            raise
        self._unsaved.pop(name, None)

    async def _save_late(self) -> None:
        while self._late:
            await self._save(next(iter(self._late)))

    def _catch_up(self) -> None:
        """The store can be used: turns that failed before are stored in the background."""
        if self._late:
            self._calls.start(self._save_late)

    async def _looked_up(
        self, tenant: str, keys: Sequence[bytes], recent: TurnsByKey
    ) -> TurnsByKey:
        assert self._sealed is not None
        records = {record.id: record for turns in recent.values() for record in turns}
        names = frozenset(records)
        by_key: dict[bytes, list[TurnRecord]] = {}
        read: dict[str, list[bytes]] = {}
        for item in await self._sealed.get(tenant, KIND, keys, names):
            record = records.get(item.id)
            if record is None and item.data is not None:
                record = _record(item.id, tenant, item.data, item.created)
                if record is None:
                    continue
                records[item.id] = record
            if record is not None:
                by_key.setdefault(item.key, []).append(record)
                read.setdefault(item.id, []).append(item.key)
        for name, keys_of_record in read.items():
            if name not in names:
                self._recent.put(records[name], keys_of_record)
        # A turn that is in memory but not in the store was deleted there, unless it was never stored.
        for key, turns in recent.items():
            for record in turns:
                if record.id not in read and self._is_here_alone(record.id):
                    by_key.setdefault(key, []).append(record)
        return by_key

    def _is_here_alone(self, name: str) -> bool:
        return name in self._unsaved or name in self._passing


def _left_out(message: Message, stored: Message) -> int:
    """About how many bytes of a turn are not stored."""
    if stored is message:
        return 0
    texts = (part.text for part in message.parts if isinstance(part, Thinking))
    return sum(map(len, texts))


def _keep(entries: OrderedDict[str, Value], name: str, value: Value) -> None:
    """Keeps an entry, and drops the oldest if there are too many."""
    entries[name] = value
    if len(entries) > _MOST:
        entries.popitem(last=False)


def _record(name: str, tenant: str, data: bytes, created: float) -> TurnRecord | None:
    """A stored turn; None for one that cannot be read, for example of a newer version."""
    try:
        message = from_json(data)
    except (DecodeError, ValueError):
        return None
    if not isinstance(message, Message):
        return None
    return TurnRecord(id=name, tenant=tenant, message=message, created=created)
