"""`innervoice run` as a person and a client see it; the clients are `fake_client.py` under other names."""

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from cli.test_serve import Serve
from cli.test_talking import NO_KEYS
from innervoice.canon.usage import Cost, Usage
from innervoice.catalog.lookup import all_hosts
from innervoice.cli import run_summary
from innervoice.cli.run import ClientTarget, clients
from innervoice.gateway.report import Report
from innervoice.sources.opening import open_source
from innervoice.wire.dialects import dialect_named

MODEL = "gemini/gemini-3.5-flash"
FAKES = ("claude", "codex", "gemini", "llm", "qwen")
ROWS = [client for client in clients().values() if not client.obstacle]


class Machine:
    """A machine of somebody who has these clients installed."""

    def __init__(self, folder):
        self.home, self.programs, self.temporary = (
            folder / name for name in ("home", "bin", "tmp")
        )
        for path in (self.home, self.programs, self.temporary):
            path.mkdir()
        (self.home / ".claude").mkdir()
        (self.home / ".claude" / "settings.json").write_text('{"model": "opus"}')
        source = Path(__file__).with_name("fake_client.py").read_text("utf-8")
        for name in FAKES:
            program = self.programs / name
            program.write_text(f"#!{sys.executable}\n{source}")
            program.chmod(0o755)

    def environment(self, variables):
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("INNERVOICE")
        }
        places = {"HOME": self.home, "PATH": self.programs, "TMPDIR": self.temporary}
        return kept | NO_KEYS | {name: str(path) for name, path in places.items()} | variables

    def run(self, *arguments, stdin="", **variables):
        return subprocess.run(
            [sys.executable, "-m", "innervoice", "run", *arguments],
            input=stdin,
            capture_output=True,
            env=self.environment(variables),
            timeout=60,
            check=False,
            text=True,
        )

    def snapshot(self):
        return {path: path.read_bytes() for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


# ---- a run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", FAKES)
def test_a_client_of_each_api_is_answered_and_leaves_nothing_behind(machine, client):
    before = machine.snapshot()
    done = machine.run(client, "--emulated", "--model", MODEL, "--", "--own", "a b", stdin="typed")
    told = json.loads(done.stdout)

    assert (0, 200) == (done.returncode, told["status"]), done.stderr
    assert "15 * 23 = 345." in told["answer"]
    assert (["--own", "a b"], "typed") == (told["arguments"][-2:], told["stdin"])
    lines = done.stderr.splitlines()
    assert [f"innervoice: 1 request: {MODEL} (1)", "innervoice: reasoning: 1 thought received, kept for the next turn"] == lines[:2]  # fmt: skip
    assert lines[2].startswith("innervoice: tokens: ")
    assert 3 == len(lines)
    assert before == machine.snapshot()
    assert [] == list(machine.temporary.iterdir())


def test_the_clients_exit_status_is_passed_on(machine):
    assert 5 == machine.run("claude", "--emulated", "--", "silent", FAKE_EXIT="5").returncode
    assert 128 + signal.SIGKILL == machine.run("claude", "--emulated", "--", "die").returncode


def test_a_client_that_asks_nobody_is_said(machine):
    done = machine.run("codex", "--emulated", "--", "silent")

    told = "innervoice: the client sent no request to the gateway: it was asked nothing, or one of its own options or files names another address\n"
    assert told == done.stderr


def test_the_gateway_says_how_large_the_context_window_is(machine):
    done = machine.run("claude", "--emulated", "-m", "gemini/gemini-3.5-flash")
    variables = json.loads(done.stdout)["variables"]
    assert "1000000" == variables["CLAUDE_CODE_MAX_CONTEXT_TOKENS"]
    done = machine.run("claude", "--emulated", "-m", "vllm/some-model")
    assert "CLAUDE_CODE_MAX_CONTEXT_TOKENS" not in json.loads(done.stdout)["variables"]


def test_the_users_own_keys_are_for_the_gateway_alone(machine):
    """A key that would lead the client elsewhere is not passed on; other variables are."""
    done = machine.run("claude", "--emulated", "-m", MODEL, ANTHROPIC_API_KEY="sk-own", EDITOR="vi")
    variables = json.loads(done.stdout)["variables"]

    assert "ANTHROPIC_API_KEY" not in variables
    assert ("vi", "any") == (variables["EDITOR"], variables["ANTHROPIC_AUTH_TOKEN"])


@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", MODEL, "openai/gpt-5.6"])
def test_no_plugin_of_llm_answers_in_place_of_the_gateway(machine, model):
    """A plugin has its models before ours, and would ask their provider with a key of the environment."""
    keys = {"ANTHROPIC_API_KEY": "sk-own", "LLM_GEMINI_KEY": "own", "OPENROUTER_KEY": "own"}
    done = machine.run("llm", "--emulated", "-m", model, EDITOR="vi", **keys)
    told = json.loads(done.stdout or "{}")

    assert 200 == told.get("status"), done.stderr
    assert f"innervoice: 1 request: {model} (1)" in done.stderr
    assert not keys.keys() & told["variables"].keys()
    assert "vi" == told["variables"]["EDITOR"]


def test_no_key_of_a_provider_reaches_llm(tmp_path):
    """Nobody knows what its user has installed: every variable that may be a key stays with the gateway."""
    names = {name for host in all_hosts() for name in host.keys}
    names |= {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS"}  # fmt: skip
    names |= {"LLM_GEMINI_KEY", "LLM_MISTRAL_KEY", "OPENROUTER_KEY", "REPLICATE_API_TOKEN"}
    target = ClientTarget("http://127.0.0.1:1", "the-key", tmp_path, "a/b")
    variables = clients()["llm"].environment(target, dict.fromkeys(sorted(names), "own"))

    assert "own" not in variables.values()


@pytest.mark.skipif(not shutil.which("llm"), reason="llm is not installed; pip install llm llm-anthropic llm-gemini")  # fmt: skip
@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", MODEL, "openai/gpt-5.6"])
def test_the_real_llm_is_answered_by_the_gateway(machine, tmp_path, model):
    """Also one that requires a key, and whatever plugins are installed."""
    file = tmp_path / "gateway.toml"
    file.write_text('[keys]\nalice = "env:ALICE"\n')
    key = "a-key-of-sixteen-or-more"
    done = machine.run(
        "llm", "--emulated", "-m", model, "--config", str(file), "--", "What is 15 * 23?",
        ALICE=key, INNERVOICE_CLIENT_KEY=key, ANTHROPIC_API_KEY="sk-own", LLM_GEMINI_KEY="own",
        PATH=os.environ["PATH"], all_proxy="http://127.0.0.1:9",
    )  # fmt: skip

    assert (0, "15 * 23 = 345.\n") == (done.returncode, done.stdout), done.stderr
    assert f"innervoice: 1 request: {model} (1)" in done.stderr


def test_a_proxy_is_not_asked_for_this_machine(machine):
    proxy = "http://127.0.0.1:9"  # nobody listens there
    done = machine.run("qwen", "--emulated", "-m", MODEL, http_proxy=proxy, NO_PROXY="example.com")
    told = json.loads(done.stdout)

    assert 200 == told["status"]
    assert told["variables"]["NO_PROXY"].startswith("example.com,127.0.0.1")


def test_a_model_without_a_key_is_said_before_the_client_starts(machine):
    done = machine.run("claude", "--model", MODEL)

    assert (1, "") == (done.returncode, done.stdout)
    assert "no key for gemini: set GEMINI_API_KEY" in done.stderr
    assert "or try --emulated" in done.stderr


def test_that_no_provider_has_a_key_is_said(machine):
    done = machine.run("codex", "--", "silent")

    assert "innervoice: no provider has a key; set one, or try --emulated\n" in done.stderr


def test_what_failed_can_be_explained(machine, tmp_path):
    report = tmp_path / "report.jsonl"
    done = machine.run("claude", "--emulated", "-m", "no/such", "--report", str(report))
    explained = [json.loads(line) for line in report.read_text().splitlines()]

    assert 404 == json.loads(done.stdout)["status"]
    assert [("no/such", 404)] == [(one["asked"], one["status"]) for one in explained]
    assert "innervoice: 1 request, 1 failed: no model (1)" in done.stderr
    assert (
        f"innervoice: requests with problems: {explained[0]['id']}; details are in {report}\n"
        in done.stderr
    )


def test_without_a_report_the_summary_says_how_to_get_one(machine):
    done = machine.run("claude", "--emulated", "-m", "no/such")

    assert "innervoice: requests with problems: " in done.stderr
    assert "; run with --report FILE to get the details\n" in done.stderr
    assert "details are in" not in done.stderr


def test_what_became_of_the_reasoning_is_added_up(monkeypatch):
    price = Cost(total=Decimal("0.0125"), input=Decimal(0), output=Decimal(0), model="m")
    monkeypatch.setattr(run_summary, "cost", lambda response: price)
    summary = run_summary.RequestSummary()
    usage = Usage(input_tokens=1000, output_tokens=10, reasoning_tokens=4)
    facts = {
        "tenant": "t",
        "dialect": "anthropic",
        "provider": "openai",
        "model": "m",
        "usage": usage,
    }
    summary.request(Report(id="one", status=200, kept=3, carried=1, restored=2, **facts))
    summary.request(
        Report(id="two", status=200, kept=2, omitted=1, received=2, rules=("H7",), **facts)
    )

    assert [
        "2 requests: openai/m (2)",
        "reasoning: 2 thoughts received, kept for the next turn; of the history 5 kept (1 carried, 2 restored), 1 omitted (H7)",
        "tokens: 2,000 in 20 out (8 thought) about $0.0250",
        "requests with problems: two; run with --report FILE to get the details",
    ] == list(summary.lines())


def test_the_page_has_the_summary(monkeypatch):
    """What `run` prints at the end stands in the documentation."""
    monkeypatch.setattr(run_summary, "cost", lambda response: None)
    summary = run_summary.RequestSummary()
    facts = {"tenant": "t", "dialect": "anthropic", "provider": "gemini", "status": 200}
    usages = [Usage(input_tokens=48_211, output_tokens=1024, reasoning_tokens=310), *[Usage()] * 6]
    for number, usage in enumerate(usages):
        kept, restored = (2, 1) if number < 3 else (2, 0) if number < 6 else (0, 0)
        summary.request(
            Report(
                id=f"{number}", model="gemini-3.5-flash", kept=kept, restored=restored, received=1,
                usage=usage, **facts,
            )
        )  # fmt: skip
    printed = "".join(f"innervoice: {line}\n" for line in summary.lines())
    page = Path(__file__).parents[2] / "docs" / "gateway.md"

    assert f"```\n{printed}innervoice: to view it: innervoice view " in page.read_text("utf-8")


# ---- Ctrl+C --------------------------------------------------------------------------------------


def started(machine, *arguments, **streams):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "innervoice", "run", "claude", "--emulated", "--", *arguments],
            env=machine.environment({}),
            start_new_session=True,
            **streams,
        )
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 42), (signal.SIGTERM, 77)])
def test_without_a_terminal_signals_are_passed_on(machine, number, status):
    with started(machine, "wait", stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:  # fmt: skip
        assert b"waiting\n" == process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)

    assert (status, b"Interrupted" in err) == (process.returncode, False)
    assert (b"caught 1\n" if number == signal.SIGINT else b"") == out
    assert b"innervoice: the client sent no request" in err


