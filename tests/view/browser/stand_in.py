"""A server of rows that are made by hand, with the headers of the real one: for what no file on disk can be made to do at will."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import innervoice.view
from view.browser.sample_rows import fact

ASSETS = Path(innervoice.view.__file__).parent / "assets"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
MOST_ROWS = 500


class StandIn:
    """Serves conversations: id -> {"head": Head, "rows": [Row, ...]}; what else it answers is set on it."""

    def __init__(self, conversations, **about):
        self.conversations = conversations
        self.about = {
            "version": "0", "policy": "summary", "targets": ["anthropic/claude-opus-5-5", "openai/gpt-5.6"],
            "target": None, "is_live": False, "is_export": False,
        } | about  # fmt: skip
        self.assets: dict[str, bytes] = {}
        """Files of the page that are replaced, to see a broken page fail."""
        self.plans: dict[str, dict] = {}
        self.diff: dict = {}
        self.hits: list[dict] = []
        self.whole: dict[int, str] = {}
        self.asked: list[str] = []
        self.events: list[bytes] = []
        self.cuts: Iterator[int] = iter(())
        """How many bytes of the second event a connection gets before it breaks; when there are no more, it does not."""
        self.listeners: list[str | None] = []
        """What each connection of the stream had seen last."""
        self.changed = threading.Condition()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        with self.changed:
            self.events = []
            self.server.is_closed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def tell(self, name, data):
        """Sends an event to whoever listens."""
        with self.changed:
            number = len(self.events) + 1
            self.events.append(
                f"id: x-{number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()
            )
            self.changed.notify_all()

    def answer(self, path, query):
        """The JSON of a route, as row_types.py has it; None for one that is not there."""
        name, _, rest = path.removeprefix("/api/").partition("/")
        answers = {
            "about": lambda: self.about,
            "sources": lambda: self._sources(query.get("q", "")),
            "c": lambda: self._rows(rest, query) if rest in self.conversations else None,
            "outline": lambda: self._outline(rest),
            "part": lambda: {"text": self.whole[int(rest.rpartition("/")[2])]},
            "plan": lambda: self.plans.get(query["for"]),
            "diff": lambda: self.diff,
            "search": lambda: self._found(query["q"]),
        }
        return answers[name]()

    def _outline(self, id_):
        rows = self.conversations[id_]["rows"]
        letters = {"thinking": "t", "text": "x", "call": "c", "result": "r", "remark": "e"}
        kinds = "".join(
            ("U" if row["role"] == "user" and row["title"] == "user" else "H") if row["kind"] == "turn" else letters.get(row["kind"], "m")
            for row in rows
        )  # fmt: skip
        sizes = "".join("{:x}".format(min(15, len(row["text"]).bit_length())) for row in rows)
        chapters = [
            {"n": n, "title": rows[n + 1]["text"][:100], "facts": [fact("2 steps"), fact("1 error", None, "bad")]}
            for n, kind in enumerate(kinds)
            if kind == "U" and n + 1 < len(rows)
        ]  # fmt: skip
        return {"kinds": kinds, "sizes": sizes, "chapters": chapters}

    def _found(self, query):
        hits = [hit for hit in self.hits if query.lower() in hit["hit"].lower()]
        return {"hits": hits, "is_cut": False, "words": f"{len(hits)} places"}

    def _sources(self, query):
        found = {
            one["head"]["source"]["id"]: one["head"]["source"]
            for one in self.conversations.values()
        }
        sources = [source for source in found.values() if query.lower() in source["title"].lower()]
        return {"sources": sources, "total": len(sources), "next": None, "unknown": 0}

    def _rows(self, id_, query):
        one = self.conversations[id_]
        start = int(query.get("from", 0))
        end = min(int(query.get("to", start + MOST_ROWS)), start + MOST_ROWS)
        rows = one["rows"][start:end]
        following = start + len(rows)
        return {
            "head": one["head"], "rows": rows, "total": len(one["rows"]),
            "next": following if following < len(one["rows"]) else None, "event": f"x-{len(self.events)}",
        }  # fmt: skip


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100


def _handler(stand_in):  # noqa: C901 - a class
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # as real servers do: head and body are two writes

        def log_message(self, *_):
            pass

        def do_GET(self):
            address = urlsplit(self.path)
            path = unquote(address.path)
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            stand_in.asked.append(self.path)
            if path == "/api/live":
                self._live(query)
            elif path.startswith("/api/"):
                self._answer(path, query)
            else:
                name = path.removeprefix("/assets/").removeprefix("/") or "index.html"
                data = stand_in.assets.get(name) or (ASSETS / name).read_bytes()
                self._send(data, TYPES[Path(name).suffix] + "; charset=utf-8")

        def _answer(self, path, query):
            found = stand_in.answer(path, query)
            status = 404 if found is None else 200
            found = {"error": "There is nothing at this URL."} if found is None else found
            self._send(json.dumps(found).encode(), "application/json", status)

        def _head(self, status, kind):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-security-policy", POLICY)
            self.send_header("x-content-type-options", "nosniff")
            self.send_header("cache-control", "no-store")

        def _send(self, data, kind, status=200):
            self._head(status, kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _live(self, query):
            after = self.headers.get("last-event-id") or query.get("after")
            stand_in.listeners.append(after)
            self._head(200, "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            cut = next(stand_in.cuts, None)
            self.wfile.write(b"retry: 10\n\n")
            sent = int(after.rpartition("-")[2]) if after else len(stand_in.events)
            while not getattr(stand_in.server, "is_closed", False):
                with stand_in.changed:
                    if sent >= len(stand_in.events):
                        stand_in.changed.wait(1)
                    frames = stand_in.events[sent:]
                    sent = len(stand_in.events)
                try:
                    if cut is not None and len(frames) > 1:
                        self.wfile.write(frames[0] + frames[1][:cut])
                        return
                    self.wfile.write(b"".join(frames))
                except OSError:
                    return

    return Handler


def wait_until(holds, seconds=10.0):
    """Waits for something that happens in another thread."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
