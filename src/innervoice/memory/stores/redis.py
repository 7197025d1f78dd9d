"""Items in Redis or Valkey, for gateways on several machines: package `redis`, server 7 or later, no modules."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any
from urllib.parse import quote, unquote

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
_FREE_SECONDS = 10.0
"""How long a call waits for a free connection: the calls before it must be answered first, and a busy machine is slow with them."""
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
            timeout=_FREE_SECONDS,
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
            PUT,
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
        wanted = list(dict.fromkeys(keys))
        stale = use_is_told_after(self._retention)
        texts = [key.hex() for key in wanted]
        hits, items = await self._of_tenant(
            GET, tenant, stale, len(known), *map(_quoted, known), *texts
        )
        # Flat, because the driver is slow with lists: an id, a time and data follow each other.
        made = [
            (_unquoted(items[at]), items[at + 2], float(items[at + 1]))
            for at in range(0, len(items), 3)
        ]
        pairs = (hit.split(b":") for hit in hits.split())
        matches = [FoundItem(wanted[int(place)], *made[int(number)]) for place, number in pairs]
        return in_order(matches, wanted)

    async def items(self, tenant: str, kind: str) -> list[StoredItem]:
        """All items of one kind."""
        prefix, now, items = _prefix(tenant), self._now(), []
        with self._errors.translated():
            members = await self._client.zrange(f"{prefix}y:".encode() + encoded(kind), 0, -1)
            for start in range(0, len(members), _BATCH):
                names = [member.split(b":", 1)[0] for member in members[start : start + _BATCH]]
                async with self._client.pipeline(transaction=False) as pipeline:
                    for name in names:
                        pipeline.hgetall(prefix.encode() + b"i:" + name)
                    rows = await pipeline.execute()
                items += [
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
        return items

    async def delete(self, tenant: str, keys: Sequence[bytes]) -> int:
        """Deletes the items under any of these keys."""
        texts = [key.hex() for key in keys]
        return int(await self._of_tenant(DELETE, tenant, *texts))

    async def forget(self, tenant: str | None = None) -> int:
        """Deletes all items of a tenant, or of all."""
        count = 0
        for name in await self._tenants() if tenant is None else [tenant]:
            while True:
                went, there = await self._of_tenant(FORGET, name, _BATCH)
                count += there
                if went < _BATCH:
                    break
        return count

    async def vacuum(self) -> int:
        """Deletes items that are too old or exceed the limits, also from the indexes of items that the server has expired."""
        count = 0
        for name in await self._tenants():
            while went := int(await self._of_tenant(SWEEP, name, _BATCH)):
                count += went
        return count

    async def usage(self) -> list[TenantUsage]:
        """The usage of each tenant."""
        return sorted(
            TenantUsage(_tenant(prefix), int(items), int(size), float(oldest))
            for prefix, items, size, oldest in await self._run(USAGE)
        )

    async def count(self, amounts: Mapping[str, float], seconds: float) -> dict[str, float]:
        """Adds to counters, and returns their sums."""
        arguments = [
            one for name, amount in amounts.items() for one in (encoded(name), repr(amount))
        ]
        sums = await self._run(COUNT, repr(self._now()), repr(seconds), *arguments)
        return {name: float(one) for name, one in zip(amounts, sums, strict=True)}

    async def close(self) -> None:
        """Closes the connections."""
        with self._errors.translated():
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
        with self._errors.translated():
            return await self._scripts[script](args=values)

    async def _tenants(self) -> list[str]:
        with self._errors.translated():
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


# ---- The operations of the store on Redis, as Lua scripts: each is one round trip and runs atomically.
#
# Names:
#
# iv:tenants          the prefixes of the tenants' names
# iv:c:NAME           a counter: its sum, and when it ends
# iv:t:TENANT:i:ID    an item: kind, data, created, used, kept, keys
# iv:t:TENANT:k:KEY   the ids of the items under a key
# iv:t:TENANT:u       items by their last use; a member is ID:SIZE:KIND, which stays known even when the server has expired the item
# iv:t:TENANT:a       the same, by creation
# iv:t:TENANT:y:KIND  the same for one kind, with the kept items
# iv:t:TENANT:n       ids of kept items
# iv:t:TENANT:s       the sum of sizes
#
# Items and keys expire on the server. Times are the caller's, in seconds; the server's times only clean up.


_BEGINNING = """
local prefix, now = ARGV[1], tonumber(ARGV[2])
local seconds, most_seconds, room = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local by_use, by_age, names = prefix .. 'u', prefix .. 'a', prefix .. 'n'