@pytest.mark.parametrize(("how", "caught"), [((), b"caught 1\r\n"), (("apart",), b"caught 0\r\n")])
def test_in_a_terminal_the_client_gets_ctrl_c_from_it_alone(machine, how, caught):
    master, slave = pty.openpty()
    with closing(os.fdopen(master, "rb", 0)) as screen:
        process = started(
            machine,
            "wait",
            *how,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        shown = b""
        while b"waiting" not in shown:
            shown += screen.read(1000)
        os.write(master, b"\x03")
        while b"no request" not in shown:
            shown += screen.read(1000)
        assert 42 == process.wait(60)

    assert caught in shown


# ---- which gateway -------------------------------------------------------------------------------


def test_a_gateway_that_runs_already(machine):
    with Serve("--emulated") as serve:
        serve.greeting()
        url = f"http://127.0.0.1:{serve.port}"
        done = machine.run("codex", "--url", f"{url}/v1", "-m", MODEL)

    assert 200 == json.loads(done.stdout)["status"]
    assert f"innervoice: 1 request, those of other clients of {url} included\n" in done.stderr
    assert "innervoice: reasoning: 1 thought received, kept for the next turn\n" in done.stderr
    assert f"GET {url}/v1/explain/ID" in done.stderr


def test_no_gateway_at_this_address(machine):
    done = machine.run("codex", "--url", "http://127.0.0.1:9", "-m", MODEL)

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("Error: no gateway answers at http://127.0.0.1:9: ")


def test_a_configuration_with_keys_needs_one(machine, tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text(f'[keys]\nalice = "env:ALICE"\n[[models]]\nname = "mine"\nto = "{MODEL}"\n')
    options = ("claude", "--emulated", "--config", str(file), "-m", "mine")
    key = "a-key-of-sixteen-or-more"
    without = machine.run(*options, ALICE=key)
    done = machine.run(*options, ALICE=key, INNERVOICE_CLIENT_KEY=key)
    wrong = machine.run(*options, "--key", "another-key-of-that-length", ALICE=key)

    assert (1, "") == (without.returncode, without.stdout)
    assert "INNERVOICE_CLIENT_KEY" in without.stderr
    assert [200, 401] == [json.loads(one.stdout)["status"] for one in (done, wrong)]
    assert key not in done.stderr


# ---- which client --------------------------------------------------------------------------------


def test_a_client_that_is_not_installed(machine):
    done = machine.run("opencode", "--emulated", "-m", MODEL)

    assert 127 == done.returncode
    assert "Error: opencode is not installed; run: npm install -g opencode-ai\n" == done.stderr


@pytest.mark.parametrize(("given", "near"), [("cladue", "claude"), ("Claude Code", "claude"), ("mini", "mini-swe-agent")])  # fmt: skip
def test_an_unknown_client(machine, given, near):
    done = machine.run(given)

    assert 2 == done.returncode
    assert f"unknown client {given!r}; did you mean {near}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "which client?"),
        (("qwen",), "qwen needs a model"),
        (("cline",), "Cline cannot use a gateway: "),
        (("claude", "--url", "http://127.0.0.1:1", "--emulated"), "--url cannot be used with"),
        (("claude", "--emulated", "--config", "missing.toml"), "missing.toml"),
    ],
)
def test_what_cannot_be_run(machine, arguments, said):
    done = machine.run(*arguments)

    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "" == done.stdout


