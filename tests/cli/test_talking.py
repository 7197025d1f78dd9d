"""`innervoice ask`, `chat` and `demo`: what a person sees, without a key."""

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest

import innervoice as iv
from cli.runs import run
from innervoice.catalog.lookup import all_hosts
from innervoice.installing import install_command

NO_KEYS = {name: "" for host in all_hosts() for name in host.keys} | {"AWS_ACCESS_KEY_ID": ""}


def ask(*arguments, stdin=b"", emulated=True):
    options = ["--emulated"] if emulated else []
    return run("ask", *options, *arguments, stdin=stdin, **NO_KEYS)


class TestAsk:
    def test_the_answer_and_the_reasoning_apart(self):
        done = ask("What is 15 * 23?")
        assert (0, b"15 * 23 = 345.\n") == (done.returncode, done.stdout)
        told, *thought = done.stderr.decode().splitlines()
        assert "The emulator answers for anthropic." == told
        assert "Computed: 15 * 23 = 345." in thought

    def test_how_much_is_shown(self):
        none = ask("What is 15 * 23?", "--show", "none").stderr.decode()
        assert 1 == len(none.splitlines())
        length = ask("What is 15 * 23?", "--show", "length").stderr.decode()
        assert "Computed" not in length
        assert "characters" in length

    def test_from_a_pipe(self):
        assert b"2 + 2 = 4.\n" == ask("-", stdin=b"What is 2 + 2?").stdout

    @pytest.mark.parametrize("model", ["openai/gpt-5.6", "gemini/gemini-3.5-flash", "ollama/qwen3"])
    def test_other_models(self, model):
        done = ask("What is 2 + 2?", "-m", model, "--emulate", "-e", "high")
        assert b"2 + 2 = 4.\n" == done.stdout

    def test_json_has_no_seals(self):
        value = json.loads(ask("What is 2 + 2?", "--json").stdout)
        assert "answered" == value["status"]
        assert "signature" not in json.dumps(value)

    def test_raw_reads_back(self):
        response = iv.from_json(ask("What is 2 + 2?", "--raw").stdout.strip())
        assert "2 + 2 = 4." == response.text
        assert response.parts[0].origin.seals

    def test_tools_from_a_file(self, tmp_path):
        tools = tmp_path / "tools.py"
        tools.write_text('def get_weather(city: str):\n    "Weather."\n    return city + ": fog"\n')
        assert b"Bonn: fog.\n" == ask("The weather in Bonn?", "--tools", str(tools)).stdout

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("-m", "nobody/x"), "unknown provider in nobody/x"),
            (("-e", "xyzzy"), "unknown effort xyzzy. Write one of none, minimal, low"),
            (("--tools", "/nowhere.py"), "cannot be loaded"),
        ],
    )
    def test_what_cannot_be_used(self, arguments, words):
        done = ask("x", *arguments)
        assert (1 if "--tools" in arguments else 2) == done.returncode
        assert words in done.stderr.decode()
        assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "-"),
        ("ask", "2 + 2?"),
        ("ask", "-m", "openai/gpt-5.6", "2 + 2?"),
        ("chat",),
        ("chat", "-m", "openai/gpt-5.6"),
    ],
)
def test_a_pipe_gets_no_invented_answer(arguments):
    """Nor does anybody who named a model: a file would have an answer that no model gave."""
    done = run(*arguments, stdin=b"What is 2 + 2?", **NO_KEYS)
    name = "OPENAI_API_KEY" if "-m" in arguments else "ANTHROPIC_API_KEY"
    assert (1, b"") == (done.returncode, done.stdout)
    assert f"set {name}" in done.stderr.decode()
    assert "--emulated" in done.stderr.decode()


def test_a_default_is_a_name_as_well():
    done = run("ask", "2 + 2?", **NO_KEYS, INNERVOICE_MODEL="gemini/gemini-3.5-flash")
    assert 1 == done.returncode
    assert "GEMINI_API_KEY" in done.stderr.decode()


