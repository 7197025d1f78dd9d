"""A SQLite file that is shared, killed, damaged, full, locked, and what is left in it of what was deleted."""

import asyncio
import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from innervoice.memory.stores.sqlite import SqliteStore, connect
from innervoice.memory.stores.sqlite_items import SqliteItems
from innervoice.memory.stores.store import Retention, StoredItem, StoreError

SOURCE = Path(__file__).parents[3] / "src"
START = 1_800_000_000.0


def an_item(number, data=b"data", tenant="me"):
    return StoredItem(f"{number:032x}", tenant, "turn", data, START)


def run(path, work, **settings):
    """Runs `await work(store)` on a new store object."""

    async def whole():
        store = SqliteStore(path, now=lambda: START, **settings)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(whole())


def found_keys(path, keys):
    return {found.key for found in run(path, lambda store: store.get("me", keys))}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


# It tells each number once its item is stored.
PUTTING = """
import asyncio, sys
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.memory.stores.store import StoredItem

async def put(store, number):
    item = StoredItem(f"{number:032x}", "me", "turn", number.to_bytes(4, "big") * 1000, 1.8e9)
    await store.put(item, [number.to_bytes(4, "big"), b"all"])
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()

async def main(path, start, count):
    store = SqliteStore(path, now=lambda: 1.8e9, busy_seconds=20)
    for first in range(start, start + count, 8):
        await asyncio.gather(*(put(store, first + number) for number in range(8)))
    await store.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


def putting(path, start, count, **settings):
    command = [sys.executable, "-c", PUTTING, str(path), str(start), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, **settings)


def test_two_processes_write_into_one_file(path):
    processes = [putting(path, start, 120) for start in (0, 1_000)]
    assert [process.communicate(timeout=60) and process.returncode for process in processes] == [
        0,
        0,
    ]
    numbers = [*range(120), *range(1_000, 1_120)]
    found = run(path, lambda store: store.get("me", [one.to_bytes(4, "big") for one in numbers]))
    assert sorted(int.from_bytes(one.key, "big") for one in found) == numbers
    assert all(one.data == one.key * 1_000 for one in found)
    (usage,) = run(path, lambda store: store.usage())
    assert (usage.items, usage.size) == (240, 240 * 4_000)


@pytest.mark.parametrize("lines", [1, 60, 200])
def test_what_was_acknowledged_survives_a_kill(path, lines):
    process = putting(path, 0, 100_000)
    told = [int(process.stdout.readline()) for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    told += [int(line) for line in process.communicate(timeout=30)[0].split(b"\n")[:-1]]
    found = run(path, lambda store: store.get("me", [number.to_bytes(4, "big") for number in told]))
    assert {one.key for one in found} == {number.to_bytes(4, "big") for number in told}
    assert all(one.data == one.key * 1_000 for one in found)
    (usage,) = run(path, lambda store: store.usage())
    assert usage.items >= len(told)
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    file.close()


def test_only_its_owner_may_read_the_file(path):
    async def work(store):
        await store.put(an_item(1), [b"key"])
        return [stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()]

    assert run(path, work) == [0o600] * 3, "the file, its log, and the index of that"


def bytes_on_disk(path):
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


def a_word():
    """Bytes that are like no others."""
    return b"<" + random.randbytes(14) + b">"


def test_nothing_of_a_deleted_item_is_left_in_the_file_or_its_log(path):
    """Many small items in random order: those are what SQLite leaves copies of. A word that is cut between two pieces comes again."""

    async def work(store):
        words, gone = {}, {}
        for round_number in range(12):
            for number in range(round_number * 60, round_number * 60 + 60):
                words[number] = a_word()
            await asyncio.gather(
                *(
                    store.put(
                        an_item(number, words[number] * random.choice([3, 9, 80, 300, 900])),
                        [number.to_bytes(4, "big")],
                    )
                    for number in range(round_number * 60, round_number * 60 + 60)
                )
            )
            deleted = random.sample(sorted(words), 45)
            gone |= {number: words.pop(number) for number in deleted}
            assert await store.delete("me", [one.to_bytes(4, "big") for one in deleted]) == 45
            left = bytes_on_disk(path)
            assert not [number for number, word in gone.items() if word in left]
            assert all(word in left for word in words.values())

    run(path, work)


def test_nothing_of_a_forgotten_tenant_is_left(path):
    async def work(store):
        mine, other = a_word(), a_word()
        for number in range(40):
            await store.put(an_item(number, mine * 700), [bytes([number])])
            await store.put(an_item(number, other * 50, tenant="you"), [bytes([number])])
        assert await store.forget("me") == 40
        assert mine not in bytes_on_disk(path)
        assert other in bytes_on_disk(path)
        assert await store.forget() == 40
        assert other not in bytes_on_disk(path)

    run(path, work)


def test_a_deletion_says_if_another_process_still_reads_the_log(path):
    async def work(store):
        word = a_word()
        await store.put(an_item(1, word), [b"key"])
        reading = sqlite3.connect(path)
        reading.execute("BEGIN")
        reading.execute("SELECT * FROM items").fetchall()
        with pytest.raises(StoreError, match="write-ahead log"):
            await store.delete("me", [b"key"])
        assert await store.get("me", [b"key"]) == []
        reading.close()
        assert await store.delete("me", [b"key"]) == 0
        assert word not in bytes_on_disk(path)

    run(path, work, busy_seconds=0.1)


def test_a_vacuum_makes_the_file_shorter(path):
    async def work(store):
        for number in range(100):
            await store.put(an_item(number, bytes(20_000)), [bytes([number])])
        await store.delete("me", [bytes([number]) for number in range(90)])
        before = path.stat().st_size
        await store.vacuum()
        assert before > 2_000_000
        assert path.stat().st_size < 500_000
        assert len(await store.get("me", [bytes([number]) for number in range(100)])) == 10

    run(path, work)


def test_room_of_evicted_items_is_used_again(path):
    async def work(store):
        for number in range(400):
            await store.put(an_item(number, bytes(3_000 + number)), [number.to_bytes(4, "big")])
        await store.vacuum()
        assert path.stat().st_size < 1_000_000

    run(path, work, retention=Retention(tenant_bytes=300_000))


def test_a_file_that_is_not_a_database_is_moved_aside(path):
    path.write_bytes(b"these are words, and many of them. " * 100)
    Path(f"{path}-wal").write_bytes(b"its log")

    async def work(store):
        await store.put(an_item(1), [b"key"])
        assert len(await store.get("me", [b"key"])) == 1

    run(path, work)
    moved = sorted(file for file in path.parent.iterdir() if ".damaged-" in file.name)
    assert moved[0].read_bytes().startswith(b"these are words")
    assert found_keys(path, [b"key"]) == {b"key"}
    assert len(moved) <= 2
    assert sorted(path.parent.glob("*.damaged-*")) == moved, "once"


def test_processes_that_find_a_damaged_file_at_once_share_the_new_one(path):
    path.write_bytes(b"these are words, and many of them. " * 100)
    processes = [putting(path, start, 8) for start in (0, 100, 200)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(run(path, lambda store: store.items("me", "turn"))) == 24


def test_a_warning_that_is_an_error_is_reported(path):
    """As with `python -W error`: whoever waits for the store hears of it."""

    times = iter([START])

    def now():
        for time in times:
            return time
        raise DeprecationWarning("this will be removed")

    async def put():
        store = SqliteStore(path, now=now)
        try:
            await asyncio.wait_for(store.put(an_item(1), [b"key"]), 10)
        finally:
            await store.close()

    with pytest.raises(StoreError, match="this will be removed"):
        asyncio.run(put())


def test_bad_pages_are_errors_of_the_store(path):
    async def fill(store):
        for number in range(200):
            await store.put(an_item(number, bytes(2_000)), [number.to_bytes(16, "big")])

    run(path, fill)
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(random.Random(1).randbytes(path.stat().st_size - 4_096))
    keys = [number.to_bytes(16, "big") for number in range(200)]
    for work in (
        lambda store: store.get("me", keys),
        lambda store: store.put(an_item(999), [b"new"]),
        lambda store: store.items("me", "turn"),
        lambda store: store.delete("me", keys),
        lambda store: store.forget(),
        lambda store: store.usage(),
    ):
        with pytest.raises(StoreError):
            run(path, work)


@pytest.mark.parametrize("statements", ["PRAGMA user_version = 99", "CREATE TABLE others (name)"])
def test_a_database_of_another_is_left_alone(path, statements):
    with sqlite3.connect(path) as file:
        file.execute(statements)
    file.close()
    with pytest.raises(StoreError, match="expected version 1 or a new file"):
        run(path, lambda store: store.put(an_item(1), [b"key"]))
    with pytest.raises(StoreError):
        run(path, lambda store: store.get("me", [b"key"]))
    assert [file.name for file in path.parent.iterdir() if "damaged" in file.name] == []


def test_a_locked_file_is_an_error_and_reads_go_on(path):
    async def work(store):
        await store.put(an_item(1), [b"key"])
        locking = sqlite3.connect(path, isolation_level=None)
        locking.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(
            *(store.put(an_item(number), [b"other"]) for number in range(2, 12)),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [StoreError] * 10
        assert len(await store.get("me", [b"key"])) == 1
        locking.rollback()
        locking.close()
        await store.put(an_item(2), [b"other"])
        assert len(await store.get("me", [b"other"])) == 1

    run(path, work, busy_seconds=0.1)


def test_a_full_disk_is_an_error_and_small_items_still_fit(path):
    """The size of a file is bounded for this process, as a full disk bounds it."""

    async def work(store):
        await store.put(an_item(1), [b"key"])
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
        try:
            results = await asyncio.gather(
                store.put(an_item(2, bytes(5_000_000)), [b"large"]),
                store.put(an_item(3), [b"small"]),
                return_exceptions=True,
            )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert isinstance(results[0], StoreError)
        assert results[1] is None
        found = await store.get("me", [b"key", b"large", b"small"])
        assert [one.key for one in found] == [b"key", b"small"]
        await store.put(an_item(2, bytes(5_000_000)), [b"large"])
        assert len(await store.get("me", [b"large"])) == 1

    run(path, work)


def test_a_folder_that_may_not_be_written_to_is_an_error(tmp_path):
    if os.geteuid() == 0:
        closed = Path("/proc")  # where even root makes no files
    else:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
    for work in (
        lambda store: store.put(an_item(1), [b"key"]),
        lambda store: store.get("me", [b"key"]),
    ):
        with pytest.raises(StoreError):
            run(closed / "store.db", work)


READING_ONLY = """
import asyncio, os, sys
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.memory.stores.store import StoredItem, StoreError

