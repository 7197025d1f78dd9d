"""A gateway that is asked without a network, for benchmarks of one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

__all__ = ["CannedAnswer", "Upstream", "asked"]


class CannedAnswer:
    """What an upstream answers; `pieces` are its bytes as they come."""

    status_code = 200
    is_closed = is_stream_consumed = False

    def __init__(self, media_type: str, pieces: Callable[[], AsyncIterator[bytes]]) -> None:
        self.headers = {"content-type": media_type}
        self.aiter_bytes = pieces

    @property
    def stream(self) -> AsyncIterator[bytes]:
        return self.aiter_bytes()

    async def aclose(self) -> None:
        pass


class Upstream:
    """An HTTP client without a network: the body of a request -> its answer."""

    limits_silence = True
    errors = (OSError,)

    def __init__(self, answer: Callable[[bytes], CannedAnswer]) -> None:
        self._answer = answer

    def build_request(self, *_: Any, content: bytes, **__: Any) -> bytes:
        return content

    async def send(self, request: bytes, **_: Any) -> CannedAnswer:
        return self._answer(request)

    async def aclose(self) -> None:
        pass


async def asked(app: Any, body: bytes, take: Callable[[bytes], None]) -> None:
    """One request of a Messages client over ASGI; `take` gets each piece of the answer."""
    waiting = [{"type": "http.request", "body": body}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(message: dict[str, Any]) -> None:
        if data := message.get("body"):
            take(data)

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "raw_path": b"/v1/messages", "query_string": b"", "headers": headers}  # fmt: skip
    await app(scope, receive, send)
