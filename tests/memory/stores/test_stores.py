"""What every store does, in memory, in a file, in Redis and in PostgreSQL."""

import asyncio
import random
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from innervoice.conversation.digest import CROWD
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.stores.store import (
    MOST_UNDER_A_KEY,
    FoundItem,
    Retention,
    StoredItem,
    TenantUsage,
)

HOUR, DAY = 3_600.0, 86_400.0
START = 1_800_000_000.0
numbers = count()


def an_item(data=b"data", *, tenant="me", kind="turn", created=START, kept=False, name=None):
    return StoredItem(name or f"{next(numbers):032x}", tenant, kind, data, created, kept)


def found_of(item, key):
    return FoundItem(key, item.id, item.data, item.created)


async def use_is_told(store):
    """A file is told of a use after the answer, but before what is written next."""
    await store.count({"written": 1}, 1)


def test_what_was_put_is_found_under_each_of_its_keys(place):
    item = an_item(b"\0\xff sealed \r\n")

    async def work(store):
        await store.put(item, [b"one", b"two", b"one"])
        assert await store.get("me", [b"one"]) == [found_of(item, b"one")]
        assert await store.get("me", [b"two", b"three", b"one", b"two"]) == [
            found_of(item, b"two"),
            found_of(item, b"one"),
        ]
        assert await store.get("me", [b"three"]) == []
        assert await store.get("me", []) == []

    place.run(work)


def test_it_outlives_the_store_object(shared_place):
    item = an_item(random.randbytes(50_000))
    shared_place.run(lambda store: store.put(item, [b"key"]))
    assert shared_place.run(lambda store: store.get("me", [b"key"])) == [found_of(item, b"key")]


def test_an_item_without_keys_or_data_is_an_item(place):
    bare, empty = an_item(kind="bare"), an_item(b"")

    async def work(store):
        await store.put(bare, [])
        await store.put(empty, [b"empty"])
        assert await store.items("me", "bare") == [bare]
        assert await store.get("me", [b"empty"]) == [found_of(empty, b"empty")]

    place.run(work)


def test_the_first_item_with_an_id_stays(place):
    first, second = an_item(b"first", name="a" * 32), an_item(b"second", name="a" * 32)

    async def work(store):
        await store.put(first, [b"one"])
        await store.put(second, [b"one", b"two"])
        assert await store.get("me", [b"one", b"two"]) == [found_of(first, b"one")]
        assert await store.usage() == [TenantUsage("me", 1, 5, START)]

    place.run(work)


def test_all_items_under_a_key_come_the_oldest_first(place):
    items = [an_item(created=START - age) for age in (3, 5, 1)]

    async def work(store):
        for item in items:
            await store.put(item, [b"same"])
        assert [found.created for found in await store.get("me", [b"same"])] == [
            START - 5,
            START - 3,
            START - 1,
        ]

    place.run(work)


def test_a_key_that_many_have_does_not_grow(place):
    """A tenant asks the same question again and again; what it is answered is still found by keys of its own."""

    async def work(store):
        for number in range(3 * MOST_UNDER_A_KEY):
            item = an_item(name=f"{number:032x}", created=START + number)
            await store.put(item, [b"crowd", b"own %d" % number])
        newest = range(2 * MOST_UNDER_A_KEY, 3 * MOST_UNDER_A_KEY)
        assert [f"{number:032x}" for number in newest] == [
            one.id for one in await store.get("me", [b"crowd"])
        ]
        assert len(newest) > CROWD
        for number in (0, MOST_UNDER_A_KEY, 3 * MOST_UNDER_A_KEY - 1):
            assert [f"{number:032x}"] == [
                one.id for one in await store.get("me", [b"own %d" % number])
            ]
        assert 3 * MOST_UNDER_A_KEY == await store.forget("me")
        await store.put(an_item(name="f" * 32), [b"crowd"])
        assert ["f" * 32] == [one.id for one in await store.get("me", [b"crowd"])]

    place.run(work)