@pytest.mark.parametrize(("named", "status"), [((), 0), (("-m", "openai/gpt-5.6"), 1)])
def test_on_a_terminal_the_emulator_answers_if_no_model_is_named(named, status):
    """Where a person reads who answers."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "innervoice", "ask", *named, "What is 2 + 2?"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, **NO_KEYS, "TERM": "dumb"},
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed
        while piece := os.read(main, 4096):
            shown += piece
    os.close(main)
    assert status == process.wait(60)
    assert (b"2 + 2 = 4." in shown) == (status == 0)
    words = b"the emulator answers" if status == 0 else b"no API key for openai"
    assert words in shown


def test_emulate_with_a_key():
    """`--emulate` says who answers, and not that a key is missing."""
    done = run(
        "ask",
        "-m",
        "anthropic/claude-opus-5-5",
        "--emulate",
        "What is 2 * 3?",
        ANTHROPIC_API_KEY="k",
    )

    assert "The emulator answers for anthropic." in done.stderr.decode()
    assert "No API key" not in done.stderr.decode()


def chat(*lines, options=("--no-save",)):
    return run("chat", "--emulated", *options, stdin="\n".join(lines).encode(), **NO_KEYS)


class TestChat:
    def test_a_session(self, tmp_path):
        file = tmp_path / "session.json"
        done = chat(
            "What is 2 + 2?",
            "/model gemini/gemini-3.5-flash",
            "What is 3 * 3?",
            "/effort high",
            "/show none",
            "What is 4 * 4?",
            "/plan",
            "/usage",
            f"/save {file}",
            "/quit",
        )
        told = done.stdout.decode()
        assert 0 == done.returncode
        for words in ("2 + 2 = 4.", "3 * 3 = 9.", "4 * 4 = 16.", "effort: high", "show: none", "it came from anthropic/claude-opus-5-5", "tokens: ", "6 messages written"):  # fmt: skip
            assert words in told
        again = chat("What is 5 * 5?", options=("--no-save", "--load", str(file))).stdout.decode()
        assert "6 messages with gemini/gemini-3.5-flash" in again
        assert "5 * 5 = 25." in again

    def test_mistakes_do_not_end_it(self):
        done = chat("/nope", "/show everything", "/trim many", "/load /nowhere", "What is 2 + 2?")
        assert "2 + 2 = 4." in done.stdout.decode()
        assert 4 == sum(line.startswith("! ") for line in done.stderr.decode().splitlines())


def test_demo():
    """Through four providers and back; what a naive program would send is really refused."""
    done = run("demo", **NO_KEYS)
    told = done.stdout.decode()
    assert 0 == done.returncode, done.stderr
    assert 5 == told.count("──")
    assert "[thought" in told
    assert "Porto has 250,000 people. 17 * 3 = 51." in told
    assert "With innervoice, all 11 requests of this conversation were accepted." in told
    assert "Sent without a plan for the history, 9 of them are refused." in told
    for words in ("Corrupted thought signature", "could not be verified", "must be passed back", "Invalid `signature`"):  # fmt: skip
        assert words in told


@pytest.mark.parametrize("command", ["ask", "chat", "keys", "demo", "emulate", "split", "inspect", "lint", "repair", "models", "completion"])  # fmt: skip
def test_help(command):
    done = run(command, "--help")
    assert 0 == done.returncode
    assert b"Usage: innervoice" in done.stdout


def test_as_a_module_and_version():
    assert b"innervoice, version" in run("--version").stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion(shell):
    done = run("completion", shell)
    assert 0 == done.returncode
    assert b"_INNERVOICE_COMPLETE" in done.stdout


def test_completing():
    """The shell asks for words; commands are among them."""
    done = run(_INNERVOICE_COMPLETE="zsh_complete", COMP_WORDS="innervoice em", COMP_CWORD="1")
    assert b"emulate" in done.stdout


class TestTheLineBelow:
    """What was thought, on stderr below the answer."""

    def test_tokens_and_their_share(self):
        *_, line = ask("What is 15 * 23?").stderr.decode().splitlines()
        assert "thought 22 tokens (85%)" == line

    def test_an_estimate_is_marked(self):
        *_, line = ask("What is 15 * 23?", "-m", "ollama/qwen3:8b", "-e", "high", "--emulate").stderr.decode().splitlines()  # fmt: skip
        assert "thought ~18 tokens (~69%)" == line

    def test_a_model_that_does_not_think(self):
        *_, line = ask("What is 15 * 23?", "-m", "openai/gpt-4o").stderr.decode().splitlines()
        assert "no reasoning" == line

    def test_show_none_says_nothing_of_it(self):
        assert "thought" not in ask("What is 15 * 23?", "--show", "none").stderr.decode()
        assert "thinking" not in json.loads(ask("What is 15 * 23?", "--show", "none", "--json").stdout)  # fmt: skip

    def test_all_rounds_of_tools_count(self, tmp_path):
        tools = tmp_path / "tools.py"
        tools.write_text('def get_weather(city: str):\n    "Weather."\n    return city + ": fog"\n')
        one = json.loads(ask("What is 15 * 23?", "--json").stdout)
        both = json.loads(ask("The weather in Bonn?", "--tools", str(tools), "--json").stdout)
        assert one["usage"]["output_tokens"] == one["thinking"]["output_tokens"]
        assert both["usage"]["output_tokens"] < both["thinking"]["output_tokens"]

    def test_json_marks_an_estimate(self):
        thinking = json.loads(ask("What is 15 * 23?", "-m", "ollama/qwen3:8b", "-e", "high", "--emulate", "--json").stdout)["thinking"]  # fmt: skip
        assert (18, 26, 0.6923, True) == tuple(thinking[name] for name in ("thinking_tokens", "output_tokens", "share", "estimated"))  # fmt: skip


EXTRAS = {"gateway": "cryptography", "view": "starlette"}


@pytest.fixture
def without(tmp_path):
    """Runs a command in an environment that lacks a package."""

    def started(package, *arguments):
        code = f"""
