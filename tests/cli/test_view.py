"""`innervoice view`: what it prints, what it refuses, and the files that it writes."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import innervoice as iv
from cli.runs import run
from innervoice.installing import install_command
from view.session_files import SEAL, SECRET, session, stream

_OPENER = urllib.request.build_opener(
    urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
)


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "session.jsonl"
    file.write_bytes(session())
    return file


class Viewer:
    """The command in a process of its own."""

    def __init__(self, *arguments, stdin=None, **environment):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "innervoice", "view", "--no-browser", *arguments],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            text=False,
        )
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()
        self.address = self.process.stdout.readline().decode().strip()
        self.url = self.address.partition("/?")[0]

    def json(self, path):
        with _OPENER.open(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def open(self):
        with _OPENER.open(self.address, timeout=10) as answer:
            return answer.geturl(), answer.read().decode()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(15), self.process.stderr.read().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(15)
        self.process.stdout.close()
        self.process.stderr.close()


def test_it_prints_an_address_that_opens_the_page(file):
    with Viewer(str(file), "--port", "0") as viewer:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", viewer.address)
        address, page = viewer.open()
        assert viewer.url + "/" == address
        assert "<title>innervoice</title>" in page
        [source] = viewer.json("/api/sources")["sources"]
        assert "session.jsonl" == source["path"]


def test_interrupted_it_ends_quietly(file):
    with Viewer(str(file), "--port", "0") as viewer:
        viewer.open()
        status, said = viewer.interrupt()
    assert 130 == status
    assert "Stop with Ctrl+C.\n" == said


def test_without_the_token_nothing_is_shown(file):
    with Viewer(str(file), "--port", "0") as viewer:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(viewer.url + "/", timeout=10)
        with refused.value as answer:
            assert 403 == answer.code
            assert "token" in json.load(answer)["error"]


def test_what_is_chosen_at_the_start(file):
    with Viewer(str(file), "--port", "0", "--for", "openai/gpt-5.6", "--show", "none") as viewer:
        viewer.open()
        about = viewer.json("/api/about")
    assert ("openai/gpt-5.6", "none") == (about["target"], about["policy"])


def test_standard_input():
    with Viewer("-", "--port", "0", stdin=stream()) as viewer:
        viewer.open()
        [source] = viewer.json("/api/sources")["sources"]
        kinds = [row["kind"] for row in viewer.json(f"/api/c/{source['first']}")["rows"]]
    assert ["turn", "thinking", "text"] == kinds


def test_without_arguments_it_looks_where_agents_keep_sessions(tmp_path):
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(session())
    environment = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_DATA_HOME": "", "XDG_STATE_HOME": ""}  # fmt: skip
    with Viewer("--port", "0", **environment) as viewer:
        viewer.open()
        assert 1 == viewer.json("/api/sources")["total"]
        assert str(tmp_path / ".claude" / "projects") in viewer.interrupt()[1]


def test_a_port_that_is_taken(file):
    with Viewer(str(file), "--port", "0") as viewer:
        port = viewer.url.rpartition(":")[2]
        done = run("view", str(file), "--no-browser", "--port", port)
    assert 1 == done.returncode
    assert f"cannot listen on 127.0.0.1:{port}".encode() in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.jsonl"], "Cannot read nowhere.jsonl: No such file or directory."),
        (["notes.txt"], "plain text"),
        (["empty"], "nothing to view"),
        (["unknown"], "1 file of no known format"),
        (["session.jsonl", "--for", "odd"], "provider/model"),
        (["session.jsonl", "--show", "all"], "'all' is not one of"),
        (["session.jsonl", "--export", "out.pdf"], ".html"),
        (["session.jsonl", "--export", "notes.txt"], ".html"),
        (["session.jsonl", "--export", "there.md"], "--force"),
        ([".", "--export", "out.md"], "name a file"),
        (["-"], "standard input: expected"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(file, monkeypatch, arguments, words):
    monkeypatch.chdir(file.parent)
    (file.parent / "notes.txt").write_text("only notes\n")
    (file.parent / "there.md").write_text("mine\n")
    (file.parent / "other.jsonl").write_bytes(session("Another one"))
    (file.parent / "empty").mkdir()
    (file.parent / "unknown").mkdir()
    (file.parent / "unknown" / "x.bin").write_bytes(b"\x00\x01")
    done = run("view", "--no-browser", *arguments, stdin=b"nothing of the kind")
    assert 2 == done.returncode
    assert words in done.stderr.decode()
    assert b"" == done.stdout
    assert "Traceback" not in done.stderr.decode()
    assert "mine\n" == (file.parent / "there.md").read_text()


@pytest.mark.parametrize("arguments", [["notes.txt"], ["empty"], ["-"]])
def test_where_nothing_can_be_viewed_it_says_what_it_knows(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("only notes\n")
    (tmp_path / "empty").mkdir()
    said = run("view", "--no-browser", *arguments, stdin=b"odd").stderr.decode()
    for name in ("Claude Code", "Codex", "Gemini CLI", "opencode", "HAR", "OpenTelemetry"):
        assert name in said


def test_without_any_session_it_asks_for_a_path(tmp_path):
    done = run("view", "--no-browser", HOME=str(tmp_path), CLAUDE_CONFIG_DIR="", CODEX_HOME="", XDG_DATA_HOME="", XDG_STATE_HOME="")  # fmt: skip
    assert 2 == done.returncode
    assert b"Name a file or a folder" in done.stderr


def test_without_its_packages_it_says_what_to_install(file, tmp_path):
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "starlette.py").write_text("raise ModuleNotFoundError('no', name='starlette')\n")  # fmt: skip
    path = os.pathsep.join([str(tmp_path / "absent"), *sys.path])
    done = run("view", str(file), PYTHONPATH=path)
    assert 2 == done.returncode
    assert install_command("view") in done.stderr.decode()


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_export(file, ending):
    out = file.parent / f"out.{ending}"
    done = run("view", str(file), "--export", str(out))
    assert 0 == done.returncode, done.stderr
    text = out.read_text()
    assert "Two files: a.py" in text
    assert SEAL not in text
    assert SECRET not in text
    assert "Then I say it" in text
    if ending == "json":
        assert 4 == len(iv.from_json(text))
        assert b"Seals are left out" in done.stderr


def test_export_with_a_policy_and_force(file):
    out = file.parent / "out.md"
    out.write_text("old")
    done = run("view", str(file), "--export", str(out), "--force", "--show", "length")
    assert 0 == done.returncode
    assert "Thinking (" in out.read_text()
    assert "I run ls" not in out.read_text()


@pytest.mark.parametrize("ending", [".json", ".html", ".md"])
@pytest.mark.parametrize("show", ["full", "length"])
def test_a_seal_in_a_call_id_does_not_leave(tmp_path, ending, show):
    """litellm joins Gemini's signature to the id of the call; an exported file pairs calls by number."""
    sealed = f"call_1__thought__{SEAL}"
    text = session(rounds=2).replace(b"toolu_1", sealed.encode())
    (tmp_path / "session.jsonl").write_bytes(text)
    out = tmp_path / f"out{ending}"

    done = run("view", str(tmp_path / "session.jsonl"), "--export", str(out), "--show", show)

    assert 0 == done.returncode, done.stderr
    assert SEAL[:16] not in out.read_text("utf-8")
    if ending == ".json":
        parts = [part for message in iv.from_json(out.read_bytes()) for part in message.parts]
        calls = [part.id for part in parts if part.type == "tool_call"]
        assert ["call_1", "call_2"] == calls
        assert calls == [part.call_id for part in parts if part.type == "tool_result"]


