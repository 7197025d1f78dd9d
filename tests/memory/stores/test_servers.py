"""Servers that are away, come back, are emptied, refuse a password; tables that many make at once."""

import asyncio
import random
import shutil
import socket
import time

import pytest

from innervoice.memory.stores.postgres import PostgresStore
from innervoice.memory.stores.redis import RedisStore
from innervoice.memory.stores.server_errors import ServerErrors
from innervoice.memory.stores.store import Retention, StoredItem, StoreError
from memory.stores.servers import RedisServer, free_port, running

STORES = {"redis": RedisStore, "postgres": PostgresStore}
START = 1_800_000_000.0


def an_item(number, tenant="me", size=4):
    return StoredItem(f"{number:032x}", tenant, "turn", bytes(size), START)


async def every_operation(store):
    """What each operation does: its result, or its error."""
    return await asyncio.gather(
        store.put(an_item(random.randrange(2**100)), [b"key"]),
        store.get("me", [b"key"]),
        store.items("me", "turn"),
        store.delete("me", [b"other"]),
        store.forget("you"),
        store.vacuum(),
        store.usage(),
        store.count({"a": 1}, 60),
        return_exceptions=True,
    )


@pytest.fixture(params=["redis", "postgres"])
def sort(request):
    return request.param


@pytest.fixture
def server(request, sort):
    """A running server; it is running again afterwards."""
    server = request.getfixturevalue(f"{sort}_server")
    server.empty()
    yield server
    if server.process is None:
        server.start()


@pytest.mark.parametrize(
    "address", ["redis://:sesame@{}/0", "valkey://me:sesame@{}", "postgres://me:sesame@{}/x"]
)
def test_a_server_that_is_not_there_is_an_error_at_once(address):
    kind = PostgresStore if address.startswith("postgres") else RedisStore

    async def work():
        store = kind(address.format(f"127.0.0.1:{free_port()}"))
        began = time.monotonic()
        results = await every_operation(store)
        assert time.monotonic() - began < 5
        assert [type(result) for result in results] == [StoreError] * 8
        assert not [result for result in results if "sesame" in str(result)]
        assert all("127.0.0.1" in str(result) for result in results)
        await store.close()

    asyncio.run(work())


def test_a_server_that_never_answers_is_an_error_in_bounded_time(sort):
    async def work(port):
        store = STORES[sort](f"{sort}://me:sesame@127.0.0.1:{port}/0")
        with pytest.raises(StoreError, match="did not answer in time"):
            await asyncio.wait_for(store.get("me", [b"key"]), 10)
        await store.close()

    # It listens, and accepts nobody.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(work(silent.getsockname()[1]))


def test_a_server_that_comes_back_is_used_again(sort, server):
    async def work():
        store = STORES[sort](server.url)
        await store.put(an_item(1), [b"key"])
        await asyncio.gather(*(store.get("me", [b"key"]) for _ in range(5)))
        under_way = [
            asyncio.ensure_future(store.put(an_item(number, size=100_000), [b"key"]))
            for number in range(2, 40)
        ]
        await asyncio.sleep(0.01)
        server.stop()
        results = await asyncio.gather(*under_way, return_exceptions=True)
        assert {type(result) for result in results} <= {type(None), StoreError}
        results = await every_operation(store)
        assert [type(result) for result in results] == [StoreError] * 8
        server.start()
        await store.put(an_item(50), [b"key"])
        assert f"{50:032x}" in {found.id for found in await store.get("me", [b"key"])}
        assert not [one for one in await every_operation(store) if isinstance(one, StoreError)]
        await store.close()

    asyncio.run(work())


def test_a_server_that_was_emptied_is_used_again(sort, server):
    async def work():
        store = STORES[sort](server.url)
        await store.put(an_item(1), [b"key"])
        server.empty()
        await asyncio.gather(store.get("me", [b"key"]), return_exceptions=True)
        await store.put(an_item(2), [b"key"])
        assert [found.id for found in await store.get("me", [b"key"])] == [f"{2:032x}"]
        await store.close()

    asyncio.run(work())


def test_many_processes_make_the_tables_at_once(postgres_server):
    postgres_server.empty()

    async def work():
        stores = [PostgresStore(postgres_server.url) for _ in range(12)]
        await asyncio.gather(
            *(store.put(an_item(number), [b"key"]) for number, store in enumerate(stores))
        )
        assert len(await stores[0].get("me", [b"key"])) == 12
        await asyncio.gather(*(store.close() for store in stores))

    asyncio.run(work())


