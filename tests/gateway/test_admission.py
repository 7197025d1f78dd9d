"""Who may send what, on every path alike: answers, counts, paths that are only passed on, WebSockets. A real provider on loopback, and real sockets."""

import asyncio
import http.client
import json
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gateway.calling import KEY, made, prices
from gateway.calling import keys_in as keys_in_store
from gateway.provider import running_provider
from innervoice.client.proxies import proxy_of
from innervoice.errors import UsageError
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.callers import Budget
from innervoice.gateway.config import GatewayConfig, NamedModel, ServerSettings, UpstreamSettings
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.memory.stores.ram import RamStore

pytest.importorskip("aiohttp")
CLAUDES, OPENAIS, GEMINIS = "sk-ant-planted-1", "sk-proj-planted-2", "AIza-planted-3"
GATEWAYS = "iv-" + "g" * 43
OWNERS = {"openai": "sk-proj-of-the-owner", "anthropic": "sk-ant-of-the-owner", "gemini": "AIza-of-the-owner", "mistral": "m-of-the-owner"}  # fmt: skip


class Running:
    """A gateway at an address of its own, in front of a provider that keeps what it got."""

    def __init__(self, url, provider, reports, served=None):
        self.url, self.provider, self.reports, self.served = url, provider, reports, served

    def ask(self, method, path, headers=None, **more):
        """The reply to a request whose path is sent as it is written."""
        body = more.get("content", json.dumps(more["json"]).encode() if "json" in more else b"")
        given = {"content-type": "application/json"} if "json" in more else {}
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        connection.putrequest(method, path, skip_accept_encoding=True)
        given |= headers or {}
        if "transfer-encoding" not in given:
            given["content-length"] = str(len(body))
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        try:
            data = answer.read()
        except http.client.IncompleteRead as error:
            data = error.partial
        connection.close()
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in answer.getheaders()]
        return httpx2.Response(answer.status, headers=pairs, content=data)

    def connect(self, path, headers=None):
        """A WebSocket."""
        url = self.url.replace("http:", "ws:")
        return connect(f"{url}{path}", additional_headers=headers or {}, proxy=None)


@contextmanager
def gateway(keys=("env:OWNER",), store=None, *, at=None, models=(), work=None, **server):
    """The gateway, with upstreams that all stand at one provider; `work` is the provider that one of that name behaves like."""
    reports = []
    with running_provider() as provider:
        upstreams = {
            name: UpstreamSettings(base_url=(at or provider.url) + version, keys=tuple(f"env:{name}" if key == "env:OWNER" else key for key in keys))
            for name, version in (("openai", "/v1"), ("anthropic", ""), ("gemini", "/v1beta"), ("mistral", "/v1"))
        }  # fmt: skip
        if work:
            upstreams["work"] = upstreams[work].replace(provider=work)
        config = GatewayConfig(upstreams=upstreams, models=tuple(models), server=ServerSettings(**server))  # fmt: skip
        served = Gateway(config, OWNERS, log=reports.append, key=KEY, store=store)
        with GatewayInThread(create_app(served)) as server_:
            yield Running(server_.url, provider, reports, served)


def keys_in(headers):
    """What an upstream got of the headers that carry keys."""
    return {name: value for name, value in headers.items() if name in ("authorization", "x-api-key", "x-goog-api-key", "api-key")}  # fmt: skip


# ---- a credential belongs to one provider --------------------------------------------------------

PATHS = {
    "anthropic": ("/anthropic/v1/files", "x-api-key", CLAUDES),
    "openai": ("/openai/v1/embeddings", "authorization", f"Bearer {OPENAIS}"),
    "gemini": ("/gemini/v1beta/models/m:embedContent", "x-goog-api-key", GEMINIS),
}
FOREIGN = {
    "claude's": ("x-api-key", CLAUDES),
    "claude's as a token": ("authorization", f"Bearer {CLAUDES}"),
    "openai's": ("authorization", f"Bearer {OPENAIS}"),
    "openai's in another header": ("api-key", OPENAIS),
    "gemini's": ("x-goog-api-key", GEMINIS),
    "an unknown one": ("api-key", "unknown-planted"),
}