local function is_over(item)
    return item[3] ~= '1' and
        (now - tonumber(item[2]) > seconds or now - tonumber(item[1]) > most_seconds)
end

-- The server expires an item when it is over, and a key with its last item; a key without an expiry has a kept item, or is new.
local function live_on(id, created, used, kept, keys, new_sets)
    local left = math.min(used + seconds, created + most_seconds) - now
    left = math.floor(math.max(1, math.min(left * 1000 + 1000, 1e14)))
    if not kept then redis.call('PEXPIRE', prefix .. 'i:' .. id, string.format('%d', left)) end
    for key in string.gmatch(keys, '%S+') do
        local name = prefix .. 'k:' .. key
        local before = redis.call('PTTL', name)
        if kept then
            redis.call('PERSIST', name)
        elseif new_sets[name] or (before ~= -1 and before < left) then
            redis.call('PEXPIRE', name, string.format('%d', left))
        end
    end
end

local function leave_tenant()
    if redis.call('EXISTS', by_use, names) == 0 then
        redis.call('DEL', prefix .. 's')
        redis.call('SREM', 'iv:tenants', prefix)
    end
end

-- Returns 1 if the item still existed.
local function drop(id, size, kind)
    local name = prefix .. 'i:' .. id
    local member = id .. ':' .. size .. ':' .. kind
    local keys = redis.call('HGET', name, 'keys')
    for key in string.gmatch(keys or '', '%S+') do
        redis.call('SREM', prefix .. 'k:' .. key, id)
    end
    if redis.call('ZREM', by_use, member) == 1 then
        redis.call('DECRBY', prefix .. 's', size)
    end
    redis.call('ZREM', by_age, member)
    redis.call('ZREM', prefix .. 'y:' .. kind, member)
    redis.call('SREM', names, id)
    return redis.call('DEL', name)
end

local function drop_members(members)
    local there = 0
    for _, member in ipairs(members) do
        there = there + drop(string.match(member, '^([^:]*):(%d+):(.*)$'))
    end
    return there
end

local function sweep(most)
    local old = redis.call('ZRANGEBYSCORE', by_use, '-inf', '(' .. string.format('%.17g', now - seconds), 'LIMIT', 0, most)
    drop_members(old)
    local aged = redis.call('ZRANGEBYSCORE', by_age, '-inf', '(' .. string.format('%.17g', now - most_seconds), 'LIMIT', 0, most)
    drop_members(aged)
    return #old + #aged
end

-- Drops the least recently used; the newest stays.
local function make_room(newest, most)
    local count = 0
    while count < most and tonumber(redis.call('GET', prefix .. 's') or 0) > room do
        local oldest = redis.call('ZRANGE', by_use, 0, 1)
        if #oldest < 2 then break end
        local member = oldest[1]
        if member == newest then member = oldest[2] end
        drop_members({member})
        count = count + 1
    end
    return count
end
"""

PUT = (
    _BEGINNING
    + """
local id, kind, created, kept, keys, data = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local name = prefix .. 'i:' .. id
if redis.call('EXISTS', name) == 1 then return 0 end
local member = id .. ':' .. #data .. ':' .. kind
redis.call('HSET', name, 'kind', kind, 'data', data, 'created', created, 'used', ARGV[2], 'kept', kept, 'keys', keys)
local new_sets = {}
for key in string.gmatch(keys, '%S+') do
    local set = prefix .. 'k:' .. key
    new_sets[set] = redis.call('EXISTS', set) == 0
    redis.call('SADD', set, id)
    if redis.call('SCARD', set) > tonumber(ARGV[12]) then
        local oldest, age
        for _, other in ipairs(redis.call('SMEMBERS', set)) do
            local at = tonumber(redis.call('HGET', prefix .. 'i:' .. other, 'created') or '0')
            if other ~= id and (not age or at < age) then oldest, age = other, at end
        end
        redis.call('SREM', set, oldest)
    end
