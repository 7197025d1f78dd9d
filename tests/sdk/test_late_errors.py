"""A request that fails late is an exception in every official SDK, never an answer without content and never a wait without end.

Late is after seconds of silence, or after the first piece of the answer. By default a covering selection; `scripts/test sdk-matrix` runs all of it.
"""

import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

QUESTION = "What is 15 * 23?"
ASKED = [{"role": "user", "content": QUESTION}]
SILENCE = 0.8
"""Longer than `ping_seconds` below, and than the step of the timer."""
NEVER = 30
"""Longer than any limit below."""
PIECE = b'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "15"}}]}\n\n'
WHOLE = b'{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "mess'


class Upstream(BaseHTTPRequestHandler):
    """A provider that fails late; the model's name says how: `late-500` is silent before, `begun-500` has begun to answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        kind = next(word for word in (b"400", b"429", b"500", b"timeout", b"cut") if b"-" + word in data)  # fmt: skip
        try:
            if b"begun-" in data:
                self.begin(kind, is_stream=b'"stream":true' in data.replace(b" ", b""))
            else:
                self.refuse(kind)
        except OSError:
            pass  # the gateway has left
        self.close_connection = True

    def refuse(self, kind):
        time.sleep(NEVER if kind == b"timeout" else SILENCE)
        if kind == b"cut":
            return
        body = b'{"error": {"message": "The provider refuses.", "type": "some_error"}}'
        self.send_response(int(kind))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, kind, *, is_stream):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.chunk(PIECE if is_stream else WHOLE)
        time.sleep(NEVER if kind == b"timeout" else SILENCE)
        if kind not in (b"timeout", b"cut"):
            error = b'{"error": {"message": "The provider refuses.", "type": "some_error", "code": %s}}' % kind  # fmt: skip
            self.chunk(b"data: " + error + b"\n\n" if is_stream else error)
            self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def provider():
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.daemon_threads = True
        server.block_on_close = False
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
        '[server]\nping_seconds = 0.1\nretries = 0\n'
        f'first_byte_seconds = 1.5\nidle_seconds = 1.5\ntotal_seconds = 3\n{request.param}\n'
        '[[models]]\nname = "late-*"\nto = "slow/late-*"\n'
        '[[models]]\nname = "begun-*"\nto = "slow/begun-*"\n'
        f'[upstreams.slow]\nbase_url = "{provider}"\ndialect = "openai-chat"\n'
    )  # fmt: skip
    with GatewayInThread(create_app(Gateway(load_config(file, {}), {}))) as server:
        yield server.url, bool(request.param)


def anthropic(url, model, *, streamed):
    sdk = pytest.importorskip("anthropic")
    with sdk.Anthropic(api_key="a", base_url=url, max_retries=0) as client:
        if not streamed:
            return client.messages.create(model=model, messages=ASKED, max_tokens=9)
        with client.messages.stream(model=model, messages=ASKED, max_tokens=9) as stream:
            return stream.get_final_message()


def openai_chat(url, model, *, streamed):
    sdk = pytest.importorskip("openai")
    with sdk.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as client:
        answer = client.chat.completions.create(model=model, messages=ASKED, stream=streamed)
        return list(answer) if streamed else answer


def openai_chat_helper(url, model, *, streamed):
    sdk = pytest.importorskip("openai")
    with sdk.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as client:
        if not streamed:
            return client.chat.completions.parse(model=model, messages=ASKED)
        with client.chat.completions.stream(model=model, messages=ASKED) as stream:
            return stream.get_final_completion()


def openai_responses(url, model, *, streamed):
    sdk = pytest.importorskip("openai")
    with sdk.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as client:
        if not streamed:
            return client.responses.create(model=model, input=QUESTION)
        return list(client.responses.create(model=model, input=QUESTION, stream=True))


def openai_responses_helper(url, model, *, streamed):
    sdk = pytest.importorskip("openai")
    with sdk.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as client:
        if not streamed:
            return client.responses.parse(model=model, input=QUESTION)
        with client.responses.stream(model=model, input=QUESTION) as stream:
            return stream.get_final_response()


def google(url, model, *, streamed):
    sdk = pytest.importorskip("google.genai")
    with sdk.Client(api_key="a", http_options={"base_url": url}) as client:
        if not streamed:
            return client.models.generate_content(model=model, contents=QUESTION)
        return list(client.models.generate_content_stream(model=model, contents=QUESTION))


def google_interactions(url, model, *, streamed):
    sdk = pytest.importorskip("google.genai")
    once = sdk.types.HttpOptions(base_url=url, retry_options=sdk.types.HttpRetryOptions(attempts=1))
    with sdk.Client(api_key="a", http_options=once) as client:
        answer = client.interactions.create(model=model, input=QUESTION, stream=streamed)
        return list(answer) if streamed else answer


def mistral(url, model, *, streamed):
    sdk = pytest.importorskip("mistralai.client")
    with sdk.Mistral(api_key="a", server_url=f"{url}/mistral") as client:
        if not streamed:
            return client.chat.complete(model=model, messages=ASKED)
        with client.chat.stream(model=model, messages=ASKED) as stream:
            return list(stream)


def cohere(url, model, *, streamed):
    sdk = pytest.importorskip("cohere")
    with sdk.ClientV2(api_key="a", base_url=f"{url}/cohere") as client:
        once = {"request_options": {"max_retries": 0}}
        if not streamed:
            return client.chat(model=model, messages=ASKED, **once)
        return list(client.chat_stream(model=model, messages=ASKED, **once))


def ollama(url, model, *, streamed):
    sdk = pytest.importorskip("ollama")
    with sdk.Client(host=url) as client:
        answer = client.chat(model=model, messages=ASKED, stream=streamed)
        return list(answer) if streamed else answer


def boto3(url, model, *, streamed):
    sdk = pytest.importorskip("boto3")
    once = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1})
    session = sdk.session.Session(
        aws_access_key_id="a", aws_secret_access_key="a", region_name="us-east-1"
    )
    client = session.client("bedrock-runtime", endpoint_url=url, config=once)
    asked = {"modelId": model, "messages": [{"role": "user", "content": [{"text": QUESTION}]}]}
    try:
        return list(client.converse_stream(**asked)["stream"]) if streamed else client.converse(**asked)  # fmt: skip
    finally:
        client.close()


SDKS = [anthropic, openai_chat, openai_chat_helper, openai_responses, openai_responses_helper, google, google_interactions, mistral, cohere, ollama, boto3]  # fmt: skip
FAILURES = [f"{when}-{kind}" for when in ("late", "begun") for kind in ("400", "429", "500", "timeout", "cut")]  # fmt: skip
ALL = [(ask, model, streamed) for ask in SDKS for model in FAILURES for streamed in (False, True)]
# Each SDK with two failures, whole or streamed, and each failure with two SDKs.
COVERING = [case for number, case in enumerate(ALL) if number % 10 == SDKS.index(case[0]) % 10]
CASES = ALL if os.environ.get("INNERVOICE_ALL_SDKS") else COVERING
STATUSES = {"400": 400, "429": 429, "500": 500, "timeout": 504, "cut": 502}


@pytest.mark.parametrize(
    ("ask", "model", "streamed"),
    CASES,
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_late_failure_is_an_exception(gateway, ask, model, streamed):
    url, has_pings = gateway
    began = time.monotonic()
    with pytest.raises(Exception) as raised:  # each SDK has its own
        ask(url, model, streamed=streamed)

    assert time.monotonic() - began < 10
    error = raised.value
    assert not isinstance(error, (AssertionError, AttributeError, TypeError)), repr(error)
    if not (has_pings or streamed):
        # A body that has begun, and is no answer, tells nothing of its provider's status.
        status = STATUSES[model.partition("-")[2]]
        expected = {status} if model.startswith("late-") else {status, 502}
        assert _status(error) in expected, repr(error)


def _status(error):
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        return answer["ResponseMetadata"]["HTTPStatusCode"]
    return getattr(error, "status_code", None) or getattr(error, "code", None)
