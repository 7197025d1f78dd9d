"""A key that is exchanged for a token before the request, as IBM wants it; the server of tokens is on the loopback."""

import asyncio
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import httpx2
import pytest

import innervoice as iv
from innervoice.canon.bounded import Bounded
from innervoice.client import auth as token_exchange
from innervoice.emulator import emulated_client

MODEL = "watsonx/ibm/granite-4-h-small"
SECRET, TOKEN = "the-api-key-of-ibm", "eyJ.the-token"
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}


class Clock:
    now = 1000.0


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Time that stands still, and an empty memory."""
    clock = Clock()
    monkeypatch.setattr(token_exchange, "monotonic", lambda: clock.now)
    monkeypatch.setattr(token_exchange, "sleep", lambda _: None)
    monkeypatch.setattr(token_exchange, "_tokens", Bounded(1000))
    return clock


class Server(ThreadingHTTPServer):
    """Answers with (status, body) after the other, the last again and again; None closes the connection."""

    def __init__(self, *answers) -> None:
        self.answers, self.requests = list(answers), []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/identity/token"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.server.requests.append({name: value[0] for name, value in parse_qs(body).items()})
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            self.close_connection = True
            return
        status, content = answer
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(*answers):
    server = Server(*answers)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def token(text=TOKEN, seconds=3600):
    return 200, {"access_token": text, "expires_in": seconds, "token_type": "Bearer"}


def client(server, seen, **settings):
    def handle(request):
        seen.append(request)
        return httpx2.Response(200, json=ANSWER)

    environ = {"WATSONX_IAM_URL": server.url, "WATSONX_API_KEY": SECRET, "WATSONX_REGION": "eu-de", "WATSONX_PROJECT_ID": "p1"}  # fmt: skip
    environ |= settings.pop("environ", {})
    http = httpx2.Client(transport=httpx2.MockTransport(handle))
    return iv.Client(http=http, environ=environ, **settings)


def bearers(seen):
    return [request.headers["authorization"] for request in seen]


def test_a_token_for_a_key():
    seen = []
    with serving(token()) as server:
        assert "Hi" == client(server, seen).ask(MODEL, "Hello").text
    (request,) = seen

    assert [{"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": SECRET}] == server.requests  # fmt: skip
    assert [f"Bearer {TOKEN}"] == bearers(seen)
    assert "https://eu-de.ml.cloud.ibm.com/ml/v1/text/chat?version=2025-02-06" == str(request.url)
    body = json.loads(request.content)
    assert ("ibm/granite-4-h-small", "p1") == (body["model_id"], body["project_id"])
    assert not {"model", "stream"} & body.keys()


def test_a_token_is_used_until_shortly_before_its_end(clock):
    seen = []
    with serving(token("one", 100), token("two", 100)) as server:
        asked = client(server, seen)
        for seconds in (0, 89, 2):
            clock.now += seconds
            asked.ask(MODEL, "Hello")

    assert ["Bearer one", "Bearer one", "Bearer two"] == bearers(seen)
    assert 2 == len(server.requests)


@pytest.mark.parametrize("seconds", [None, "soon", True, -5])
def test_a_token_of_unknown_life_is_for_one_request(seconds):
    seen = []
    with serving(token("one", seconds), token("two", seconds)) as server:
        for _ in range(2):
            client(server, seen).ask(MODEL, "Hello")

    assert 2 == len(server.requests)


def test_clients_share_tokens_of_a_key_and_of_no_other():
    seen = []
    with serving(token("one"), token("two")) as server:
        for key in (SECRET, SECRET, "another-key"):
            client(server, seen, environ={"WATSONX_API_KEY": key}).ask(MODEL, "Hello")

    assert ["Bearer one", "Bearer one", "Bearer two"] == bearers(seen)


def test_one_of_many_asks():
    seen = []
    with serving(token()) as server, ThreadPoolExecutor(8) as pool:
        asked = client(server, seen)
        list(pool.map(lambda _: asked.ask(MODEL, "Hello"), range(8)))

    assert 1 == len(server.requests)
    assert {f"Bearer {TOKEN}"} == set(bearers(seen))


@pytest.mark.parametrize("failure", [None, (500, b"no"), (503, {}), (429, {})])
def test_a_failure_that_passes(failure):
    seen = []
    with serving(failure, token()) as server:
        assert "Hi" == client(server, seen).ask(MODEL, "Hello").text

    assert 2 == len(server.requests)


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (None, iv.ConnectionFailedError),
        ((500, b"no"), iv.ServerError),
        ((400, {"errorCode": "BXNIM0415E", "errorMessage": f"Provided API key {SECRET} could not be found."}), iv.AuthenticationError),
        ((401, b"<html>"), iv.AuthenticationError),
        ((200, b"no JSON"), iv.AuthenticationError),
        ((200, []), iv.AuthenticationError),
        ((200, {"access_token": 5}), iv.AuthenticationError),
        ((200, {"access_token": "two\nlines"}), iv.AuthenticationError),
        ((200, b"[" * 100_000), iv.AuthenticationError),
    ],
)  # fmt: skip
def test_a_failure_that_stays(failure, error, caplog):
    """An error of the kind it is, before anything is sent, without the key."""
    seen = []
    with (
        caplog.at_level(logging.DEBUG),
        serving(failure) as server,
        pytest.raises(error, match="watsonx") as caught,
    ):
        client(server, seen).ask(MODEL, "Hello")

    assert [] == seen
    assert SECRET not in f"{caught.value} {caught.value!r} {caplog.text}"
    assert "watsonx" == caught.value.provider


def test_an_old_token_serves_while_no_new_one_comes(clock):
    """In the last tenth of its life a token is still valid."""
    seen = []
    with serving(token("one", 100), (500, b"no")) as server:
        asked = client(server, seen)
        asked.ask(MODEL, "Hello")
        clock.now += 95
        asked.ask(MODEL, "Hello")
        clock.now += 10
        with pytest.raises(iv.ServerError):
            asked.ask(MODEL, "Hello")

    assert ["Bearer one"] * 2 == bearers(seen)


def test_tokens_are_not_shown(caplog):
    with caplog.at_level(logging.DEBUG), serving(token()) as server:
        client(server, []).ask(MODEL, "Hello")

    assert TOKEN not in repr(token_exchange._tokens) + caplog.text
    assert SECRET not in repr(token_exchange._tokens) + caplog.text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"environ": {"WATSONX_TOKEN": "own"}}, "Bearer own"),
        ({"headers": {"authorization": "Bearer given"}}, "Bearer given"),
        ({"environ": {"WATSONX_IAM_URL": ""}, "base_url": "http://x.test", "keys": {"watsonx": "k"}}, "Bearer k"),
    ],
)  # fmt: skip
def test_nothing_is_exchanged(settings, expected):
    """A token is sent as it is, and so is a key to a base URL that the caller chose."""
    seen = []
    with serving(token()) as server:
        client(server, seen, **settings).ask(MODEL, "Hello")

    assert [expected] == bearers(seen)
    assert [] == server.requests


def test_a_key_that_is_passed():
    seen = []
    with serving(token()) as server:
        asked = client(server, seen, keys={"watsonx": lambda: "a-key"})
        asked.ask(MODEL, "Hello")

    assert ["a-key"] == [request["apikey"] for request in server.requests]
    assert [f"Bearer {TOKEN}"] == bearers(seen)


def test_an_async_client():
    seen = []

    def handle(request):
        seen.append(request)
        return httpx2.Response(200, json=ANSWER)

    async def ask(server):
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
        environ = {"WATSONX_IAM_URL": server.url, "WATSONX_API_KEY": SECRET, "WATSONX_REGION": "eu-de"}  # fmt: skip
        return (await iv.AsyncClient(http=http, environ=environ).ask(MODEL, "Hello")).text

    with serving(token()) as server:
        assert "Hi" == asyncio.run(ask(server))
    assert [f"Bearer {TOKEN}"] == bearers(seen)


def test_the_project_of_the_caller():
    seen = []
    with serving(token()) as server:
        client(server, seen).ask(MODEL, "Hello", extra={"space_id": "s"})
        client(server, seen, environ={"WATSONX_PROJECT_ID": "", "WX_SPACE_ID": "s2"}).ask(MODEL, "Hi")  # fmt: skip
    bodies = [json.loads(request.content) for request in seen]

    assert ["s", "s2"] == [body["space_id"] for body in bodies]
    assert not any("project_id" in body for body in bodies)


def test_a_deployment():
    """Its id stands in the path, and neither a model nor a project in the body."""
    seen = []
    with serving(token()) as server:
        client(server, seen).ask("watsonx-deployment/8f3c", "Hello")
    (request,) = seen

    assert "/ml/v1/deployments/8f3c/text/chat?version=2025-02-06" == request.url.raw_path.decode()
    assert ["messages"] == list(json.loads(request.content))
    assert [f"Bearer {TOKEN}"] == bearers(seen)


@pytest.mark.parametrize("model", ["watsonx/openai/gpt-oss-120b", "watsonx-deployment/8f3c"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_loop_at_the_emulator(stream, model):
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"sunny in {city}"

    talk = emulated_client().conversation(model, tools=[weather], reasoning="high")
    response = talk.ask("What is the weather in Lisbon?", stream=stream, tool_choice="auto")

    assert "sunny" in response.text
    assert talk.responses[0].thinking
