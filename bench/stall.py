"""The gaps between events of 64 streams through one process of the gateway, with and without a request of 2 MB beside them.

The upstream sends an event to each stream every 20 ms. The large request is for another API, so that it is read, planned and written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from typing import Any

from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.server import _loop_factory

EVERY = 0.02
STREAMS = 64


class Answer:
    """A stream of chat deltas, one every 20 ms."""

    status_code = 200
    is_closed = is_stream_consumed = False

    def __init__(self, count: int) -> None:
        self._count = count
        self.headers = {"content-type": "text/event-stream"}

    async def aiter_bytes(self) -> Any:
        for number in range(self._count):
            await asyncio.sleep(EVERY)
            delta = {"role": "assistant", "content": f"word{number} "}
            chunk = {"id": "c", "choices": [{"index": 0, "delta": delta}]}
            yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
        last = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        yield b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n"

    @property
    def stream(self) -> Any:
        return self.aiter_bytes()

    async def aclose(self) -> None:
        pass


class Upstream:
    """An HTTP client without a network."""

    limits_silence = True
    errors = (OSError,)

    def build_request(self, *_: Any, content: bytes, **__: Any) -> bytes:
        return content

    async def send(self, request: bytes, **_: Any) -> Answer:
        return Answer(2 if len(request) > 100_000 else 150)

    async def aclose(self) -> None:
        pass


async def asked(app: Any, body: bytes, gaps: list[float] | None) -> None:
    """One request over ASGI; the times between its pieces are added to `gaps`."""
    waiting = [{"type": "http.request", "body": body}]
    last = 0.0

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: dict[str, Any]) -> None:
        nonlocal last
        now = time.perf_counter()
        if gaps is not None and message["type"] == "http.response.body" and message["body"]:
            if last:
                gaps.append(now - last)
            last = now

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "raw_path": b"/v1/messages", "query_string": b"", "headers": headers}  # fmt: skip
    await app(scope, receive, send)


def body(size: int) -> bytes:
    turn = [{"role": "user", "content": "word " * 400}, {"role": "assistant", "content": "word " * 20}]  # fmt: skip
    messages = turn * max(1, size // 2200) if size else []
    messages = [*messages, {"role": "user", "content": "Go on."}]
    made = {"model": "deepseek/deepseek-v4-pro", "max_tokens": 8000, "stream": True, "messages": messages}  # fmt: skip
    return json.dumps(made).encode()


async def measured(large: bytes | None) -> list[float]:
    gateway = Gateway(GatewayConfig(), {"DEEPSEEK_API_KEY": "any"}, http=Upstream())
    app = create_app(gateway)
    gaps: list[float] = []
    small = body(0)
    streams = [asyncio.create_task(asked(app, small, gaps)) for _ in range(STREAMS)]
    await asyncio.sleep(1.0)
    if large is not None:
        for _ in range(3):
            await asked(app, large, None)
            await asyncio.sleep(0.2)
    await asyncio.gather(*streams)
    await gateway.close()
    return sorted(gaps)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", type=int, default=2_000_000)
    large = body(options.parse_args().size)
    sys.setswitchinterval(0.001)  # as a worker of the gateway does
    for title, request in (("alone", None), (f"beside {len(large) / 1e6:.1f} MB", large)):
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            gaps = runner.run(measured(request))
        added = [max(0.0, gap - EVERY) * 1000 for gap in gaps]
        told = f"p50 {statistics.median(added):.1f}  p99 {added[int(len(added) * 0.99)]:.1f}"
        print(f"{title:16} added gap in ms: {told}  longest {added[-1]:.1f}  ({len(gaps)} gaps)")


if __name__ == "__main__":
    main()
