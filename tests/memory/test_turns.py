"""Turns in memory over a store that may be slow, gone, or emptied by others."""

import asyncio
import time

import pytest

import innervoice as iv
from innervoice.canon.parts import Text, Thinking
from innervoice.memory.recent_turns import RecentTurns
from innervoice.memory.records import TurnRecord
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import StoreError
from innervoice.memory.turns import Turns

KEY = b"k" * 32
KEYS = [b"place", b"calls"]
TURN = iv.assistant([Thinking("Hm."), Text("Yes.")])


class Fragile(RamStore):
    """A store that a test breaks."""

    is_broken = False
    seconds = 0.0
    asked = 0
    damaged: int | None = None
    """The byte of each item that is another one."""

    async def _use(self):
        self.asked += 1
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.is_broken:
            raise StoreError("it is gone")

    async def put(self, item, keys):
        await self._use()
        await super().put(item, keys)

    async def get(self, tenant, keys, known=()):
        await self._use()
        found = await super().get(tenant, keys, known)
        return found if self.damaged is None else [self._harmed(item) for item in found]

    def _harmed(self, item):
        data = bytearray(item.data)
        data[self.damaged] ^= 1
        return item._replace(data=bytes(data))


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def store():
    return Fragile()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def turns(store, clock):
    return Turns(SealedStore(store, KEY), calls=StoreCalls(clock))


def record(name="1", tenant="me", message=TURN):
    return TurnRecord(id=name, tenant=tenant, message=message, created=time.time())


def found(looked_up, key=b"place"):
    return [one.message for one in looked_up.turns.get(key, ())]


async def elsewhere(store, key=KEY, *older):
    """What another process finds."""
    return found(await Turns(SealedStore(store, key, *older)).get("me", KEYS))


def test_turns_that_come_in_a_crowd_are_each_stored_once(store, turns):
    """What was late is stored behind; a turn that has just come is not late."""

    async def comes(number):
        await asyncio.sleep(number / 1000)
        await turns.put(record(str(number)), KEYS, TURN)

    async def run():
        store.is_broken = True
        for name in ("late 1", "late 2"):
            await turns.put(record(name), KEYS, TURN)
        store.is_broken, store.seconds = False, 0.001
        await asyncio.gather(*map(comes, range(200)))
        await turns.close()

    asyncio.run(run())
    assert 2 + 2 + 200 == store.asked


def test_another_process_finds_a_turn_by_any_key(store, turns):
    async def run():
        assert await turns.put(record(), KEYS, TURN)
        for key in KEYS:
            assert [TURN] == found(await Turns(SealedStore(store, KEY)).get("me", [key]), key)
        assert [TURN] == await elsewhere(store)
        assert {} == (await Turns(SealedStore(store, KEY)).get("you", KEYS)).turns

    asyncio.run(run())


def test_a_turn_is_one_wherever_it_is_found(store, turns):
    async def run():
        await turns.put(record(), KEYS, TURN)
        assert [TURN] == found(await turns.get("me", KEYS))
        other = Turns(SealedStore(store, KEY))
        for _ in range(3):
            assert [TURN] == found(await other.get("me", [b"place"]))
            assert [TURN] == found(await other.get("me", [b"calls"]), b"calls")

    asyncio.run(run())


def test_memory_has_the_whole_turn_and_the_store_what_it_may(store, turns):
    less = iv.assistant([Text("Yes.")])

    async def run():
        await turns.put(record(), KEYS, less)
        assert [TURN] == found(await turns.get("me", KEYS))
        assert [less] == await elsewhere(store)

    asyncio.run(run())


def test_what_must_not_be_stored_is_found_in_this_process_alone(store, turns):
    async def run():
        assert await turns.put(record(), KEYS)
        assert [TURN] == found(await turns.get("me", KEYS))
        assert [] == await elsewhere(store)

    asyncio.run(run())