def test_data_of_known_items_do_not_come_again(place):
    known, unknown = an_item(b"known"), an_item(b"unknown", created=START + 1)

    async def work(store):
        await store.put(known, [b"key"])
        await store.put(unknown, [b"key"])
        assert await store.get("me", [b"key"], {known.id, "another"}) == [
            FoundItem(b"key", known.id, None, START),
            found_of(unknown, b"key"),
        ]

    place.run(work)


def test_many_keys_are_looked_up_at_once(place):
    items = [an_item(random.randbytes(900), created=START + number) for number in range(60)]
    keys = [number.to_bytes(16, "big") for number in range(5_000)]

    async def work(store):
        for item, key in zip(items, keys[::83], strict=False):
            await store.put(item, [key])
        assert await store.get("me", keys) == [
            found_of(item, key) for item, key in zip(items, keys[::83], strict=False)
        ]
        assert await store.get("you", keys) == []
        assert await store.delete("me", keys) == 60

    place.run(work)


def test_an_item_may_have_many_keys(place):
    item = an_item()
    keys = [number.to_bytes(16, "big") for number in range(2_000)]

    async def work(store):
        await store.put(item, keys)
        assert await store.get("me", keys) == [found_of(item, key) for key in keys]
        assert await store.delete("me", keys[:1]) == 1
        assert await store.get("me", keys) == []

    place.run(work)


NAMES = ["me", "you", "", "me:i", "c", "iv:t", "*", "mé", "\0", "half \ud83d", "a" * 300]


def test_any_text_is_a_tenant_a_kind_and_a_counter(place):
    items = {name: an_item(tenant=name, kind=name, name="b" * 32) for name in NAMES}

    async def work(store):
        for item in items.values():
            await store.put(item, [b"key", b"i:" + b"b" * 32, b""])
        for name, item in items.items():
            assert await store.get(name, [b"key"]) == [found_of(item, b"key")]
            assert await store.items(name, name) == [item]
        assert [usage.tenant for usage in await store.usage()] == sorted(NAMES)
        amounts = {name: float(place) for place, name in enumerate(NAMES, 1)}
        assert await store.count(amounts, 60) == amounts
        assert await store.forget("me") == 1
        assert await store.get("me:i", [b"key"]) != []
        assert await store.forget() == len(NAMES) - 1
        assert await store.usage() == []

    place.run(work)


class Model:
    """What a store should hold, as simply as can be."""

    def __init__(self):
        self.held = {}

    def put(self, item, keys):
        self.held.setdefault((item.tenant, item.id), (item, keys))

    def get(self, tenant, keys):
        found = [
            found_of(item, key)
            for key in keys
            for item, own in self.held.values()
            if item.tenant == tenant and key in own
        ]
        return sorted(found, key=lambda one: (one.created, keys.index(one.key), one.id))

    def drop(self, is_meant):
        gone = [name for name, (item, keys) in self.held.items() if is_meant(item, keys)]
        for name in gone:
            del self.held[name]
        return len(gone)


TENANT = st.sampled_from(["a", "b", "a:"])
KEYS = st.lists(st.sampled_from([b"k1", b"k2", b"k3"]), unique=True, max_size=3)
STEP = st.one_of(
    st.tuples(st.just("put"), TENANT, KEYS, st.integers(0, 2), st.integers(0, 9), st.booleans()),
    st.tuples(st.just("get"), TENANT, KEYS),
    st.tuples(st.just("delete"), TENANT, KEYS),
    st.tuples(st.just("forget"), TENANT),
)


