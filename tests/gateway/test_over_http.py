"""A gateway at a real port: what comes over the wire, and what does not."""

import asyncio
import http.client
import json
import socket
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

import pytest

from gateway.harness import Served, Upstream
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.gateway.outgoing import Connections

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
QUESTION = {
    "model": "anthropic/claude-opus-5-5",
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 15 * 23?"}],
}


class OverHttp:
    """A gateway on the emulator, at a port of this machine."""

    def __init__(self, server, served):
        self.served = served
        self.port = int(server.url.rpartition(":")[2])

    def raw(self, data, seconds=10):
        """What comes back for these bytes, up to the end of the head."""
        with closing(socket.create_connection(("127.0.0.1", self.port), seconds)) as connection:
            connection.sendall(data)
            reply = b""
            while b"\r\n\r\n" not in reply and (piece := connection.recv(65536)):
                reply += piece
        return reply

    def post(self, body, **headers):
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers = {"content-type": "application/json", **headers}
            connection.request("POST", "/v1/messages", data, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()


@pytest.fixture
def gateway():
    served = Served(upstream=Upstream())
    with GatewayInThread(served.app) as server:
        yield OverHttp(server, served)


def test_a_body_of_which_nothing_comes_is_given_up(gateway):
    gateway.served.gateway.limits = replace(gateway.served.gateway.limits, body_seconds=0.1)
    head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"

    assert gateway.raw(head + b"content-length: 100\r\n\r\n").startswith(b"HTTP/1.1 408 ")


HOSTS = {
    "none": (b"HTTP/1.1", b"", 400),
    "two": (b"HTTP/1.1", b"host: localhost\r\nhost: localhost\r\n", 400),
    "two, one foreign": (b"HTTP/1.1", b"host: localhost\r\nHost: evil.example\r\n", 400),
    "one": (b"HTTP/1.1", b"host: localhost\r\n", 200),
    "none, which HTTP/1.0 allows": (b"HTTP/1.0", b"", 200),
}


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("path", ["/v1/models", "/health/live", "/view"])
def test_a_request_names_one_host(gateway, path, hosts):
    version, headers, status = HOSTS[hosts]
    reply = gateway.raw(b"GET %s %s\r\n%s\r\n" % (path.encode(), version, headers))
    expected = {400} if status == 400 else {200, 303, 307, 404}

    assert int(reply.split()[1]) in expected, reply


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize("place", ["temperature", "message", "appended"])
def test_a_number_that_is_none_is_refused_and_never_sent(gateway, number, place):
    answers = [{"role": "assistant", "content": "345"}, {"role": "user", "content": "Thanks."}]
    if place == "appended":
        assert 200 == gateway.post(QUESTION)[0]
    member = {"temperature": "NUMBER"} if place == "temperature" else {}
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": "NUMBER"}}
    messages = [*QUESTION["messages"], *answers]
    if place != "temperature":
        messages[1] = {"role": "assistant", "content": [call]}
        messages[2] = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}],
        }
    body = json.dumps({**QUESTION, **member, "messages": messages}).replace('"NUMBER"', number)
    before = len(gateway.served.upstream.bodies)
    status, reply = gateway.post(body.encode())

    assert 400 == status, reply
    assert b"the body is not valid JSON" in reply
    assert before == len(gateway.served.upstream.bodies)


@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", "openai/gpt-5.6"])
def test_the_trace_of_a_client_goes_on(gateway, model):
    gateway.post({**QUESTION, "model": model}, traceparent=TRACE, tracestate="vendor=1")
    sent = {name.lower(): value for name, value in gateway.served.upstream.headers[-1].items()}

    assert (TRACE, "vendor=1") == (sent["traceparent"], sent["tracestate"])
    assert TRACE == gateway.served.reports[-1].trace


@pytest.mark.parametrize("trace", ["", "00-0-0-01", TRACE.replace("4bf9", "xyz!"), f"00-{'0' * 32}-{'1' * 16}-01"])  # fmt: skip
def test_a_trace_that_is_none_ends_here(gateway, trace):
    gateway.post(QUESTION, traceparent=trace, tracestate="vendor=1")
    sent = {name.lower() for name in gateway.served.upstream.headers[-1]}

    assert not {"traceparent", "tracestate"} & sent
    assert "" == gateway.served.reports[-1].trace


@contextmanager
def upstream_that_sends(body, length):
    """The base URL of a server that declares a length, sends this body, and closes the connection."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def answer():
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        connection.recv(1 << 20)
                        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"  # fmt: skip
                        connection.sendall(head.encode() + body)

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", "openai/gpt-5.6"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_body_cut_short_of_its_length_is_an_error(model, stream):
    """Forwarded as bytes, or read and rewritten; a beginning of JSON must never pass for an answer."""
    recorder = Served()
    path, body = "/v1/messages", {**QUESTION, "model": model, "stream": stream}
    recorder.ask("POST", path, body)
    whole = recorder.upstream.raw_answers[-1]
    with upstream_that_sends(whole[: len(whole) // 2], len(whole)) as url:

        async def play():
            served = Served(http=Connections().http, base_url_of=lambda _: url)
            reply = await served.call("POST", path, body)
            await served.gateway.close()
            return reply, served.reports[-1]

        reply, report = asyncio.run(play())

    assert (502, "AnswerInterruptedError") == (report.status, report.error)
    assert stream or reply.status == 502
    assert b"interrupted" in reply.body
