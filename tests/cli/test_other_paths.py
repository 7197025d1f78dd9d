"""Paths that `innervoice serve` only passes on, and callers' own credentials, as a configuration file sets them up."""

import http.client
import json
import re
from pathlib import Path

import httpx2
import pytest

from cli.runs import run
from cli.test_serve import Serve
from gateway.provider import ANSWER, running_provider

pytest.importorskip("aiohttp")
SECRET = "sk-ant-planted-secret-0123456789abcdef"
CONFIG = """
[server]
key = "env:GATEWAY_KEY"
store = "sqlite:{folder}/gateway.db"
{server}
[upstreams.openai]
base_url = "{url}/v1"
keys = {keys}
[upstreams.anthropic]
base_url = "{url}"
keys = {keys}
[upstreams.gemini]
base_url = "{url}/v1beta"
keys = {keys}
[[models]]
name = "small"
to = "openai/text-embedding-3-small"
"""


@pytest.fixture
def provider():
    with running_provider() as running:
        yield running


@pytest.fixture
def served(tmp_path, provider):
    """Starts a gateway in front of the provider; gives its address."""
    started = []

    def start(server="", keys='["env:PROVIDER_KEY"]', *arguments):
        file = tmp_path / "gateway.toml"
        file.write_text(CONFIG.format(folder=tmp_path, url=provider.url, server=server, keys=keys))
        environment = {"GATEWAY_KEY": "g" * 32, "PROVIDER_KEY": "sk-of-the-owner", "XDG_STATE_HOME": str(tmp_path)}  # fmt: skip
        serve = Serve("--config", str(file), *arguments, **environment)
        started.append(serve)
        serve.greeting()
        return f"http://127.0.0.1:{serve.port}"

    start.processes = started
    start.folder = tmp_path
    yield start
    for serve in started:
        serve.__exit__()


def ask(method, url, **more):
    return httpx2.request(method, url, trust_env=False, timeout=30, **more)


# ---- where a path goes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/openai/v1/embeddings", "/v1/embeddings"),
        ("/openai/embeddings", "/v1/embeddings"),
        ("/anthropic/v1/messages/batches", "/v1/messages/batches"),
        ("/gemini/v1beta/files?pageSize=2", "/v1beta/files?pageSize=2"),
        ("/gemini/upload/v1beta/files", "/upload/v1beta/files"),
        ("/openai/v1/files/file-1/content", "/v1/files/file-1/content"),
    ],
)
def test_a_path_behind_a_providers_name(served, provider, path, sent):
    method = "GET" if "content" in path or "?" in path else "POST"
    reply = ask(method, served() + path, headers={"authorization": "Bearer any"})
    assert [f"{method} {sent}"] == provider.paths
    assert "x-innervoice-id" in reply.headers
    assert "set-cookie" not in reply.headers
    assert "req_1" == reply.headers["x-request-id"]


def test_paths_without_a_name_need_a_configuration(served, provider):
    plain = served()
    reply = ask("POST", f"{plain}/v1/embeddings", json={"model": "m", "input": "a"})
    assert 404 == reply.status_code
    assert "other_paths" in reply.json()["error"]["message"]
    assert "/openai/v1/embeddings" in reply.json()["error"]["message"]
    assert [] == provider.requests
    configured = served('other_paths = "openai"')
    reply = ask("POST", f"{configured}/v1/embeddings", json={"model": "m", "input": "a"})
    assert (200, ANSWER) == (reply.status_code, reply.json())
    off = served('other_paths = "off"')
    assert 404 == ask("POST", f"{off}/openai/v1/embeddings", json={}).status_code


