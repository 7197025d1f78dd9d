"""Requests over HTTP: one call, one stream, and concurrent streams; CPU time of the client."""

from __future__ import annotations

import socket
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit

from crew import Crew, Timing
from payloads import MAKERS, payload

CROWD = 64
_CROWDED = ("chat", "anthropic", "gemini", "responses")


def measure(crew: Crew) -> dict[str, dict[str, dict[str, Timing]]]:
    """Work -> payload -> contender."""
    return {
        "call": {name: crew.timings("call", name) for name in MAKERS},
        "stream": {name: crew.timings("stream", name) for name in MAKERS},
        "streams": {name: crew.timings("streams", name, crowd=CROWD) for name in _CROWDED},
    }


def upstream_pace(crew: Crew) -> float:
    """Seconds per delta that the test server takes, without any processing by the client."""
    address = urlsplit(crew.upstream.base)
    body = b'{"stream": true}'
    request = b"POST /chat/v1 HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    times = []
    with socket.create_connection((address.hostname or "", address.port or 0)) as connection:
        for _ in range(9):
            start = perf_counter()
            connection.sendall(request)
            tail = b""
            while not tail.endswith(b"\r\n0\r\n\r\n"):
                tail = tail[-16:] + connection.recv(1 << 20)
            times.append(perf_counter() - start)
    return median(times) / len(payload("chat").frames)