@pytest.mark.parametrize("keyed", [False, True], ids=["open", "with keys"])
@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_only_the_upstreams_own_key_leaves(provider, kind, keyed):
    path, header, value = PATHS[provider]
    store = RamStore()
    gateways = made(store, "bob", other_paths=True)[0] if keyed else GATEWAYS
    foreign = {
        **FOREIGN,
        "the gateway's": ("api-key", gateways),
        "the gateway's as a token": ("authorization", f"Bearer {gateways}"),
    }
    notes = []
    with gateway(("caller",), store if keyed else None) as running:
        for other, (name, key) in foreign.items():
            if name == header or value.endswith(key) or key.endswith(value):
                continue  # in the place of the right one, or the same
            headers = {name: key, header: value}
            if kind == "http":
                reply = running.ask("POST", path, headers, json={"model": "m"})
                assert reply.status_code != 403, (other, reply.text)
            else:
                with running.connect(f"/{provider}/v1/realtime", headers) as socket:
                    socket.recv(timeout=60)
            sent = keys_in(running.provider.requests[-1][2])
            assert {header: value} == sent, other
            notes.append([] if "gateway" in other else ["credential_left_out"])
    assert notes == [[note.code for note in report.notes] for report in running.reports]
    assert "planted" not in repr(running.reports)


@pytest.mark.parametrize("keys", ["env:OWNER", "caller"])
def test_whose_a_key_is_goes_with_it_alone(keys):
    """Browsers say among the protocols which organization and project pay; those of the operator are not the caller's to choose."""
    offered = ["realtime", f"openai-insecure-api-key.{OPENAIS}", "openai-organization.org-a", "openai-project.p"]  # fmt: skip
    with gateway((keys,)) as running:
        url = running.url.replace("http:", "ws:")
        with connect(f"{url}/openai/v1/realtime", subprotocols=offered, proxy=None) as socket:
            socket.recv(timeout=60)
        sent = running.provider.requests[-1][2]
    assert "realtime" == sent["sec-websocket-protocol"]
    whose = [sent.get(name) for name in ("authorization", "openai-organization", "openai-project")]
    assert ([f"Bearer {OPENAIS}", "org-a", "p"] if keys == "caller" else [f"Bearer {OWNERS['openai']}", None, None]) == whose  # fmt: skip


def test_one_key_in_two_headers_is_one_credential():
    """Claude Code sends its key in both."""
    headers = {"x-api-key": CLAUDES, "authorization": f"Bearer {CLAUDES}"}
    with gateway(("caller",)) as running:
        assert 200 == running.ask("GET", "/anthropic/v1/files", headers).status_code
        assert headers == keys_in(running.provider.requests[-1][2])
        assert [] == running.reports[-1].notes


def test_two_keys_of_one_provider_are_refused_by_the_names_of_their_headers():
    headers = {"x-api-key": CLAUDES, "authorization": f"Bearer {CLAUDES}-other"}
    with gateway(("caller",)) as running:
        reply = running.ask("GET", "/anthropic/v1/files", headers)
        assert (400, "authorization and x-api-key") == (reply.status_code, reply.json()["error"]["message"].partition("headers ")[2].partition(" have")[0])  # fmt: skip
        assert "planted" not in reply.text
        assert [] == running.provider.requests


def test_a_key_without_a_known_beginning_is_told_by_its_header():
    """Many keys begin with nothing in particular; the header is that of the API they are sent in."""
    headers = {"authorization": "Bearer sk-0123", "x-api-key": CLAUDES}
    with gateway(("caller",)) as running:
        assert 200 == running.ask("POST", "/openai/v1/embeddings", headers, json={}).status_code
        assert {"authorization": "Bearer sk-0123"} == keys_in(running.provider.requests[-1][2])


def test_a_key_of_the_gateway_that_is_wrong_is_not_replaced_by_another():
    wrong = {"authorization": "Bearer iv-" + "x" * 43, "x-api-key": CLAUDES}
    store = RamStore()
    made(store, "bob")
    with gateway(("caller",), store) as running:
        assert 401 == running.ask("GET", "/anthropic/v1/files", wrong).status_code
        assert [] == running.provider.requests


def test_a_key_beside_that_of_the_gateway_gives_no_permission():
    """Other paths need one, whatever else was sent."""
    store = RamStore()
    key, _ = made(store, "alice")
    headers = {"authorization": f"Bearer {key}", "x-api-key": CLAUDES}
    with gateway(("caller",), store) as running:
        assert 403 == running.ask("GET", "/anthropic/v1/files", headers).status_code
        assert [] == running.provider.requests


@pytest.mark.parametrize("name", ["access_token", "oauth_token", "api_key", "KEY"])
def test_a_key_in_the_query_is_not_passed_on(name):
    with gateway() as running:
        running.ask("GET", f"/openai/v1/files?{name}=planted&limit=2")
        assert ["GET /v1/files?limit=2"] == running.provider.paths


# ---- what leaves ---------------------------------------------------------------------------------


def test_an_error_that_repeats_the_key_does_not_bring_it_to_a_caller():
    with gateway() as running:
        for path in ("/openai/v1/repeats", "/anthropic/v1/repeats"):
            reply = running.ask("GET", path)
            assert (401, True) == (reply.status_code, "<key removed>" in reply.json()["error"]["message"])  # fmt: skip
            assert "of-the-owner" not in reply.text


