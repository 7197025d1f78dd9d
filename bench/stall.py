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
from collections.abc import AsyncIterator

from in_process import CannedAnswer, Upstream, asked
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.operations.server import _loop_factory

EVERY = 0.02
STREAMS = 64


def deltas(count: int) -> CannedAnswer:
    """A stream of chat deltas, one every 20 ms."""

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(count):
            await asyncio.sleep(EVERY)
            yield _chunk({"role": "assistant", "content": f"word{number} "})
        yield _chunk({}, "stop") + b"data: [DONE]\n\n"

    return CannedAnswer("text/event-stream", pieces)


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


class Gaps:
    """The times between the pieces of one answer."""

    def __init__(self, found: list[float]) -> None:
        self._found, self._last = found, 0.0

    def __call__(self, _piece: bytes) -> None:
        now = time.perf_counter()
        if self._last:
            self._found.append(now - self._last)
        self._last = now


def body(size: int) -> bytes:
    turn = [{"role": "user", "content": "word " * 400}, {"role": "assistant", "content": "word " * 20}]  # fmt: skip
    messages = turn * max(1, size // 2200) if size else []
    messages = [*messages, {"role": "user", "content": "Go on."}]
    made = {"model": "deepseek/deepseek-v4-pro", "max_tokens": 8000, "stream": True, "messages": messages}  # fmt: skip
    return json.dumps(made).encode()


async def measured(large: bytes | None) -> list[float]:
    upstream = Upstream(lambda request: deltas(2 if len(request) > 100_000 else 150))
    gateway = Gateway(GatewayConfig(), {"DEEPSEEK_API_KEY": "any"}, http=upstream)
    app = create_app(gateway)
    gaps: list[float] = []
    small = body(0)
    streams = [asyncio.create_task(asked(app, small, Gaps(gaps))) for _ in range(STREAMS)]
    await asyncio.sleep(1.0)
    if large is not None:
        for _ in range(3):
            await asked(app, large, lambda _: None)
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
