"""What a person types: names that are misspelled or incomplete, a default model, and the prompt of `innervoice chat` on a terminal."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from cli.runs import run
from cli.test_talking import NO_KEYS

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


# ---- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("asks", "hi"), "No such command: asks. Did you mean ask?"),
        (("keys", "ad"), "No such command: ad. Did you mean add?"),
        (("ask", "hi", "-m", "gpt5.6"), "unknown model gpt5.6; did you mean openai/gpt-5.6"),
        (("ask", "hi", "-m", "anthropc/claude-opus-5-5"), "did you mean anthropic/claude-opus-5-5"),
        (("ask", "hi", "-e", "hihg"), "Did you mean high"),
        (("models", "gpt-5.66"), "did you mean openai/gpt-5.6"),
        (("models", "antropic"), "Did you mean anthropic?"),
        (("lint", "x", "--for", "opnai/gpt-5.6"), "did you mean openai/gpt-5.6"),
        (("repair", "x", "-o", "y", "--for", "gpt5.6"), "did you mean openai/gpt-5.6"),
        (("inspect", "x", "--provider", "antropic"), "Did you mean anthropic?"),
        (("run", "claud"), "did you mean claude?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_misspelled_name_says_what_may_be_meant(arguments, words):
    done = run(*arguments, **NO_KEYS)
    told = done.stderr.decode()
    assert 2 == done.returncode
    assert words in told
    typed = arguments[-1]
    assert typed not in told.lower().partition("did you mean")[2].replace("?", " ").split()


@pytest.mark.parametrize("name", ["gpt-5.6", "claude-opus-5-5", "gemini-3.5-flash"])
def test_a_bare_name_is_enough(name):
    done = run("ask", "What is 2 + 2?", "-m", name, "--emulated", **NO_KEYS)
    assert b"2 + 2 = 4.\n" == done.stdout


def completed(*words):
    """What a shell offers for the last word."""
    line = " ".join(("innervoice", *words))
    done = run(
        _INNERVOICE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words)), **NO_KEYS
    )
    return [line.partition(",")[2] or line for line in done.stdout.decode().splitlines()]


def test_the_shell_completes_models_efforts_providers_and_files():
    assert "anthropic/claude-opus-5-5" in completed("ask", "-m", "anthropic/claude-op")
    assert ["high"] == completed("ask", "-e", "hi")
    assert "anthropic" in completed("inspect", "--provider", "anth")
    assert "summary" in completed("chat", "--show", "su")
    done = run(_INNERVOICE_COMPLETE="bash_complete", COMP_WORDS="innervoice lint pyp", COMP_CWORD="2")  # fmt: skip
    assert done.stdout.startswith(b"file,")


def test_a_default_model_from_the_environment_or_a_file(tmp_path):
    (tmp_path / "innervoice").mkdir()
    (tmp_path / "innervoice" / "config.toml").write_text('model = "openai/gpt-5.6"\n')
    of_file = {**NO_KEYS, "XDG_CONFIG_HOME": str(tmp_path)}
    assert b"no API key for openai" in run("ask", "What is 2 + 2?", **of_file).stderr
    told = run("ask", "What is 2 + 2?", **of_file, INNERVOICE_MODEL="gemini/gemini-3.5-flash")
    assert b"no API key for gemini" in told.stderr
    (tmp_path / "innervoice" / "config.toml").write_text("model = 3\n")
    wrong = run("ask", "What is 2 + 2?", **of_file)
    assert (2, True) == (wrong.returncode, b"model must be a text, not 3" in wrong.stderr)


# ---- the prompt ------------------------------------------------------------------------------------


def _own_terminal():
    """The terminal belongs to the process, and Ctrl+C reaches it: what a shell runs in the background inherits that it does not."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Prompt:
    """`innervoice chat` on a terminal of its own; all waits are bounded."""

    def __init__(self, folder, *options):
        self._main, side = pty.openpty()
        environment = {**os.environ, **NO_KEYS, "TERM": "dumb", "XDG_STATE_HOME": str(folder), "NO_COLOR": "1"}  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "innervoice", "chat", *options],
            stdin=side,
            stdout=side,
            stderr=side,
            env=environment,
            preexec_fn=_own_terminal,  # noqa: PLW1509 - nothing else can do both
        )
        os.close(side)
        os.set_blocking(self._main, False)
        self.seen = ""

    def until(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            self._read()
        before, _, self.seen = self.seen.partition(text)
        return before

    def _read(self):
        try:
            data = os.read(self._main, 4096)
        except BlockingIOError:
            time.sleep(0.02)
            return
        except OSError:  # it has ended
            data = b""
            time.sleep(0.02)
        self.seen += COLOURS.sub("", data.decode("utf-8", "replace")).replace("\r", "")

    def type(self, text):
        os.write(self._main, text.encode() + b"\n")

    def interrupt(self):
        """Presses Ctrl+C until there is a new prompt: readline notices none between showing a prompt and reading behind it."""
        for _ in range(10):
            self.process.send_signal(signal.SIGINT)
            try:
                return self.until("> ", seconds=3)
            except AssertionError:
                continue
        raise AssertionError(f"no new prompt in {self.seen!r}")

    def interrupt_twice(self):
        """Presses it twice within a second, as often as a busy machine needs for that."""
        for _ in range(10):
            self.interrupt()
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                return self.process.wait(3)
        raise AssertionError(f"it goes on: {self.seen!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(20)
        os.close(self._main)

    def status(self):
        return self.process.wait(20)


def test_one_interruption_drops_the_line_and_two_end_the_session(tmp_path):
    with Prompt(tmp_path, "--emulated", "--show", "none") as prompt:
        prompt.until("> ")
        prompt.type("What is 2 + 2?")
        prompt.until("2 + 2 = 4.")
        prompt.until("> ")
        prompt.interrupt()
        time.sleep(1.1)
        prompt.interrupt()
        prompt.type("What is 3 + 3?")
        prompt.until("3 + 3 = 6.")
        prompt.until("> ")
        time.sleep(1.1)
        assert 0 == prompt.interrupt_twice()
    (saved,) = (tmp_path / "innervoice" / "chats").glob("*.json")
    assert 0o600 == saved.stat().st_mode & 0o777
    assert "3 + 3 = 6." in saved.read_text()


def test_the_last_session_goes_on(tmp_path):
    environment = {**NO_KEYS, "XDG_STATE_HOME": str(tmp_path)}
    none = run("chat", "--resume", "--emulated", **environment)
    assert (2, True) == (none.returncode, b"There is no session to continue" in none.stderr)
    run("chat", "--emulated", "-m", "openai/gpt-5.6", stdin=b"What is 2 + 2?\n", **environment)
    again = run("chat", "--resume", "--emulated", stdin=b"What is 3 + 3?\n", **environment)
    assert b"2 messages with openai/gpt-5.6" in again.stdout
    (saved,) = (tmp_path / "innervoice" / "chats").glob("*.json")
    assert all(words in saved.read_text() for words in ("2 + 2 = 4.", "3 + 3 = 6."))
    run("chat", "--no-save", "--emulated", stdin=b"What is 4 + 4?\n", **environment)
    assert 1 == len(list((tmp_path / "innervoice" / "chats").glob("*.json")))


def test_texts_of_several_lines(tmp_path):
    with Prompt(tmp_path, "--emulated", "--show", "none") as prompt:
        prompt.until("> ")
        prompt.type("What is \\")
        prompt.until("… ")
        prompt.type("2 + 2?")
        prompt.until("= 4.")
        prompt.until("> ")
        prompt.type('"""What is')
        prompt.until("… ")
        prompt.type('3 + 3?"""')
        prompt.until("= 6.")
        prompt.until("> ")
        prompt.type("/quit")
        assert 0 == prompt.status()
    (saved,) = (tmp_path / "innervoice" / "chats").glob("*.json")
    assert "What is \\n2 + 2?" in saved.read_text() or "What is\\n2 + 2?" in saved.read_text()
    assert json.loads(saved.read_text())


def test_mistakes_name_what_may_be_meant():
    lines = b"/modl\n/model gpt5.6\n/effort hihg\n/save\nWhat is 2 + 2?\n"
    done = run("chat", "--no-save", "--emulated", stdin=lines, **NO_KEYS)
    told = [line for line in done.stderr.decode().splitlines() if line.startswith("! ")]
    assert 4 == len(told)
    assert "Did you mean model?" in told[0]
    assert "did you mean openai/gpt-5.6" in told[1]
    assert "Did you mean high" in told[2]
    assert "2 + 2 = 4." in done.stdout.decode()
