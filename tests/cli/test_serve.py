"""`innervoice serve` as a terminal, a supervisor and a client see it."""

import contextlib
import http.client
import io
import json
import os
import pty
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec

import pytest

from cli.runs import run
from cli.test_talking import NO_KEYS
from innervoice.canon.usage import Usage
from innervoice.cli.serve_output import ServeOutput, older_version_line, store_line
from innervoice.gateway.report import Report
from innervoice.installing import install_command

WAIT = 60.0
needs_core = pytest.mark.skipif(
    find_spec("innervoice.gateway.app") is None or find_spec("innervoice.gateway.config") is None,
    reason="the application is not there",
)
QUESTION = {
    "model": "gemini/gemini-3.5-flash",
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 15 * 23?"}],
}


class Serve:
    """The command in a process of its own, with what it writes."""

    def __init__(self, *arguments, **environment):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "innervoice", "serve", "--port", "0", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **NO_KEYS, **environment},
                start_new_session=True,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        self.out, self.err = queue.Queue(), queue.Queue()
        streams = [(self.process.stdout, self.out), (self.process.stderr, self.err)]
        self._readers = [threading.Thread(target=read, args=pair, daemon=True) for pair in streams]
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT)
        for reader in self._readers:
            reader.join(WAIT)
        self.process.stdout.close()
        self.process.stderr.close()

    def greeting(self, where=None):
        """The lines up to the last one of the start; from now on `ask` works."""
        where = where or self.out
        lines = [where.get(timeout=WAIT)]
        while lines[-1] not in (None, "Stop with Ctrl+C."):
            lines.append(where.get(timeout=WAIT))
        assert lines[-1], self.err.get(timeout=WAIT)
        self.port = int(lines[0].split()[2].rpartition(":")[2])
        return lines

    def ask(self, method="POST", path="/v1/messages", body=QUESTION, **headers):
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        ) as connection:
            headers = {"content-type": "application/json", **headers}
            connection.request(method, path, json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def ended(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait(WAIT)


def read(stream, lines):
    for line in stream:
        lines.put(line.decode().rstrip("\n"))
    lines.put(None)


@needs_core
class TestServe:
    def test_it_says_where_it_is_and_answers(self):
        with Serve("--emulated") as serve:
            lines = serve.greeting()
            url = f"http://127.0.0.1:{serve.port}"
            assert [
                f"Listening on {url}",
                "Providers: all of them, emulated",
                "Store: the memory of this process",
                f"View: {url}/view; logged of requests: their shape, without texts, until the gateway stops",
                f"Claude Code   ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN=any claude --model gemini/gemini-3.5-flash",
                f"OpenAI SDKs   OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=any",
                f"Gemini        GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=any",
                f"Ollama        OLLAMA_HOST={url}",
                "Stop with Ctrl+C.",
            ] == lines
            status, headers, body = serve.ask()
            assert (200, True) == (status, "15 * 23 = 345." in body)
            told = serve.out.get(timeout=WAIT)
            assert told.startswith("anthropic -> gemini/gemini-3.5-flash  ")
            assert "\x1b" not in told
            explained = serve.ask("GET", f"/v1/explain/{headers['x-innervoice-id']}")[2]
            assert "gemini-3.5-flash" == json.loads(explained)["model"]
            assert 130 == serve.ended()

    def test_a_supervisor_ends_it_with_success(self):
        with Serve("--emulated") as serve:
            serve.greeting()
            assert 0 == serve.ended(signal.SIGTERM)

    def test_lines_of_json(self):
        with Serve("--emulated", "--log-format", "json") as serve:
            serve.greeting(serve.err)
            serve.ask()
            told = json.loads(serve.out.get(timeout=WAIT))
            assert ("anthropic", "gemini", 200) == (told["dialect"], told["provider"], told["status"])  # fmt: skip

    def test_several_workers_are_one_gateway(self):
        """What one worker has counted, and sealed into its answer, the others can read."""
        with Serve("--emulated", "--workers", "2") as serve:
            lines = serve.greeting()
            assert lines[0].endswith(" with 2 workers")
            assert "Store: the memory of each worker, which the others cannot read" in lines
            asked = {**QUESTION, "thinking": {"type": "enabled", "budget_tokens": 1024}}
            for _ in range(20):
                status, _, body = serve.ask(body=asked)
                assert 200 == status
            messages = asked["messages"]
            messages = [
                *messages,
                {"role": "assistant", "content": json.loads(body)["content"]},
                {"role": "user", "content": "And times two?"},
            ]
            for _ in range(20):
                status, headers, body = serve.ask(body={**asked, "messages": messages})
                assert 200 == status
                assert "omitted=0" in headers["x-innervoice-reasoning"]
            name = headers["x-innervoice-id"]
            found = {serve.ask("GET", f"/v1/explain/{name}")[0] for _ in range(20)}
            assert {200} == found
            time.sleep(1.3)
            requests = 'innervoice_requests_total{dialect="anthropic",provider="gemini",status="2xx",way="canon"} 40'
            assert requests in serve.ask("GET", "/metrics")[2].splitlines()

    @pytest.mark.parametrize(("other", "is_read"), [("k" * 32, True), ("x" * 32, False)])
    def test_gateways_with_one_key_open_each_others_envelopes(self, tmp_path, other, is_read):
        """A client that returns its blocks may meet another machine, or the same one after a restart."""
        file = tmp_path / "gateway.toml"
        file.write_text('[server]\nkey = "env:GATEWAY_KEY"\n')
        # A model of another provider, so that the thinking block holds an envelope.
        model = "deepseek/deepseek-v4-pro"
        asked = {**QUESTION, "model": model, "thinking": {"type": "enabled", "budget_tokens": 1024}}
        options = ("--emulated", "--config", str(file))
        with Serve(*options, GATEWAY_KEY="k" * 32) as first:
            assert "k" * 32 not in "".join(first.greeting())
            content = json.loads(first.ask(body=asked)[2])["content"]
        more = [{"role": "assistant", "content": content}, {"role": "user", "content": "Go on."}]
        with Serve(*options, GATEWAY_KEY=other) as second:
            second.greeting()
            headers = second.ask(body={**asked, "messages": [*asked["messages"], *more]})[1]
            explained = json.loads(second.ask("GET", f"/v1/explain/{headers['x-innervoice-id']}")[2])  # fmt: skip
            codes = {note["code"] for note in explained["notes"]}
            assert is_read == ("envelope_unreadable" not in codes)

    def test_a_check_says_where_the_store_would_be_and_makes_nothing(self, tmp_path):
        done = run("serve", "--check", XDG_STATE_HOME=str(tmp_path))
        assert f"Store: sqlite:{tmp_path}/innervoice/gateway.db" in done.stdout.decode()
        assert not list(tmp_path.iterdir())

    def test_where_the_store_is_is_said(self, tmp_path):
        file = tmp_path / "gateway.toml"
        file.write_text(f'[server]\nstore = "sqlite:{tmp_path}/mine.db"\n')
        with Serve("--emulated", "--config", str(file)) as serve:
            greeting = serve.greeting()
            line = greeting.index(f"Store: sqlite:{tmp_path}/mine.db") + 1
            assert greeting[line].startswith("Version 0.2.1 on this store, beside this one or after a rollback: ")  # fmt: skip

    def test_providers_with_keys_are_named_and_keys_are_not(self):
        key = "sk-0123456789abcdef0123456789"
        with Serve(OPENAI_API_KEY=key) as serve:
            lines = serve.greeting()
            assert "Providers with a key: openai" in lines
            assert key not in "".join(lines)

    def test_a_new_configuration(self, tmp_path):
        file = tmp_path / "gateway.toml"
        file.write_text('[[models]]\nname = "one"\nto = "gemini/gemini-3.5-flash"\n')
        with Serve("--emulated", "--config", str(file)) as serve:
            assert serve.greeting()[4].endswith(" claude --model one")
            assert 200 == serve.ask(body={**QUESTION, "model": "one"})[0]
            assert 404 == serve.ask(body={**QUESTION, "model": "two"})[0]
            file.write_text("[[models]]\nname = 5\n")
            serve.process.send_signal(signal.SIGHUP)
            lines = iter(lambda: serve.out.get(timeout=WAIT), None)
            refused = "The new configuration is invalid, the old one stays in use: "
            assert any(line.startswith(refused) for line in lines)
            assert 200 == serve.ask(body={**QUESTION, "model": "one"})[0]
            file.write_text('[[models]]\nname = "two"\nto = "gemini/gemini-3.5-flash"\n')
            serve.process.send_signal(signal.SIGHUP)
            assert any(line == "The configuration was reloaded." for line in lines)
            assert 200 == serve.ask(body={**QUESTION, "model": "two"})[0]
            assert 404 == serve.ask(body={**QUESTION, "model": "one"})[0]

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            for workers in ("1", "2"):
                done = run("serve", "--emulated", "--port", port, "--workers", workers, **NO_KEYS)
                expected = f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"
                assert (1, expected) == (done.returncode, done.stderr.decode())

    def test_other_machines_need_keys(self):
        done = run("serve", "--emulated", "--host", "0.0.0.0", "--port", "0", **NO_KEYS)
        assert 1 == done.returncode
        assert b"other machines can reach" in done.stderr


OLD_KEY, NEW_KEY = "old-" * 10, "new-" * 10


@needs_core
class TestKeptState:
    """What a gateway keeps, as its operator handles it: with a configuration file, commands and files."""

    @pytest.fixture(params=["env", "file"])
    def key(self, request, tmp_path, monkeypatch):
        """Sets the lines of the gateway's key, in the variable or the file that the configuration names."""
        file = tmp_path / "key"

        def set_key(*lines):
            file.write_text("\n".join(lines) + "\n")
            monkeypatch.setenv("GATEWAY_KEY", "\n".join(lines))

        reference = "env:GATEWAY_KEY" if request.param == "env" else f"file:{file}"
        (tmp_path / "gateway.toml").write_text(
            f'[server]\nkey = "{reference}"\nstore = "sqlite:{tmp_path / "gateway.db"}"\n'
        )
        return set_key

    def test_the_key_is_rotated(self, key, tmp_path):
        """The new key on a line before the old one: callers keep their keys, and conversations their reasoning."""
        config = ("--config", str(tmp_path / "gateway.toml"))
        key(OLD_KEY)
        caller = run("keys", "add", "alice", *config).stdout.decode().strip()
        with Serve("--emulated", *config) as serve:
            serve.greeting()
            first = json.loads(serve.ask(**{"x-api-key": caller})[2])
            serve.ended()
        key(NEW_KEY, OLD_KEY)
        checked = run("serve", "--check", *config)
        assert 0 == checked.returncode, checked.stderr

        with Serve("--emulated", *config) as serve:
            serve.greeting()
            # A client that carries its envelopes, and one that keeps only the text.
            for content in (first["content"], first["content"][-1:]):
                turn = {"role": "assistant", "content": content}
                again = {"role": "user", "content": "And times two?"}
                messages = [*QUESTION["messages"], turn, again]
                body = {**QUESTION, "messages": messages}
                status, headers, text = serve.ask(body=body, **{"x-api-key": caller})
                assert 200 == status, text
                kept, restored, omitted = headers["x-innervoice-reasoning"].split()[:3]
                assert ("kept=1", "omitted=0") == (kept, omitted)
                assert ("restored=0" if len(content) > 1 else "restored=1") == restored
            bob = run("keys", "add", "bob", *config).stdout.decode().strip()
            assert 200 == serve.ask(**{"x-api-key": bob})[0]

    def test_a_revoked_key_ends_after_the_file_was_replaced(self, tmp_path):
        """A gateway that runs reads the file that is there now: a backup that was put in its place, or a new one."""
        (tmp_path / "key").write_text(OLD_KEY)
        config = ("--config", str(tmp_path / "gateway.toml"))
        file = tmp_path / "gateway.db"
        (tmp_path / "gateway.toml").write_text(
            f'[server]\nkey = "file:{tmp_path / "key"}"\nstore = "sqlite:{file}"\n'
        )
        caller = run("keys", "add", "alice", *config).stdout.decode().strip()
        backup = file.read_bytes()
        with Serve("--emulated", *config) as serve:
            serve.greeting()
            assert 200 == serve.ask(**{"x-api-key": caller})[0]
            for path in tmp_path.glob("gateway.db*"):
                path.unlink()
            file.write_bytes(backup)
            assert 0 == run("keys", "revoke", "alice", *config).returncode

            end = time.monotonic() + 20  # the gateway remembers a caller for 5 seconds
            while serve.ask(**{"x-api-key": caller})[0] != 401:
                assert time.monotonic() < end, "the revoked key still works"
                time.sleep(0.5)


@needs_core
class TestReady:
    """Ready means that requests are admitted."""

    def config(self, tmp_path, store, key=OLD_KEY):
        (tmp_path / "key").write_text(key)
        file = tmp_path / "gateway.toml"
        file.write_text(f'[server]\nkey = "file:{tmp_path / "key"}"\nstore = "{store}"\n')
        return "--config", str(file)

    @pytest.mark.parametrize("store", ["damaged", "redis://127.0.0.1:9/0"])
    def test_a_store_that_cannot_be_used_at_start(self, tmp_path, store):
        caller = "iv-" + "a" * 43
        if store == "damaged":
            file = tmp_path / "gateway.db"
            store = f"sqlite:{file}"
            caller = run("keys", "add", "alice", *self.config(tmp_path, store)).stdout.decode().strip()  # fmt: skip
            data = file.read_bytes()
            file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
        else:
            pytest.importorskip("redis")
        config = self.config(tmp_path, store)
        with Serve("--emulated", *config) as serve:
            lines = serve.greeting()
            assert any(line.startswith("Note: the store cannot be used (") for line in lines), lines
            status, _, text = serve.ask("GET", "/health/ready")
            ready = json.loads(text)
            assert (503, "not ready") == (status, ready["status"])
            assert {"at": store, "state": "away"} == ready["store"]
            assert 503 == serve.ask(**{"x-api-key": caller})[0]
            assert f"The store {store} does not answer: requests are refused." == serve.out.get(timeout=WAIT)  # fmt: skip

    def test_a_store_that_is_there(self, tmp_path):
        config = self.config(tmp_path, f"sqlite:{tmp_path / 'gateway.db'}")
        with Serve("--emulated", *config) as serve:
            assert not any(line.startswith("Note: ") for line in serve.greeting())
            status, _, text = serve.ask("GET", "/health/ready")
            store = {"at": f"sqlite:{tmp_path / 'gateway.db'}", "state": "ok"}
            expected = {"status": "ready", "store": store, "upstreams": []}
            assert (200, expected) == (status, json.loads(text))

    def test_two_gateways_with_different_keys(self, tmp_path):
        store = f"sqlite:{tmp_path / 'gateway.db'}"
        (tmp_path / "other").mkdir()
        other = self.config(tmp_path / "other", store, NEW_KEY)
        with Serve("--emulated", *self.config(tmp_path, store)) as first:
            assert not any("another key" in line for line in first.greeting())
            with Serve("--emulated", *other) as second:
                assert any("Note: a gateway with another key uses the same store" in line for line in second.greeting())  # fmt: skip
                for serve in (first, second):
                    status, _, text = serve.ask("GET", "/health/ready")
                    assert 200 == status
                    assert "another key" in json.loads(text)["store"]["problem"]

    def test_a_rotated_key_is_no_other_key(self, tmp_path):
        store = f"sqlite:{tmp_path / 'gateway.db'}"
        for key in (OLD_KEY, f"{NEW_KEY}\n{OLD_KEY}", NEW_KEY):
            with Serve("--emulated", *self.config(tmp_path, store, key)) as serve:
                assert not any("another key" in line for line in serve.greeting()), key
                assert "problem" not in json.loads(serve.ask("GET", "/health/ready")[2])["store"]


@needs_core
class TestCheck:
    def test_a_good_file(self, tmp_path):
        file = tmp_path / "gateway.toml"
        file.write_text('[[models]]\nname = "one"\nto = "openai/gpt-5.6"\n')
        done = run("serve", "--check", "--config", str(file), **{**NO_KEYS, "OPENAI_API_KEY": "k"})
        assert (0, b"") == (done.returncode, done.stderr)
        assert b"openai speaks openai-responses" in done.stdout

    def test_a_name_that_reaches_nothing(self, tmp_path):
        file = tmp_path / "gateway.toml"
        file.write_text('[[models]]\nname = "one"\nto = "openai/gpt-5.6"\n')
        done = run("serve", "--check", "--config", str(file), **NO_KEYS)
        assert 1 == done.returncode
        assert b"\nwrong: one: " in done.stdout

    @pytest.mark.parametrize("arguments", [["--check"], []])
    def test_a_bad_file(self, arguments, tmp_path):
        file = tmp_path / "gateway.toml"
        file.write_text("[server]\nport = 'x'\n[nonsense]\n")
        done = run("serve", *arguments, "--config", str(file), **NO_KEYS)
        assert 1 == done.returncode
        assert f"Error: {file}: 2 problems\n" in done.stderr.decode()
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("package", "status", "said"),
    [
        ("uvicorn", 2, f"the gateway needs: {install_command('gateway')}".encode()),
        ("aiohttp", 2, f"the gateway needs: {install_command('gateway')}".encode()),
        ("cryptography", 2, f"the gateway needs: {install_command('gateway')}".encode()),
        ("opentelemetry", 1, install_command("otel").encode()),
    ],
)
@needs_core
def test_without_a_package(package, status, said):
    code = (
        f"import sys; sys.modules[{package!r}] = None;"
        " sys.argv = ['innervoice', 'serve', '--emulated', '--otel', '--port', '0'];"
        " from innervoice.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)  # fmt: skip
    assert (status, True) == (done.returncode, said in done.stderr)
    assert b"Traceback" not in done.stderr


# ---- what is written -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "remember", "workers", "expected"),
    [
        ("sqlite:gateway.db", "seals", 2, "Store: sqlite:gateway.db"),
        ("redis://me:secret@cache:6379/1", "full", 2, "Store: redis://cache:6379/1"),
        ("env:STORE", "full", 2, "Store: env:STORE"),
        (None, "seals", 1, "Store: the memory of this process"),
        ("sqlite:gateway.db", "ram", 1, "Store: the memory of this process"),
        ("sqlite:gateway.db", "off", 1, "Store: none"),
    ],
)
def test_where_the_store_is(store, remember, workers, expected):
    assert expected == store_line(store, remember, workers)


@pytest.mark.parametrize(
    ("store", "remember", "is_said"),
    [("sqlite:a", "seals", True), ("sqlite:a", "full", True), (None, "seals", False), ("sqlite:a", "ram", False), ("sqlite:a", "off", False)],
)  # fmt: skip
def test_what_an_older_version_does_not_find_is_said_where_turns_outlive_the_process(store, remember, is_said):  # fmt: skip
    assert is_said == (older_version_line(store, remember) is not None)


def report(**fields):
    return Report(
        **{"id": "1", "tenant": "t", "dialect": "anthropic", "provider": "openai", "model": "gpt-5.6",
           "status": 200, "usage": Usage(input_tokens=5), **fields}
    )  # fmt: skip


LINES = """
import sys
from innervoice.cli.serve_output import ServeOutput
from innervoice.gateway.report import Report
output = ServeOutput("text")
output.request(Report(id="1", tenant="t", dialect="anthropic", asked="gpt\\x1b]0;title\\x07", status=404, kept=3))
output.say("Said \\x1b[2J")
"""


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_in_a_terminal_only(environment, coloured):
    main, side = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", LINES],
        stdout=side,
        env={**os.environ, "NO_COLOR": "", **environment},
        timeout=60,
        check=True,
    )
    os.close(side)
    seen = os.read(main, 4096).decode().splitlines()
    os.close(main)
    plain = "anthropic -> gpt\ufffd]0;title\ufffd  404  kept 3"
    bold, red, dim, end = "\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
    expected = f"{red}{bold}anthropic -> gpt\ufffd]0;title\ufffd{end}  {dim}404  kept 3{end}"
    assert [expected if coloured else plain, "Said \u241b[2J"] == seen


def test_a_log_that_nobody_reads_stops_nothing(monkeypatch):
    output = ServeOutput("text")
    written = []

    class Gone(io.StringIO):
        def write(self, text):
            written.append(text)
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Gone())
    output.request(report())
    output.request(report())
    assert ["anthropic -> openai/gpt-5.6  5 in\n"] == written
