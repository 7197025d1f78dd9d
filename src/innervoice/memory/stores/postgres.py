"""Items in PostgreSQL, for gateways on several machines: package `asyncpg`, server 13 or later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

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
                PUT,
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
        now, wanted = self._now(), list(dict.fromkeys(keys))
        async with self._connection() as connection:
            rows = await connection.fetch(
                GET,
                encoded(tenant),
                wanted,
                [encoded(one) for one in known],
                *self._limits(),
                now,
                now - use_is_told_after(self._retention),
            )
        items = [
            FoundItem(key, decoded(name), data, created)
            for name, under, created, data in rows
            for key in under
        ]
        return in_order(items, wanted)

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        async with self._connection() as connection:
            rows = await connection.fetch(ITEMS, encoded(tenant), encoded(kind), *self._limits())
        return [
            StoredItem(decoded(name), tenant, kind, data, created, kept)
            for name, data, created, kept in rows
        ]

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        async with self._connection() as connection:
            return await self._drop(connection, DELETE, encoded(tenant), list(keys))

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        async with self._connection() as connection:
            tenants = (
                [row["name"] for row in await connection.fetch(TENANTS)]
                if tenant is None
                else [encoded(tenant)]
            )
            count = 0
            for name in tenants:
                while went := await self._drop(connection, FORGET, name, _BATCH):
                    count += went
            return count

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits, and lets the server reclaim the space."""
        count = 0
        async with self._connection() as connection:
            while went := await self._sweep(connection):
                count += went
            room = self._retention.tenant_bytes
            for row in await connection.fetch(FULL_TENANTS, room):
                while went := await self._make_room(connection, row["name"]):
                    count += went
            await connection.execute(VACUUM, timeout=_VACUUM_SECONDS)
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        async with self._connection() as connection:
            rows = await connection.fetch(USAGE, timeout=_USAGE_SECONDS)
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
                    COUNT, list(added), list(added.values()), now, now + seconds
                )
            if read:
                rows += await connection.fetch(READ_COUNTERS, read, now)
        return sums | {decoded(name): one for name, one in rows}

    async def close(self) -> None:
        """Closes the connections."""
        if self._pool is not None:
            with self._errors.translated():
                try:
                    await asyncio.wait_for(self._pool.close(), _ANSWER_SECONDS)
                except TimeoutError:
                    self._pool.terminate()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """A connection to a server with our tables."""
        with self._errors.translated():
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
        there = TABLES_ARE_THERE
        if not await connection.fetchval(there):
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _TABLES_LOCK)
                if not await connection.fetchval(there):
                    for statement in TABLES:
                        await connection.execute(statement)
        version = await connection.fetchval("SELECT version FROM innervoice_schema")
        if version != VERSION:
            raise StoreError(f"the tables have version {version}, expected {VERSION}")

    async def _drop(self, connection: Any, statement: str, tenant: bytes, *values: Any) -> int:
        async with connection.transaction():
            await connection.fetchval(LOCK, tenant)
            return int(await connection.fetchval(statement, tenant, *values))

    async def _make_room(self, connection: Any, tenant: bytes) -> int:
        """Deletes the least recently used items of a tenant; the newest stays."""
        async with connection.transaction():
            size = await connection.fetchval(LOCK, tenant)
            over = (size or 0) - self._retention.tenant_bytes
            if over <= 0:
                return 0
            return int(await connection.fetchval(EVICTED, tenant, over, _BATCH))

    async def _sweep(self, connection: Any) -> int:
        """Deletes some of the expired items; returns how many were deleted."""
        await connection.execute(SWEEP_COUNTERS, self._now(), _BATCH)
        count = 0
        for row in await connection.fetch(EXPIRED_TENANTS, *self._limits(), _BATCH):
            limits = self._limits()
            count += await self._drop(connection, SWEEP, row[0], *limits, _BATCH)
        return count

    def _limits(self) -> tuple[float, float]:
        now = self._now()
        return now - self._retention.seconds, now - self._retention.most_seconds


# ---- The tables of the store in PostgreSQL, and its statements.
#
# Names are bytes: PostgreSQL's text cannot hold every character. A transaction that deletes items first locks the row of their tenant, so
# that the sums stay correct and there are no deadlocks.


