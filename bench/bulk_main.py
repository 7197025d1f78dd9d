"""Splitting data sets: by kind of row and size, end to end beside the floor (reading and writing the same Parquet), and in how much memory.

Every number is CPU time of one process; ratios are of runs that took turns, so that a busy machine slows all of them. `--agree N` holds
both ways of splitting against each other on N generated texts instead; `--memory GB` pushes so much through a pipe and measures the peak.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import innervoice as iv
from bulk_texts import MIX, Maker
from innervoice import bulk
from innervoice.bulk.fast_split import TextSplitter
from innervoice.canon.jsontext import dump_json
from innervoice.inline.formats import DEFAULT_TAGS, ROWS
from innervoice.inline.vocabulary import vocabulary

NAIVE = re.compile(r"<think>(.*?)</think>", re.DOTALL)
ROUNDS = 3


def naive(text: str) -> tuple[str, str | None]:
    found = NAIVE.search(text)
    return (
        (text[: found.start()] + text[found.end() :].strip(), found[1].strip())
        if found
        else (text, None)
    )


def splitter(text: str) -> tuple[str, str | None, str]:
    response = iv.split(text, markup=("openthinker",))
    return response.text, response.thinking, response.status


def cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def by_kind(size: int) -> None:
    maker = Maker()
    count = max(20, 3_000_000 // size)
    fast = TextSplitter(markup=("openthinker",))
    ways: dict[str, Callable[[str], object]] = {
        "re (wrong on the rest)": naive,
        "iv.split": splitter,
        "bulk": fast.split,
    }
    print(f"\nsplitting alone, rows of {size / 1000:.0f} kB, MB a CPU second")
    print(f"{'kind':12}" + "".join(f"{name:>24}" for name in ways))
    sets = {kind: [maker.text(kind, size) for _ in range(count)] for kind in MIX}
    sets["the mix"] = [row["response"] for row in maker.rows(count * 2, size)]
    for kind, texts in sets.items():
        best = dict.fromkeys(ways, 1e9)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                best[name] = min(
                    best[name], cpu(lambda way=way, texts=texts: [way(text) for text in texts])
                )
        total = sum(map(len, texts)) / 1e6
        print(f"{kind:12}" + "".join(f"{total / seconds:>24,.0f}" for seconds in best.values()))


def by_markup() -> None:
    """The search for the next marker in prose without any, which every text costs; and texts in each markup, split with it and with all."""
    maker = Maker()
    prose = maker.prose(1_000_000)
    everything = tuple(ROWS)
    print("\nthe search for markers, and splitting texts of 20 kB in each markup, MB a CPU second")
    print(f"{'markup':16}{'search':>10}{'split':>10}{'split with all':>18}")
    for name in (*ROWS, "all together"):
        rows = everything if name == "all together" else (name,)
        kinds = [ROWS[one] for one in rows]
        texts = [maker.marked(kinds[number % len(kinds)], 20_000) for number in range(40)]
        words = vocabulary(DEFAULT_TAGS, rows)
        ways: list[tuple[Callable[[], object], int]] = [(lambda words=words: words.find(prose, 0), len(prose))]  # fmt: skip
        for markup in (rows, everything):
            split = TextSplitter(markup=markup).split
            ways.append((lambda split=split, texts=texts: [split(text) for text in texts], sum(map(len, texts))))  # fmt: skip
        speeds = [size / 1e6 / min(cpu(way) for _ in range(ROUNDS * 2)) for way, size in ways]
        print(f"{name:16}{speeds[0]:>10,.0f}{speeds[1]:>10,.0f}{speeds[2]:>18,.0f}")


def end_to_end(folder: Path, megabytes: int, size: int) -> None:
    path = folder / f"rows-{size}.parquet"
    count = megabytes * 1_000_000 // size
    rows = Maker().rows(count, size)
    schema = pa.schema([(name, pa.string()) for name in ("id", "kind", "prompt", "response")])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(0, count, 2_000):
            some = [row for _, row in zip(range(2_000), rows, strict=False)]
            writer.write_batch(pa.RecordBatch.from_pylist(some, schema=schema))
    ways: dict[str, Callable[[], object]] = {
        "floor: read and write": lambda: floor(path, folder / "floor.parquet"),
        "re": lambda: by_re(path, folder / "re.parquet"),
        "bulk.run": lambda: bulk.run(
            path, folder / "out", bulk.ReadOptions(text=("response",)), overwrite=True
        ),
        "bulk.run, to one file": lambda: bulk.run(
            path, folder / "out.parquet", bulk.ReadOptions(text=("response",)), overwrite=True
        ),
    }
    best = dict.fromkeys(ways, 1e9)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            best[name] = min(best[name], cpu(way))
    least = best["floor: read and write"]
    print(
        f"\nend to end, {megabytes} MB in rows of {size / 1000:.0f} kB, {path.stat().st_size / 1e6:,.0f} MB of zstd Parquet"
    )
    print(f"{'way':24}{'CPU s':>8}{'MB/s':>8}{'x floor':>9}")
    for name, seconds in best.items():
        print(f"{name:24}{seconds:>8.2f}{megabytes / seconds:>8.0f}{seconds / least:>9.2f}")


def by_the_clock(folder: Path, megabytes: int, size: int) -> None:
    """The commands as they are run, on one file and on a folder of eight; a row in four is in any other markup. Seconds by the clock, and of a single process."""
    shards = folder / "shards"
    shards.mkdir()
    maker = Maker()
    count = megabytes * 1_000_000 // size
    rows = list(maker.rows(count, size))
    for number, row in enumerate(rows[::4]):
        row["response"] = maker.marked(list(ROWS.values())[number % len(ROWS)], size)
    table = pa.Table.from_pylist(rows)
    one = folder / "one.parquet"
    pq.write_table(table, one, compression="zstd", row_group_size=-(-count // 8))
    for number in range(8):
        part = table.slice(number * -(-count // 8), -(-count // 8))
        pq.write_table(part, shards / f"part-{number}.parquet", compression="zstd")
    del table, rows
    program = [sys.executable, "-m", "innervoice", "bulk"]
    reads = ["--text", "response"]
    large = folder / "large"
    large.mkdir()
    for number in range(4):
        for part in shards.iterdir():
            (large / f"{number}-{part.name}").hardlink_to(part)
    ways = {"floor, in this process": None}
    for name, path in (("file", one), ("folder", shards), ("folder, 4 times as much", large)):
        for workers in (1, 2):
            ways[f"split a {name}, -j {workers}"] = [*program, "split", str(path), "-o", str(folder / "out"), "-j", str(workers), "--overwrite", *reads]  # fmt: skip
    for workers in (1, 2):
        ways[f"report on the folder, -j {workers}"] = [*program, "report", str(shards), "-o", str(folder / "report.html"), "-j", str(workers), *reads]  # fmt: skip
    best = dict.fromkeys(ways, (1000000000.0, 1000000000.0))
    for _ in range(ROUNDS):
        for name, command in ways.items():
            best[name] = min(best[name], clocked(command, one, folder))
    print(f"\nby the clock, {megabytes} MB in rows of {size / 1000:.1f} kB, a quarter of them in any of {len(ROWS)} other markups")  # fmt: skip
    print(f"{'way':42}{'seconds':>9}{'MB/s':>8}{'CPU s':>8}{'CPU x floor':>13}")
    least = best["floor, in this process"][1]
    for name, (seconds, spent) in best.items():
        # The others of several processes are no children of the one that was started.
        own = "" if name.endswith("-j 2") else f"{spent:>8.2f}{spent / least:>13.2f}"
        amount = megabytes * (4 if "4 times" in name else 1)
        print(f"{name:42}{seconds:>9.2f}{amount / seconds:>8.0f}{own}")


def clocked(command: list[str] | None, source: Path, folder: Path) -> tuple[float, float]:
    """Seconds by the clock, and of processor time of the process that was started."""
    begun = time.monotonic()
    if command is None:
        spent = cpu(lambda: floor(source, folder / "floor.parquet"))
        return time.monotonic() - begun, spent
    # Modules are compiled once, as an installation does.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **compiled},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begun, spent


def floor(source: Path, target: Path) -> None:
    """What nobody can save: the batches are read, and written as they are."""
    with (
        pq.ParquetFile(source, pre_buffer=False) as file,
        pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer,
    ):
        for batch in file.iter_batches(batch_size=2_000, use_threads=False):
            writer.write_batch(batch)


def by_re(source: Path, target: Path) -> None:
    schema = pa.schema(
        [(name, pa.string()) for name in ("id", "kind", "prompt", "answer", "reasoning")]
    )
    with (
        pq.ParquetFile(source, pre_buffer=False) as file,
        pq.ParquetWriter(target, schema, compression="zstd") as writer,
    ):
        for batch in file.iter_batches(batch_size=2_000, use_threads=False):
            split = [naive(text) for text in batch.column("response").to_pylist()]
            answers, thoughts = zip(*split, strict=True)
            columns = [
                *(batch.column(name) for name in ("id", "kind", "prompt")),
                pa.array(answers),
                pa.array(thoughts, pa.string()),
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def memory(gigabytes: float) -> None:
    """Pushes rows through `innervoice bulk split -`; they are made on the fly and kept nowhere."""
    maker = Maker()
    block = b"".join(dump_json(row) + b"\n" for row in maker.rows(4_000, 10_000))
    command = [sys.executable, "-m", "innervoice", "bulk", "split", "-", "-o", "-"]
    begun = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        for _ in range(max(1, int(gigabytes * 1e9 / len(block)))):
            process.stdin.write(block)
        process.stdin.close()
        process.wait()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(
        f"{gigabytes} GB through a pipe: peak {peak:,.0f} MB, {gigabytes * 1000 / (time.monotonic() - begun):,.0f} MB/s by the clock"
    )


def agree(count: int) -> None:
    """Splits generated texts in both ways; the first difference ends it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from bulk.texts import FINISHES, MARKUP, drawn  # noqa: PLC0415 - the generator of the tests

    splitters = {markup: TextSplitter(markup=markup) for markup in MARKUP}
    generator = random.Random(2026)
    for number in range(count):
        text, markup, finish = (
            drawn(generator),
            generator.choice(MARKUP),
            generator.choice(FINISHES),
        )
        response = iv.split(text, markup=markup, finish_reason=finish)
        expected = (
            response.text,
            response.thinking,
            response.status,
            tuple(note.code for note in response.notes),
        )
        if expected != splitters[markup].split(text, finish)[:4]:
            print(f"text {number} differs: {text!r} with {markup} and {finish}")
            raise SystemExit(1)
    print(f"{count:,} texts: no difference")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--megabytes", type=int, default=100, help="how much is read and written end to end"
    )
    parser.add_argument(
        "--memory", type=float, metavar="GB", help="only measure the peak of memory"
    )
    parser.add_argument(
        "--agree", type=int, metavar="N", help="only compare both ways of splitting on N texts"
    )
    options = parser.parse_args()
    if options.memory:
        memory(options.memory)
        return
    if options.agree:
        agree(options.agree)
        return
    by_markup()
    for size in (5_400, 50_000):
        by_kind(size)
    folder = Path(tempfile.mkdtemp(prefix="innervoice-bulk-"))
    try:
        for size in (5_400, 50_000):
            end_to_end(folder, options.megabytes, size)
        by_the_clock(folder, 2 * options.megabytes, 5_400)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
