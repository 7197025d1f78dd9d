"""`innervoice split` as a person or a pipe runs it: in a process of its own."""

import os
import pty
import subprocess
import sys

import pytest

import innervoice as iv
from cli.runs import run
from innervoice.installing import install_command

TEXT = "<think>R\n</think>\n\nThe *answer*"


def test_answer_to_stdout_reasoning_to_stderr():
    done = run("split", "-", stdin=TEXT.encode())

    assert (0, b"The *answer*\n", b"R\n") == (done.returncode, done.stdout, done.stderr)


def test_file(tmp_path):
    file = tmp_path / "answer.txt"
    file.write_text(TEXT)

    assert b"The *answer*\n" == run("split", str(file)).stdout


def test_hide_thinking():
    done = run("split", "-", "-R", stdin=TEXT.encode())

    assert (b"The *answer*\n", b"") == (done.stdout, done.stderr)


def test_stdin_without_a_name():
    assert b"A\n" == run("split", stdin=b"<think>R</think>A").stdout


def test_json_reads_back():
    done = run(
        "split", "-", "--json", "-m", "qwq-32b", "--finish-reason", "stop", stdin=b"R</think>A"
    )

    assert iv.split("R</think>A", model="qwq-32b", finish_reason="stop") == iv.from_json(
        done.stdout
    )
    assert b"" == done.stderr


def test_stream_gives_the_same_text():
    done = run("split", "-", "--stream", stdin=b"<think>R</think>A\n\nB")

    assert (b"A\n\nB\n", b"R\n") == (done.stdout, done.stderr)


def test_stream_of_json_events():
    done = run("split", "-", "--stream", "--json", stdin=b"A <think>R</think> B")
    events = [iv.from_json(line) for line in done.stdout.splitlines()]

    assert iv.split("A <think>R</think> B") == iv.fold(events)
    assert iv.split("A <think>R</think> B").parts == iv.fold(events[:-1]).parts


def test_markup():
    assert (
        b"A\n"
        == run(
            "split",
            "--markup",
            "mistral,harmony",
            "--markup",
            "granite",
            stdin=b"[THINK]R[/THINK]A",
        ).stdout
    )


def test_prefix_open():
    assert b"A\n" == run("split", "--prefix-open", stdin=b"R</think>A").stdout


def test_sample():
    done = run("split", "--sample")

    assert 0 == done.returncode
    assert b"`<think></think>`" in done.stdout
    assert b"<reflection>" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (["no-such-file.txt"], b"", "no-such-file.txt"),
        (["-", "--markup", "nonsense"], b"x", "nonsense"),
        (["-", "--nonsense"], b"x", "--nonsense"),
        (["-"], b"caf\xe9 au lait", "not UTF-8 text: byte 0xe9 near position 3"),
        (["-", "--stream"], b"cut \xf0\x9f", "not UTF-8 text"),
    ],
)
def test_bad_usage(arguments, stdin, says):
    done = run("split", *arguments, stdin=stdin)

    assert 2 == done.returncode
    assert says in done.stderr.decode()
    assert b"" == done.stdout.replace(b"cut ", b"")


def test_characters_cut_by_the_reading():
    text = "<think>é</think>" + "ü" * 5000

    assert ("ü" * 5000 + "\n").encode() == run("split", "--stream", stdin=text.encode()).stdout


def test_a_byte_order_mark_is_no_text():
    assert b"A\n" == run("split", stdin="\ufeff<think>R</think>A".encode()).stdout


def on_terminal(*arguments: str, **environment: str) -> str:
    """What a person sees; stdin, stdout and stderr are one terminal."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "innervoice", *arguments],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**os.environ, "NO_COLOR": "", **environment},
    )
    os.close(side)
    seen = b""
    try:
        while data := os.read(main, 4096):
            seen += data
    except OSError:  # the other side was closed
        pass
    process.wait(60)
    os.close(main)
    return seen.decode().replace("\r\n", "\n")


def test_terminal_dims_reasoning(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("<think>R</think>A")

    assert "\x1b[2mR\x1b[0m\nA\n" in on_terminal("split", str(file))
    assert "\x1b" not in on_terminal("split", str(file), NO_COLOR="1")


def test_terminal_is_safe_from_the_text(tmp_path):
    """Control characters are shown, not obeyed."""
    file = tmp_path / "a.txt"
    file.write_text("<think>\x1b[2J</think>\x1b]0;title\x07\x9b31m safe\u202e")
    seen = on_terminal("split", str(file), NO_COLOR="1")

    assert "␛]0;title␇" in seen
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(seen)


def test_pipe_gets_every_byte():
    assert b"\x1b[1mA\x07\n" == run("split", stdin=b"<think>R</think>\x1b[1mA\x07").stdout


def test_terminal_without_a_file_says_what_to_do():
    assert "--sample" in on_terminal("split")


def test_version_and_help():
    assert iv.__version__.encode() in run("--version").stdout
    assert b"split" in run("--help").stdout
    assert b"Examples" in run("split", "--help").stdout


def test_without_click():
    """The base install has no click: the script says which line installs it."""
    code = "import sys; sys.modules['click'] = None; from innervoice.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )

    assert 2 == done.returncode
    assert install_command("cli") in done.stderr.decode()
