"""A run never touches what it reads, nor what is not the result of such a run; an old result goes when the new one is complete."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bulk.slow_step import STEP
from innervoice import bulk
from innervoice.errors import UsageError

PROGRAM = Path(__file__).with_name("slow_step.py")
COMMANDS = {
    "split": ("split",),
    "map": ("map", "--where", "n < 5"),
    "convert": ("convert", "--to", "messages", "--where", "n < 5"),
}
OVERWRITE = pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["", "overwrite"])


def rows(path, *, word="one", count=8):
    lines = [json.dumps({"prompt": "?", "response": f"<think>{word}</think>{word} {n}", "n": n}) for n in range(count)]  # fmt: skip
    path.write_text("".join(line + "\n" for line in lines))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a file of rows, another one, and a folder of them."""
    monkeypatch.chdir(tmp_path)
    rows(tmp_path / "me.jsonl")
    rows(tmp_path / "other.jsonl", word="two")
    (tmp_path / "data").mkdir()
    rows(tmp_path / "data" / "a.jsonl")
    rows(tmp_path / "data" / "b.jsonl", word="two")
    return tmp_path


def innervoice(*arguments, **streams):
    """Runs a command as a process."""
    command = [sys.executable, "-m", "innervoice", "bulk", *map(str, arguments)]
    if arguments[0] != "report":
        command += ["-j", "1"]
    done = subprocess.run(command, capture_output="stdout" not in streams, check=False, **streams)
    return done.returncode, (done.stderr or b"").decode()