def test_a_websocket_follows_no_redirect():
    with running_provider() as elsewhere, gateway() as running:
        running.provider.elsewhere = elsewhere.url
        with pytest.raises(InvalidStatus) as raised, running.connect("/openai/v1/moved"):
            pass
        assert 502 == raised.value.response.status_code
        assert b"redirect" in raised.value.response.body
        assert [] == elsewhere.requests


@pytest.mark.parametrize("kind", ["http", "websocket", "answer"])
def test_netrc_is_not_read(kind, monkeypatch, tmp_path):
    """The `default` entry of an operator would be sent to every provider that was not given a key."""
    file = tmp_path / "netrc"
    file.write_text("default login me password planted\n")
    file.chmod(0o600)
    monkeypatch.setenv("NETRC", str(file))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with gateway(keys=()) as running:
        ask_in_each_way(running, kind)
        assert {} == keys_in(running.provider.requests[-1][2])


@pytest.mark.parametrize("kind", ["http", "websocket", "answer"])
def test_connections_to_this_machine_go_through_no_proxy(kind, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    with gateway() as running:
        ask_in_each_way(running, kind)
        assert 1 == len(running.provider.requests)


@pytest.mark.parametrize("kind", ["http", "websocket", "answer"])
def test_a_proxy_of_the_environment_serves_everything(kind, monkeypatch):
    with running_provider() as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url)
        with gateway(at="http://provider.test") as running:
            ask_in_each_way(running, kind)
            assert ["provider.test"] == [headers["host"] for _, _, headers, _ in proxy.requests]
            monkeypatch.setenv("NO_PROXY", "provider.test")
            monkeypatch.setenv("no_proxy", "provider.test")
            with suppress(InvalidStatus):
                ask_in_each_way(running, kind)
        assert 1 == len(proxy.requests)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "ALL_PROXY"])
def test_a_kind_of_proxy_that_is_not_supported_is_no_reason_to_go_without(name, monkeypatch):
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):  # fmt: skip
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name.lower(), "socks5://me:planted@127.0.0.1:9")
    with pytest.raises(UsageError, match="expected an HTTP proxy") as raised:
        proxy_of("wss://api.openai.com/v1/realtime")
    assert "planted" not in str(raised.value)


def ask_in_each_way(running, kind):
    if kind == "http":
        running.ask("GET", "/openai/v1/named")
    elif kind == "answer":
        body = {"model": "openai/gpt-5.6", "messages": [{"role": "user", "content": "a"}]}
        running.ask("POST", "/v1/chat/completions", json=body)
    else:
        with running.connect("/openai/v1/realtime") as socket:
            socket.recv(timeout=60)


# ---- one meaning of a path -----------------------------------------------------------------------

SPELLINGS = [
    "/openai/v1/%63hat/completions",
    "/openai/v1/%63%68%61%74/completion%73",
    "/openai/v1/Chat/Completions",
    "/openai/v1/chat%2Fcompletions",
    "/openai/v1/chat%252Fcompletions",
    "/openai/v1/%2563hat/completions",
    "/openai/v1/chat;x/completions",
    "/openai/v1/chat/completions;x=1",
    "/openai/v1/chat//completions",
    "/openai//v1/chat/completions",
    "/openai/v1/./chat/completions",
    "/openai/v1/x/../chat/completions",
    "/openai/v1/x/%2e%2e/chat/completions",
    "/openai/v1\\chat/completions",
    "/openai/v1/chat/completions/",
    "/openai/v1/chat/completions%20",
    "/openai/v1/responses;x",
    "/openai/v1/Responses",
    "/openai/v1/%52esponses",
    "/openai/%76%31/responses",
    "/openai/v1/messages%00",
    "/anthropic/v1/Messages",
    "/anthropic/v1/%6dessages",
    "/anthropic/v1/chat/completions",
    "/gemini/v1beta/models/forbidden%3agenerateContent",
    "/gemini/v1beta/models/forbidden:GenerateContent",
    "/gemini/v1beta/openai/chat/completions",
    "/%6fpenai/v1/chat/completions",
]


@pytest.mark.parametrize("path", SPELLINGS)
@pytest.mark.parametrize("method", ["POST", "PUT", "post"])
def test_no_spelling_of_a_path_escapes_the_models_of_a_key(path, method):
    store = RamStore()
    key, _ = made(store, "alice", models=("openai/gpt-5.6",), rpm=50, other_paths=True)
    headers = {"authorization": f"Bearer {key}"}
    body = {"model": "forbidden", "messages": [], "input": "a", "contents": []}
    with gateway(store=store) as running:
        reply = running.ask(method, path, headers, json=body)
        assert reply.status_code in (400, 403, 404, 405), reply.text
        assert [] == running.provider.requests


