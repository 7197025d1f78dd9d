"""The command itself: what it asks, prints, saves and spends."""

import _thread
import json
import os
import tomllib

import pytest
from click.testing import CliRunner

from cli.runs import run
from innervoice.cli.commands import innervoice as command
from innervoice.emulator import Emulator
from probe.probing import emulator_server, probe

OPUS = "anthropic/claude-opus-5-5"
WRONG = [
    {"match": ["claude-opus-5-5"], "model": {"efforts": ["low", "high"], "max_output": 64000}},
    {"host": {"strict": []}},
]


@pytest.fixture(scope="module")
def at():
    with emulator_server() as both:
        yield both


@pytest.fixture
def deviating(at):
    at[1].emulator = Emulator(deviations=WRONG)
    return at[0]


def called(server, *arguments, model=OPUS, **options):
    line = ["probe", model, "--base-url", server.base_url("anthropic"), *arguments]
    environment = {"ANTHROPIC_API_KEY": "test-key"}
    return CliRunner().invoke(command, line, env=environment, catch_exceptions=False, **options)


def test_the_table(deviating):
    result = called(deviating, "--yes", "--only", "efforts,strict,max-output,plain")
    lines = [line.split("  ") for line in result.stdout.splitlines()]
    cells = {line[0]: [cell.strip() for cell in line[1:] if cell.strip()] for line in lines}

    assert cells["efforts accepted"] == ["low..max", "low, high", "DIFFERS"]
    assert cells["an unknown member of the body"] == ["400", "accepted", "DIFFERS"]
    assert cells["the largest output"] == ["128,000", "64,000", "DIFFERS"]
    assert cells["a plain request"] == ["accepted", "accepted", "agrees"]
    assert "3 differ: innervoice probe --save writes them to your catalog" in result.stdout
    assert result.exit_code == 1


def test_words_of_a_server_cannot_control_a_terminal(at):
    """They are shown in one line, with control characters made visible."""
    server, answering = at
    words = "a\x1b[31mb\nc"
    refusing = [{"model": {"max_output": 100}, "server": {"words": words}}]
    answering.emulator = Emulator(deviations=refusing)
    shown = called(server, "--yes", "--only", "plain,default").stdout

    assert "not measured: refused: a" in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 5


def test_a_model_that_the_server_does_not_have(at):
    """If a plain request is refused, nothing else is measured."""
    server, answering = at
    answering.emulator = Emulator()
    result = called(server, "--yes", model="anthropic/claude-unheard-of")

    assert result.exit_code == 1
    assert "Error: a plain request is refused: 404 model: claude-unheard-of" in result.stderr
    assert "DIFFERS" not in result.stdout


def test_it_asks_before_anything_is_sent(at):
    server, answering = at
    answering.requests = 0
    refused = called(server, "--only", "plain")

    assert refused.exit_code == 2
    assert "small requests" in refused.stderr
    assert "pass --yes to send them" in refused.stderr
    assert answering.requests == 0


def test_only_and_skip(at):
    server, answering = at
    answering.emulator = Emulator()
    one = probe(server, OPUS, "--only", "plain")
    group = probe(server, OPUS, "--only", "errors")
    rest = probe(server, OPUS, "--only", "errors", "--skip", "strict")

    assert set(one.facts) == {"plain"}
    assert set(group.facts) == {"strict", "unknown-model", "error-shape"}
    assert set(rest.facts) == {"unknown-model", "error-shape"}
    assert one.data["requests"] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--only", "nonsense", "--yes"), "unknown fact 'nonsense'; expected one of"),
        (("--timeout", "0", "--yes"), "Invalid value for '--timeout'"),
        (("--max-usd", "-1", "--yes"), "Invalid value for '--max-usd'"),
        (("--dialect", "klingon", "--yes"), "klingon"),
    ],
)
def test_mistakes(at, arguments, expected):
    result = called(at[0], *arguments)

    assert result.exit_code != 0
    assert expected in result.stderr


def test_an_unknown_model():
    done = run("probe", "nobody/x", "--yes")

    assert done.returncode != 0
    assert b"unknown provider 'nobody'" in done.stderr


def test_the_facts_are_listed():
    listed = run("probe", "--list").stdout.decode()

    assert "efforts" in listed
    assert "model.efforts" in listed
    assert len(listed.splitlines()) > 40


PRICED = '[[price]]\nmatch = ["*"]\ninput = 10\noutput = 100\n'


def priced(server, tmp_path, *arguments):
    """A run in a process of its own, with prices: 0.0025 dollars for the input of a request, 0.2 for 2000 tokens."""
    file = tmp_path / "catalog.toml"
    file.write_text(PRICED, "utf-8")
    address = server.base_url("anthropic")
    return run(
        "probe", OPUS, "--base-url", address, "--json", *arguments, INNERVOICE_CATALOG=str(file), ANTHROPIC_API_KEY="x"
    )  # fmt: skip


def test_money(at, tmp_path):
    """What could cost more than is allowed is not sent, and what was spent is counted."""
    server, answering = at
    answering.emulator, answering.requests = Emulator(), 0
    done = json.loads(priced(server, tmp_path, "--yes", "--max-usd", "0.05").stdout)
    facts = {fact["id"]: fact for fact in done["facts"]}

    assert facts["plain"]["status"] == "agrees"
    assert facts["default"]["status"] == "not measured"
    assert facts["default"]["reason"] == "it could cost more than --max-usd"
    assert 0 < done["usd"] <= 0.05
    assert 0 < answering.requests < 37

    asked = priced(server, tmp_path).stderr.decode()
    assert "at most $" in asked