def snapshot(folder):
    """All that is in a folder: files by their content, links by their target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    return found


def names(folder):
    return [path.name for path in folder.iterdir()]


def is_refused(folder, expected, *arguments, **streams):
    """Asserts that a command is refused with these words, and has written nothing."""
    before = snapshot(folder)
    status, error = innervoice(*arguments, **streams)

    assert 2 == status, error
    assert expected in error
    assert "Traceback" not in error
    assert before == snapshot(folder)


# ---- an input is the output ------------------------------------------------------------------------

SPELLINGS = {
    "same": "me.jsonl",
    "dot": "./me.jsonl",
    "way": "data/../me.jsonl",
    "link": "link.jsonl",
    "hard": "hard.jsonl",
    "through": "through/me.jsonl",
    "absolute": "{folder}/me.jsonl",
}


@OVERWRITE
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_input_is_not_the_output(folder, command, spelling, overwrite):
    Path("link.jsonl").symlink_to("me.jsonl")
    Path("through").symlink_to(".")
    os.link("me.jsonl", "hard.jsonl")
    name, *options = COMMANDS[command]
    output = SPELLINGS[spelling].format(folder=folder)

    is_refused(folder, "would be written over", name, "me.jsonl", "-o", output, *options, *overwrite)  # fmt: skip


@pytest.mark.parametrize("given", ["data", "data/*.jsonl", "me.jsonl other.jsonl"])
def test_one_of_many_inputs_is_the_output(folder, given):
    output = "data/b.jsonl" if given.startswith("data") else "other.jsonl"
    is_refused(folder, "would be written over", "split", *given.split(), "-o", output, "--overwrite")  # fmt: skip


@OVERWRITE
@pytest.mark.parametrize("output", ["data", "data/", "./data", ".", "link", "link/../data"])
def test_an_input_is_not_in_the_output(folder, output, overwrite):
    Path("link").symlink_to("data")
    is_refused(folder, "is in", "split", "data/a.jsonl", "-o", output, *overwrite)


@OVERWRITE
@pytest.mark.parametrize("output", ["data/out.jsonl", "data/out", "link/out/", "./data/deep/er/out.jsonl"])  # fmt: skip
def test_the_output_is_not_in_an_input_folder(folder, output, overwrite):
    """The next run would read it."""
    Path("link").symlink_to("data")
    is_refused(folder, "is in", "split", "data", "-o", output, *overwrite)


def test_beside_the_input_is_a_good_place(folder):
    status, error = innervoice("split", "data/a.jsonl", "-o", "data/out.jsonl")
    again, _ = innervoice("split", "data/a.jsonl", "-o", "data/out/")

    assert (0, 0) == (status, again), error


def test_a_hard_link_into_the_output_folder(folder):
    innervoice("split", "me.jsonl", "-o", "out/")
    os.link("out/part-00000.jsonl", "again.jsonl")

    is_refused(folder, "would be written over", "split", "again.jsonl", "-o", "out", "--overwrite")


@OVERWRITE
def test_what_a_command_reads_beside_rows_is_not_the_output(folder, overwrite):
    requests = {"custom_id": "1", "body": {"messages": [{"role": "user", "content": "?"}]}}
    Path("sent.jsonl").write_text(json.dumps(requests) + "\n")
    Path("shape.jsonl").write_text("{{ messages }}")

    is_refused(folder, "would be written over", "convert", "me.jsonl", "-o", "sent.jsonl", "--to", "messages", "--requests", "sent.jsonl", *overwrite)  # fmt: skip
    is_refused(folder, "would be written over", "convert", "me.jsonl", "-o", "shape.jsonl", "--to", "messages", "--template", "shape.jsonl", *overwrite)  # fmt: skip


@OVERWRITE
def test_the_second_output_is_not_an_input(folder, overwrite):
    rows(Path("out.rejected.jsonl"))

    is_refused(folder, "would be written over", "map", "out.rejected.jsonl", "-o", "out.jsonl", "--where", "n < 5", *overwrite)  # fmt: skip


def test_an_earlier_result_is_not_read_while_it_is_replaced(folder):
    """Its rejected rows, and its manifest."""
    innervoice("map", "me.jsonl", "-o", "out.jsonl", "--where", "n < 5")
    Path("hard.jsonl").hardlink_to("out.jsonl.manifest.json")
    Path("also.jsonl").hardlink_to("out.rejected.jsonl")
    for source in ("out.rejected.jsonl", "out.jsonl.manifest.json", "hard.jsonl", "also.jsonl"):
        is_refused(folder, "would be written over", "split", source, "me.jsonl", "-o", "out.jsonl", "--overwrite", "--text", "response")  # fmt: skip


def test_standard_input_and_output_are_no_way_around(folder):
    innervoice("split", "me.jsonl", "-o", "out.jsonl")
    with Path("out.jsonl").open("rb") as stream:
        is_refused(folder, "would be written over", "split", "-", "-o", "out.jsonl", "--overwrite", stdin=stream)  # fmt: skip
    before = snapshot(folder)
    with Path("me.jsonl").open("ab") as stream:
        status, _ = innervoice("split", "me.jsonl", "-o", "-", stdout=stream, stderr=subprocess.PIPE)  # fmt: skip

    assert (2, before) == (status, snapshot(folder))


@pytest.mark.parametrize("output", ["me.jsonl", "./me.jsonl", "link.jsonl", "hard.jsonl", "data/c.jsonl", "page.html"])  # fmt: skip
def test_a_report_is_written_over_nothing_of_others(folder, output):
    Path("link.jsonl").symlink_to("me.jsonl")
    os.link("me.jsonl", "hard.jsonl")
    Path("page.html").write_text("<html>a page of somebody</html>")
    expected = {"data/c.jsonl": "is in", "page.html": "is not a report"}
    is_refused(folder, expected.get(output, "would be written over"), "report", "me.jsonl", "data", "-o", output)  # fmt: skip


def test_a_report_to_a_pipe_or_an_empty_file(folder):
    """As /dev/stdout and mktemp name them."""
    Path("page.html").touch()
    status, error = innervoice("report", "me.jsonl", "-o", "page.html")
    command = [sys.executable, "-m", "innervoice", "bulk", "report", "me.jsonl", "-o", "/dev/stdout"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False)

    assert (0, 0) == (status, done.returncode), error
    assert Path("page.html").read_text() == done.stdout.decode()


def test_a_report_replaces_an_older_one(folder):
    first, _ = innervoice("report", "me.jsonl", "-o", "page.html", "--title", "First")
    second, error = innervoice("report", "me.jsonl", "-o", "page.html", "--title", "Second")

    assert (0, 0) == (first, second), error
    assert "<title>Second</title>" in Path("page.html").read_text()


# ---- what is not ours ------------------------------------------------------------------------------


def shards(path):
    path.mkdir()
    for number in range(3):
        (path / f"train-{number:05}-of-00003.parquet").write_bytes(b"PAR1 precious")
        (path / f"train-{number:05}.parquet").write_bytes(b"PAR1 precious")
        (path / f"part-{number:05}.jsonl").write_bytes(b'{"precious": true}\n')


def empty_manifest(path):
    shards(path)
    (path / "manifest.json").write_text('{"name": "an app", "parts": []}')


def foreign_state(path):
    shards(path)
    (path / ".parts").mkdir()
    (path / ".parts" / "plan.json").write_text('{"plan": 7}')


FOREIGN = {"shards": shards, "manifest": empty_manifest, "state": foreign_state}


@OVERWRITE
@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_somebody_else_stays_as_it_is(folder, command, kind, overwrite):
    FOREIGN[kind](folder / "hub")
    name, *options = COMMANDS[command]

    is_refused(folder, "exists and is not the result of such a run", name, "me.jsonl", "-o", "hub", *options, *overwrite)  # fmt: skip


@OVERWRITE
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.manifest.json", "out.jsonl.parts", "out.rejected.jsonl", "dangling"])  # fmt: skip
def test_a_file_of_somebody_else_stays_as_it_is(folder, name, overwrite):
    if name == "dangling":
        Path("out.jsonl").symlink_to("nowhere.jsonl")
    elif name.endswith(".parts"):
        shards(folder / name)
    else:
        Path(name).write_text('{"plan": "x", "parts": []}')
    is_refused(folder, "is not the result of such a run", "map", "me.jsonl", "-o", "out.jsonl", "--where", "n < 5", *overwrite)  # fmt: skip


@OVERWRITE
def test_a_file_in_place_of_a_folder(folder, overwrite):
    Path("out").write_text("a file")
    is_refused(folder, "is not the result of such a run", "split", "me.jsonl", "-o", "out", *overwrite)  # fmt: skip


def test_a_manifest_names_only_files_of_its_own_folder(folder):
    """A manifest that somebody has changed leads to no other folder."""
    innervoice("split", "me.jsonl", "-o", "out")
    manifest = json.loads(Path("out/manifest.json").read_text())
    manifest["parts"][0][""]["name"] = "../other.jsonl"
    Path("out/manifest.json").write_text(json.dumps(manifest))

    is_refused(folder, "is not the result of such a run", "split", "data/a.jsonl", "-o", "out", "--overwrite")  # fmt: skip


def test_files_of_others_in_our_folder_stay(folder):
    innervoice("split", "me.jsonl", "-o", "out")
    Path("out/train-00000.jsonl").write_text("precious")
    Path("out/.note.tmp").write_text("precious")
    Path("out/sub").mkdir()
    Path("out/sub/part-00000.jsonl").write_text("precious")
    status, error = innervoice("split", "other.jsonl", "-o", "out", "--overwrite")

    assert 0 == status, error
    assert '"two 0"' in Path("out/part-00000.jsonl").read_text()
    for name in ("train-00000.jsonl", ".note.tmp", "sub/part-00000.jsonl"):
        assert "precious" == Path("out", name).read_text()
    assert {"data", "me.jsonl", "other.jsonl", "out"} == set(names(folder))


def test_rejected_rows_of_an_old_run_go_with_it(folder):
    """A second output that the new run does not have."""
    innervoice("map", "me.jsonl", "-o", "out.jsonl", "--where", "n < 5")
    Path("out.backup.jsonl").write_text("precious")
    status, error = innervoice("map", "me.jsonl", "-o", "out.jsonl", "--map", "stats", "--overwrite")  # fmt: skip

    assert 0 == status, error
    assert {"data", "me.jsonl", "other.jsonl", "out.jsonl", "out.jsonl.manifest.json", "out.backup.jsonl"} == set(names(folder))  # fmt: skip


def test_a_folder_behind_a_link_is_replaced_where_it_is(folder):
    Path("real").mkdir()
    Path("link").symlink_to("real")
    innervoice("split", "me.jsonl", "-o", "link")
    status, error = innervoice("split", "other.jsonl", "-o", "link/", "--overwrite")

    assert 0 == status, error
    assert "real" == str(Path("link").readlink())
    assert '"two 0"' in Path("real/part-00000.jsonl").read_text()


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_a_result_that_somebody_has_changed_is_not_replaced_unasked(folder, place):
    """The same command would make it again, without the changes."""
    innervoice("split", "me.jsonl", "-o", place)
    changed = Path(place, "part-00000.jsonl") if place == "out" else Path(place)
    changed.write_text(changed.read_text() + '{"answer": "by hand"}\n')

    is_refused(folder, "has changed since", "split", "me.jsonl", "-o", place)
    status, error = innervoice("split", "me.jsonl", "-o", place, "--overwrite")
    assert 0 == status, error
    assert "by hand" not in changed.read_text()


def test_a_folder_is_not_replaced_from_inside(folder):
    innervoice("split", "me.jsonl", "-o", "out")
    for output, at in ((".", "out"), ("..", "out/sub")):
        Path(at).mkdir(exist_ok=True)
        before = snapshot(folder)
        status, error = innervoice("split", folder / "other.jsonl", "-o", output, "--overwrite", cwd=at)  # fmt: skip

        assert 2 == status, error
        assert "run the command from another folder" in error
        assert before == snapshot(folder)


# ---- the old result or the new one -----------------------------------------------------------------


def whole(output):
    """The rows of a result, in their order, after a look at its manifest: every file is there, with its digest, and no other."""
    is_folder = output.is_dir()
    path = output / "manifest.json" if is_folder else output.with_name(f"{output.name}.manifest.json")  # fmt: skip
    manifest = json.loads(path.read_text())
    at = output if is_folder else output.parent
    files = {file["name"]: file for part in manifest["parts"] for file in part.values()}
    for name, file in files.items():
        assert file["digest"] == hashlib.sha256((at / name).read_bytes()).hexdigest(), name
    if is_folder:
        assert {*files, "manifest.json"} == {path.name for path in at.iterdir() if path.name != ".parts"}  # fmt: skip
    main = [part[""]["name"] for part in manifest["parts"]]
    return [json.loads(line)["answer"] for name in main for line in (at / name).read_text().splitlines()]  # fmt: skip


def answers(word, count):
    return [f"{word} {n}" for n in range(count)]


def fails(batch):
    raise ZeroDivisionError


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_a_run_that_fails_leaves_the_old_result(folder, place):
    bulk.run("me.jsonl", place)
    before = snapshot(folder)
    with pytest.raises(ZeroDivisionError):
        bulk.run("other.jsonl", place, overwrite=True, steps=[bulk.Step("fails", fails)])

    assert before.items() <= snapshot(folder).items()
    assert answers("one", 8) == whole(Path(place))
    bulk.run("other.jsonl", place, overwrite=True)
    assert answers("two", 8) == whole(Path(place))
    assert {path for path in before if not path.startswith("out/")} <= set(names(folder)) | {"data/a.jsonl", "data/b.jsonl"}  # fmt: skip
    assert not [name for name in names(folder) if name.startswith(".") or "parts" in name]


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_run_that_is_killed_leaves_the_old_result_and_goes_on(folder, place, processes):
    """The same command again takes the parts that are complete."""
    source = rows(Path("long.jsonl"), word="long", count=900)
    bulk.run("me.jsonl", place)
    before = snapshot(folder)
    command = [sys.executable, PROGRAM, source, place, processes, "overwrite"]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 60
    while sum("/part-" in name for name in snapshot(folder)) - sum("/part-" in name for name in before) < 3:  # fmt: skip
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    assert answers("one", 8) == whole(Path(place))
    with pytest.raises(UsageError, match="other files or options"):
        bulk.run(source, place, steps=[STEP], piece_bytes=4_000)
    assert answers("one", 8) == whole(Path(place))
    result = bulk.run(source, place, steps=[STEP], piece_bytes=4_000, overwrite=True)
    assert 2 <= result.reused
    assert answers("long", 900) == whole(Path(place))
    assert {"data", "me.jsonl", "other.jsonl", "long.jsonl", "out", "out.jsonl", "out.jsonl.manifest.json"} >= set(names(folder))  # fmt: skip


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_killed_leaves_the_old_result(folder, command, place):
    """As a user runs it, and again."""
    rows(Path("long.jsonl"), word="long", count=60_000)
    name, *options = COMMANDS[command]
    innervoice("split", "me.jsonl", "-o", place)
    before = snapshot(folder)
    arguments = [name, "long.jsonl", "-o", place, "-j", "2", "--overwrite", *options]
    process = subprocess.Popen([sys.executable, "-m", "innervoice", "bulk", *arguments], start_new_session=True, stderr=subprocess.DEVNULL)  # fmt: skip
    work = folder / (".out.new" if place == "out" else "out.jsonl.parts")
    while not list(work.glob("*.tmp")) + list(work.glob(".*.tmp")):
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    assert before.items() <= snapshot(folder).items()
    assert answers("one", 8) == whole(Path(place))
    status, error = innervoice(*arguments)
    assert 0 == status, error
    left = {"data", "me.jsonl", "other.jsonl", "long.jsonl", "out", "out.jsonl", "out.jsonl.manifest.json", "out.rejected.jsonl"}  # fmt: skip
    assert left >= set(names(folder))
    kept = Path("out/part-00000.jsonl" if place == "out" else place).read_text().splitlines()
    assert (60_000 if name == "split" else 5) == len(kept)


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_another_run_takes_nothing_of_one_that_was_killed(folder, place):
    """An incomplete run without an older result is replaced by another one only with --overwrite, and leaves nothing behind."""
    source = rows(Path("long.jsonl"), word="long", count=900)
    process = subprocess.Popen([sys.executable, PROGRAM, source, place, "1"], start_new_session=True)  # fmt: skip
    while not list(folder.glob("out*/part-0000*")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    with pytest.raises(UsageError, match="other files or options"):
        bulk.run("me.jsonl", place)
    bulk.run("me.jsonl", place, overwrite=True)
    assert answers("one", 8) == whole(Path(place))


EVENTS = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "shutil.rmtree", "ctypes.dlsym")  # fmt: skip


def killed_at(number, work):
    """Does work in a process that is killed before it changes a file for the nth time; returns whether it was."""
    pid = os.fork()
    if pid == 0:
        left = number

        def count(event, arguments):
            nonlocal left
            if event not in EVENTS or (event == "open" and not _writes(arguments)):
                return
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        with contextlib.suppress(BaseException):
            work()
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert 0 == status or os.WIFSIGNALED(status), "the work failed"
    return os.WIFSIGNALED(status)


def _writes(arguments):
    path, _, flags = arguments
    return isinstance(path, (str, os.PathLike)) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def divided(batch):
    """Rows in two outputs."""
    chosen = [[n % 2 == which for n in batch["n"]] for which in (0, 1)]
    return {name: {column: [value for value, is_one in zip(values, choice, strict=True) if is_one] for column, values in batch.items()} for name, choice in zip(("", "rejected"), chosen, strict=True)}  # fmt: skip


@pytest.mark.parametrize("exchange", [True, False], ids=["", "without-exchange"])
@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_killed_at_any_moment_there_is_a_whole_result(folder, place, exchange, monkeypatch):
    """Before each change of a file: the old result or the new one is there, and the same run again gives the new one."""
    if not exchange:
        monkeypatch.setattr("innervoice.bulk.output.exchange", lambda one, other: False)
    even = [[f"{word} {n}" for n in range(0, 8, 2)] for word in ("one", "two")]
    bulk.run("me.jsonl", "first" + place[3:], piece_bytes=300, divide=divided)

    def work():
        bulk.run("other.jsonl", place, piece_bytes=200, divide=divided, overwrite=True)

    for number in range(1, 1000):
        for path in folder.glob("*out*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        bulk.run("me.jsonl", place, piece_bytes=300, divide=divided)
        was_killed = killed_at(number, work)
        if place == "out" and (exchange or Path(place).exists()):
            assert whole(Path(place)) in even, number
        elif place == "out.jsonl":
            assert [json.loads(line)["answer"] for line in Path(place).read_text().splitlines()] in even, number  # fmt: skip
            assert 4 == len(Path("out.rejected.jsonl").read_text().splitlines())
        if was_killed:
            work()
        assert even[1] == whole(Path(place)), number
        assert not [name for name in names(folder) if name.startswith(".") or "parts" in name]
        if not was_killed:
            break
    assert 20 < number < 1000


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_a_swap_that_was_interrupted_is_finished_by_any_later_run(folder, place):
    """Also by one with other options, which is refused."""
    bulk.run("me.jsonl", place, divide=divided)
    for number in range(1, 1000):
        if not killed_at(number, lambda: bulk.run("other.jsonl", place, divide=divided, overwrite=True)):  # fmt: skip
            break
        with contextlib.suppress(UsageError):
            bulk.run("data/a.jsonl", place, divide=divided)
        assert whole(Path(place))[0] in ("one 0", "two 0"), number
        bulk.run("me.jsonl", place, divide=divided, overwrite=True)
        assert "one 0" == whole(Path(place))[0]
        assert not [name for name in names(folder) if name.startswith(".") or "parts" in name]