async def steps_agree(store, steps, example):
    """Tenants, ids and keys meet all the time; each tenant sees its own items and no other's."""
    model = Model()
    for place, (verb, letter, *rest) in enumerate(steps):
        tenant = f"{example}{letter}"
        if verb == "put":
            keys, name, age, kept = rest
            data = f"{tenant} {place}".encode()
            item = StoredItem(f"{name:032x}", tenant, "turn", data, START - age, kept)
            await store.put(item, keys)
            model.put(item, keys)
        elif verb == "get":
            found = await store.get(tenant, rest[0])
            found.sort(key=lambda one: (one.created, rest[0].index(one.key), one.id))
            assert found == model.get(tenant, rest[0])
        elif verb == "delete":
            keys = set(rest[0])
            assert await store.delete(tenant, rest[0]) == model.drop(
                lambda item, own, tenant=tenant, keys=keys: (
                    item.tenant == tenant and keys & set(own)
                )
            )
        else:
            assert await store.forget(tenant) == model.drop(
                lambda item, _, tenant=tenant: item.tenant == tenant and not item.kept
            )
    usage = {one.tenant: one for one in await store.usage()}
    for letter in ("a", "b", "a:"):
        own = [item for item, _ in model.held.values() if item.tenant == f"{example}{letter}"]
        found = await store.items(f"{example}{letter}", "turn")
        assert sorted(found) == sorted(own)
        aging = [item for item in own if not item.kept]
        expected = (len(aging), sum(len(item.data) for item in aging)) if aging else None
        told = usage.get(f"{example}{letter}")
        assert (told and (told.items, told.size)) == expected
        if aging:
            assert told.oldest == min(item.created for item in aging)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, max_size=25))
def test_tenants_never_see_each_other(place, steps):
    place.run(lambda store: steps_agree(store, steps, f"{next(numbers)} "))


def test_items_are_listed_by_kind(place):
    turn, response = an_item(), an_item(kind="response")
    caller = an_item(kind="response", kept=True, created=START + 1)

    async def work(store):
        for item in (turn, response, caller):
            await store.put(item, [b"key"])
        await store.put(an_item(tenant="you", kind="response"), [b"key"])
        assert await store.items("me", "response") == [response, caller]
        assert await store.items("me", "other") == []
        assert await store.items("nobody", "turn") == []

    place.run(work)


def test_an_unused_item_is_gone_after_its_time_and_a_used_one_is_not(place):
    used, unused = an_item(), an_item()
    retention = Retention(seconds=10 * DAY, most_seconds=90 * DAY)

    async def work(store):
        await store.put(used, [b"used"])
        await store.put(unused, [b"unused"])
        place.clock.time += 9 * DAY
        assert await store.get("me", [b"used"]) != []
        await use_is_told(store)
        place.clock.time += 9 * DAY
        assert await store.get("me", [b"used", b"unused"]) == [found_of(used, b"used")]
        assert await store.items("me", "turn") == [used]
        await store.vacuum()
        assert await store.usage() == [TenantUsage("me", 1, 4, START)]
        place.clock.time += 11 * DAY
        assert await store.get("me", [b"used"]) == []
        assert await store.items("me", "turn") == []

    place.run(work, retention)


def test_however_much_it_is_used_an_item_is_gone_at_the_end(place):
    item = an_item()

    async def work(store):
        await store.put(item, [b"key"])
        for _ in range(9):
            place.clock.time += 10 * DAY
            assert await store.get("me", [b"key"]) != []
            await use_is_told(store)
        place.clock.time += 1
        assert await store.get("me", [b"key"]) == []
        await store.vacuum()
        assert await store.usage() == []

    place.run(work)


def test_what_is_kept_does_not_age_and_takes_no_room(place):
    kept = an_item(bytes(1_000), kept=True, kind="caller")

    async def work(store):
        await store.put(kept, [b"kept"])
        await store.put(an_item(), [b"key"])
        place.clock.time += 1_000 * DAY
        await store.put(an_item(bytes(90), created=place.clock.time), [b"new"])
        assert await store.get("me", [b"kept"]) == [found_of(kept, b"kept")]
        assert await store.forget() >= 1
        await store.vacuum()
        assert await store.usage() == []
        assert await store.items("me", "caller") == [kept]
        assert await store.delete("me", [b"kept"]) == 1
        assert await store.items("me", "caller") == []

    place.run(work, Retention(tenant_bytes=100))