@pytest.mark.parametrize("path", SPELLINGS)
def test_nor_does_a_websocket(path):
    store = RamStore()
    key, _ = made(store, "alice", models=("openai/gpt-5.6",), other_paths=True)
    with gateway(store=store) as running:
        with (
            pytest.raises(InvalidStatus),
            running.connect(path, {"authorization": f"Bearer {key}"}),
        ):
            pass
        assert [] == running.provider.requests


def test_what_goes_on_is_written_from_the_segments():
    """The slash in the name of a profile stays inside it; letters need no escapes."""
    with gateway() as running:
        running.ask("GET", "/openai/v1/f%69les/arn%3Aaws%2Fa%20b")
        assert ["GET /v1/files/arn:aws%2Fa%20b"] == running.provider.paths


# ---- models, wherever they are named -------------------------------------------------------------


def form(*parts):
    lines = [f"--x\r\nContent-Disposition: form-data; {words}\r\n\r\n{value}\r\n" for words, value in parts]  # fmt: skip
    return {"content": ("".join(lines) + "--x--\r\n").encode(), "headers": {"content-type": "multipart/form-data; boundary=x"}}  # fmt: skip


def plain(value, kind="text/plain"):
    return {"content": json.dumps(value).encode(), "headers": {"content-type": kind}}


LINE = {"custom_id": "1", "method": "POST", "url": "/v1/responses"}
NAMED = {
    "a form": ("/openai/v1/audio/transcriptions", lambda name: form(('name="file"; filename="a.wav"', "x"), ('name="model"', name))),
    "a form without quotes": ("/openai/v1/images/edits", lambda name: form(("name=model", name))),
    "a session in a form": ("/openai/v1/realtime/calls", lambda name: form(('name="session"', json.dumps({"model": name})))),
    "lines of a batch": ("/openai/v1/files", lambda name: form(('name="purpose"', "batch"), ('name="file"; filename="a.jsonl"', json.dumps({**LINE, "body": {"model": name}})))),
    "requests of a batch": ("/anthropic/v1/messages/batches", lambda name: {"json": {"requests": [{"params": {"model": name, "messages": []}}]}}),
    "a realtime session": ("/openai/v1/realtime/client_secrets", lambda name: {"json": {"session": {"type": "realtime", "model": name}}}),
    "a path": ("/gemini/v1beta/models/NAME:embedContent", lambda _: {"json": {"content": {}}}),
    "a body that is called text": ("/openai/v1/embeddings", lambda name: plain({"model": name})),
    "a body of an unknown type": ("/openai/v1/embeddings", lambda name: plain({"model": name}, "application/octet-stream")),
    "a body behind blanks": ("/openai/v1/other", lambda name: {"content": b" " * 9000 + json.dumps({"model": name}).encode(), "headers": {"content-type": "x/y"}}),
    "the second of two": ("/openai/v1/embeddings", lambda name: {"content": f'{{"model": "allowed", "model": "{name}"}}'.encode(), "headers": {"content-type": "application/json"}}),
    "the first of two": ("/openai/v1/embeddings", lambda name: {"content": f'{{"model": "{name}", "model": "allowed"}}'.encode(), "headers": {"content-type": "application/json"}}),
    "upper case": ("/openai/v1/other", lambda name: {"json": {"Model": name}}),
    "a fallback": ("/openai/v1/other", lambda name: {"json": {"model": "allowed", "models": ["allowed", name]}}),
    "an encoded form": ("/openai/v1/other", lambda name: {"content": f"model={name}".encode(), "headers": {"content-type": "application/x-www-form-urlencoded"}}),
    "the query": ("/openai/v1/other?model=NAME", lambda _: {"json": {}}),
    "another separator in the query": ("/openai/v1/other?a=1;model=NAME", lambda _: {"json": {}}),
    "a path in another case": ("/gemini/v1beta/Models/NAME:embedContent", lambda _: {"json": {}}),
    "a path with a parameter": ("/gemini/v1beta/models;x/NAME:embedContent", lambda _: {"json": {}}),
    "UTF-16 of any type": ("/openai/v1/other", lambda name: {"content": json.dumps({"model": name}).encode("utf-16"), "headers": {"content-type": "text/plain"}}),
    "a field with an empty file name": ("/openai/v1/other", lambda name: form(('name="model"; filename=""', name))),
    "an agent": ("/anthropic/v1/sessions", lambda name: {"json": {"agent": name}}),
    "an agent by its id": ("/anthropic/v1/sessions", lambda name: {"json": {"agent": {"type": "agent", "id": name}}}),
}  # fmt: skip