VERSION = 1

TABLES = (
    """
CREATE TABLE innervoice_tenants (
    name bytea PRIMARY KEY,
    items bigint NOT NULL,
    size bigint NOT NULL
)""",
    """
CREATE TABLE innervoice_items (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant bytea NOT NULL,
    id bytea NOT NULL,
    kind bytea NOT NULL,
    created double precision NOT NULL,
    used double precision NOT NULL,
    kept boolean NOT NULL,
    keys bytea[] NOT NULL,
    data bytea NOT NULL,
    UNIQUE (tenant, id)
)""",
    # The data is already compressed and sealed.
    "ALTER TABLE innervoice_items ALTER COLUMN data SET STORAGE EXTERNAL",
    "CREATE INDEX innervoice_items_by_use ON innervoice_items (tenant, used) WHERE NOT kept",
    "CREATE INDEX innervoice_items_by_age ON innervoice_items (created) WHERE NOT kept",
    "CREATE INDEX innervoice_items_unused ON innervoice_items (used) WHERE NOT kept",
    """
CREATE TABLE innervoice_keys (
    tenant bytea NOT NULL,
    key bytea NOT NULL,
    item bigint NOT NULL,
    PRIMARY KEY (tenant, key, item)
)""",
    """
CREATE TABLE innervoice_counters (
    name bytea PRIMARY KEY,
    sum double precision NOT NULL,
    ends double precision NOT NULL
)""",
    "CREATE INDEX innervoice_counters_by_end ON innervoice_counters (ends)",
    # The last statement: if its table exists, all do.
    f"CREATE TABLE innervoice_schema AS SELECT {VERSION} AS version",
)

# Not `to_regclass`, which does not see tables that were created while a transaction waited for its lock.
TABLES_ARE_THERE = """
SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
WHERE schemaname = ANY (current_schemas(false)) AND tablename = 'innervoice_schema')
"""

# tenant, id, kind, created, used, kept, keys, data, how many items a key may have
PUT = """
WITH made AS (
    INSERT INTO innervoice_items (tenant, id, kind, created, used, kept, keys, data)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant, id) DO NOTHING
    RETURNING number, kept
), under AS (
    INSERT INTO innervoice_keys SELECT $1, asked.key, number FROM made, unnest($7::bytea[]) AS asked (key)
), over AS (
    SELECT asked.key, (
        SELECT item FROM innervoice_keys AS known WHERE known.tenant = $1 AND known.key = asked.key
        ORDER BY item DESC LIMIT 1 OFFSET $9 - 1
    ) AS last FROM made, unnest($7::bytea[]) AS asked (key)
), dropped AS (
    DELETE FROM innervoice_keys AS old USING over WHERE old.tenant = $1 AND old.key = over.key AND old.item <= over.last
)
INSERT INTO innervoice_tenants AS tenants
SELECT $1, CASE WHEN kept THEN 0 ELSE 1 END, CASE WHEN kept THEN 0 ELSE length($8) END FROM made
ON CONFLICT (name) DO UPDATE SET items = tenants.items + excluded.items, size = tenants.size + excluded.size
RETURNING size
"""

# tenant, keys, known, used since, created since, now, the time of use is updated if it was before
GET = """
WITH hits AS (
    SELECT item, array_agg(key) AS keys FROM innervoice_keys
    WHERE tenant = $1 AND key = ANY ($2::bytea[]) GROUP BY item
), found AS (
    SELECT number, id, hits.keys, created, used, data FROM hits JOIN innervoice_items ON number = item
    WHERE tenant = $1 AND (kept OR (used >= $4 AND created >= $5))
), stale AS (
    SELECT number FROM innervoice_items WHERE number IN (SELECT number FROM found WHERE used < $7)
    FOR NO KEY UPDATE SKIP LOCKED
), touched AS (
    UPDATE innervoice_items SET used = $6 WHERE number IN (SELECT number FROM stale)
)
SELECT id, keys, created, CASE WHEN id = ANY ($3::bytea[]) THEN NULL ELSE data END AS data FROM found
"""

