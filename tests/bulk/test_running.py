"""A run gives the same bytes however it was run: by one process or several, in one go or killed and started again."""

import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bulk.slow_step import STEP, WORD
from innervoice import bulk
from innervoice.errors import UsageError

PROGRAM = Path(__file__).with_name("slow_step.py")
PARQUET = pytest.param(
    ".parquet",
    marks=pytest.mark.skipif(
        "pyarrow" not in sys.modules and not __import__("importlib.util").util.find_spec("pyarrow"),
        reason="needs pyarrow: .venv-bulk",
    ),
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rows.jsonl"
    texts = (
        "<think>first {0}</think>answer {0}",
        "a long enough thought {0}</think>answer {0}",
        "answer {0}",
        "<think>cut {0}",
    )
    rows = [
        {
            "id": str(number),
            "prompt": "?",
            "response": texts[number % 4].format(number),
            "n": number,
        }
        for number in range(900)
    ]
    lines = [json.dumps(row) for row in rows]
    lines[17] = "bad line"
    path.write_text("\n".join(lines) + "\n")
    return path


def content(folder):
    """All files below a folder, by their digests."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows_in(folder):
    return [
        json.loads(line)
        for path in sorted(folder.glob("part-*.jsonl"))
        for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", PARQUET])
def test_the_number_of_processes_changes_nothing(ending, source, tmp_path):
    outputs = [tmp_path / f"out{processes}" for processes in (1, 3)]
    for processes, output in zip((1, 3), outputs, strict=True):
        bulk.run(
            source, output, steps=[STEP], format=ending, processes=processes, piece_bytes=20_000
        )

    assert content(outputs[0]) == content(outputs[1])
    assert len(content(outputs[0])) > 3


def test_a_file_of_some_size_is_work_for_several_processes(tmp_path):
    """Seen failing: pieces were of 64 MB, so of two processes one waited for the other most of the time."""
    line = json.dumps({"text": f"<think>{'hm ' * 60_000}</think>A"}) + "\n"
    (tmp_path / "rows.jsonl").write_text(line * 360)
    bulk.run(tmp_path / "rows.jsonl", tmp_path / "out", processes=2)

    assert len(content(tmp_path / "out")) >= 4


def test_a_small_file_needs_no_other_process(source, tmp_path, monkeypatch):
    def refused(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr(multiprocessing, "get_context", refused)
    bulk.run(source, tmp_path / "out", processes=4)

    assert 900 == len(rows_in(tmp_path / "out"))


def test_temporary_files_may_be_deep_in_the_tree(source, tmp_path):
    """Seen failing: the process that starts the others is reached through a socket there, whose path is limited."""
    (temporary := tmp_path / ("t" * 120)).mkdir()
    command = [sys.executable, PROGRAM, source, tmp_path / "out", "2"]
    subprocess.run(command, check=True, timeout=60, env={**os.environ, "TMPDIR": str(temporary)})

    assert 900 == len(rows_in(tmp_path / "out"))


def test_a_process_of_macos_is_not_copied(source, tmp_path, monkeypatch):
    """Its libraries may not survive that; Python starts processes anew there, too."""
    contexts = []
    context = multiprocessing.get_context
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: contexts.append(method) or context(method))  # fmt: skip
    bulk.run(source, tmp_path / "out", processes=2, piece_bytes=20_000)

    assert ["spawn"] == contexts
    assert 900 == len(rows_in(tmp_path / "out"))


def test_processes_have_the_variables_of_this_moment(source, tmp_path, monkeypatch):
    """Seen failing: the process whose copies they are had been started by an earlier run."""
    for word in ("one", "two"):
        monkeypatch.setenv("INNERVOICE_TEST_WORD", word)
        bulk.run(source, tmp_path / word, steps=[WORD], processes=2, piece_bytes=20_000)

        assert {word} == {row["word"] for row in rows_in(tmp_path / word)}


def test_all_rows_come_out_in_their_order(source, tmp_path):
    bulk.run(source, tmp_path / "out", piece_bytes=5_000)
    rows = rows_in(tmp_path / "out")

    assert 900 == len(rows)
    assert [None if number == 17 else number for number in range(900)] == [row["n"] for row in rows]
    assert ("unreadable", f"{source}:18") == (rows[17]["status"], rows[17]["id"])


def test_one_file_has_the_rows_of_the_parts(source, tmp_path):
    bulk.run(source, tmp_path / "out", piece_bytes=5_000)
    bulk.run(source, tmp_path / "out.jsonl", piece_bytes=5_000)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]

    assert rows_in(tmp_path / "out") == lines
    assert {"out.jsonl", "out.jsonl.manifest.json"} == {
        path.name for path in tmp_path.glob("out.*")
    }


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_killed_run_goes_on_and_gives_the_same_bytes(processes, source, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    bulk.run(source, whole, steps=[STEP], piece_bytes=4_000)
    command = [sys.executable, PROGRAM, source, killed, processes]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(killed.glob("part-*"))) < 3:
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    made = {path.name: path.stat().st_mtime_ns for path in killed.glob("part-*")}
    assert not (killed / "manifest.json").exists()
    (killed / ".part-00099.jsonl.17.tmp").write_text("left over")

    result = bulk.run(source, killed, steps=[STEP], piece_bytes=4_000)

    assert content(whole) == content(killed)
    assert result.reused >= 2
    kept = [name for name, when in made.items() if (killed / name).stat().st_mtime_ns == when]
    assert len(kept) >= 2


def test_a_run_that_is_complete_is_not_made_again(source, tmp_path):
    first = bulk.run(source, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    again = bulk.run(source, tmp_path / "out")

    assert first.manifest == again.manifest
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}


def test_a_part_that_is_lost_is_made_again(source, tmp_path):
    bulk.run(source, tmp_path / "out", piece_bytes=20_000)
    before = content(tmp_path / "out")
    (tmp_path / "out" / "part-00001.jsonl").unlink()
    bulk.run(source, tmp_path / "out", piece_bytes=20_000)

    assert before == content(tmp_path / "out")


@pytest.mark.parametrize("change", ["options", "input", "steps", "settings"])
def test_the_result_of_another_run_is_not_mixed_with_this_one(change, source, tmp_path):
    bulk.run(source, tmp_path / "out")
    before = content(tmp_path / "out")
    if change == "input":
        source.write_text(source.read_text() + json.dumps({"response": "new"}))
    other = {"options": bulk.ReadOptions(raw=True)} if change == "options" else {}
    other |= (
        {"steps": [STEP]}
        if change == "steps"
        else {"settings": {"x": 1}}
        if change == "settings"
        else {}
    )

    with pytest.raises(UsageError, match="other files or options"):
        bulk.run(source, tmp_path / "out", **other)
    assert before == content(tmp_path / "out")
    bulk.run(source, tmp_path / "out", overwrite=True, **other)
    assert before != content(tmp_path / "out")


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_of_others_are_not_overwritten(source, tmp_path, overwrite):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")

    with pytest.raises(UsageError, match="exists and is not the result of such a run"):
        bulk.run(source, tmp_path / "out", overwrite=overwrite)
    assert ["mine.txt"] == [path.name for path in (tmp_path / "out").iterdir()]


def test_the_manifest_says_what_came_out(source, tmp_path):
    bulk.run(source, tmp_path / "out", piece_bytes=20_000)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    rows = rows_in(tmp_path / "out")

    assert 900 == manifest["counts"]["rows"] == sum(part[""]["rows"] for part in manifest["parts"])
    for status, count in manifest["counts"]["status"].items():
        assert count == sum(row["status"] == status for row in rows)
    for part in manifest["parts"]:
        data = (tmp_path / "out" / part[""]["name"]).read_bytes()
        assert (part[""]["size"], part[""]["digest"]) == (
            len(data),
            hashlib.sha256(data).hexdigest(),
        )
    assert [
        [f"{source}:18", "the line is not JSON: Expecting value: line 1 column 1 (char 0)"]
    ] == manifest["counts"]["troubles"]
    assert "innervoice" in manifest["versions"]


def long_or_short(batch):
    is_long = [len(answer or "") > 9 for answer in batch["answer"]]
    return {
        name: {
            column: [value for value, long in zip(values, is_long, strict=True) if long is wanted]
            for column, values in batch.items()
        }
        for name, wanted in (("", False), ("rejected", True))
    }


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_rows_can_be_divided_among_outputs(place, source, tmp_path):
    bulk.run(source, tmp_path / place, divide=long_or_short, piece_bytes=20_000)
    found = {name: [] for name in ("part", "rejected")}
    for path in [*(tmp_path / "out").glob("*.jsonl"), *tmp_path.glob("out*.jsonl")]:
        found["rejected" if "rejected" in path.name else "part"] += map(
            json.loads, path.read_text().splitlines()
        )

    assert 900 == sum(map(len, found.values()))
    assert all(len(row["answer"]) > 9 for row in found["rejected"])


def in_short(batch):
    return {"said": [answer for answer in batch["answer"] if answer]}


def test_a_form_replaces_the_columns(source, tmp_path):
    form = bulk.Form("short", in_short, {"said": bulk.Column("string", "What was said.")})
    bulk.run(source, tmp_path / "out", form=form)

    assert {"said"} == set(rows_in(tmp_path / "out")[0])


def fails(batch):
    raise ZeroDivisionError


def test_a_step_that_fails_leaves_no_half_file(source, tmp_path):
    with pytest.raises(ZeroDivisionError):
        bulk.run(source, tmp_path / "out", steps=[bulk.Step("fails", fails)])

    assert ["plan.json"] == [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()]


def split_by_command(*arguments):
    from click.testing import CliRunner

    from innervoice.cli.commands import innervoice

    return CliRunner().invoke(innervoice, ["bulk", *map(str, arguments)])


def test_an_edit_of_the_same_length_in_the_middle_is_another_input(tmp_path):
    """6 MB, so that neither the beginning nor the end has changed; the time of the file is put back."""
    path, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    line = json.dumps({"prompt": "?", "response": "<think>one</think>" + "a" * 1_000}) + "\n"
    path.write_text(line * 6_000)
    assert 0 == split_by_command("split", path, "-o", output, "-j", 1).exit_code
    before = path.stat()
    with path.open("r+b") as stream:
        stream.seek(len(line) * 3_000 + line.index("one"))
        stream.write(b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    again = split_by_command("split", path, "-o", output, "-j", 1)

    assert 2 == again.exit_code
    assert "a run with other files or options" in again.output
    replaced = split_by_command("split", path, "-o", output, "-j", 1, "--overwrite")
    assert 0 == replaced.exit_code
    assert "two" == json.loads(output.read_text().splitlines()[3_000])["reasoning"]
    assert 0 == split_by_command("split", path, "-o", output, "-j", 1).exit_code


def test_another_file_of_requests_is_another_input(tmp_path):
    asked, answered = tmp_path / "in.jsonl", tmp_path / "answers.jsonl"
    request = {"custom_id": "a", "body": {"messages": [{"role": "user", "content": "Q1"}]}}
    message = {"role": "assistant", "content": "<think>R</think>A"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    asked.write_text(json.dumps(request) + "\n")
    answered.write_text(
        json.dumps({"custom_id": "a", "response": {"status_code": 200, "body": body}}) + "\n"
    )
    command = ["convert", answered, "-o", tmp_path / "out.jsonl", "--to", "trl", "--requests", asked, "-j", 1]  # fmt: skip
    assert 0 == split_by_command(*command).exit_code
    asked.write_text(asked.read_text().replace("Q1", "Q2"))

    assert "other files or options" in split_by_command(*command).output


def begun(source, output, processes):
    """A run in another process, with its first parts written."""
    command = [sys.executable, PROGRAM, source, output, processes]
    process = subprocess.Popen(list(map(str, command)), start_new_session=True)
    while len(list(output.glob("part-*"))) < 2:
        assert process.poll() is None, "it ended too early"
        time.sleep(0.02)
    return process


def group_of(process):
    """The processes of a group that have not ended."""
    states = (path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat"))  # fmt: skip
    return sum(fields[2] == str(process.pid) and fields[0] != "Z" for fields in states)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_processes_of_a_run_that_was_killed_end(source, tmp_path):
    process = begun(source, tmp_path / "out", 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(500):
        if not group_of(process):
            break
        time.sleep(0.02)

    assert 0 == group_of(process)


def test_a_second_run_into_the_same_output_is_refused(source, tmp_path):
    pytest.importorskip("fcntl")
    process = begun(source, tmp_path / "out", 1)
    try:
        with pytest.raises(UsageError, match="another run is writing to"):
            bulk.run(source, tmp_path / "out", steps=[STEP], piece_bytes=4_000)
        with pytest.raises(UsageError, match="another run is writing to"):
            bulk.run(source, tmp_path / "out", piece_bytes=4_000, overwrite=True)
    finally:
        assert 0 == process.wait(60)
    assert 900 == bulk.run(source, tmp_path / "out", steps=[STEP], piece_bytes=4_000).manifest["counts"]["rows"]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("output", ["out.parquet", "out.jsonl", "out"])
def test_memory_is_bounded_by_bytes_not_by_rows_or_row_groups(tmp_path, output):
    """40 rows of 5 MB in one row group."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [f"<think>{number} {'word ' * 800_000}</think>{'answer ' * 140_000}" for number in range(40)]  # fmt: skip
    table = arrow.table({"id": [str(number) for number in range(40)], "response": texts})
    path = tmp_path / "large.parquet"
    parquet.write_table(table, path, row_group_size=40, write_batch_size=1, use_dictionary=False)
    measured = (
        "import re, sys; from innervoice.cli import main\n"
        "try: main()\n"
        "finally: print('peak', re.search('VmHWM:\\\\s*([0-9]+)', open('/proc/self/status').read())[1], file=sys.stderr)"
    )
    command = [sys.executable, "-c", measured, "bulk", "split", path, "-o", tmp_path / output]

    result = subprocess.run([*map(str, command), "-j", "1"], check=False, capture_output=True, text=True, timeout=120)  # fmt: skip

    assert "40 rows: 40 answered" in result.stderr
    assert int(result.stderr.rsplit("peak ", 1)[1]) < 300_000  # kB