def asked_for(running, place, name, key):
    path, written = NAMED[place]
    more = written(name)
    headers = {"authorization": f"Bearer {key}", **more.pop("headers", {})}
    return running.ask("POST", path.replace("NAME", name), headers, **more)


@pytest.mark.parametrize("place", NAMED)
def test_a_key_for_certain_models_names_no_other_one(place):
    store = RamStore()
    key, _ = made(store, "alice", models=("allowed",), other_paths=True)
    with gateway(store=store) as running:
        reply = asked_for(running, place, "forbidden", key)
        assert (403, []) == (reply.status_code, running.provider.requests), reply.text
        assert "may not use 'forbidden'" in reply.text
        assert 403 != asked_for(running, place, "allowed", key).status_code
        assert 1 == len(running.provider.requests)


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"content-encoding": "gzip"}, "content": b"{}"},
        {"headers": {"content-type": "application/json"}, "content": b'{"model": '},
        {"headers": {"content-type": "multipart/form-data"}, "content": b"--x"},
        form(('name="x"; name="model"', "forbidden")),
        form(('name="model"; filename="a"', "forbidden")),
        form(('name="purpose"', "batch"), ('name="file"; filename="a.jsonl"', "not JSON")),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_refused_for_such_a_key(more):
    store = RamStore()
    key, _ = made(store, "alice", models=("allowed",), other_paths=True)
    with gateway(store=store) as running:
        headers = {"authorization": f"Bearer {key}", **more["headers"]}
        reply = running.ask("POST", "/openai/v1/files", headers, content=more["content"])
        assert (400, []) == (reply.status_code, running.provider.requests)
        assert "certain models only" in reply.text


def test_a_path_that_chooses_a_model_itself_needs_one_from_such_a_key():
    store = RamStore()
    key, _ = made(store, "alice", models=("allowed",), other_paths=True)
    with gateway(store=store) as running:
        reply = running.ask("POST", "/openai/v1/images/generations", {"authorization": f"Bearer {key}"}, json={"prompt": "a"})  # fmt: skip
        assert (403, []) == (reply.status_code, running.provider.requests)


def test_nor_does_a_websocket_leave_the_choice_to_the_provider():
    store = RamStore()
    key, _ = made(store, "alice", models=("allowed",), other_paths=True)
    with gateway(store=store) as running:
        with (
            pytest.raises(InvalidStatus) as raised,
            running.connect("/openai/v1/realtime", {"authorization": f"Bearer {key}"}),
        ):
            pass
        assert (403, []) == (raised.value.response.status_code, running.provider.requests)


def test_an_upstream_with_a_name_of_its_own_is_not_its_provider():
    """Whoever may use a provider's models may not use them at another account."""
    store = RamStore()
    keys = {
        "provider": made(store, "alice", models=("openai/*",), other_paths=True)[0],
        "upstream": made(store, "alice", models=("work/*",), other_paths=True)[0],
    }
    with gateway(store=store, work="openai") as running:
        statuses = {
            (name, path): running.ask("POST", f"/{path}/v1/embeddings", {"authorization": f"Bearer {key}"}, json={"model": model}).status_code
            for name, key in keys.items()
            for path, model in (("openai", "m"), ("work", "m"), ("work", "work/m"))
        }  # fmt: skip
        assert {("provider", "openai"): 200, ("provider", "work"): 403, ("upstream", "openai"): 403, ("upstream", "work"): 200} == statuses  # fmt: skip
        assert b'{"model":"m"}' == running.provider.bodies[-1].replace(b" ", b"")


BIG = [NamedModel(name="small", to=("openai/gpt-5.6",)), NamedModel(name="small[big]", to=("openai/gpt-5.6-pro",))]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages/count_tokens", "/openai/v1/embeddings"])  # fmt: skip
def test_a_name_with_brackets_of_its_own_is_another_model(path):
    """Other words in brackets mean nothing: Claude Code appends them."""
    store = RamStore()
    key, _ = made(store, "alice", models=("small",), other_paths=True)
    headers = {"authorization": f"Bearer {key}"}
    body = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 9}
    with gateway(store=store, models=BIG) as running:
        refused = running.ask("POST", path, headers, json={**body, "model": "small[big]"})
        assert (403, []) == (refused.status_code, running.provider.requests), refused.text
        if "embeddings" not in path:
            reply = running.ask("POST", path, headers, json={**body, "model": "small[1m]"})
            assert 403 != reply.status_code, reply.text
        listed = running.ask("GET", "/v1/models", headers).json()["data"]
        assert ["small"] == [model["id"] for model in listed]