# tenant, kind, used since, created since
ITEMS = """
SELECT id, data, created, kept FROM innervoice_items
WHERE tenant = $1 AND kind = $2 AND (kept OR (used >= $3 AND created >= $4)) ORDER BY created, number
"""

LOCK = "SELECT size FROM innervoice_tenants WHERE name = $1 FOR UPDATE"

_DROP = """
WITH chosen AS ({chosen}), gone AS (
    DELETE FROM innervoice_items WHERE tenant = $1 AND number IN (SELECT number FROM chosen)
    RETURNING number, kept, length(data) AS size, keys
), under AS (
    DELETE FROM innervoice_keys USING (SELECT number, unnest(keys) AS key FROM gone) AS names
    WHERE innervoice_keys.tenant = $1 AND innervoice_keys.key = names.key AND item = number
), sums AS (
    UPDATE innervoice_tenants SET items = items - (SELECT count(*) FROM gone WHERE NOT kept),
    size = size - (SELECT coalesce(sum(size), 0) FROM gone WHERE NOT kept) WHERE name = $1
)
SELECT count(*) FROM gone
"""

# tenant, keys
DELETE = _DROP.format(
    chosen="SELECT item AS number FROM innervoice_keys WHERE tenant = $1 AND key = ANY ($2::bytea[])"
)
# tenant, how many at most
FORGET = _DROP.format(
    chosen="SELECT number FROM innervoice_items WHERE tenant = $1 AND NOT kept LIMIT $2"
)
# tenant, used since, created since, how many at most
SWEEP = _DROP.format(
    chosen="SELECT number FROM innervoice_items"
    " WHERE tenant = $1 AND NOT kept AND (used < $2 OR created < $3) LIMIT $4"
)
# tenant, excess bytes, how many at most: the least recently used; the last of all stays.
EVICTED = _DROP.format(
    chosen="SELECT number FROM (SELECT number, sum(length(data)) OVER oldest - length(data) AS before,"
    " lead(number) OVER oldest AS next"
    " FROM (SELECT number, used, created, data FROM innervoice_items WHERE tenant = $1 AND NOT kept"
    " ORDER BY used, created, number LIMIT $3) AS first"
    " WINDOW oldest AS (ORDER BY used, created, number ROWS UNBOUNDED PRECEDING)) AS ordered"
    " WHERE before < $2 AND next IS NOT NULL"
)

TENANTS = "SELECT name FROM innervoice_tenants"
EXPIRED_TENANTS = """
SELECT tenant FROM (SELECT tenant FROM innervoice_items WHERE NOT kept AND used < $1 LIMIT $3) AS unused
UNION SELECT tenant FROM (SELECT tenant FROM innervoice_items WHERE NOT kept AND created < $2 LIMIT $3) AS aged
"""
FULL_TENANTS = "SELECT name FROM innervoice_tenants WHERE size > $1 AND items > 1"
USAGE = """
SELECT name, items, size, (SELECT min(created) FROM innervoice_items WHERE tenant = name AND NOT kept) AS oldest
FROM innervoice_tenants WHERE items > 0
"""

# names, amounts, now, when new ones end; always in the order of their names, so that there are no deadlocks
COUNT = """
INSERT INTO innervoice_counters AS counters
SELECT name, amount, $4 FROM unnest($1::bytea[], $2::double precision[]) AS asked (name, amount) ORDER BY name
ON CONFLICT (name) DO UPDATE SET
    sum = CASE WHEN counters.ends <= $3 THEN 0 ELSE counters.sum END + excluded.sum,
    ends = CASE WHEN counters.ends <= $3 THEN excluded.ends ELSE counters.ends END
RETURNING name, sum
"""
READ_COUNTERS = (
    "SELECT name, sum FROM innervoice_counters WHERE name = ANY ($1::bytea[]) AND ends > $2"
)
SWEEP_COUNTERS = """
DELETE FROM innervoice_counters WHERE name IN
(SELECT name FROM innervoice_counters WHERE ends <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
VACUUM = (
    "VACUUM (ANALYZE) innervoice_items, innervoice_keys, innervoice_tenants, innervoice_counters"
)