async def main(path):
    store = SqliteStore(path)
    try:
        await store.put(StoredItem("1" * 32, "me", "turn", b"data", 1.8e9), [b"key"])
    except StoreError as error:
        print(error)
    await store.close()

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main(sys.argv[1]))
"""


def test_a_file_that_may_not_be_written_is_an_error():
    with tempfile.TemporaryDirectory() as folder:
        # Others may look into it, but not write.
        Path(folder).chmod(0o755)
        path = Path(folder, "store.db")
        run(path, lambda store: store.put(an_item(1), [b"key"]))
        path.chmod(0o444)
        command = [sys.executable, "-c", READING_ONLY, str(path)]
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        told = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment, timeout=30
        )
    assert "Permission denied" in told.stdout, told.stderr


def test_a_closed_store_is_an_error_and_keeps_what_was_put(path):
    async def work():
        store = SqliteStore(path, now=lambda: START)
        putting = [asyncio.ensure_future(store.put(an_item(one), [b"all"])) for one in range(20)]
        await asyncio.sleep(0)
        await store.close()
        await store.close()
        await asyncio.gather(*putting)
        with pytest.raises(StoreError, match="closed"):
            await store.put(an_item(99), [b"key"])
        with pytest.raises(StoreError, match="closed"):
            await store.get("me", [b"key"])

    asyncio.run(work())
    assert len(run(path, lambda store: store.items("me", "turn"))) == 20


def test_expired_items_are_swept_by_and_by(path):
    async def work():
        now = [START]
        store = SqliteStore(path, Retention(seconds=1_000), lambda: now[0])
        for number in range(300):
            tenant = f"tenant {number % 100}"
            await store.put(an_item(number, bytes(50), tenant), [number.to_bytes(4, "big")])
        await store.count({"a": 1}, 10)
        now[0] += 1_001
        for _ in range(6):
            now[0] += 61
            await store.count({"b": 1}, 1)
        usage = await store.usage()
        await store.close()
        return usage

    assert asyncio.run(work()) == []
    with sqlite3.connect(path) as file:
        tables = ("items", "keys", "pieces")
        assert [file.execute(f"SELECT count(*) FROM {one}").fetchone()[0] for one in tables] == [
            0,
            0,
            1,
        ], "the last piece is not full"
        assert file.execute("SELECT count(*) FROM counters").fetchone()[0] == 1
    file.close()


def test_the_work_of_a_look_up_does_not_grow_with_the_file(path):
    items = SqliteItems(Retention(), lambda: START)
    file = connect(path, 1)
    steps = []
    file.set_progress_handler(lambda: steps.append(1), 10)
    counts = []
    for number in range(2_000):
        file.execute("BEGIN")
        items.put(file, an_item(number), [number.to_bytes(4, "big")])
        if number in (100, 1_999):
            for work in (
                lambda: items.get(file, "me", [bytes([0, 0, 0, 50])], ()),
                lambda: items.delete(file, "me", [bytes([0, 0, 0, 50])]),
                lambda: items.put(file, an_item(5_000), [b"new"]),
                lambda: items.sweep(file),
            ):
                steps.clear()
                work()
                counts.append(len(steps))
            file.rollback()
        else:
            file.execute("COMMIT")
    file.close()
    assert all(
        later < 2 * sooner + 20 for sooner, later in zip(counts[:4], counts[4:], strict=True)
    )