def test_requests_in_a_request_are_not_passed_on():
    """Google's batch endpoints take them: they would count as one, and nothing in them."""
    inner = b"--x\r\nContent-Type: application/http\r\n\r\nPOST /v1beta/models/m:generateContent\r\n--x--"  # fmt: skip
    headers = {"content-type": "multipart/mixed; boundary=x"}
    with gateway() as running:
        reply = running.ask("POST", "/gemini/batch", headers, content=inner)
        assert (415, []) == (reply.status_code, running.provider.requests)


def test_messages_of_a_websocket_name_allowed_models_alone():
    store = RamStore()
    key, _ = made(store, "alice", models=("allowed",), other_paths=True)
    headers = {"authorization": f"Bearer {key}"}
    with gateway(store=store) as running:
        with (
            pytest.raises(InvalidStatus) as raised,
            running.connect("/openai/v1/realtime?model=forbidden", headers),
        ):
            pass
        assert 403 == raised.value.response.status_code
        with running.connect("/openai/v1/realtime?model=allowed", headers) as socket:
            socket.recv(timeout=60)
            socket.send(json.dumps({"type": "session.update", "session": {"model": "allowed"}}))
            assert "session.update" in socket.recv(timeout=60)
            socket.send(json.dumps({"type": "session.update", "session": {"model": "forbidden"}}))
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=60)
        assert 1008 == closed.value.rcvd.code
        assert "forbidden" in closed.value.rcvd.reason


IN_ANSWERS = {
    "fallbacks": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "models": ["openai/gpt-5.6", "forbidden"]}),
    "the model of a tool": ("/v1/responses", {"input": "a", "tools": [{"type": "image_generation", "model": "forbidden"}]}),
    "the first of two models": ("/v1/responses", b'{"model": "forbidden", "model": "openai/gpt-5.6", "input": "a"}'),
    "the first of two, deeper": ("/v1/responses", b'{"model": "openai/gpt-5.6", "input": "a", "tools": [{"type": "image_generation", "model": "forbidden", "model": "gpt-5.6"}]}'),
    "the body beside the path": ("/v1beta/models/openai/gpt-5.6:generateContent", {"model": "forbidden", "contents": [{"role": "user", "parts": [{"text": "a"}]}]}),
    "an agent": ("/v1beta/interactions", {"agent": "forbidden", "input": "a"}),
    "an advisor": ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "a"}], "tools": [{"type": "advisor_20260301", "name": "advisor", "model": "forbidden"}]}),
}  # fmt: skip


@pytest.mark.parametrize("place", IN_ANSWERS)
def test_nor_does_a_request_for_an_answer(place):
    path, body = IN_ANSWERS[place]
    store = RamStore()
    key, _ = made(store, "alice", models=("openai/gpt-5.6",))
    headers = {"authorization": f"Bearer {key}"}
    with gateway(store=store) as running:
        content = body if isinstance(body, bytes) else json.dumps({"model": "openai/gpt-5.6", **body}).encode()  # fmt: skip
        headers |= {"content-type": "application/json"}
        reply = running.ask("POST", path, headers, content=content)
        assert (403, []) == (reply.status_code, running.provider.requests), reply.text
        allowed = content.replace(b"forbidden", b"gpt-5.6")
        reply = running.ask("POST", path, headers, content=allowed)
        assert 403 != reply.status_code, reply.text


# ---- limits and counts ---------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{"rpm": 2}, {"streams": 2}], ids=str)
def test_websockets_count(limits):
    store = RamStore()
    key, _ = made(store, "alice", other_paths=True, **limits)
    headers = {"authorization": f"Bearer {key}"}
    with gateway(store=store) as running:
        with ExitStack() as sockets:
            for _ in range(2):
                sockets.enter_context(running.connect("/openai/v1/realtime", headers))
            with pytest.raises(InvalidStatus) as raised:
                sockets.enter_context(running.connect("/openai/v1/realtime", headers))
        assert 429 == raised.value.response.status_code
        assert 2 == len(running.provider.requests)


FORMS = [
    ("/openai/v1/files", "rate_limit_exceeded"),
    ("/anthropic/v1/files", "rate_limit_error"),
    ("/gemini/v1beta/files", "RESOURCE_EXHAUSTED"),
]


@pytest.mark.parametrize(("path", "word"), FORMS)
@pytest.mark.parametrize("limits", [{"rpm": 1}, {"streams": 0}, {"tpm": 1}], ids=str)
def test_a_reached_limit_is_an_error_of_that_api(path, word, limits):
    store = RamStore()
    key, _ = made(store, "alice", other_paths=True, **limits)
    headers = {"authorization": f"Bearer {key}"}
    with gateway(store=store) as running:
        first = {"json": {"model": "m", "input": "a"}}
        replies = [running.ask("POST", "/openai/v1/embeddings", headers, **first), running.ask("GET", path, headers)]  # fmt: skip
        assert 429 == replies[-1].status_code, replies[-1].text
        if "streams" not in limits:
            assert f'"{word}"' in replies[-1].text
        assert "retry-after" in replies[-1].headers
        assert [429] == [report.status for report in running.reports][-1:]