end
redis.call('SADD', 'iv:tenants', prefix)
redis.call('ZADD', prefix .. 'y:' .. kind, created, member)
live_on(id, tonumber(created), now, kept == '1', keys, new_sets)
if kept == '1' then
    redis.call('SADD', names, id)
else
    -- The server may have expired one with this id that is still in the indexes.
    if redis.call('ZADD', by_use, ARGV[2], member) == 1 then
        redis.call('INCRBY', prefix .. 's', #data)
    end
    redis.call('ZADD', by_age, created, member)
    sweep(50)
    make_room(member, 1000)
end
return 1
"""
)

GET = (
    _BEGINNING
    + """
local stale, known, first = now - tonumber(ARGV[6]), {}, 8 + tonumber(ARGV[7])
for place = 8, first - 1 do known[ARGV[place]] = true end
local hits, places, gone, items = {}, {}, {}, {}
for place = first, #ARGV do
    local set = prefix .. 'k:' .. ARGV[place]
    for _, id in ipairs(redis.call('SMEMBERS', set)) do
        if places[id] == nil then
            local name = prefix .. 'i:' .. id
            local item = redis.call('HMGET', name, 'created', 'used', 'kept', 'keys', 'kind')
            places[id] = false
            gone[id] = not item[1]
            if item[1] and not is_over(item) then
                local data = false
                if not known[id] then data = redis.call('HGET', name, 'data') end
                table.insert(items, id)
                table.insert(items, item[1])
                table.insert(items, data)
                places[id] = #items / 3
                if tonumber(item[2]) < stale then
                    redis.call('HSET', name, 'used', ARGV[2])
                    live_on(id, tonumber(item[1]), now, item[3] == '1', item[4], {})
                    if item[3] ~= '1' then
                        local size = redis.call('HSTRLEN', name, 'data')
                        redis.call('ZADD', by_use, 'XX', ARGV[2], id .. ':' .. size .. ':' .. item[5])
                    end
                end
            end
        end
        if gone[id] then redis.call('SREM', set, id) end
        if places[id] then table.insert(hits, (place - first) .. ':' .. (places[id] - 1)) end
    end
end
return {table.concat(hits, ' '), items}
"""
)

DELETE = (
    _BEGINNING
    + """
local there = 0
for place = 6, #ARGV do
    for _, id in ipairs(redis.call('SMEMBERS', prefix .. 'k:' .. ARGV[place])) do
        local name = prefix .. 'i:' .. id
        local kind = redis.call('HGET', name, 'kind')
        if kind then there = there + drop(id, string.format('%d', redis.call('HSTRLEN', name, 'data')), kind) end
    end
end
leave_tenant()
return there
"""
)

FORGET = (
    _BEGINNING
    + """
local members = redis.call('ZRANGE', by_use, 0, tonumber(ARGV[6]) - 1)
local there = drop_members(members)
leave_tenant()
return {#members, there}
"""
)

SWEEP = (
    _BEGINNING
    + """
local count = sweep(tonumber(ARGV[6])) + make_room('', tonumber(ARGV[6]))
leave_tenant()
return count
"""
)

USAGE = """
local usage = {}
for _, prefix in ipairs(redis.call('SMEMBERS', 'iv:tenants')) do
    local oldest = redis.call('ZRANGE', prefix .. 'a', 0, 0, 'WITHSCORES')
    if oldest[2] then
        table.insert(usage, {prefix, redis.call('ZCARD', prefix .. 'u'), redis.call('GET', prefix .. 's'), oldest[2]})
    end
end
return usage
"""

COUNT = """
local now, seconds, sums = tonumber(ARGV[1]), tonumber(ARGV[2]), {}
for place = 3, #ARGV, 2 do
    local name, amount = 'iv:c:' .. ARGV[place], tonumber(ARGV[place + 1])
    local counter = redis.call('HMGET', name, 'sum', 'ends')
    local sum, is_new = 0, not counter[1] or tonumber(counter[2]) <= now
    if not is_new then sum = tonumber(counter[1]) end
    sum = string.format('%.17g', sum + amount)
    if amount ~= 0 then
        redis.call('HSET', name, 'sum', sum)
        if is_new then
            redis.call('HSET', name, 'ends', string.format('%.17g', now + seconds))
            redis.call('PEXPIRE', name, string.format('%d', math.ceil(seconds * 1000) + 1000))
        end
    end
    table.insert(sums, sum)
end
return sums
"""
