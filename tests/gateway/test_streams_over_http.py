"""Streams from one socket to the other, as `innervoice serve` has them: each event at once, and none faster than the client reads."""

import http.client
import json
import re
import socket
import threading
from contextlib import closing, suppress

import pytest

from cli.test_serve import Serve
from gateway.harness import BEHIND, Reply, body_of, read
from gateway.test_answer_streams import ASKED, complaints, recorded
from gateway.upstreams import frames
from innervoice import user

WAIT = 20
_BUFFER = 65_536
IDLE = 1.0
FRONTS = ["anthropic", "openai-chat", "openai-responses", "gemini"]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
each_front = pytest.mark.parametrize("front", FRONTS)
each_behind = pytest.mark.parametrize("behind", ["anthropic", "openai-chat"])


class Exchange:
    """One request, with both ends of its answer in the hands of a test."""

    def __init__(self, client, upstream):
        self.client, self.upstream = client, upstream
        self.received = b""

    def head(self):
        """Waits for the beginning of the answer."""
        self._reply = self.client.getresponse()

    def read_until(self, words):
        """Reads the answer until it has these words."""
        while words not in self.received:
            piece = self._reply.read1()
            assert piece, self.received[-500:]
            self.received += piece

    def read_all(self):
        """Reads the rest of the answer; its end is missing where the SDKs of an API would not see an error otherwise."""
        try:
            self.received += self._reply.read()
        except http.client.IncompleteRead as error:
            self.received += error.partial

    def answer(self, front):
        """What the client understands of it."""
        return read(Reply(self._reply.status, dict(self._reply.headers), self.received, []), front)


class Place:
    """A gateway, and the socket that it takes for its providers."""

    def __init__(self, serve, listening):
        self._serve, self._listening = serve, listening

    def ask(self, front, behind):
        """Sends a request, and waits until the upstream has it."""
        provider, _, model = BEHIND[behind].partition("/")
        path, body = body_of(front, f"{provider}-here/{model}", [user(ASKED)], stream=True)
        client = http.client.HTTPConnection("127.0.0.1", self._serve.port, timeout=WAIT)
        client.connect()
        # What is sent should wait in the gateway, or before it, and not in the buffers of this test.
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        client.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        upstream, _ = self._listening.accept()
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        upstream.settimeout(WAIT)
        data = upstream.recv(65536)
        while not data.endswith(b"}"):
            data += upstream.recv(65536)
        return Exchange(client, upstream)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(WAIT)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = f'retries = 0\nidle_seconds = {IDLE}\nstore = "sqlite:{folder / "gateway.db"}"\n'
        upstream = f'keys = ["env:UPSTREAM_KEY"]\nbase_url = "{url}"\n'
        tables = [
            f'[upstreams.{provider}-here]\nprovider = "{provider}"\n{upstream}'
            for provider in ("anthropic", "deepseek")
        ]
        (folder / "gateway.toml").write_text(f"[server]\n{server}" + "".join(tables))
        with Serve("--config", str(folder / "gateway.toml"), UPSTREAM_KEY="k") as serve:
            serve.greeting()
            yield Place(serve, listening)


@pytest.fixture
def begin(place):
    """Begins an answer of so many words, of which the client has read the first; returns the other pieces, too."""
    exchanges = []

    def begun(front, behind, count, size=0):
        before, text, after = words(behind, count, size)
        exchanges.append(exchange := place.ask(front, behind))
        exchange.upstream.sendall(HEAD + before + text[0])
        exchange.head()
        exchange.read_until(b"word0,")
        return exchange, text, after

    yield begun
    for exchange in exchanges:
        exchange.client.close()
        exchange.upstream.close()


TEXTS = {
    "anthropic": re.compile(rb'("type":\s?"text_delta",\s?"text":\s?")[^"]+'),
    "openai-chat": re.compile(rb'("delta":\s?{"content":\s?")[^"]+'),
}


def words(behind, count, size=0):
    """What comes before the text of an answer, an event for each word of it, and what comes after."""
    pieces, member = frames(recorded(behind)), TEXTS[behind]
    at = [number for number, piece in enumerate(pieces) if member.search(piece)]
    filling = b"x" * size
    text = [
        member.sub(rb"\g<1>word%d,%b " % (number, filling), pieces[at[0]])
        for number in range(count)
    ]
    return b"".join(pieces[: at[0]]), text, b"".join(pieces[at[-1] + 1 :])


@each_front
@each_behind
def test_an_event_does_not_wait_for_the_next(begin, front, behind):
    exchange, text, after = begin(front, behind, 30)
    for number, piece in enumerate(text[1:], 1):
        exchange.upstream.sendall(piece)
        exchange.read_until(b"word%d," % number)
    exchange.upstream.sendall(after)
    exchange.upstream.close()
    exchange.read_all()
    assert complaints(front, exchange.received) == []
    assert "".join(f"word{number}, " for number in range(30)) == exchange.answer(front).text


@each_front
def test_a_client_that_stops_reading_stops_the_upstream(begin, front):
    """What nobody reads waits at the provider, not in the memory of the gateway; then all of it arrives, in order."""
    count = 300
    exchange, text, after = begin(front, "anthropic", count, 50_000)
    rest, sent = memoryview(b"".join(text[1:]) + after), 0
    exchange.upstream.settimeout(0.7)
    with suppress(TimeoutError):
        while sent < len(rest):
            sent += exchange.upstream.send(rest[sent : sent + 100_000])
    assert sent < len(rest) * 2 / 3

    def send_rest():
        exchange.upstream.settimeout(WAIT)
        exchange.upstream.sendall(rest[sent:])
        exchange.upstream.close()

    sending = threading.Thread(target=send_rest)
    sending.start()
    exchange.read_all()
    sending.join(WAIT)
    answer = exchange.answer(front)
    assert [f"word{number}" for number in range(count)] == [
        word.partition(",")[0] for word in answer.text.split()
    ]
    assert len(answer.text) == sum(len(f"word{number}, ") + 50_000 for number in range(count))


@each_front
@each_behind
def test_an_upstream_that_breaks_off(begin, front, behind):
    exchange, text, _ = begin(front, behind, 3)
    exchange.upstream.sendall(text[1] + text[2][:20])
    exchange.upstream.close()
    exchange.read_all()
    assert complaints(front, exchange.received) == []
    assert b"word1," in exchange.received
    assert b"the stream ended before the answer did" in exchange.received


@each_front
def test_an_upstream_that_falls_silent(begin, front):
    exchange, text, _ = begin(front, "anthropic", 2)
    exchange.upstream.sendall(text[1])
    exchange.read_all()
    assert b"word1," in exchange.received
    assert f"no data for {IDLE:g} s".encode() in exchange.received


@each_front
@each_behind
def test_a_client_that_leaves(begin, front, behind):
    exchange, *_ = begin(front, behind, 1)
    exchange._reply.close()
    exchange.client.close()
    assert exchange.upstream.recv(1) == b"", "its answer is closed at the provider too"
