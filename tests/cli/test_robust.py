"""The command line where something goes wrong outside of it: one sentence, an exit status, never a traceback."""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli.runs import run
from cli.test_talking import NO_KEYS

TARGET = ("--for", "anthropic/claude-opus-4-6")
HISTORY = [{"role": "user", "content": "Hi"}]
ENVIRONMENT = {**os.environ, **NO_KEYS}
FULL = Path("/dev/full")


def started(*arguments, **streams):
    """A command as a terminal starts it: whoever runs the tests in the background has told them to ignore Ctrl+C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "innervoice", *arguments],
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT, **streams},
        )
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted(process):
    """The exit status after Ctrl+C, and what was written to stderr."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, (errors or b"").decode().strip()


def one_sentence(stderr):
    lines = stderr.decode().splitlines()
    return 1 == len(lines) and lines[0].startswith("Error: ") and lines[0].endswith(".")


# ---- Ctrl+C --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint", "FILE", *TARGET],
        ["repair", "FILE", *TARGET, "-o", "OUT"],
        ["inspect", "FILE"],
        ["split", "FILE"],
        ["models", "refresh", "FILE"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_interrupted_while_it_reads(arguments, tmp_path):
    """The file is a pipe: once it could be opened for writing, the command is reading it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    names = {"FILE": str(pipe), "OUT": str(tmp_path / "out.json")}
    process = started(*(names.get(word, word) for word in arguments))
    with pipe.open("wb"):
        assert (130, "Interrupted.") == interrupted(process)
    assert [pipe] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "Hi", "-m", "ollama/x", "--base-url", "URL"],
        ["models", "refresh", "URL"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_interrupted_while_it_waits_for_an_answer(arguments):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        process = started(*(url if word == "URL" else word for word in arguments))
        connection, _ = server.accept()
        with connection:
            connection.recv(1)
            assert (130, "Interrupted.") == interrupted(process)


def test_an_interrupted_emulator():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = started("emulate", "--port", str(port))
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            continue
    assert 130 == interrupted(process)[0]


def test_an_interrupted_chat_in_a_pipe():
    process = started("chat", "--emulate", stdin=subprocess.PIPE)
    process.stdin.write(b"/help\n")
    process.stdin.flush()
    assert process.stdout.readline()
    assert 130 == interrupted(process)[0]


class Terminal:
    """A command on a terminal; `until` reads what it shows."""

    def __init__(self, *arguments):
        self._main, side = pty.openpty()
        environment = {**ENVIRONMENT, "TERM": "xterm"}
        streams = {"stdin": side, "stdout": side, "stderr": side, "env": environment}
        self.process = started(*arguments, **streams)
        os.close(side)
        self.seen = ""

    def until(self, text):
        while text not in self.seen:
            self.seen += os.read(self._main, 4096).decode("utf-8", "replace")

    def end(self):
        """The exit status after Ctrl+C, and all that was shown."""
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        while self.process.poll() is None:
            # One that comes between the prompt and the reading behind it is seen with the next.
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(3)
        status = self.process.returncode
        reader.join(60)
        os.close(self._main)
        return status, self.seen

    def _read(self):
        try:
            while data := os.read(self._main, 4096):
                self.seen += data.decode("utf-8", "replace")
        except OSError:  # the other side was closed
            pass


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "What is 15 * 23?", "--emulate", "-m", "anthropic/claude-opus-5-5+slow=0.05"],
        ["demo"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_cursor_is_visible_after_an_interruption(arguments):
    hide, show = "\x1b[?25l", "\x1b[?25h"
    terminal = Terminal(*arguments)
    terminal.until(hide)
    status, seen = terminal.end()
    assert 130 == status
    assert seen.rindex(show) > seen.rindex(hide)
    assert "Traceback" not in seen


# ---- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "-"],
        ["split"],
        ["inspect", "-"],
        ["lint", "-", *TARGET],
        ["repair", "-", *TARGET, "-o", "out.json"],
        ["ask", "-", "--base-url", "http://127.0.0.1:9", "-m", "ollama/x"],
    ],
    ids=" ".join,
)
def test_standard_input_is_closed(arguments):
    code = f"import os; os.close(0); os.execv({sys.executable!r}, [{sys.executable!r}, '-m', 'innervoice', *{arguments!r}])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert (2, b"Error: Standard input is closed; name a file.\n") == (done.returncode, done.stderr)


def test_a_chat_without_standard_input():
    code = f"import os; os.close(0); os.execv({sys.executable!r}, [{sys.executable!r}, '-m', 'innervoice', 'chat', '--emulate'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)  # fmt: skip
    assert 2 == done.returncode
    assert done.stderr.endswith(b"Error: Standard input is closed; name a file.\n")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments", [["models"], ["split", "--sample", "-R"], ["completion", "bash"], ["--help"]]
)
def test_standard_output_is_full(arguments):
    with FULL.open("wb") as full:
        process = started(*arguments, stdout=full)
        _, errors = process.communicate(timeout=60)
    assert (1, b"Error: No space left on device.\n") == (process.returncode, errors)


def test_standard_output_is_closed():
    code = f"import os; os.close(1); os.execv({sys.executable!r}, [{sys.executable!r}, '-m', 'innervoice', 'models'])"
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=60, check=False)  # fmt: skip
    assert (1, b"Error: Standard output is closed.\n") == (done.returncode, done.stderr)


def test_a_reader_that_has_read_enough():
    """As `innervoice models | head -1`."""
    read, write = os.pipe()
    os.close(read)
    process = started("models", stdout=write)
    os.close(write)
    _, errors = process.communicate(timeout=60)
    assert (1, b"") == (process.returncode, errors)


# ---- files ---------------------------------------------------------------------------------------

LONG = "a" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", LONG],
        ["inspect", LONG],
        ["lint", LONG, *TARGET],
        ["repair", LONG, *TARGET, "-o", "out.json"],
        ["models", "refresh", LONG],
        ["chat", "--emulate", "--load", LONG],
        ["ask", "Hi", "--emulate", "--tools", f"{LONG}.py"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_name_of_a_file_is_too_long(arguments):
    done = run(*arguments, **NO_KEYS)
    assert done.returncode in (1, 2)
    assert b"File name too long" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"5", b'{"a": 1}', b'[{"match": 5}]', b"\xff", b'[{"x": []}]']
)
def test_a_damaged_override_file(content, tmp_path):
    file = tmp_path / "innervoice" / "asks.json"
    file.parent.mkdir()
    file.write_bytes(content)
    done = run("models", INNERVOICE_HOME=str(tmp_path))
    assert 2 == done.returncode
    assert one_sentence(done.stderr)
    assert f"{file} is damaged".encode() in done.stderr


class TestRepairOutput:
    @pytest.fixture
    def history(self, tmp_path):
        file = tmp_path / "history.json"
        file.write_text(json.dumps(HISTORY))
        return file

    def repair(self, history, out, *more):
        return run("repair", str(history), *TARGET, "-o", str(out), *more)

    def test_an_existing_file_stays_without_force(self, history, tmp_path):
        out = tmp_path / "out.json"
        out.write_text("mine")
        done = self.repair(history, out)
        assert (2, True) == (done.returncode, one_sentence(done.stderr))
        assert "mine" == out.read_text()
        assert b"--force" in done.stderr

        out.chmod(0o640)
        assert 0 == self.repair(history, out, "--force").returncode
        assert HISTORY == json.loads(out.read_text())
        assert 0o640 == out.stat().st_mode & 0o777
        assert {"history.json", "out.json"} == {path.name for path in tmp_path.iterdir()}

    def test_a_symbolic_link_is_not_followed(self, history, tmp_path):
        other, out = tmp_path / "other", tmp_path / "out.json"
        other.write_text("mine")
        out.symlink_to(other)
        assert 2 == self.repair(history, out).returncode
        assert out.is_symlink()
        assert 0 == self.repair(history, out, "--force").returncode
        assert "mine" == other.read_text()
        assert not out.is_symlink()

    def test_a_link_to_nowhere_exists(self, history, tmp_path):
        out = tmp_path / "out.json"
        out.symlink_to(tmp_path / "nowhere")
        assert 2 == self.repair(history, out).returncode
        assert not (tmp_path / "nowhere").exists()

    def test_the_input_stays_with_force(self, history, tmp_path):
        link = tmp_path / "link.json"
        link.symlink_to(history)
        for out in (history, link):
            assert 2 == self.repair(history, out, "--force").returncode
        assert HISTORY == json.loads(history.read_text())

    def test_what_is_not_a_regular_file(self, history, tmp_path):
        for force in ([], ["--force"]):
            done = self.repair(history, tmp_path, *force)
            assert (2, True) == (done.returncode, one_sentence(done.stderr))
        assert {"history.json"} == {path.name for path in tmp_path.iterdir()}

    @pytest.mark.parametrize("out", ["no-such-folder/out.json", LONG])
    def test_what_cannot_be_written(self, history, out, tmp_path):
        done = self.repair(history, tmp_path / out)
        assert (2, True) == (done.returncode, one_sentence(done.stderr))

    def test_a_new_file_has_the_usual_permissions(self, history, tmp_path):
        out, plain = tmp_path / "out.json", tmp_path / "plain"
        plain.touch()
        assert 0 == self.repair(history, out).returncode
        assert plain.stat().st_mode == out.stat().st_mode
