"""The four stores, each new for its test."""

import asyncio
import contextlib

import pytest

from innervoice.memory.stores.postgres import PostgresStore
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.redis import RedisStore
from innervoice.memory.stores.sqlite import SqliteStore
from memory.stores.servers import postgres_server, redis_server  # noqa: F401 - fixtures

START = 1_800_000_000.0


class Clock:
    def __init__(self):
        self.time = START

    def __call__(self):
        return self.time


class Place:
    """Where stores of one sort are: each that is opened finds what others stored. What they say of the time is `clock`."""

    def __init__(self, sort, open_one):
        self.sort = sort
        self.clock = Clock()
        self._open = open_one

    @contextlib.asynccontextmanager
    async def open(self, retention=None):
        store = self._open(retention, self.clock)
        try:
            yield store
        finally:
            await store.close()

    def run(self, work, retention=None):
        """Runs `await work(store)` in an event loop of its own."""

        async def whole():
            async with self.open(retention) as store:
                return await work(store)

        return asyncio.run(whole())


def place_of(sort, request, tmp_path):
    if sort == "ram":
        return Place(sort, RamStore)
    if sort == "sqlite":
        return Place(sort, lambda *settings: SqliteStore(tmp_path / "store.db", *settings))
    server = request.getfixturevalue(f"{sort}_server")
    server.empty()
    store = {"redis": RedisStore, "postgres": PostgresStore}[sort]
    return Place(sort, lambda *settings: store(server.url, *settings))


@pytest.fixture(params=["ram", "sqlite", "redis", "postgres"])
def place(request, tmp_path):
    return place_of(request.param, request, tmp_path)


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def shared_place(request, tmp_path):
    """A place that several processes share."""
    return place_of(request.param, request, tmp_path)
