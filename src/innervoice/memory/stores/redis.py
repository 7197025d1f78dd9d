"""Items in Redis or Valkey, for gateways on several machines: package `redis`, server 7 or later, no modules."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any
from urllib.parse import quote, unquote

from innervoice.memory.stores import redis_scripts as scripts
from innervoice.memory.stores.names import encoded, in_order, use_is_told_after
from innervoice.memory.stores.server_errors import ServerErrors
from innervoice.memory.stores.store import (
    MOST_UNDER_A_KEY,
    FoundItem,
    Retention,
    StoredItem,
    TenantUsage,
)

__all__ = ["RedisStore"]

_CONNECTIONS = 16
_CONNECT_SECONDS = 1.0
_ANSWER_SECONDS = 2.0
_BATCH = 500


class RedisStore:
    """A store on a server. It connects on first use."""

    def __init__(
        self, url: str, retention: Retention | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._retention = retention or Retention()
        self._now = now
        driver = import_module("redis.asyncio")
        # Valkey speaks the same protocol.
        address = "redis" + url.removeprefix("valkey").removeprefix("redis")
        pool = driver.BlockingConnectionPool.from_url(
            address,
            max_connections=_CONNECTIONS,
            timeout=_CONNECT_SECONDS,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_ANSWER_SECONDS,
            protocol=2,
            # A caller does not wait for a server that is down; the next call connects again.
            retry=import_module("redis.asyncio.retry").Retry(
                import_module("redis.backoff").NoBackoff(), 0
            ),
        )
        self._client = driver.Redis.from_pool(pool)
        self._errors = ServerErrors("Redis", url, import_module("redis.exceptions").RedisError)
        self._scripts: dict[str, Any] = {}

    async def put(self, item: StoredItem, keys: Sequence[bytes]) -> None:
        """Stores an item under its keys."""
        await self._of_tenant(
            scripts.PUT,
            item.tenant,
            _quoted(item.id),
            encoded(item.kind),
            repr(item.created),
            int(item.kept),
            " ".join(key.hex() for key in dict.fromkeys(keys)),
            item.data,
            MOST_UNDER_A_KEY,
        )

    async def get(
        self, tenant: str, keys: Sequence[bytes], known: Collection[str] = ()
    ) -> list[FoundItem]:
        """The items of a tenant under any of these keys."""
        asked = list(dict.fromkeys(keys))
        stale = use_is_told_after(self._retention)
        texts = [key.hex() for key in asked]
        hits, items = await self._of_tenant(
            scripts.GET, tenant, stale, len(known), *map(_quoted, known), *texts
        )
        # Flat, because the driver is slow with lists: an id, a time and data follow each other.
        made = [
            (_unquoted(items[at]), items[at + 2], float(items[at + 1]))
            for at in range(0, len(items), 3)
        ]
        pairs = (hit.split(b":") for hit in hits.split())
        found = [FoundItem(asked[int(place)], *made[int(number)]) for place, number in pairs]
        return in_order(found, asked)

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        prefix, now, found = _prefix(tenant), self._now(), []
        with self._errors.told():
            members = await self._client.zrange(f"{prefix}y:".encode() + encoded(kind), 0, -1)
            for start in range(0, len(members), _BATCH):
                names = [member.split(b":", 1)[0] for member in members[start : start + _BATCH]]
                async with self._client.pipeline(transaction=False) as pipeline:
                    for name in names:
                        pipeline.hgetall(prefix.encode() + b"i:" + name)
                    rows = await pipeline.execute()
                found += [
                    StoredItem(
                        _unquoted(name),
                        tenant,
                        kind,
                        row[b"data"],
                        float(row[b"created"]),
                        row[b"kept"] == b"1",
                    )
                    for name, row in zip(names, rows, strict=True)
                    if row and not self._is_over(row, now)
                ]
        return found

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        texts = [key.hex() for key in keys]
        return int(await self._of_tenant(scripts.DELETE, tenant, *texts))

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        count = 0
        for name in await self._tenants() if tenant is None else [tenant]:
            while True:
                went, there = await self._of_tenant(scripts.FORGET, name, _BATCH)
                count += there
                if went < _BATCH:
                    break
        return count

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits, also from the indexes of items that the server has expired."""
        count = 0
        for name in await self._tenants():
            while went := int(await self._of_tenant(scripts.SWEEP, name, _BATCH)):
                count += went
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        return sorted(
            TenantUsage(_tenant(prefix), int(items), int(size), float(oldest))
            for prefix, items, size, oldest in await self._run(scripts.USAGE)
        )

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        asked = [one for name, amount in amounts.items() for one in (encoded(name), repr(amount))]
        sums = await self._run(scripts.COUNT, repr(self._now()), repr(seconds), *asked)
        return {name: float(one) for name, one in zip(amounts, sums, strict=True)}

    async def close(self) -> None:
        """Closes the connections."""
        with self._errors.told():
            await self._client.aclose(close_connection_pool=True)

    async def _of_tenant(self, script: str, tenant: str, *values: Any) -> Any:
        seconds, most_seconds, room = self._retention
        now = repr(self._now())
        return await self._run(
            script, _prefix(tenant), now, repr(seconds), repr(most_seconds), room, *values
        )

    async def _run(self, script: str, *values: Any) -> Any:
        if script not in self._scripts:
            self._scripts[script] = self._client.register_script(script)
        with self._errors.told():
            return await self._scripts[script](args=values)

    async def _tenants(self) -> list[str]:
        with self._errors.told():
            return [_tenant(prefix) for prefix in await self._client.smembers("iv:tenants")]

    def _is_over(self, row: Mapping[bytes, bytes], now: float) -> bool:
        return row[b"kept"] != b"1" and (
            now - float(row[b"used"]) > self._retention.seconds
            or now - float(row[b"created"]) > self._retention.most_seconds
        )


def _prefix(tenant: str) -> str:
    """The prefix of a tenant's names: no two tenants have the same, whatever characters are in them."""
    return f"iv:t:{_quoted(tenant)}:"


def _tenant(prefix: bytes) -> str:
    return _unquoted(prefix.removeprefix(b"iv:t:")[:-1])


def _quoted(name: str) -> str:
    """A name without colons; hexadecimal digits stay as they are."""
    return quote(encoded(name), safe="")


def _unquoted(name: bytes) -> str:
    return unquote(name.decode(), errors="surrogatepass")
