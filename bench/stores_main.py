"""Measures the stores of the gateway: a turn is put, and the turns of a history are looked up. Prints a table.

bench/stores                      everything, under five minutes
bench/stores --records 0          without the large file
bench/stores --stores ram,sqlite  some stores
bench/stores --folder FOLDER      where files are made: the disk that is measured
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from peers import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from innervoice.memory.stores.opening import open_store
from innervoice.memory.stores.sqlite import connect
from innervoice.memory.stores.sqlite_items import PIECE
from innervoice.memory.stores.store import Retention, Store, StoredItem
from memory.stores import servers

STORES = ("ram", "sqlite", "redis", "postgres")
KEYS = 4
TURNS = 40
TIMES = 400
AT_ONCE = 64
SMALL, LARGE = 3_000, 20_000
BEFORE = {SMALL: 2_000, LARGE: 500}
RECORD = 300
Timed = list[float]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stores", default=",".join(STORES))
    parser.add_argument("--records", type=int, default=1_000_000, help="in the large file; 0: none")
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    # What was started has to end as well.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    print(f"{'store':<10}{'what':<44}{'median':>10}{'p99':>10}")
    for name in options.stores.split(","):
        with temporary_folder(options.folder) as folder, ExitStack() as stack:
            url = address(name, folder, stack)
            if url is None:
                print(f"{name:<10}its server is not installed")
                continue
            for size in (SMALL, LARGE):
                asyncio.run(measure(name, url, size))
    if options.records:
        with temporary_folder(options.folder) as folder:
            asyncio.run(measure_large_file(folder / "large.db", options.records))


def address(name: str, folder: Path, stack: ExitStack) -> str | None:
    """The address of a store; its server runs until the stack ends."""
    if name == "ram":
        return "ram"
    if name == "sqlite":
        return f"sqlite:{folder}/store.db"
    server, programs = {
        "redis": (servers.RedisServer, servers.redis_program()),
        "postgres": (servers.PostgresServer, servers.postgres_programs()),
    }[name]
    if programs is None:
        return None
    return stack.enter_context(contextmanager(servers.running)(server, programs)).url


async def measure(name: str, url: str, size: int) -> None:
    """Puts turns of one size and looks histories up."""
    store = open_store(url, Retention())
    tenant, turns = f"{size} bytes", []
    empty = await disk(name, store)

    async def put() -> None:
        item = StoredItem(
            random.randbytes(16).hex(), tenant, "turn", random.randbytes(size), time.time()
        )
        keys = [random.randbytes(16) for _ in range(KEYS)]
        await store.put(item, keys)
        turns.append((item.id, keys))

    for _ in range(BEFORE[size] // AT_ONCE):
        await asyncio.gather(*(put() for _ in range(AT_ONCE)))
    row(name, f"put a turn of {size // 1000} kB", await timed(put))
    began = time.perf_counter()
    for _ in range(8):
        await asyncio.gather(*(put() for _ in range(AT_ONCE)))
    each = (time.perf_counter() - began) / (8 * AT_ONCE)
    print(f"{name:<10}{f'  {AT_ONCE} at once, each':<44}{each * 1e3:>7.3f} ms")

    async def get(known: bool) -> None:
        start = random.randrange(len(turns) - TURNS)
        history = turns[start : start + TURNS]
        keys = [key for _, own in history for key in own]
        found = await store.get(tenant, keys, {id_ for id_, _ in history} if known else ())
        assert len(found) == TURNS * KEYS

    what = f"get {TURNS} turns of {size // 1000} kB by {TURNS * KEYS} keys"
    row(name, what, await timed(lambda: get(known=False)))
    row(name, "  the same, all known", await timed(lambda: get(known=True)))
    used = (await disk(name, store) - empty) / len(turns)
    if used > 0:
        where = "in memory" if name == "redis" else "on disk"
        print(f"{name:<10}{f'  bytes of a turn {where}':<44}{used:>10,.0f}")
    await store.close()


async def timed(work: Callable[[], Awaitable[None]]) -> Timed:
    """The seconds of each call."""
    for _ in range(20):
        await work()
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await work()
        times.append(time.perf_counter() - began)
    return times


def row(name: str, what: str, times: Timed) -> None:
    """Prints a line of the table."""
    late = sorted(times)[int(len(times) * 0.99)]
    median = statistics.median(times)
    print(f"{name:<10}{what:<44}{median * 1e3:>7.3f} ms{late * 1e3:>7.3f} ms", flush=True)


async def disk(name: str, store: Any) -> int:
    """The bytes that a store takes."""
    if name == "redis":
        return int((await store._client.info("memory"))["used_memory"])  # noqa: SLF001
    if name == "sqlite":
        await store.forget("nobody")  # empties the log
        return store.path.stat().st_size
    if name == "postgres":
        await store.usage()
        async with store._connection() as connection:  # noqa: SLF001
            return await connection.fetchval(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
                " WHERE relname LIKE 'innervoice%' AND relkind = 'r'"
            )
    return 0


async def measure_large_file(path: Path, records: int) -> None:
    """Looks histories up in a file of many small records."""
    began = time.perf_counter()
    samples, size = build(path, records)
    print(
        f"{'sqlite':<10}{records:,} records of {RECORD} bytes: {size / records:,.0f} bytes each on disk,"
        f" made in {time.perf_counter() - began:.0f} s",
        flush=True,
    )
    store = open_store(f"sqlite:{path}", Retention())

    async def get(turns: int, known: bool) -> None:
        history = random.sample(samples, turns)
        keys = [key for _, own in history for key in own]
        found = await store.get("me", keys, {id_ for id_, _ in history} if known else ())
        assert len(found) == turns * KEYS

    async def miss() -> None:
        assert await store.get("me", [random.randbytes(16) for _ in range(160)]) == []

    row("sqlite", "  get 1 of them", await timed(lambda: get(1, known=False)))
    row(
        "sqlite",
        f"  get {TURNS} by {TURNS * KEYS} keys",
        await timed(lambda: get(TURNS, known=False)),
    )
    row("sqlite", "  the same, all known", await timed(lambda: get(TURNS, known=True)))
    row("sqlite", "  160 keys that are not there", await timed(miss))
    await put_some(store)
    await store.close()


async def put_some(store: Store) -> None:
    """Puts into the large file."""

    async def put() -> None:
        data = random.randbytes(SMALL)
        item = StoredItem(random.randbytes(16).hex(), "me", "turn", data, time.time())
        await store.put(item, [random.randbytes(16) for _ in range(KEYS)])

    row("sqlite", "  put a turn of 3 kB", await timed(put))


def build(path: Path, records: int) -> tuple[list[tuple[str, list[bytes]]], int]:
    """Makes a file of many records, faster than by puts; returns some of them, and the file's size."""
    file, now = connect(path, 1), time.time()
    file.execute("PRAGMA synchronous = OFF")
    file.execute("PRAGMA cache_size = -300000")
    file.execute("BEGIN")
    file.execute("INSERT INTO tenants VALUES (1, ?, ?, ?)", (b"me", records, records * RECORD))
    keys = [random.randbytes(16 * KEYS) for _ in range(records)]
    ids = [random.randbytes(16).hex() for _ in range(records)]

    def items() -> Iterator[tuple[Any, ...]]:
        for number, (id_, own) in enumerate(zip(ids, keys, strict=True)):
            packed = b"".join(b"\x10\0\0\0" + own[at : at + 16] for at in range(0, len(own), 16))
            yield 1, id_.encode(), b"turn", now, now, 0, RECORD, number * RECORD, packed

    def pieces() -> Iterator[tuple[int, bytes]]:
        for number in range(-(-records * RECORD // PIECE)):
            last = min((number + 1) * PIECE, records * RECORD) - 1
            count = last // RECORD - number * PIECE // RECORD + 1
            yield number, count.to_bytes(4, "little") + random.randbytes(PIECE)

    file.executemany(
        "INSERT INTO items (tenant, id, kind, created, used, kept, size, place, keys)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        items(),
    )
    file.executemany("INSERT INTO pieces VALUES (?, ?)", pieces())
    file.execute("UPDATE tail SET place = ?", (records * RECORD,))
    single = (
        (own[at : at + 16], number)
        for number, own in enumerate(keys, 1)
        for at in range(0, len(own), 16)
    )
    file.executemany("INSERT INTO keys VALUES (1, ?, ?)", sorted(single))
    file.execute("COMMIT")
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()
    chosen = random.sample(range(records), min(records, 20_000))
    samples = [
        (ids[one], [keys[one][at : at + 16] for at in range(0, 16 * KEYS, 16)]) for one in chosen
    ]
    return samples, path.stat().st_size


@contextmanager
def temporary_folder(parent: Path | None) -> Iterator[Path]:
    """A folder for files that are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="innervoice-stores-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