def test_a_tenant_with_too_much_loses_what_was_not_used_for_longest(place):
    items = [an_item(bytes(100), created=START + number) for number in range(4)]
    keys = [b"0", b"1", b"2", b"3"]
    other = an_item(bytes(300), tenant="you")

    async def work(store):
        await store.put(other, [b"0"])
        for item, key in zip(items[:3], keys, strict=False):
            await store.put(item, [key])
            place.clock.time += 2 * HOUR
        await store.get("me", [b"0"])
        place.clock.time += 2 * HOUR
        await store.put(items[3], [b"3"])
        assert [found.key for found in await store.get("me", keys)] == [b"0", b"2", b"3"]
        large = an_item(bytes(1_000), created=START + 9)
        await store.put(large, [b"large"])
        assert await store.get("me", [*keys, b"large"]) == [found_of(large, b"large")]
        assert await store.get("you", [b"0"]) == [found_of(other, b"0")]
        assert await store.usage() == [
            TenantUsage("me", 1, 1_000, START + 9),
            TenantUsage("you", 1, 300, START),
        ]

    place.run(work, Retention(tenant_bytes=300))


def test_a_bound_that_was_lowered_holds_after_a_vacuum(shared_place):
    async def fill(store):
        for number in range(20):
            await store.put(an_item(bytes(100)), [bytes([number])])
            shared_place.clock.time += 1

    shared_place.run(fill)
    assert shared_place.run(lambda store: store.vacuum(), Retention(tenant_bytes=500)) == 15
    found = shared_place.run(lambda store: store.get("me", [bytes([one]) for one in range(20)]))
    assert [one.key[0] for one in sorted(found, key=lambda one: one.key)] == [15, 16, 17, 18, 19]


def test_a_vacuum_says_how_many_items_went(place):
    async def work(store):
        for number in range(5):
            await store.put(an_item(), [bytes([number])])
        assert await store.vacuum() == 0
        place.clock.time += 31 * DAY
        assert await store.vacuum() == 5
        assert await store.usage() == []

    place.run(work)


def test_deleting_takes_an_item_from_under_all_its_keys(place):
    item, other = an_item(), an_item()

    async def work(store):
        await store.put(item, [b"one", b"two"])
        await store.put(other, [b"two"])
        await store.put(an_item(tenant="you"), [b"one"])
        assert await store.delete("me", [b"one", b"nothing"]) == 1
        assert await store.get("me", [b"one", b"two"]) == [found_of(other, b"two")]
        assert len(await store.get("you", [b"one"])) == 1
        assert await store.delete("me", [b"one"]) == 0
        assert await store.delete("nobody", [b"one"]) == 0
        await store.put(item, [b"one"])
        assert await store.get("me", [b"one"]) == [found_of(item, b"one")], "it may come again"

    place.run(work)


def test_one_who_is_forgotten_has_nothing_left(place):
    async def work(store):
        for number in range(30):
            for tenant in ("me", "you"):
                item = an_item(tenant=tenant, created=START + number)
                await store.put(item, [bytes([number])])
        assert await store.forget("me") == 30
        assert await store.get("me", [bytes([number]) for number in range(30)]) == []
        assert await store.items("me", "turn") == []
        assert await store.usage() == [TenantUsage("you", 30, 120, START)]
        assert await store.forget("me") == 0
        assert await store.forget() == 30
        assert await store.usage() == []
        assert await store.vacuum() == 0

    place.run(work)


def test_an_item_from_the_future_is_an_item(place):
    ahead = an_item(created=START + 5 * DAY)

    async def work(store):
        await store.put(ahead, [b"key"])
        assert await store.get("me", [b"key"]) == [found_of(ahead, b"key")]
        place.clock.time -= 2 * DAY
        assert await store.get("me", [b"key"]) == [found_of(ahead, b"key")]
        place.clock.time += 50 * DAY
        assert await store.get("me", [b"key"]) == []

    place.run(work)


