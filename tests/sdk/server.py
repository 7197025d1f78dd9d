"""A server on the loopback that answers every request with the same bytes, or with those of the moment."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from unittest.mock import patch

__all__ = ["EVENT_STREAM", "JSON", "LINES", "SSE", "pieces", "serve"]

JSON = "application/json"
SSE = "text/event-stream"
LINES = "application/x-ndjson"
EVENT_STREAM = "application/vnd.amazon.eventstream"

_HOST = "127.0.0.1"
_PIECE = 97


@contextmanager
def serve(answer: bytes | Callable[[], bytes], content_type: str) -> Iterator[str]:
    """Answers with the bytes while the block runs; gives the address without a slash at its end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = answer if isinstance(answer, bytes) else answer()
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in pieces(body, _PIECE):
                self.wfile.write(piece)

        def log_message(self, *_):
            pass

    # A proxy of the surroundings is not for the loopback.
    with (
        patch.dict(os.environ, {"NO_PROXY": _HOST, "no_proxy": _HOST}),
        ThreadingHTTPServer((_HOST, 0), Handler) as server,
    ):
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://{_HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def pieces(body: bytes, size: int) -> list[bytes]:
    """The bytes, cut after every so many of them."""
    return [body[start : start + size] for start in range(0, len(body), size)]