def test_tokens_of_other_answers_are_booked():
    store = RamStore()
    key, _ = made(store, "alice", other_paths=True, tpm=10_000)
    headers = {"authorization": f"Bearer {key}"}
    with gateway(store=store) as running:
        running.ask("POST", "/openai/v1/embeddings", headers, json={"model": "m"})
        running.ask("POST", "/openai/v1/told", headers, json={})
        running.ask("POST", "/openai/v1/images/generations", headers, json={"model": "m"})
        with running.connect("/openai/v1/realtime", headers) as socket:
            socket.recv(timeout=60)
            for _ in range(2):
                socket.send(json.dumps({"type": "response.done", "response": {"usage": {"input_tokens": 1, "output_tokens": 2}}}))  # fmt: skip
                socket.recv(timeout=60)
    counts = [(report.usage.input_tokens, report.usage.output_tokens) for report in running.reports]
    assert [(7, 0), (5, 6), (14, 45), (2, 4)] == counts


USED = json.dumps({"type": "response.done", "response": {"usage": {"input_tokens": 10, "output_tokens": 20}}})  # fmt: skip
NEXT = '{"type": "response.create"}'


class Added(RamStore):
    """A store that says what was added to its counters."""

    def __init__(self):
        super().__init__()
        self.added = []

    async def count(self, amounts, seconds):
        self.added += [(name, amount) for name, amount in amounts.items() if amount]
        return await super().count(amounts, seconds)

    def sum_of(self, kind):
        return sum(amount for name, amount in self.added if kind in name)


@pytest.mark.parametrize(
    ("limits", "word"),
    [({"tpm": 60}, "60 tokens"), ({"budget": Budget(amount=0.06, period="day")}, "budget")],
)
def test_a_websocket_is_held_to_its_limits_while_it_is_open(limits, word, monkeypatch):
    """Its caller may talk for hours; what it used is counted once."""
    prices(monkeypatch)
    store = Added()
    key, _ = made(store, "alice", other_paths=True, **limits)
    with gateway(store=store) as running:
        with running.connect("/openai/v1/realtime?model=m", {"authorization": f"Bearer {key}"}) as socket:  # fmt: skip
            socket.recv(timeout=60)
            for _ in range(2):
                socket.send(USED)  # which this provider repeats
                assert USED == socket.recv(timeout=60)
            socket.send(NEXT)
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=60)
        assert 1008 == closed.value.rcvd.code
        assert word in closed.value.rcvd.reason
    assert pytest.approx(60 if "tpm" in limits else 0.06) == store.sum_of("/tokens/t") + store.sum_of("/cost/")  # fmt: skip
    assert 0 == store.sum_of("/reserved-tokens/")


@pytest.mark.parametrize("end", ["expired", "revoked"])
def test_a_key_that_ends_stops_an_open_websocket(end):
    store = RamStore()
    key, caller = made(store, "alice", other_paths=True, expires=1_900_000_000.0)
    with (
        gateway(store=store) as running,
        running.connect("/openai/v1/realtime", {"authorization": f"Bearer {key}"}) as socket,
    ):
        socket.recv(timeout=60)
        socket.send(NEXT)
        assert NEXT == socket.recv(timeout=60)
        callers = running.served.callers
        if end == "expired":
            callers.now = lambda: 1_900_000_001.0
        else:
            asyncio.run(keys_in_store(store).revoke([caller], 1_800_000_000.0))
            clock = callers._calls.clock
            callers._calls.clock = lambda: clock() + 60
        socket.send(NEXT)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
        assert (1008, True) == (closed.value.rcvd.code, end in closed.value.rcvd.reason)


@pytest.mark.parametrize("more", [{}, {"generate": False}], ids=["answer", "preparation"])
def test_a_revoked_key_gets_nothing_more_of_the_responses_api(more):
    store = RamStore()
    key, caller = made(store, "alice")
    request = json.dumps({"type": "response.create", "model": "openai/gpt-5.6", "input": "a", **more})  # fmt: skip
    with (
        gateway(store=store) as running,
        running.connect("/v1/responses", {"authorization": f"Bearer {key}"}) as socket,
    ):
        asyncio.run(keys_in_store(store).revoke([caller], 1_800_000_000.0))
        calls = running.served.callers._calls
        clock, calls.clock = calls.clock, lambda: clock() + 60
        socket.send(request)
        event = json.loads(socket.recv(timeout=60))
        assert ("error", 401) == (event["type"], event.get("status"))
        assert "revoked" in event["error"]["message"]