def test_what_was_deleted_in_the_store_is_not_used_from_memory(store, turns):
    async def run():
        await turns.put(record(), KEYS, TURN)
        await store.forget("me")
        assert [] == found(await turns.get("me", KEYS))

    asyncio.run(run())


def test_a_store_that_is_gone_fails_nothing_and_gets_it_later(store, turns, clock):
    async def run():
        store.is_broken = True
        assert not await turns.put(record(), KEYS, TURN)
        looked_up = await turns.get("me", KEYS)
        assert [TURN] == found(looked_up)
        assert not looked_up.is_whole

        store.is_broken = False
        clock.now += 60
        assert (await turns.get("me", [b"other"])).is_whole
        await asyncio.sleep(0.01)
        assert [TURN] == await elsewhere(store)

    asyncio.run(run())


def test_a_store_that_fails_again_and_again_is_left_alone_for_a_while(store, turns, clock):
    async def run():
        store.is_broken = True
        for number in range(20):
            assert not await turns.put(record(str(number)), [b"%d" % number], TURN)
        assert store.asked < 10

        store.is_broken = False
        assert not (await turns.get("me", KEYS)).is_whole
        clock.now += 60
        assert (await turns.get("me", KEYS)).is_whole
        await asyncio.sleep(0.01)
        assert 20 == len(await store.items("me", "turn"))

    asyncio.run(run())


def test_a_slow_store_is_not_waited_for_and_still_gets_it(store, turns):
    async def run():
        store.seconds = 0.4
        looked_up = await turns.get("me", KEYS)
        assert not looked_up.is_whole
        assert not await turns.put(record(), KEYS, TURN)
        await asyncio.sleep(0.3)
        store.seconds = 0
        assert [TURN] == await elsewhere(store)

    asyncio.run(run())


def test_the_end_stores_what_is_late(store, turns, clock):
    async def run():
        store.is_broken = True
        await turns.put(record(), KEYS, TURN)
        store.is_broken = False
        await turns.close()
        assert [TURN] == await elsewhere(store)

    asyncio.run(run())


def test_another_key_opens_nothing_and_an_older_one_does(store, turns):
    async def run():
        await turns.put(record(), KEYS, TURN)
        assert [] == await elsewhere(store, b"n" * 32)
        assert [TURN] == await elsewhere(store, b"n" * 32, KEY)

    asyncio.run(run())


def test_damaged_data_is_as_good_as_none(store, turns):
    async def run():
        await turns.put(record(), KEYS, TURN)
        (item,) = await store.items("me", "turn")
        for store.damaged in range(0, len(item.data), 7):
            assert [] == await elsewhere(store)
        store.damaged = None
        assert [TURN] == await elsewhere(store)

    asyncio.run(run())


def test_an_item_that_was_moved_does_not_open(store, turns):
    async def run():
        await turns.put(record(), KEYS, TURN)
        (item,) = await store.items("me", "turn")
        await store.put(item._replace(id="2", tenant="you"), KEYS)
        await store.put(item._replace(id="3", kind="response"), KEYS)
        for tenant in ("me", "you"):
            messages = found(await Turns(SealedStore(store, KEY)).get(tenant, KEYS))
            assert messages == ([TURN] if tenant == "me" else [])

    asyncio.run(run())


def test_forgetting_leaves_nothing_here_and_there(store, turns):
    async def run():
        await turns.put(record("1"), KEYS, TURN)
        await turns.put(record("2", tenant="you"), KEYS, TURN)
        await turns.forget("me")
        assert [] == found(await turns.get("me", KEYS))
        assert [TURN] == found(await turns.get("you", KEYS))
        assert [] == await elsewhere(store)

    asyncio.run(run())


def test_memory_alone_needs_no_store():
    async def run():
        recent = RecentTurns()
        turns = Turns(recent=recent)
        assert await turns.put(record(), KEYS, TURN)
        assert 1 == len(recent)
        assert [TURN] == found(await turns.get("me", KEYS))
        await turns.forget()
        assert [] == found(await turns.get("me", KEYS))
        assert 0 == len(turns)

    asyncio.run(run())
