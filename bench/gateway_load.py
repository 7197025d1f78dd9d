"""The clients of the measured gateways, in a process of their own: takes orders as lines of JSON, and says what came back.

python bench/gateway_load.py

{"port": 8807, "path": "/v1/messages", "headers": {...}, "body": "...", "count": 100, "crowd": 16}
    -> {"statuses": {"200": 100}, "bytes": 830000, "seconds": 0.5, "last": "the last answer"}
{..., "waits": true}    adds "firsts", the seconds until the first token of each answer, and "gaps", the seconds between two pieces of one; requests
                        do not begin together
{..., "hold": true}     opens `count` streams and leaves them open once each has sent something; {"close": true} ends them
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from random import Random
from time import perf_counter
from typing import Any

import httptools
import uvloop

_TOKEN = re.compile(rb'"(?:thinking|text|content|reasoning_content|reasoning)"\s*:\s*"[^"]')
"""Something that a model said."""
_PAUSE = 0.2
_LONGEST = 120.0
"""Seconds that an order may take."""


class Client(asyncio.Protocol):
    """One connection: sends the same request until there are enough answers."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._parser: Any = None
        self._has_begun = self._has_token = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._next()

    def _next(self) -> None:
        if not self._load.take():
            self.transport.close()
            return
        self._pieces: list[bytes] = []
        self._has_begun = self._has_token = False
        self._parser = httptools.HttpResponseParser(self)
        if self._load.waits:
            asyncio.get_running_loop().call_later(self._load.pause(), self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._before = perf_counter()
        self.transport.write(self._load.request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)
        if not self._has_begun:
            self._has_begun = True
            self._load.begun()
        if not self._has_token and not _TOKEN.search(data):
            return  # the head of an answer says nothing yet
        now = perf_counter()
        (self._load.gaps if self._has_token else self._load.firsts).append(now - self._before)
        self._before, self._has_token = now, True

    def on_message_complete(self) -> None:
        is_kept = self._parser.should_keep_alive()
        self._load.answered(self._parser.get_status_code(), b"".join(self._pieces))
        self._parser = None
        if is_kept:
            self._next()
        else:
            self.transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if self._parser is not None:
            self._load.answered(0, b"the connection was closed")
        self._load.lost()


class Load:
    """One order."""

    def __init__(self, order: dict[str, Any]) -> None:
        body = order["body"].encode()
        headers = {
            "host": f"127.0.0.1:{order['port']}",
            "content-type": "application/json",
            **order.get("headers", {}),
            "content-length": str(len(body)),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.request = f"POST {order['path']} HTTP/1.1\r\n{lines}\r\n".encode() + body
        self._port = order["port"]
        self._left = self._count = order["count"]
        self._crowd = min(order.get("crowd", 1), self._count)
        self._holds = order.get("hold", False)
        self.waits = order.get("waits", False)
        self._random = Random(7)
        self.firsts: list[float] = []
        self.gaps: list[float] = []
        self._started = self._done = 0
        self._statuses: Counter[int] = Counter()
        self._bytes = 0
        self._last = b""
        self._over = asyncio.Event()
        self._clients: list[Client] = []

    def take(self) -> bool:
        """Whether another request is wanted."""
        self._left -= 1
        return self._left >= 0

    def pause(self) -> float:
        """Seconds before the next request, so that the clients do not march in step."""
        return self._random.random() * _PAUSE

    def begun(self) -> None:
        """An answer has begun."""
        self._started += 1
        if self._holds and self._started + self._done >= self._count:
            self._over.set()

    def answered(self, status: int, body: bytes) -> None:
        """An answer is over."""
        self._statuses[status] += 1
        self._bytes += len(body)
        self._last = body
        self._done += 1
        if self._done >= self._count:
            self._over.set()

    def lost(self) -> None:
        """A connection is closed; where answers are still wanted another one takes its place."""
        if not self._holds and self._left > 0 and not self._over.is_set():
            asyncio.ensure_future(self._connect())  # noqa: RUF006 - its protocol is kept by the loop

    async def run(self) -> dict[str, Any]:
        """What came back."""
        start = perf_counter()
        for _ in range(self._crowd):
            await self._connect()
        async with asyncio.timeout(_LONGEST):
            await self._over.wait()
        return {
            "statuses": dict(self._statuses),
            "bytes": self._bytes,
            "seconds": perf_counter() - start,
            "last": self._last.decode("utf-8", "replace"),
            "open": self._started if self._holds else 0,
            **({"firsts": self.firsts, "gaps": self.gaps} if self.waits else {}),
        }

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: Client(self), "127.0.0.1", self._port)
        self._clients.append(client)

    def close(self) -> None:
        """Closes all connections."""
        self._left = 0
        for client in self._clients:
            client.transport.abort()


async def main() -> None:
    """Executes orders until the input ends."""
    loop = asyncio.get_running_loop()
    load: Load | None = None
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        answer: dict[str, Any] = {}
        if load is not None:
            load.close()
            load = None
        try:
            if not order.get("close"):
                load = Load(order)
                answer = await load.run()
        except (OSError, TimeoutError, httptools.HttpParserError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
