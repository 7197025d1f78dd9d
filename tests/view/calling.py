"""Calling the viewer's application without a port."""

import asyncio
import json
from typing import NamedTuple

from innervoice.view.app import create_app
from innervoice.view.guard import Settings

__all__ = ["COOKIE", "TOKEN", "Answer", "app_of", "call", "get"]

TOKEN = "the-token-of-the-test"
COOKIE = f"innervoice-view-8809={TOKEN}"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def app_of(shelf, **settings):
    return create_app(shelf, Settings(**{"token": TOKEN, "hosts": ("localhost",)} | settings))


def call(app, path="/", *, method="GET", query="", headers=None, server=("127.0.0.1", 8809)):
    """One request with these headers and no others; a list has a name several times."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    raw = [
        (name.encode(), value.encode())
        for name, value in (headers.items() if isinstance(headers, dict) else headers or ())
    ]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"}  # fmt: skip
    scope |= {"path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "headers": raw, "server": server, "client": ("127.0.0.1", 1)}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], head, b"".join(part.get("body", b"") for part in sent[1:]))


def get(app, path, query="", **more):
    """A request as the page sends it."""
    headers = {"host": "127.0.0.1:8809", "cookie": COOKIE, "sec-fetch-site": "same-origin"}
    return call(app, path, query=query, headers=headers, **more)
