"""Processor time of the last step of an agent with a history of so many kB, Messages to Gemini, with a client that drops reasoning.

Each step brings the answer and the result of its call. With what was sent last time (`gateway/grown_requests.py`) only these are read and
written; without, all of it. The upstream is canned, and nothing goes over a network.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from typing import Any

from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.grown_requests import GrownRequests
from innervoice.gateway.server import _loop_factory

_WORDS = ("alpha", "beta", "gamma", "delta", "file", "line", "def", "return")
_RESULT = 450
"""Words in the result of a call: about 2.6 kB."""


class Answer:
    """A call of a tool, signed."""

    status_code = 200
    is_closed = is_stream_consumed = False

    def __init__(self, number: int) -> None:
        self.headers = {"content-type": "application/json"}
        call = {"id": f"call_{number}_abcdefgh", "name": "read", "args": {"path": f"{number}.txt"}}
        part = {"functionCall": call, "thoughtSignature": "c2lnbmF0dXJl" * 20}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 5}
        answer = {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}  # fmt: skip
        self._body = json.dumps(answer).encode()

    async def aiter_bytes(self) -> Any:
        yield self._body

    @property
    def stream(self) -> Any:
        return self.aiter_bytes()

    async def aclose(self) -> None:
        pass


class Upstream:
    """An HTTP client without a network."""

    limits_silence = True
    errors = (OSError,)

    def __init__(self) -> None:
        self._number = 0

    def build_request(self, *_: Any, content: bytes, **__: Any) -> bytes:
        return content

    async def send(self, _request: bytes, **_: Any) -> Answer:
        self._number += 1
        return Answer(self._number)

    async def aclose(self) -> None:
        pass


class Nothing(GrownRequests):
    """Nothing of what was sent is kept."""

    def find(self, *_: Any) -> None:
        return None


async def asked(app: Any, body: bytes) -> Any:
    """The answer to one request over ASGI, and its processor time."""
    waiting = [{"type": "http.request", "body": body}]
    pieces: list[bytes] = []

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: dict[str, Any]) -> None:
        pieces.append(message.get("body", b""))

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "raw_path": b"/v1/messages", "query_string": b"", "headers": headers}  # fmt: skip
    began = time.process_time()
    await app(scope, receive, send)
    return json.loads(b"".join(pieces)), time.process_time() - began


async def measured(size: int, grown: GrownRequests) -> tuple[int, float, float]:
    """The bytes of the last request, the median time of the last steps, and the best."""
    gateway = Gateway(GatewayConfig(), {"GEMINI_API_KEY": "any"}, http=Upstream())
    gateway.grown = grown
    app, draw = create_app(gateway), random.Random(1)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [{"name": f"read{number or ''}", "description": "Reads a file. " * 20, "input_schema": schema} for number in range(12)]  # fmt: skip
    messages: list[Any] = [{"role": "user", "content": "Read them all."}]
    times: list[float] = []
    while True:
        body = json.dumps({"model": "gemini/gemini-3.5-flash", "max_tokens": 8000, "tools": tools, "messages": messages}).encode()  # fmt: skip
        answer, seconds = await asked(app, body)
        times.append(seconds)
        if len(body) > size:
            await gateway.close()
            last = sorted(times[-9:])
            return len(body), last[len(last) // 2], last[0]
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        text = " ".join(draw.choices(_WORDS, k=_RESULT))
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": text} for call in calls]  # fmt: skip
        messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[50_000, 400_000])
    for size in options.parse_args().sizes:
        told = {}
        for title, grown in (("with", GrownRequests()), ("without", Nothing())):
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                count, median, best = runner.run(measured(size, grown))
            told[title] = best
            print(f"{count / 1000:6.0f} kB  {title:8} {median * 1000:7.2f} ms median  {best * 1000:7.2f} ms best")  # fmt: skip
        print(f"           ratio    {told['without'] / told['with']:7.1f}")


if __name__ == "__main__":
    main()
