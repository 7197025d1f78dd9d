"""The four stores, each new for its test."""

import asyncio
import contextlib

import pytest
from memory.stores.servers import postgres_server, redis_server  # noqa: F401 - fixtures

from innervoice.memory.stores.postgres import PostgresStore
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.redis import RedisStore
from innervoice.memory.stores.sqlite import SqliteStore

DAY = 86_400.0
START = 1_800_000_000.0


class Clock:
    def __init__(self):
        self.time = START

    def __call__(self):
        return self.time


class Place:
    """Where stores of one sort are: each that is opened finds what others stored. What they say of the time is `clock`."""

    def __init__(self, sort, open_one, clear=lambda: None):
        self.sort = sort
        self.clock = Clock()
        self._open = open_one
        self.clear = clear

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


@pytest.fixture(params=["ram", "sqlite", "redis", "postgres"])
def place(request, tmp_path):
    sort = request.param
    if sort == "ram":
        return Place(sort, RamStore)
    if sort == "sqlite":
        path = tmp_path / "store.db"
        return Place(
            sort,
            lambda *settings: SqliteStore(path, *settings),
            lambda: [file.unlink() for file in tmp_path.glob("store.db*")],
        )
    server = request.getfixturevalue(f"{sort}_server")
    store = {"redis": RedisStore, "postgres": PostgresStore}[sort]
    server.empty()
    return Place(sort, lambda *settings: store(server.url, *settings), server.empty)
