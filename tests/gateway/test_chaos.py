"""Upstreams that break in every way, behind every client's API: each request has exactly one legal end, over real connections.

A whole answer, or an error with a status, or, in a stream that has begun, the dialect's own error. Never a 200 without content, two ends, or a wait
without end. By default each behaviour and front with two upstream dialects; `scripts/test sdk-matrix` runs all nine.
"""

import gzip
import http.client
import json
import os
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest

import innervoice as iv
from gateway.harness import HOMES, body_of
from gateway.test_answer_streams import ASKED, complaints, recorded, whole_body
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig, NamedModel, ServerSettings, UpstreamSettings
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.refusals import failure_of

TEXT = "15 * 23 = 345."
LONGEST = 10.0
"""Seconds in which each request must end; the limits of the gateway below are shorter."""


# ---- what an upstream does --------------------------------------------------------------------------


def head(status, kind, *more):
    lines = [f"HTTP/1.1 {status} Whatever", f"content-type: {kind}", *more, "", ""]
    return "\r\n".join(lines).encode()


def sized(status, kind, body, *more):
    return head(status, kind, f"content-length: {len(body)}", *more) + body


def reset(connection):
    """Breaks the connection off, without an orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Asked:
    """One request to the upstream, and what a working one would answer."""

    def __init__(self, connection, dialect, *, stream):
        self.connection, self.dialect, self.stream = connection, dialect, stream
        self.kind = dialect_named(dialect).media_type if stream else "application/json"
        self.answer = RECORDED[dialect, stream]

    def send(self, data):
        self.connection.sendall(data)

    def begin(self, body):
        """The head of an answer without a length, and the beginning of its body."""
        self.send(head(200, self.kind, "connection: close") + body)


def between_events(data):
    places = [data.find(mark, len(data) // 2) + len(mark) for mark in (b"\n\n", b"\n") if mark in data]  # fmt: skip
    return data[: places[0] if places else len(data) // 2]


def error_in_stream(asked):
    from innervoice.wire.refusals import Refusal

    row = dialect_named(asked.dialect)
    if not asked.stream:
        asked.send(
            sized(500, asked.kind, b'{"error": {"message": "broken", "type": "server_error"}}')
        )
        return
    frame = row.server.write_stream_error(Refusal(text="broken inside", status=500))
    begun = between_events(asked.answer) if asked.dialect != "bedrock-converse" else b""
    asked.begin(begun + row.framing(frame))


def silent(asked):
    asked.begin(b"")
    asked.connection.settimeout(LONGEST)
    asked.connection.recv(1)  # until the gateway leaves


def late(status):
    def refuse(asked):
        time.sleep(0.3)
        asked.send(sized(status, "application/json", b'{"error": {"message": "broken", "type": "server_error"}}'))  # fmt: skip

    return refuse


def wrong_length(asked):
    asked.send(head(200, asked.kind, f"content-length: {len(asked.answer) + 100}") + asked.answer[: len(asked.answer) // 2])  # fmt: skip


def other_form(asked):
    """A body in answer to a stream, and a stream in answer to a whole request."""
    row = dialect_named(asked.dialect)
    kind = "application/json" if asked.stream else row.media_type
    asked.send(sized(200, kind, RECORDED[asked.dialect, not asked.stream]))


def huge(asked):
    word = json.dumps(TEXT)[1:-1].encode()
    asked.send(sized(200, asked.kind, b'{"x": "' + b"y" * 5_000_000 + b'"}\n\n' + word))


BEHAVIOURS = {
    "refuses the connection": None,
    "resets before the head": lambda asked: reset(asked.connection),
    "resets after the head": lambda asked: (asked.begin(b""), reset(asked.connection)),
    "closes after the head": lambda asked: asked.begin(b""),
    "cut in an event": lambda asked: asked.begin(asked.answer[: len(asked.answer) // 2 + 3]),
    "cut between events": lambda asked: asked.begin(between_events(asked.answer) if asked.stream else asked.answer[:-2]),
    "reset in an event": lambda asked: (asked.begin(asked.answer[: len(asked.answer) // 2 + 3]), reset(asked.connection)),
    "silent, then closes": lambda asked: (asked.begin(b""), time.sleep(0.3)),
    "silent": silent,
    "wrong content type": lambda asked: asked.send(sized(200, "text/html", asked.answer)),
    "other form": other_form,
    "error inside": error_in_stream,
    "empty": lambda asked: asked.send(sized(200, asked.kind, b"")),
    "an empty object": lambda asked: asked.send(sized(200, "application/json", b"{}")),
    "garbage": lambda asked: asked.send(sized(200, asked.kind, b"\x00\xff<html>nothing</html>\n\n")),
    "no HTTP": lambda asked: asked.send(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "shorter than its length": wrong_length,
    "broken gzip": lambda asked: asked.send(sized(200, asked.kind, gzip.compress(asked.answer)[:-200] + b"x" * 20, "content-encoding: gzip")),
    "huge and nothing": huge,
    "late 500": late(500),
    "late 429": late(429),
    "redirect": lambda asked: asked.send(sized(302, "text/plain", b"", "location: http://127.0.0.1:1/")),
    "204": lambda asked: asked.send(head(204, asked.kind)),
}  # fmt: skip
COMPLETE = {"wrong content type", "other form"}
"""Where an answer can be read, and may be given."""
STATUSES = {"late 500": {500}, "late 429": {429}, "error inside": {500, 502}, "silent": {504}}
FORMS = (False, True)
RECORDED = {}


class Upstreams:
    """A server whose paths name what happens: `/NUMBER/DIALECT/...`."""

    def __init__(self):
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._listening.close()

    def _serve(self):
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        with closing(connection), suppress(OSError):
            connection.settimeout(LONGEST)
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            top, _, body = data.partition(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length"))  # fmt: skip
            while len(body) < length:
                body += connection.recv(65536)
            path = top.split(b" ")[1].decode()
            _, number, dialect, rest = path.split("/", 3)
            stream = "stream" in rest.lower() or b'"stream":true' in body.replace(b" ", b"")
            behave = list(BEHAVIOURS.values())[int(number)]
            behave(Asked(connection, dialect, stream=stream))


@pytest.fixture(scope="module")
def place():
    """A gateway whose models are the pairs of behaviours and dialects, and the port of it."""
    for dialect in DIALECTS:
        RECORDED[dialect, True], RECORDED[dialect, False] = recorded(dialect), whole_body(dialect)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        nobody = free.getsockname()[1]
    upstreams = Upstreams()
    settings, models = {}, []
    for number, behave in enumerate(BEHAVIOURS.values()):
        for dialect in DIALECTS:
            port = upstreams.port if behave else nobody
            key = f"u{number}-{dialect}"
            provider, _, model = HOMES[dialect].partition("/")
            settings[key] = UpstreamSettings(provider=provider, dialect=dialect, base_url=f"http://127.0.0.1:{port}/{number}/{dialect}", keys=("env:KEY",))  # fmt: skip
            models.append(NamedModel(name=f"m{number}-{dialect}", to=(f"{key}/{model}",)))
    server = ServerSettings(retries=0, ping_seconds=0.2, first_byte_seconds=1, idle_seconds=1, total_seconds=4, connect_seconds=2)  # fmt: skip
    gateway = Gateway(GatewayConfig(server=server, models=tuple(models), upstreams=settings), {"KEY": "k"})  # fmt: skip
    with GatewayInThread(create_app(gateway)) as served:
        yield int(served.url.rpartition(":")[2])
    upstreams.close()


# ---- what the client gets ----------------------------------------------------------------------------


def asked(port, front, model, *, stream):
    """The status, the body, and whether the connection was broken off."""
    path, body = body_of(front, model, [iv.user(ASKED)], stream=stream)
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)) as connection:
        connection.request("POST", path, json.dumps(body).encode(), {"content-type": "application/json"})  # fmt: skip
        reply = connection.getresponse()
        try:
            return reply.status, reply.read(), False
        except http.client.IncompleteRead as error:
            return reply.status, error.partial, True


def problem(port, behaviour, front, behind, *, stream):
    """What is wrong with the end of a request; None if nothing is."""
    number = list(BEHAVIOURS).index(behaviour)
    began = time.monotonic()
    try:
        status, body, is_broken = asked(port, front, f"m{number}-{behind}", stream=stream)
    except OSError as error:
        return f"no answer: {error!r}"
    if time.monotonic() - began > LONGEST:
        return "too long"
    if status != 200:
        return _refusal_problem(behaviour, status, body, is_broken=is_broken)
    return _answer_problem(behaviour, front, body, stream=stream, is_broken=is_broken)


def _answer_problem(behaviour, front, body, *, stream, is_broken):
    if stream and (found := complaints(front, body)):
        return f"{found}: {body[-300:]!r}"
    try:
        answer = iv.decode(body, dialect=front, model=HOMES[front])
        failed = answer.error is not None
    except iv.ProviderError:
        failed = True
    except iv.InnervoiceError as error:
        return f"unreadable: {error}: {body[:300]!r}"
    if failed:
        return None if stream else f"an error with status 200: {body[:300]!r}"
    is_whole = (TEXT, "stop", False) == (answer.text, answer.finish_reason, is_broken)
    return None if behaviour in COMPLETE and is_whole else f"an answer: {answer.text!r}, broken: {is_broken}"  # fmt: skip


def _refusal_problem(behaviour, status, body, *, is_broken):
    if is_broken or status not in STATUSES.get(behaviour, {502}):
        return f"status {status}: {body[:300]!r}"
    if behaviour in COMPLETE:
        return f"an answer that can be read is refused: {body[:300]!r}"
    return None if failure_of(json.loads(body)).message else f"no message: {body[:300]!r}"


def upstreams_of(behaviour, front):
    if os.environ.get("INNERVOICE_ALL_SDKS"):
        return list(DIALECTS)
    names = list(DIALECTS)
    step = 1 + list(BEHAVIOURS).index(behaviour) % (len(names) - 1)
    return [front, names[(names.index(front) + step) % len(names)]]


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_each_request_has_one_legal_end(place, behaviour, front):
    cases = [(behind, stream) for behind in upstreams_of(behaviour, front) for stream in FORMS]
    with ThreadPoolExecutor(len(cases)) as pool:
        ends = pool.map(lambda case: problem(place, behaviour, front, case[0], stream=case[1]), cases)  # fmt: skip
    found = [(behind, "stream" if stream else "whole", end) for (behind, stream), end in zip(cases, ends, strict=True) if end]  # fmt: skip

    assert [] == found