def test_tokens_are_reserved_for_what_is_passed_on():
    """Of several requests at once, none would see what the others use."""
    store = RamStore()
    key, _ = made(store, "alice", other_paths=True, tpm=4096)
    headers = {"authorization": f"Bearer {key}"}
    with (
        gateway(store=store) as running,
        running.connect("/openai/v1/realtime", headers) as socket,
    ):
        socket.recv(timeout=60)
        reply = running.ask("POST", "/openai/v1/embeddings", headers, json={"model": "m"})
        assert 429 == reply.status_code, reply.text
        assert 200 == running.ask("GET", "/openai/v1/files", headers).status_code


@pytest.mark.parametrize("limits", [{"tpm": 10_000}, {}], ids=str)
def test_answers_that_tell_no_tokens_are_estimated_for_a_limit(limits):
    store = RamStore()
    key, _ = made(store, "alice", other_paths=True, **limits)
    body = json.dumps({"model": "m", "prompt": "What is 15 * 23?", "stream": True}).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    with gateway(store=store) as running:
        running.ask("POST", "/openai/v1/completions", headers, content=body)
    (report,) = running.reports
    counts = (report.usage.input_tokens, report.usage.output_tokens)
    assert ((len(body) + 3) // 4, 3) if limits else (None, None) == counts
    assert (["tokens_estimated"] if limits else []) == [note.code for note in report.notes]


def test_a_header_beyond_ascii_arrives_as_it_is():
    with gateway() as running:
        reply = running.ask("GET", "/openai/v1/named")
        assert (200, "attachment; filename=ü.txt".encode()) == (reply.status_code, dict(reply.headers.raw)[b"content-disposition"])  # fmt: skip


def test_a_download_that_breaks_is_no_success():
    with gateway() as running:
        assert 200 == running.ask("GET", "/openai/v1/broken").status_code
    (report,) = running.reports
    assert (502, "ConnectionError") == (report.status, report.error)


# ---- web pages -----------------------------------------------------------------------------------

WRITES = [
    ("POST", "/v1/messages"),
    ("POST", "/v1/messages/count_tokens"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/responses/resp_1/cancel"),
    ("POST", "/v1/conversations"),
    ("POST", "/v1/conversations/conv_1"),
    ("POST", "/v1/conversations/conv_1/items"),
    ("POST", "/v1beta/models/m:generateContent"),
    ("POST", "/api/show"),
    ("POST", "/openai/v1/embeddings"),
    ("POST", "/openai/v1/files"),
]
PAGES = [{"origin": "https://page.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "null"}]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=str)
@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])  # fmt: skip
def test_a_web_page_writes_nothing(page, kind):
    """A browser sends these types to any address without asking it."""
    headers = {**page, "content-type": kind} if kind else page
    with gateway() as running:
        for method, path in WRITES:
            reply = running.ask(method, path, headers, content=b'{"metadata": {"a": "b"}}')
            assert reply.status_code in (403, 415), (path, reply.status_code)
        with pytest.raises(InvalidStatus), running.connect("/v1/responses", page):
            pass
        assert [] == running.provider.requests


def test_no_request_names_another_host():
    """A page whose name was made to lead to this machine could read as well."""
    reads = [("GET", "/v1/models"), ("GET", "/v1/responses/resp_1"), ("GET", "/view/")]
    json_body = {"content-type": "application/json"}
    with gateway() as running:
        for method, path in [*WRITES, *reads]:
            assert 403 != running.ask(method, path, json_body, content=b"{}").status_code, path
        count = len(running.provider.requests)
        for method, path in [*WRITES, *reads]:
            headers = {"host": "page.example", **json_body}
            connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=60)
            connection.request(method, path, b"{}", headers)
            assert 403 == connection.getresponse().status, path
            connection.close()
        assert count == len(running.provider.requests)


@pytest.mark.parametrize("path", ["/v1/responses", "/openai/v1/realtime"])
def test_a_websocket_names_one_host(path):
    store = RamStore()
    key, _ = made(store, "alice", other_paths=True)
    headers = {"authorization": f"Bearer {key}", "host": "other.example"}
    with gateway(store=store) as running:
        with pytest.raises(InvalidStatus) as raised, running.connect(path, headers):
            pass
        assert (400, []) == (raised.value.response.status_code, running.provider.requests)


def test_a_page_may_send_json_where_its_browser_asks_before():
    with gateway() as running:
        reply = running.ask("POST", "/v1/conversations", {"origin": "http://localhost:3000"}, json={})  # fmt: skip
        assert 200 == reply.status_code