def test_counters_add_up_and_end(place):
    async def work(store):
        assert await store.count({"a": 1, "b": 0.25}, 60) == {"a": 1, "b": 0.25}
        place.clock.time += 59
        assert await store.count({"b": 0, "a": 2, "c": 0}, 60) == {"b": 0.25, "a": 3, "c": 0}
        assert await store.count({"a": -1}, 60) == {"a": 2}
        place.clock.time += 1
        assert await store.count({"a": 0, "b": 5}, 60) == {"a": 0, "b": 5}, "60 s after the first"
        assert await store.count({}, 60) == {}

    place.run(work)


def test_counters_lose_nothing_between_processes(shared_place):
    async def work():
        async with shared_place.open() as one, shared_place.open() as other:
            sums = await asyncio.gather(
                *(
                    store.count({"a": 1, "b": 0.5} if number % 2 else {"b": 0.5, "a": 1}, 60)
                    for number in range(50)
                    for store in (one, other)
                )
            )
            assert sorted(one["a"] for one in sums) == list(range(1, 101))
            assert await other.count({"a": 0, "b": 0}, 60) == {"a": 100, "b": 50}

    asyncio.run(work())


def test_items_come_and_go_at_once(place):
    items = [an_item(random.randbytes(500)) for _ in range(60)]

    async def work(store):
        async def stored(number, item):
            key = bytes([number])
            await store.put(item, [key, b"all"])
            assert await store.get("me", [key]) == [found_of(item, key)]
            if number % 3 == 0:
                assert await store.delete("me", [key]) == 1

        await asyncio.gather(*(stored(number, item) for number, item in enumerate(items)))
        assert len(await store.items("me", "turn")) == 40
        assert await store.usage() == [TenantUsage("me", 40, 20_000, START)]

    place.run(work)


def test_each_of_many_items_is_found(place):
    """Also while the machine is busy: 500 of them are under way at once."""
    keys = [random.randbytes(16) for _ in range(2_000)]

    async def work(store):
        puts = [store.put(an_item(bytes(500)), keys[one::500]) for one in range(500)]
        await asyncio.gather(*puts)
        assert {found.key for found in await store.get("me", keys)} == set(keys)

    place.run(work)


def test_two_processes_at_once_agree(shared_place):
    """One id from both, room for half of the items, and both look for them."""
    items = [an_item(bytes(100)) for _ in range(40)]
    retention = Retention(tenant_bytes=2_000)

    async def work():
        async with shared_place.open(retention) as one, shared_place.open(retention) as other:
            await asyncio.gather(
                *(store.put(item, [b"all"]) for item in items for store in (one, other)),
                *(store.get("me", [b"all"]) for _ in range(10) for store in (one, other)),
            )
            found = await one.items("me", "turn")
            assert found == await other.items("me", "turn")
            assert len({item.id for item in found}) == len(found) == 20
            assert await other.usage() == [TenantUsage("me", 20, 2_000, START)]

    asyncio.run(work())


def test_what_is_sealed_opens_from_every_store(place):
    async def work(store):
        sealed = SealedStore(store, b"1" * 32)
        keys = sealed.keys("me", "a", "b")
        await sealed.put("me", "turn", b"words " * 500, keys, created=START)
        (found,) = await sealed.get("me", "turn", keys)
        assert found.data == b"words " * 500
        (raw,) = await store.get("me", keys)
        assert b"words" not in raw.data
        assert await SealedStore(store, b"2" * 32).get("me", "turn", keys) == []

    place.run(work)


@pytest.mark.parametrize("verb", ["put", "get", "items", "delete", "forget", "vacuum", "usage"])
def test_a_caller_who_gives_up_leaves_the_store_in_order(place, verb):
    item = an_item(bytes(1_000))
    values = {
        "put": (an_item(), [b"other"]),
        "get": ("me", [b"key"]),
        "items": ("me", "turn"),
        "delete": ("me", [b"nothing"]),
        "forget": ("you",),
    }

    async def work(store):
        await store.put(item, [b"key"])
        for steps in range(4):
            task = asyncio.ensure_future(getattr(store, verb)(*values.get(verb, ())))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert await store.get("me", [b"key"]) == [found_of(item, b"key")]

    place.run(work)