def test_an_interrupted_run_keeps_what_was_measured(at):
    server, answering = at

    class Interrupting:
        count = 0

        def reply(self, *request):
            self.count += 1
            if self.count == 6:
                _thread.interrupt_main()
            return Emulator().reply(*request)

    answering.emulator = Interrupting()
    result = called(server, "--yes", "--json")
    facts = json.loads(result.stdout)["facts"]

    assert result.exit_code == 130
    assert facts[0]["id"] == "plain"
    assert 0 < len(facts) < 10
    assert "Interrupted" in result.stderr


def test_what_differs_is_saved_and_then_agrees(deviating, tmp_path):
    """The catalog that --save writes is what every program then uses."""
    file = tmp_path / "catalog.toml"
    file.write_text("# mine\n", "utf-8")
    environment = {"INNERVOICE_CATALOG": str(file), "ANTHROPIC_API_KEY": "x"}
    line = ["probe", OPUS, "--base-url", deviating.base_url("anthropic"), "--yes"]
    first = run(*line, "--save", **environment)
    saved = tomllib.loads(file.read_text("utf-8"))
    second = run(*line, **environment)
    shown = run("models", OPUS, "--source", **environment).stdout.decode()

    assert first.returncode == 1
    assert b"saved to" in first.stderr
    assert file.read_text("utf-8").startswith("# mine\n")
    [row], [host] = saved["model"], saved["host"]
    assert row["efforts"] == ["low", "high"]
    assert row["max_output"] == 64000
    assert (row["match"], row["hosts"]) == (["claude-opus-5-5"], ["anthropic"])
    assert (host["id"], host["strict"]) == ("anthropic", [])
    assert second.returncode == 0, second.stdout.decode()
    assert b"nothing differs" in second.stdout
    assert "innervoice probe, 20" in shown


@pytest.mark.parametrize(
    ("model", "deviation"),
    [
        ("gemini/gemini-2.5-flash", {"budget": [1, 12345]}),
        ("gemini/gemini-2.5-flash", {"budget": [300, 24576]}),
        ("alibaba/qwen3.8-max", {"budget": [1, 20000]}),
        ("gemini/gemini-3.5-flash", {"control": "gemini-budget"}),
        (OPUS, {"max_output": 77777}),
        (OPUS, {"refuses_always": ["top_k"], "prefill": True, "off": "value"}),
    ],
    ids=str,
)
def test_what_was_saved_is_exact(at, tmp_path, model, deviation):
    """A second probe finds nothing more to save."""
    server, answering = at
    provider, _, name = model.partition("/")
    answering.emulator = Emulator(deviations=[{"match": [name], "model": deviation}])
    file = tmp_path / "catalog.toml"
    file.touch()
    line = ["probe", model, "--base-url", server.base_url(provider), "--yes", "--json"]
    environment = {"INNERVOICE_CATALOG": str(file), "ANTHROPIC_API_KEY": "x", "GEMINI_API_KEY": "x"}
    first = json.loads(run(*line, "--save", **environment).stdout)
    second = json.loads(run(*line, **environment).stdout)

    assert [fact for fact in first["facts"] if "saves" in fact]
    assert [fact for fact in second["facts"] if "saves" in fact] == []


def test_nothing_to_save(at, tmp_path):
    server, answering = at
    answering.emulator = Emulator()
    file = tmp_path / "catalog.toml"
    result = run(
        "probe", OPUS, "--base-url", server.base_url("anthropic"), "--yes", "--save", "--only", "plain",
        ANTHROPIC_API_KEY="x", XDG_CONFIG_HOME=str(tmp_path), INNERVOICE_CATALOG="",
    )  # fmt: skip

    assert b"nothing to save" in result.stderr
    assert not file.exists()


def test_deviations_of_the_command_emulate(tmp_path):
    """Mistakes in the file are reported with their places."""
    file = tmp_path / "deviations.toml"
    file.write_text(
        '[[deviation]]\nmodel = { effort = ["low"], control = "x" }\nserver = { seals = "gone" }\n'
    )
    shown = run("emulate", "--port", "0", "--deviate", str(file)).stderr.decode()

    assert "deviation 1, model.effort: unknown column" in shown
    assert "deviation 1, server.seals: Invalid enum value 'gone'" in shown
    assert "cannot read" in run("emulate", "--deviate", os.fspath(tmp_path / "no")).stderr.decode()


def test_without_a_key():
    """It says which variable is missing, and that the emulator can be measured without one."""
    line = ["probe", OPUS, "--yes"]
    gone = {"ANTHROPIC_API_KEY": None, "ANTHROPIC_AUTH_TOKEN": None}
    refused = CliRunner().invoke(command, line, env=gone)
    tried = CliRunner().invoke(command, ["probe", OPUS, "--emulated", "--only", "plain"], env=gone)

    assert refused.exit_code == 2
    assert "no API key for anthropic: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or pass --emulated" in " ".join(refused.stderr.split())  # fmt: skip
    assert tried.exit_code == 0
    assert "nothing differs from the catalog" in tried.stdout
