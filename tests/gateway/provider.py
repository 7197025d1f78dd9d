"""A small provider on loopback for paths that the gateway only passes on: embeddings, files, batches, uploads, a realtime WebSocket."""

import json
from contextlib import contextmanager

import uvicorn

from innervoice.local_server import LocalServer

__all__ = ["ANSWER", "Provider", "running_provider"]

ANSWER = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}], "model": "text-embedding-3-small", "usage": {"prompt_tokens": 7, "total_tokens": 7}}  # fmt: skip
_FILE = {"id": "file-1", "object": "file", "bytes": 3, "created_at": 1, "filename": "a.jsonl", "purpose": "batch", "status": "processed"}  # fmt: skip
_BATCH = {"id": "batch_1", "object": "batch", "endpoint": "/v1/responses", "input_file_id": "file-1", "completion_window": "24h", "status": "validating", "created_at": 1}  # fmt: skip
_MESSAGES_BATCH = {"id": "msgbatch_1", "type": "message_batch", "processing_status": "ended", "request_counts": {"processing": 0, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0}, "ended_at": None, "created_at": "2026-11-17T00:00:00Z", "expires_at": "2026-11-18T00:00:00Z", "archived_at": None, "cancel_initiated_at": None, "results_url": None}  # fmt: skip
_GOOGLE_FILE = {"name": "files/1", "uri": "https://generativelanguage.googleapis.com/v1beta/files/1", "mimeType": "text/plain", "sizeBytes": "3", "state": "ACTIVE"}  # fmt: skip


class Provider:
    """An application, and what it received."""

    def __init__(self):
        self.requests = []
        """Method, path with query, headers, size of the body."""
        self.bodies = []
        """The beginnings of the bodies."""
        self.url = ""
        self.elsewhere = ""
        """Where a WebSocket is redirected to."""

    @property
    def paths(self):
        return [f"{method} {path}" for method, path, _, _ in self.requests]

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        path = scope["raw_path"].decode().partition("?")[0] + (f"?{query}" if query else "")
        if scope["type"] == "websocket":
            self.requests.append(("WS", path, headers, 0))
            await self.talk(scope, receive, send)
            return
        size, start = 0, b""
        while True:
            message = await receive()
            piece = message.get("body", b"")
            size, start = size + len(piece), start if len(start) > 1000 else start + piece
            if not message.get("more_body"):
                break
        self.requests.append((scope["method"], path, headers, size))
        self.bodies.append(start)
        status, more, body = self.answer(scope["method"], scope["path"], headers)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in {"content-type": "application/json", "set-cookie": "a=b", "x-request-id": "req_1", **more}.items()]  # fmt: skip
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": data})

    def answer(self, method, path, headers):  # noqa: C901, PLR0911, PLR0912 - a row for each path
        match method, path.strip("/").split("/"):
            case "POST", ["v1", "embeddings"] | ["v1beta", "models", *_]:
                return 200, {}, ANSWER
            case "POST", ["v1", "audio" | "images", _]:
                return 200, {}, {"text": "hello", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 45}}  # fmt: skip
            case _, ["v1", "named"]:
                return 200, {"content-disposition": "attachment; filename=\xc3\xbc.txt"}, {}
            case _, ["v1", "broken"]:
                return 200, {"content-length": "1000000"}, b"x"
            case "POST", ["v1", "told"]:
                events = b'data: {"type": "a"}\n\ndata: {"type": "done", "response": {"usage": {"input_tokens": 5, "output_tokens": 6}}}\n\n'  # fmt: skip
                return 200, {"content-type": "text/event-stream"}, events
            case "POST", ["v1", "completions"]:
                return 200, {"content-type": "text/event-stream"}, b'data: {"choices": [{"text": "a"}]}\n\n' * 3 + b"data: [DONE]\n\n"  # fmt: skip
            case "POST", ["v1", "files"]:
                return 200, {}, _FILE
            case "GET", ["v1", "files"]:
                return 200, {}, {"object": "list", "data": [_FILE, {**_FILE, "id": "file-2"}]}
            case "GET", ["v1", "conversations"]:
                return 200, {}, [{"id": "conv_1"}, {"id": "conv_2"}]
            case "GET", ["v1beta", "fileSearchStores"]:
                return 200, {}, {"fileSearchStores": [{"name": "fileSearchStores/alices"}]}
            case "POST", ["v1beta", "fileSearchStores"]:
                return 200, {}, {"name": "fileSearchStores/alices"}
            case "GET", ["v1", "files", _, "content"]:
                return 200, {"content-type": "application/octet-stream"}, b"x" * 5_000_000
            case "POST", ["v1", "chat", "completions"] | ["v1", "messages"]:
                return 429, {"retry-after": "9999"}, {"error": {"message": "slow down"}}
            case "POST", ["v1", "batches"]:
                return 200, {}, _BATCH
            case _, ["v1", "messages", "batches", *_]:
                return 200, {}, _MESSAGES_BATCH
            case "POST", ["upload", version, "files"] if (
                headers.get("x-goog-upload-command") == "start"
            ):
                return 200, {"x-goog-upload-url": f"{self.url}/upload/{version}/files?upload_id=7", "x-goog-upload-status": "active"}, {}  # fmt: skip
            case "POST", ["upload", _, "files"]:
                return 200, {"x-goog-upload-status": "final"}, {"file": _GOOGLE_FILE}
            case _, ["v1", "repeats"]:
                keys = [headers.get(name, "") for name in ("authorization", "x-api-key")]
                return 401, {}, {"error": {"message": f"Incorrect key {' '.join(keys)}"}}
            case "GET", ["v1", "batches"]:
                return 200, {}, {"data": [{"id": "batch_1", "input": "x" * 1000}] * 40_000}
            case _, ["v1", "moved"]:
                return 302, {"location": "http://127.0.0.1:9/elsewhere"}, {}
            case _, ["v1", "refused"]:
                return 429, {"retry-after": "7"}, {"error": {"message": "slow down"}}
        return 404, {}, {"error": {"message": "no such path"}}

    async def talk(self, scope, receive, send):
        """Says hello, and repeats what it is told."""
        await receive()
        if scope["path"] == "/v1/moved":
            moved = [(b"location", f"{self.elsewhere}/v1/realtime".encode())]
            await send({"type": "websocket.http.response.start", "status": 302, "headers": moved})
            await send({"type": "websocket.http.response.body", "body": b""})
            return
        if scope["path"] == "/v1/closed":
            await send({"type": "websocket.close", "code": 1000})
            return
        protocols = scope["subprotocols"]
        await send({"type": "websocket.accept", "subprotocol": protocols[0] if protocols else None})
        await send({"type": "websocket.send", "text": json.dumps({"type": "session.created", "event_id": "e1", "session": {"type": "realtime", "object": "realtime.session", "id": "s1"}})})  # fmt: skip
        while (message := await receive())["type"] != "websocket.disconnect":
            if message.get("text") == "close":
                await send({"type": "websocket.close", "code": 4001})
                return
            more = {"text": message["text"]} if message.get("text") is not None else {"bytes": message["bytes"]}  # fmt: skip
            await send({"type": "websocket.send", **more})


@contextmanager
def running_provider():
    """The provider at an address of its own."""
    provider = Provider()
    config = uvicorn.Config(provider, log_level="error", lifespan="off", ws="websockets-sansio")
    with LocalServer(uvicorn.Server(config)) as server:
        provider.url = server.url
        yield provider
