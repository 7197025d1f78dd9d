"""A file that cannot be read, and one that cannot be written: the error names it, and nothing is half done."""

import gzip
import json
import subprocess
import sys

import pytest

ROWS = [{"id": str(n), "text": f"<think>thought {n}</think>answer {n}"} for n in range(50)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def shards(folder, ending):
    """Two files, the second one cut off."""
    folder.mkdir()
    whole, broken = folder / f"a{ending}", folder / f"b{ending}"
    if ending == ".jsonl.gz":
        whole.write_bytes(gzip.compress(LINES))
    elif ending == ".jsonl.zst":
        zstandard = pytest.importorskip("zstandard", reason="needs zstandard: .venv-bulk")
        whole.write_bytes(zstandard.ZstdCompressor().compress(LINES))
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = arrow.Table.from_pylist(ROWS)
        if ending == ".parquet":
            parquet.write_table(table, whole)
        else:
            with arrow.ipc.new_file(str(whole), table.schema) as writer:
                writer.write_table(table)
    broken.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    return folder


def bulk(*arguments, before=""):
    command = [sys.executable, "-c", f"{before}\nfrom innervoice.cli import main; main()", "bulk"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("ending", [".jsonl.gz", ".jsonl.zst", ".parquet", ".arrow"])
@pytest.mark.parametrize("processes", [1, 2])
def test_an_unreadable_shard_is_an_error_unless_it_is_skipped(tmp_path, ending, processes):
    folder = shards(tmp_path / "in", ending)

    refused = bulk("split", folder, "-o", tmp_path / "out.jsonl", "-j", processes)
    skipped = bulk("split", folder, "-o", tmp_path / "out.jsonl", "-j", processes, "--skip-bad-files")  # fmt: skip

    assert refused.returncode == 2
    assert f"b{ending}" in refused.stderr
    assert "--skip-bad-files reads the rest" in " ".join(refused.stderr.split())
    assert skipped.returncode == 0, skipped.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["answer"] for row in rows[:50]] == [f"answer {n}" for n in range(50)]
    assert [row["status"] for row in rows].count("unreadable") == 1
    assert "damaged" in skipped.stderr


def test_an_unreadable_shard_is_no_traceback_when_parquet_is_written(tmp_path):
    folder = shards(tmp_path / "in", ".parquet")

    refused = bulk("split", folder, "-o", tmp_path / "out.parquet")
    skipped = bulk("split", folder, "-o", tmp_path / "out.parquet", "--skip-bad-files")

    assert "Traceback" not in refused.stderr + skipped.stderr
    assert (refused.returncode, skipped.returncode) == (2, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits")
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet", ".arrow"])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_full_disk_names_the_file_and_leaves_no_temporary_ones(tmp_path, ending, processes):
    """A limit for the size of files stands for a full disk."""
    if ending in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")
    path = tmp_path / "in.jsonl"
    words = [{"text": f"<think>{' '.join(str(n * m) for m in range(400))}</think>x"} for n in range(900)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in words))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"

    result = bulk("split", path, "-o", tmp_path / f"out{ending}", "-j", processes, before=limit)

    assert result.returncode == 1
    assert f"{ending}: File too large." in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.rglob("*.tmp"))
