"""Items in PostgreSQL, for gateways on several machines: package `asyncpg`, server 13 or later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from innervoice.memory.stores import postgres_statements as statements
from innervoice.memory.stores.names import decoded, encoded, in_order, use_is_told_after
from innervoice.memory.stores.server_errors import ServerErrors
from innervoice.memory.stores.store import (
    MOST_UNDER_A_KEY,
    FoundItem,
    Retention,
    StoredItem,
    StoreError,
    TenantUsage,
)

__all__ = ["PostgresStore"]

_CONNECTIONS = 8
_CONNECT_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_USAGE_SECONDS = 60.0
_VACUUM_SECONDS = 3_600.0
_BATCH = 500
_SWEEP_SECONDS = 60.0
# The process that creates the tables holds this lock: "iv" and a number of ours.
_TABLES_LOCK = 0x6976_0001


class PostgresStore:
    """A store on a server. It connects on first use, and creates its tables if they are missing."""

    def __init__(
        self, url: str, retention: Retention | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._retention = retention or Retention()
        self._now = now
        self._url = url
        self._driver = import_module("asyncpg")
        self._errors = ServerErrors(
            "PostgreSQL", url, self._driver.PostgresError, self._driver.InterfaceError
        )
        self._pool: Any = None
        self._opening = asyncio.Lock()
        self._is_ready = False
        self._next_sweep = now() + _SWEEP_SECONDS

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys."""
        tenant = encoded(item.tenant)
        async with self._connection() as connection:
            size = await connection.fetchval(
                statements.PUT,
                tenant,
                encoded(item.id),
                encoded(item.kind),
                item.created,
                self._now(),
                item.kept,
                list(dict.fromkeys(keys)),
                item.data,
                MOST_UNDER_A_KEY,
            )
            if size is not None and size > self._retention.tenant_bytes:
                await self._make_room(connection, tenant)
            if self._now() >= self._next_sweep:
                self._next_sweep = self._now() + _SWEEP_SECONDS
                await self._sweep(connection)

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys."""
        now, asked = self._now(), list(dict.fromkeys(keys))
        async with self._connection() as connection:
            rows = await connection.fetch(
                statements.GET,
                encoded(tenant),
                asked,
                [encoded(one) for one in known],
                *self._limits(),
                now,
                now - use_is_told_after(self._retention),
            )
        found = [
            FoundItem(key, decoded(name), data, created)
            for name, under, created, data in rows
            for key in under
        ]
        return in_order(found, asked)

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        async with self._connection() as connection:
            rows = await connection.fetch(
                statements.ITEMS, encoded(tenant), encoded(kind), *self._limits()
            )
        return [
            StoredItem(decoded(name), tenant, kind, data, created, kept)
            for name, data, created, kept in rows
        ]

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        async with self._connection() as connection:
            return await self._drop(connection, statements.DELETE, encoded(tenant), list(keys))

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        async with self._connection() as connection:
            tenants = (
                [row["name"] for row in await connection.fetch(statements.TENANTS)]
                if tenant is None
                else [encoded(tenant)]
            )
            count = 0
            for name in tenants:
                while went := await self._drop(connection, statements.FORGET, name, _BATCH):
                    count += went
            return count

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits, and lets the server reclaim the space."""
        count = 0
        async with self._connection() as connection:
            while went := await self._sweep(connection):
                count += went
            room = self._retention.tenant_bytes
            for row in await connection.fetch(statements.FULL_TENANTS, room):
                while went := await self._make_room(connection, row["name"]):
                    count += went
            await connection.execute(statements.VACUUM, timeout=_VACUUM_SECONDS)
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        async with self._connection() as connection:
            rows = await connection.fetch(statements.USAGE, timeout=_USAGE_SECONDS)
        return sorted(TenantUsage(decoded(name), *rest) for name, *rest in rows)

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        now, sums = self._now(), dict.fromkeys(amounts, 0.0)
        added = {encoded(name): float(amount) for name, amount in amounts.items() if amount}
        read = [encoded(name) for name, amount in amounts.items() if not amount]
        async with self._connection() as connection:
            rows = []
            if added:
                rows += await connection.fetch(
                    statements.COUNT, list(added), list(added.values()), now, now + seconds
                )
            if read:
                rows += await connection.fetch(statements.READ_COUNTERS, read, now)
        return sums | {decoded(name): one for name, one in rows}

    async def close(self) -> None:
        """Closes the connections."""
        if self._pool is not None:
            with self._errors.told():
                try:
                    await asyncio.wait_for(self._pool.close(), _ANSWER_SECONDS)
                except TimeoutError:
                    self._pool.terminate()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """A connection to a server with our tables."""
        with self._errors.told():
            await self._open()
            try:
                async with self._pool.acquire(timeout=_ANSWER_SECONDS) as connection:
                    yield connection
            except self._driver.UndefinedTableError:
                # Somebody emptied the database; the next connection creates the tables again.
                self._is_ready = False
                raise

    async def _open(self) -> None:
        if self._is_ready:
            return
        async with self._opening:
            if self._pool is None:
                self._pool = await self._driver.create_pool(
                    self._url,
                    min_size=0,
                    max_size=_CONNECTIONS,
                    timeout=_CONNECT_SECONDS,
                    command_timeout=_ANSWER_SECONDS,
                    server_settings={"application_name": "innervoice"},
                )
            if not self._is_ready:
                async with self._pool.acquire(timeout=_ANSWER_SECONDS) as connection:
                    await self._make_tables(connection)
                self._is_ready = True

    async def _make_tables(self, connection: Any) -> None:
        there = statements.TABLES_ARE_THERE
        if not await connection.fetchval(there):
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _TABLES_LOCK)
                if not await connection.fetchval(there):
                    for statement in statements.TABLES:
                        await connection.execute(statement)
        version = await connection.fetchval("SELECT version FROM innervoice_schema")
        if version != statements.VERSION:
            raise StoreError(f"the tables have version {version}, expected {statements.VERSION}")

    async def _drop(self, connection: Any, statement: str, tenant: bytes, *values: Any) -> int:
        async with connection.transaction():
            await connection.fetchval(statements.LOCK, tenant)
            return int(await connection.fetchval(statement, tenant, *values))

    async def _make_room(self, connection: Any, tenant: bytes) -> int:
        """Deletes the least recently used items of a tenant; the newest stays."""
        async with connection.transaction():
            size = await connection.fetchval(statements.LOCK, tenant)
            over = (size or 0) - self._retention.tenant_bytes
            if over <= 0:
                return 0
            return int(await connection.fetchval(statements.EVICTED, tenant, over, _BATCH))

    async def _sweep(self, connection: Any) -> int:
        """Deletes some of the expired items; returns how many were deleted."""
        await connection.execute(statements.SWEEP_COUNTERS, self._now(), _BATCH)
        count = 0
        for row in await connection.fetch(statements.EXPIRED_TENANTS, *self._limits(), _BATCH):
            limits = self._limits()
            count += await self._drop(connection, statements.SWEEP, row[0], *limits, _BATCH)
        return count

    def _limits(self) -> tuple[float, float]:
        now = self._now()
        return now - self._retention.seconds, now - self._retention.most_seconds