import importlib.metadata as metadata, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
version = metadata.version
def without(name):
    if name == {package!r}:
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = without
sys.argv = ["innervoice", *{arguments!r}]
from innervoice.cli import main
main()
"""
        return subprocess.run([sys.executable, "-c", code], capture_output=True, env={**os.environ, **NO_KEYS, "XDG_STATE_HOME": str(tmp_path)}, timeout=60, check=False)  # fmt: skip

    return started


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_demo_names_commands_that_work_here(without, extra):
    command = {"gateway": b"serve --demo", "view": b"innervoice view "}[extra]
    shown = without(EXTRAS[extra], "demo").stdout.partition(b"Next\n")[2]
    assert command not in shown
    assert install_command(extra).encode() in shown
    assert b"chat" in shown
    assert command in run("demo", **NO_KEYS).stdout.partition(b"Next\n")[2]


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("cryptography", ("serve", "--demo")),
        ("cryptography", ("serve", "--emulated", "--port", "0")),
        ("cryptography", ("store", "stats")),
        ("cryptography", ("keys", "list")),
        ("starlette", ("emulate", "--port", "0")),
        ("starlette", ("view", ".", "--port", "0")),
        ("pyarrow", ("bulk", "report", "a.parquet")),
    ],
)
def test_a_missing_extra_is_one_sentence(without, tmp_path, package, arguments):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    done = without(package, *(str(tmp_path / one) if one == "a.parquet" else one for one in arguments))  # fmt: skip
    assert done.returncode in (1, 2)
    assert b"Traceback" not in done.stderr
    assert b"install" in done.stderr
    assert b"innervoice" in done.stderr.splitlines()[-1] or b"[" in done.stderr.splitlines()[-1]