def test_the_list_has_every_client(machine):
    lines = machine.run("--list").stdout.splitlines()

    assert list(clients()) == [line.split()[0] for line in lines]
    assert "installed" == next(line for line in lines if line.startswith("claude ")).split()[-1]
    assert next(line for line in lines if line.startswith("aider ")).endswith("pip install aider-chat")  # fmt: skip
    assert "cannot be run" in next(line for line in lines if line.startswith("cline "))


# ---- the rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ROWS, ids=[client.id for client in ROWS])
def test_every_row_leads_to_the_gateway_and_to_the_model(tmp_path, client):
    """Address, key and model are in its variables, arguments or files; the key is in no argument, which others could read."""
    target = ClientTarget("http://127.0.0.1:1234", "the-key", tmp_path, 'a/"quoted" model')
    client.write_files(target)
    written = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    arguments, variables = client.command(target), client.environment(target, {})
    escaped = json.dumps(target.model)[1:-1]
    everything = "\n".join((*arguments, *variables.values(), *written.values()))

    assert dialect_named(client.dialect)
    assert target.url in everything
    assert "the-key" in everything
    assert target.model in everything or escaped in everything
    assert "the-key" not in "".join(arguments)
    assert all(path.stat().st_mode & 0o077 == 0 for path in written)
    assert not {"{url}", "{key}", "{model}", "{folder}"} & set(everything.split())