def test_tables_of_another_version_are_an_error(postgres_server):
    postgres_server.empty()
    postgres_server.run("CREATE TABLE innervoice_schema AS SELECT 99 AS version")

    async def work():
        store = PostgresStore(postgres_server.url)
        with pytest.raises(StoreError, match="version 99, expected 1"):
            await store.get("me", [b"key"])
        await store.close()

    asyncio.run(work())


def test_forgotten_rows_are_not_in_the_tables(postgres_server):
    postgres_server.empty()

    async def work():
        store = PostgresStore(postgres_server.url)
        for number in range(5):
            await store.put(an_item(number), [b"key", bytes([number])])
        await store.forget("me")
        await store.close()

    asyncio.run(work())
    for table in ("innervoice_items", "innervoice_keys"):
        assert postgres_server.run(f"SELECT count(*) FROM {table}") == "0\n"


async def names_in(store):
    return {name.decode() for name in await store._client.keys("*")}


def test_all_names_in_redis_start_alike_and_go_with_the_items(redis_server):
    redis_server.empty()

    async def work():
        store = RedisStore(redis_server.url, now=lambda: START)
        for number in range(5):
            await store.put(an_item(number), [b"key", bytes([number])])
        assert all(name.startswith("iv:") for name in await names_in(store))
        assert all(
            [await store._client.pttl(name) > 0 for name in await names_in(store) if ":k:" in name]
        )
        assert await store.delete("me", [b"\0"]) == 1
        assert await store.forget() == 4
        assert await names_in(store) == set()
        await store.close()

    asyncio.run(work())


def test_redis_lets_items_go_by_itself_and_the_books_follow(redis_server):
    redis_server.empty()

    async def work():
        store = RedisStore(redis_server.url, Retention(seconds=0.001))
        await store.put(an_item(1)._replace(created=time.time()), [b"key"])
        end = time.monotonic() + 10
        while [name for name in await names_in(store) if ":i:" in name or ":k:" in name]:
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
        assert await store.get("me", [b"key"]) == []
        await store.vacuum()
        assert await names_in(store) == set()
        await store.close()

    asyncio.run(work())


def test_calls_wait_for_a_connection_while_the_server_is_busy(redis_server):
    """More calls than connections, and a server that takes longer to answer than it may take to connect: none of them fails."""
    redis_server.empty()

    async def work():
        store = RedisStore(redis_server.url)
        await store.usage()
        await store._client.execute_command("CLIENT", "PAUSE", 1500, "ALL")
        await asyncio.gather(*(store.put(an_item(number), [b"key"]) for number in range(100)))
        assert len(await store.items("me", "turn")) == 100
        await store.close()

    asyncio.run(work())


def test_a_put_and_a_get_are_one_command_each(redis_server):
    """Once the scripts are there."""

    async def work():
        store = RedisStore(redis_server.url)
        await store.put(an_item(1), [b"key"])
        await store.get("me", [b"key"])
        with socket.create_connection(("127.0.0.1", redis_server.port), 5) as watching:
            watching.sendall(b"MONITOR\r\n")
            assert watching.recv(16) == b"+OK\r\n"
            await store.put(an_item(2), [b"key", b"other"])
            await store.get("me", [b"key", b"other"], {f"{1:032x}"})
            await store._client.echo("the end")
            told = b""
            while b"the end" not in told:
                told += watching.recv(65_536)
        # What a script does is told as "lua".
        commands = [line for line in told.split(b"\r\n") if line and b" lua] " not in line]
        assert [b'"EVALSHA"' in command for command in commands] == [True, True, False]
        await store.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    "url",
    ["redis://me:se%40same@host/0", "postgres://host/x?user=me&password=se%40same"],
)
def test_an_error_never_tells_the_password(url):
    errors = ServerErrors("Redis", url)
    with pytest.raises(StoreError) as caught, errors.translated():
        raise OSError(f"cannot connect to {url} as me, se@same")
    assert "same" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_valkey():
    """Valkey speaks Redis' protocol; where only that is installed, all tests of the stores run with it."""
    program = shutil.which("valkey-server")
    if program is None:
        pytest.skip("Valkey is not installed, and not among the packages of Debian 12")
    for server in running(RedisServer, program):
        url = server.url.replace("redis://", "valkey://")

        async def kept(url=url):
            store = RedisStore(url)
            await store.put(an_item(1), [b"key"])
            items = await store.get("me", [b"key"])
            await store.close()
            return items

        assert 1 == len(asyncio.run(kept()))