def test_an_upstream_for_other_paths_must_exist(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[server]\nother_paths = "opnai"\n')
    done = run("serve", "--check", "--config", str(file))
    assert 0 != done.returncode
    assert "server.other_paths: expected a provider" in done.stderr.decode()
    assert "openai" in done.stderr.decode()


def test_what_the_gateway_serves_it_serves_behind_a_name_as_well(served, provider):
    reply = ask("GET", f"{served()}/openai/v1/models")
    assert 200 == reply.status_code
    assert [] == provider.requests, "the gateway has its own list"


@pytest.mark.parametrize(
    "path",
    [
        "/openai/v1/../../admin",
        "/openai/v1/%2e%2e/admin",
        "/openai/v1/..%2f..%2fadmin",
        "/openai//127.0.0.1:9/x",
        "/openai/v1\\admin",
    ],
)
def test_a_path_cannot_leave_its_upstream(served, provider, path):
    address = served().removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.putrequest("POST", path, skip_host=False)
    connection.putheader("content-length", "0")
    connection.endheaders()
    assert connection.getresponse().status == 404
    connection.close()
    assert [] == provider.requests


def test_a_redirect_is_not_followed(served):
    reply = ask("GET", f"{served()}/openai/v1/moved")
    assert 502 == reply.status_code
    assert "redirect" in reply.json()["error"]["message"]
    assert "location" not in reply.headers


@pytest.mark.parametrize("headers", [{"origin": "https://page.example"}, {"sec-fetch-site": "cross-site"}, {"host": "page.example"}])  # fmt: skip
def test_a_web_page_cannot_use_the_owners_key(served, provider, headers):
    """A form in any page could send files to an address of this machine."""
    more = {"content-type": "multipart/form-data; boundary=x", **headers}
    reply = ask("POST", f"{served()}/openai/v1/files", content=b"--x--", headers=more)
    assert 403 == reply.status_code
    assert [] == provider.requests


# ---- what is sent and returned -------------------------------------------------------------------


def test_the_providers_key_and_listed_headers_alone_are_sent(served, provider):
    headers = {"authorization": "Bearer of-the-caller", "x-api-key": "of-the-caller", "cookie": "a=b", "openai-beta": "assistants=v2", "x-other": "1", "x-forwarded-for": "10.0.0.1"}  # fmt: skip
    ask("POST", f"{served()}/openai/v1/batches?key=of-the-caller&a=1", json={}, headers=headers)
    ((_, path, sent, _),) = provider.requests
    assert "/v1/batches?a=1" == path
    assert ("Bearer sk-of-the-owner", "assistants=v2") == (sent["authorization"], sent["openai-beta"])  # fmt: skip
    assert not {"x-api-key", "cookie", "x-other", "x-forwarded-for"} & sent.keys()
    assert "of-the-caller" not in json.dumps(sent) + path


@pytest.mark.parametrize("name", ["openai/text-embedding-3-small", "small", "text-embedding-3-small"])  # fmt: skip
def test_names_of_models_are_those_of_the_gateway(served, provider, name):
    body = {"model": name, "input": ["a"], "dimensions": 2}
    reply = ask("POST", f"{served()}/openai/v1/embeddings", json=body)
    assert ANSWER == reply.json()
    assert {**body, "model": "text-embedding-3-small"} == json.loads(provider.bodies[0])


def test_an_error_of_the_provider_arrives_as_it_is(served):
    reply = ask("POST", f"{served()}/openai/v1/refused", json={})
    assert (429, "7") == (reply.status_code, reply.headers["retry-after"])
    assert {"error": {"message": "slow down"}} == reply.json()


def test_a_provider_that_cannot_be_reached(tmp_path, served):
    address = served()
    file = served.folder / "gateway.toml"
    file.write_text(re.sub(r'base_url = "http://[^"]*"', 'base_url = "http://127.0.0.1:9"', file.read_text()))  # fmt: skip
    other = Serve("--config", str(file), GATEWAY_KEY="g" * 32, PROVIDER_KEY="k", XDG_STATE_HOME=str(tmp_path / "b"))  # fmt: skip
    with other:
        other.greeting()
        reply = ask("POST", f"http://127.0.0.1:{other.port}/openai/v1/batches", json={})
    assert 502 == reply.status_code
    assert "openai: connection failed" == reply.json()["error"]["message"]
    assert address


def test_counted_and_logged(served):
    address = served()
    body = {"model": "small", "input": "a"}
    reply = ask("POST", f"{address}/openai/v1/embeddings", json=body)
    explained = ask("GET", f"{address}/v1/explain/{reply.headers['x-innervoice-id']}").json()
    assert ("other", "POST /openai/v1/embeddings", 200) == (explained["way"], explained["asked"], explained["status"])  # fmt: skip
    assert 7 == explained["usage"]["input_tokens"]
    page = ask("GET", f"{address}/metrics").text
    assert 'innervoice_requests_total{dialect="other",provider="openai",status="2xx",way="other"} 1' in page  # fmt: skip
    assert 'innervoice_tokens_total{provider="openai",kind="input"} 7' in page
    lines = [served.processes[0].out.get(timeout=30)]
    assert "POST /openai/v1/embeddings -> openai/text-embedding-3-small" in lines[0]


def test_a_large_upload_needs_no_memory(served, provider):
    """500 MB in pieces of 1 MB, to the provider and nowhere else; the gateway's memory stays where it was."""
    address = served()
    process = served.processes[0].process.pid
    ask("POST", f"{address}/openai/v1/files", content=b"a")
    before = _memory(process)
    piece, count = b"x" * 1_000_000, 500
    reply = ask("POST", f"{address}/openai/v1/files", content=(piece for _ in range(count)))
    assert 200 == reply.status_code
    assert count * len(piece) == provider.requests[-1][3]
    assert _memory(process) - before < 60_000_000


def test_a_large_download(served):
    reply = ask("GET", f"{served()}/openai/v1/files/file-1/content")
    assert (200, 5_000_000) == (reply.status_code, len(reply.content))


def _memory(process):
    """The most memory that a process ever had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


# ---- callers -------------------------------------------------------------------------------------


def test_callers_with_keys_need_a_permission(served, provider):
    address = served()
    config = str(served.folder / "gateway.toml")
    environment = {"GATEWAY_KEY": "g" * 32, "PROVIDER_KEY": "k"}
    plain = run("keys", "add", "alice", "--config", config, **environment).stdout.decode().strip()
    allowed = run("keys", "add", "bob", "--other-paths", "--config", config, **environment).stdout.decode().strip()  # fmt: skip
    for process in served.processes:
        process.__exit__()
    served.processes.clear()
    address = served()
    body = {"model": "small", "input": "a"}

    def sent(key):
        return ask("POST", f"{address}/openai/v1/embeddings", json=body, headers={"authorization": f"Bearer {key}"})  # fmt: skip

    refused = sent(plain)
    assert (403, "other_paths_not_allowed") == (refused.status_code, refused.json()["error"]["code"])  # fmt: skip
    assert "--other-paths" in refused.json()["error"]["message"]
    assert 401 == sent("iv-wrong").status_code
    assert [] == provider.requests
    assert 200 == sent(allowed).status_code
    assert "other paths" in run("keys", "list", "--config", config, **environment).stdout.decode()


def test_a_callers_own_credential_goes_to_its_provider_and_nowhere_else(served, provider):
    address = served(keys='"caller"')
    own = {"x-api-key": SECRET, "anthropic-version": "2023-06-01"}
    assert 200 == ask("POST", f"{address}/anthropic/v1/messages/batches", json={}, headers=own).status_code  # fmt: skip
    assert SECRET == provider.requests[-1][2]["x-api-key"]
    login = {"authorization": f"Bearer {SECRET}", "anthropic-beta": "oauth-2025-04-20", "anthropic-version": "2023-06-01", "user-agent": "claude-cli/2.1"}  # fmt: skip
    ask("POST", f"{address}/anthropic/v1/messages/batches", json={}, headers=login)
    sent = provider.requests[-1][2]
    assert login.items() <= sent.items(), "what the client logged in with arrives unchanged"
    count = len(provider.requests)
    other = ask("POST", f"{address}/openai/v1/batches", json={}, headers=own)
    assert 403 == other.status_code
    assert "belongs to anthropic and is not sent to openai" in other.json()["error"]["message"]
    nothing = ask("POST", f"{address}/openai/v1/batches", json={})
    assert 401 == nothing.status_code
    assert count == len(provider.requests)


def test_a_callers_credential_is_in_no_output(served):
    """Planted in every place where a client may send it; looked for in what the gateway writes, stores and shows."""
    address = served('log = "full"', '"caller"')
    question = {"model": "anthropic/claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}  # fmt: skip
    for headers in ({"x-api-key": SECRET}, {"authorization": f"Bearer {SECRET}"}):
        shown = [
            ask("POST", f"{address}/v1/messages", json=question, headers=headers),
            ask("POST", f"{address}/anthropic/v1/messages/batches", json={}, headers=headers),
            ask("POST", f"{address}/openai/v1/batches", json={}, headers=headers),
        ]
        names = [name for reply in shown if (name := reply.headers.get("x-innervoice-id"))]
        assert names
        shown += [ask("GET", f"{address}/v1/explain/{name}", headers=headers) for name in names]
        assert not any(SECRET in reply.text + str(reply.headers) for reply in shown)
    assert SECRET not in ask("GET", f"{address}/metrics").text
    (serve,) = served.processes
    serve.__exit__()
    lines = [*serve.out.queue, *serve.err.queue]
    assert lines
    assert not any(SECRET in (line or "") for line in lines)
    files = [path for path in served.folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_owners_of_two_credentials_share_nothing(served):
    """An explanation belongs to the credential that the request came with."""
    address = served(keys='"caller"')
    mine, other = {"x-api-key": SECRET}, {"x-api-key": f"{SECRET}-b"}
    reply = ask("POST", f"{address}/anthropic/v1/messages/batches", json={}, headers=mine)
    path = f"{address}/v1/explain/{reply.headers['x-innervoice-id']}"
    assert 200 == ask("GET", path, headers=mine).status_code
    assert 404 == ask("GET", path, headers=other).status_code
    tenant = ask("GET", path, headers=mine).json()["tenant"]
    assert re.fullmatch(r"caller-[0-9a-f]{24}", tenant)


def test_a_gateway_with_keys_takes_strangers_only_for_their_own_provider(served, provider):
    config = '[keys]\nalice = "env:ALICE"\n'
    served(keys='"caller"')
    file = served.folder / "gateway.toml"
    text = file.read_text().replace(f'[upstreams.openai]\nbase_url = "{provider.url}/v1"\nkeys = "caller"', f'[upstreams.openai]\nbase_url = "{provider.url}/v1"\nkeys = ["env:PROVIDER_KEY"]')  # fmt: skip
    file.write_text(text + config)
    with Serve("--config", str(file), GATEWAY_KEY="g" * 32, PROVIDER_KEY="k", ALICE="key-of-alice-0123456789", XDG_STATE_HOME=str(served.folder)) as serve:  # fmt: skip
        serve.greeting()
        address = f"http://127.0.0.1:{serve.port}"
        stranger = {"x-api-key": SECRET}
        assert 200 == ask("POST", f"{address}/anthropic/v1/messages/batches", json={}, headers=stranger).status_code  # fmt: skip
        refused = ask("POST", f"{address}/openai/v1/batches", json={}, headers=stranger)
        assert 401 == refused.status_code
        assert "needs a key of this gateway" in refused.json()["error"]["message"]


def test_a_signed_provider_cannot_take_a_callers_key(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[upstreams.bedrock]\nkeys = "caller"\n')
    done = run("serve", "--check", "--config", str(file))
    assert 0 != done.returncode
    assert "needs a signature for each request" in done.stderr.decode()


# ---- what is kept for the viewer -----------------------------------------------------------------

QUESTION = {"model": "gemini/gemini-3.5-flash", "max_tokens": 2000, "messages": [{"role": "user", "content": "What is 15 * 23? unmistakable"}]}  # fmt: skip


@pytest.mark.parametrize(("log", "kept"), [("none", None), ("shape", False), ("full", True)])
def test_the_command_says_what_is_kept(tmp_path, log, kept):
    """The option wins over the configuration, also with emulated models."""
    file = tmp_path / "gateway.toml"
    file.write_text('[server]\nlog = "shape"\n')
    with Serve("--emulated", "--log", log, "--config", str(file), XDG_STATE_HOME=str(tmp_path / "state")) as serve:  # fmt: skip
        greeting = "\n".join(serve.greeting())
        assert "until the gateway stops" not in greeting
        address = f"http://127.0.0.1:{serve.port}"
        assert 200 == ask("POST", f"{address}/v1/messages", json=QUESTION).status_code
        page = ask("GET", f"{address}/view/")
        serve.process.terminate()
        serve.process.wait(30)
    written = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*.jsonl"))
    if kept is None:
        assert b"" == written
        assert (404, True) == (page.status_code, "--log full" in page.text)
    else:
        assert written
        assert kept == (b"unmistakable" in written)
        assert 200 == page.status_code
