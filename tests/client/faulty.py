"""A server on the loopback that does what servers should not: it plays a script for every request.

A script is a list of bytes to send, seconds to wait, and one of the words below. After a script that ends without a word the
connection stays open for the next request. The last script is played for all requests that follow.
"""

import gzip
import json
import socket
import struct
import threading
import time

CLOSE = "close"
RESET = "reset"
SILENCE = "silence"  # until the other side goes away

WHOLE = {
    "id": "c1",
    "model": "deepseek-v4",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "It is 345.", "reasoning_content": "Hmm."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
}


def delta(finish=None, **members):
    """One frame of a stream of chat."""
    chunk = {"id": "c1", "choices": [{"index": 0, "delta": members, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


THOUGHT = delta(reasoning_content="Hmm.")
WORDS = delta(content="It is ")
REST = delta(content="345.")
STOP = delta(finish="stop")
DONE = b"data: [DONE]\n\n"
FRAMES = [THOUGHT, WORDS, REST, STOP, DONE]
COMMENT = b": still thinking\n\n"


def head(status=200, length=None, kind="application/json", **headers):
    """The head of an answer; without a length it is chunked."""
    lines = [f"HTTP/1.1 {status} Whatever", f"content-type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines.append("transfer-encoding: chunked" if length is None else f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(data):
    """A piece of a chunked body; nothing ends it."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def whole(value=WHOLE, status=200, **headers):
    """The script of a whole answer."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return [head(status, len(body), **headers) + body]


def stream(*frames):
    """The script of a streamed answer."""
    return [head(kind="text/event-stream"), *(chunk(frame) for frame in frames), chunk(b"")]


def zipped(*frames):
    """The same, compressed."""
    data = gzip.compress(b"".join(frames))
    return [
        head(len(data) and 200, len(data), kind="text/event-stream", content_encoding="gzip"),
        data[:20],
        data[20:],
    ]


class Endless:
    """A script that repeats its last steps until the other side leaves."""

    def __init__(self, *first, again):
        self._first, self._again = first, again

    def __iter__(self):
        yield from self._first
        while True:
            yield from self._again


class Faulty:
    """Plays scripts, for the time of a `with` block."""

    def __init__(self, *scripts):
        self._scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.requests = []
        self.asked = threading.Event()
        self.connections = 0
        self._threads = []
        self._lock = threading.Lock()

    def __enter__(self):
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *_):
        # A blocked accept is not woken by closing; a last connection is what wakes it.
        self._scripts = None
        socket.create_connection(self._listener.getsockname()).close()
        self._acceptor.join(5)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)
            assert not thread.is_alive(), "the client left a connection open"

    def _accept(self):
        while True:
            connection, _ = self._listener.accept()
            if self._scripts is None:
                connection.close()
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=[connection], daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection):
        connection.settimeout(5)
        with connection:
            try:
                while (request := self._request(connection)) is not None:
                    with self._lock:
                        self.requests.append(request)
                        number = len(self.requests) - 1
                    self.asked.set()
                    script = self._scripts[min(number, len(self._scripts) - 1)]
                    if not self._play(connection, script):
                        return
            except OSError:
                pass

    def _request(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return None
            data += more
        top, _, body = data.partition(b"\r\n\r\n")
        lines = top.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])
        }
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        return lines[0], headers, json.loads(body)

    def _play(self, connection, script):
        for step in script:
            match step:
                case bytes():
                    connection.sendall(step)
                case float():
                    time.sleep(step)
                case "reset":
                    connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
                    return False
                case "silence":
                    assert connection.recv(1) == b""
                    return False
                case "close":
                    return False
        return True


def free_port():
    """A port at which nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
