"""A request that fails after a long silence is an exception in every official SDK, never an answer without content."""

import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

pytest.importorskip("aiohttp")

ASKED = [{"role": "user", "content": "What is 15 * 23?"}]
SILENCE = 0.8
"""Longer than `ping_seconds` below, and than the step of the timer."""


class Upstream(BaseHTTPRequestHandler):
    """A provider that is silent for a while, and then refuses; the model's name says how."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        status = next(code for code in (400, 429, 500) if b"-%d" % code in data)
        time.sleep(SILENCE)
        body = b'{"error": {"message": "The provider refuses.", "type": "some_error"}}'
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def provider():
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture(scope="module", params=["", "whole_ping_seconds = 0.1"], ids=["default", "pings"])
def gateway(request, provider, tmp_path_factory):
    """A gateway with a configuration file, and whether white space is sent before whole answers."""
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import load_config
    from innervoice.gateway.in_thread import GatewayInThread

    file = tmp_path_factory.mktemp("gateway") / "gateway.toml"
    file.write_text(
        f'[server]\nping_seconds = 0.1\nretries = 0\n{request.param}\n'
        '[[models]]\nname = "late-*"\nto = "slow/late-*"\n'
        f'[upstreams.slow]\nbase_url = "{provider}"\ndialect = "openai-chat"\n'
    )  # fmt: skip
    with GatewayInThread(create_app(Gateway(load_config(file, {}), {}))) as server:
        yield server.url, bool(request.param)


def anthropic(url, model):
    sdk = pytest.importorskip("anthropic")
    with sdk.Anthropic(api_key="a", base_url=url, max_retries=0) as client:
        client.messages.create(model=model, messages=ASKED, max_tokens=9)


def openai_chat(url, model):
    sdk = pytest.importorskip("openai")
    with sdk.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as client:
        client.chat.completions.create(model=model, messages=ASKED)


def openai_responses(url, model):
    sdk = pytest.importorskip("openai")
    with sdk.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as client:
        client.responses.create(model=model, input="What is 15 * 23?")


def google(url, model):
    sdk = pytest.importorskip("google.genai")
    client = sdk.Client(api_key="a", http_options={"base_url": url})
    try:
        client.models.generate_content(model=model, contents="What is 15 * 23?")
    finally:
        client.close()


def mistral(url, model):
    sdk = pytest.importorskip("mistralai.client")
    with sdk.Mistral(api_key="a", server_url=f"{url}/mistral") as client:
        client.chat.complete(model=model, messages=ASKED)


def cohere(url, model):
    sdk = pytest.importorskip("cohere")
    with sdk.ClientV2(api_key="a", base_url=f"{url}/cohere") as client:
        client.chat(model=model, messages=ASKED, request_options={"max_retries": 0})


@pytest.mark.parametrize("status", [400, 429, 500])
@pytest.mark.parametrize("ask", [anthropic, openai_chat, openai_responses, google, mistral, cohere])
def test_a_late_error_is_an_exception(gateway, ask, status):
    url, has_pings = gateway

    with pytest.raises(Exception) as raised:  # each SDK has its own
        ask(url, f"late-{status}")

    error = raised.value
    assert not isinstance(error, (AssertionError, AttributeError, TypeError)), repr(error)
    if not has_pings:
        told = getattr(error, "status_code", None) or getattr(error, "code", None)
        assert status == told, repr(error)