@pytest.fixture
def two(tmp_path):
    files = [tmp_path / "b-one.jsonl", tmp_path / "a-two.jsonl"]
    for number, path in enumerate(files):
        path.write_bytes(session("The same question", rounds=1 + number))
    return [str(path) for path in files]


def test_two_runs_side_by_side_as_a_file(two, tmp_path):
    """In the order in which they were named, without seals and secrets."""
    done = run("view", *two, "--side-by-side", "--export", str(tmp_path / "runs.html"))
    page = (tmp_path / "runs.html").read_text("utf-8")

    assert 0 == done.returncode
    runs = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["runs"]
    steps = next(one for one in runs["sums"] if one["name"] == "steps")
    assert ("2", "3") == (steps["left"], steps["right"])
    assert SEAL not in page
    assert SECRET not in page


def test_two_runs_side_by_side_as_a_page(two):
    with Viewer(*two, "--side-by-side", "--port", "0") as viewer:
        assert re.search(r"#runs=1&a=\w+\.main&b=\w+\.main$", viewer.address)
        viewer.open()
        a, b = re.findall(r"[ab]=(\w+\.main)", viewer.address)
        assert viewer.json(f"/api/runs?a={a}&b={b}")["rows"]


@pytest.mark.parametrize("arguments", [["--export", "x.md"], []], ids=["a form that it has not", "one file"])  # fmt: skip
def test_side_by_side_that_is_not_possible(two, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("view", *(two if arguments else two[:1]), "--side-by-side", *arguments)
    assert done.returncode
    assert b"--side-by-side" in done.stderr