@pytest.mark.parametrize("client", [client for client in ROWS if not client.needs_model], ids=lambda client: client.id)  # fmt: skip
def test_without_a_model_the_clients_own_choice_stays(tmp_path, client):
    target = ClientTarget("http://127.0.0.1:1234", "any", tmp_path)
    given = (*client.command(target), *client.environment(target, {}).values())

    assert "" not in given


WINDOWS = {
    "claude": {"variables": {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000"}},
    "codex": {"arguments": ["model_context_window=200000"]},
}
"""Client -> how it is told the size of the model's context window."""


@pytest.mark.parametrize("name", WINDOWS)
def test_a_known_context_window_is_set(tmp_path, name):
    client = clients()[name]
    told = ClientTarget("http://127.0.0.1:1", "any", tmp_path, "a/b", 200_000)
    assert set(WINDOWS[name].get("arguments", ())) <= set(client.command(told))
    assert WINDOWS[name].get("variables", {}).items() <= client.environment(told, {}).items()
    unknown = ClientTarget("http://127.0.0.1:1", "any", tmp_path, "a/b")
    assert not set(WINDOWS[name].get("arguments", ())) & set(client.command(unknown))
    assert not WINDOWS[name].get("variables", {}).keys() & client.environment(unknown, {}).keys()


HOSTILE = {
    "claude": ("settings.json with ANTHROPIC_BASE_URL and models in env", {"arguments": ["--settings", "{folder}/settings-with-model.json"]}),
    "gemini": ("a folder that is not trusted", {"variables": {"GEMINI_CLI_TRUST_WORKSPACE": "true"}}),
    "qwen": ("settings.json with model.name and a base URL", {"arguments": ["--model", "a/b", "--openai-base-url", "http://127.0.0.1:1/v1"]}),
    "aider": (".aider.conf.yml with openai-api-base and model, .env with OPENAI_API_BASE",
              {"arguments": ["--openai-api-base", "http://127.0.0.1:1/v1", "--env-file", "{folder}/aider.env", "--model", "openai/a/b"]}),
}  # fmt: skip
"""Client -> what its user may have configured, and ours at a level that wins."""


@pytest.mark.parametrize("name", HOSTILE)
def test_the_users_own_configuration_does_not_win(tmp_path, name):
    _, ours = HOSTILE[name]
    target = ClientTarget("http://127.0.0.1:1", "the-key", tmp_path, "a/b")
    client = clients()[name]
    client.write_files(target)
    arguments, variables = client.command(target), client.environment(target, {})
    pairs = ours.get("arguments", [])
    for option, value in zip(pairs[::2], pairs[1::2], strict=True):
        last = len(arguments) - 1 - arguments[::-1].index(option)
        assert target.fill(value) == arguments[last + 1]
    assert ours.get("variables", {}).items() <= variables.items()


def test_claude_code_gets_variables_in_settings_that_win(tmp_path):
    """What stands in `env` of a settings.json wins over the environment."""
    target = ClientTarget("http://127.0.0.1:1", "the-key", tmp_path, "a/b")
    clients()["claude"].write_files(target)
    names = ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL")  # fmt: skip
    plain, with_model = (
        json.loads((tmp_path / name).read_text())["env"]
        for name in ("settings.json", "settings-with-model.json")
    )

    for env in (plain, with_model):
        assert (target.url, "the-key") == (env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_AUTH_TOKEN"])
        assert not {env[name] for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK")} - {""}
    assert {"a/b"} == {with_model[name] for name in names}
    assert not set(names) & plain.keys()


def test_opencode_gets_its_provider_enabled_at_the_last_level(tmp_path):
    target = ClientTarget("http://127.0.0.1:1", "the-key", tmp_path, 'a/"b"')
    row = clients()["opencode"]
    row.write_files(target)
    content = json.loads(row.environment(target, {})["OPENCODE_CONFIG_CONTENT"])
    file = json.loads((tmp_path / "opencode.json").read_text())

    for config in (content, file):
        assert (["innervoice"], []) == (config["enabled_providers"], config["disabled_providers"])
        assert 'innervoice/a/"b"' == config["model"] == config["small_model"]


def test_pi_is_named_as_it_is_today_and_reads_its_key_as_it_is(tmp_path):
    """It would run a key that begins with ! as a command, and fill in a key with $."""
    key = "!touch $HOME/sixteen"
    row = clients()["pi"]
    target = ClientTarget("http://127.0.0.1:1", key, tmp_path, "a/b")
    row.write_files(target)

    assert "npm install -g @earendil-works/pi-coding-agent" == row.install
    assert 'apiKey: "$INNERVOICE_CLIENT_KEY"' in (tmp_path / "innervoice.js").read_text()
    assert key == row.environment(target, {})["INNERVOICE_CLIENT_KEY"]


def test_every_client_can_be_configured_by_hand():
    page = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text("utf-8")
    table = page.partition("To configure a client yourself:")[2].partition("\n\nBase URLs")[0]

    assert [] == [one.name for one in clients().values() if f"\n| {one.name} |" not in table]


# ---- what can be viewed --------------------------------------------------------------------------


def test_it_says_where_to_view_it(machine):
    """Without --log an emulated run leaves nothing behind; with it, the file that is named can be opened."""
    state = machine.home / "state"
    done = machine.run(
        "claude", "--emulated", "-m", MODEL, "--log", "full", XDG_STATE_HOME=str(state)
    )
    (line,) = [line for line in done.stderr.splitlines() if "to view it" in line]
    file = Path(line.removeprefix("innervoice: to view it: innervoice view "))

    assert file.parent == state / "innervoice" / "requests"
    (conversation,) = open_source(file).conversations()
    assert "15 * 23 = 345." in conversation.turns[-1].message.text


def test_without_texts_unless_somebody_wants_them(machine):
    state = machine.home / "state"
    done = machine.run(
        "claude", "--emulated", "-m", MODEL, "--log", "shape", XDG_STATE_HOME=str(state)
    )

    assert 0 == done.returncode
    (file,) = (state / "innervoice" / "requests").iterdir()
    assert b"15 *" not in file.read_bytes()


def test_nothing_is_kept_if_nothing_shall_be(machine):
    state = machine.home / "state"
    done = machine.run(
        "claude", "--emulated", "-m", MODEL, "--log", "none", XDG_STATE_HOME=str(state)
    )

    assert "to view it" not in done.stderr
    assert [] == list((state / "innervoice" / "requests").iterdir())
