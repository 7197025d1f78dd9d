"""Processor time of the last step of an agent with a history of so many kB, Messages to Gemini, with a client that drops reasoning.

Each step brings the answer and the result of its call. With what was sent last time (`gateway/appended.py`) only these are read and
written; without, all of it. The upstream is canned, and nothing goes over a network.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from in_process import CannedAnswer, Upstream, asked
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.appended import AppendedRequests
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.operations.server import _loop_factory

_WORDS = ("alpha", "beta", "gamma", "delta", "file", "line", "def", "return")
_RESULT = 450
"""Words in the result of a call: about 2.6 kB."""


def calls() -> Upstream:
    """An upstream that always calls a tool, signed."""
    numbers = count()

    def answer(_request: bytes) -> CannedAnswer:
        number = next(numbers)
        call = {"id": f"call_{number}_abcdefgh", "name": "read", "args": {"path": f"{number}.txt"}}
        part = {"functionCall": call, "thoughtSignature": "c2lnbmF0dXJl" * 20}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 5}
        body = json.dumps({"candidates": [candidate], "usageMetadata": usage}).encode()

        async def pieces() -> AsyncIterator[bytes]:
            yield body

        return CannedAnswer("application/json", pieces)

    return Upstream(answer)


class Nothing(AppendedRequests):
    """Nothing of what was sent is kept."""

    def find(self, *_: Any) -> None:
        return None


async def timed(app: Any, body: bytes) -> tuple[Any, float]:
    """The answer to a request, and its processor time."""
    pieces: list[bytes] = []
    began = time.process_time()
    await asked(app, body, pieces.append)
    seconds = time.process_time() - began
    return json.loads(b"".join(pieces)), seconds


async def measured(size: int, appended: AppendedRequests) -> tuple[int, float, float]:
    """The bytes of the last request, the median time of the last steps, and the best."""
    gateway = Gateway(GatewayConfig(), {"GEMINI_API_KEY": "any"}, http=calls())
    gateway.appended = appended
    app, draw = create_app(gateway), random.Random(1)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [{"name": f"read{number or ''}", "description": "Reads a file. " * 20, "input_schema": schema} for number in range(12)]  # fmt: skip
    messages: list[Any] = [{"role": "user", "content": "Read them all."}]
    times: list[float] = []
    while True:
        body = json.dumps({"model": "gemini/gemini-3.5-flash", "max_tokens": 8000, "tools": tools, "messages": messages}).encode()  # fmt: skip
        answer, seconds = await timed(app, body)
        times.append(seconds)
        if len(body) > size:
            await gateway.close()
            last = sorted(times[-9:])
            return len(body), last[len(last) // 2], last[0]
        made = [block for block in answer["content"] if block["type"] == "tool_use"]
        text = " ".join(draw.choices(_WORDS, k=_RESULT))
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": text} for call in made]  # fmt: skip
        messages += [{"role": "assistant", "content": made}, {"role": "user", "content": results}]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[50_000, 400_000])
    for size in options.parse_args().sizes:
        told = {}
        for title, appended in (("with", AppendedRequests()), ("without", Nothing())):
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                count, median, best = runner.run(measured(size, appended))
            told[title] = best
            print(f"{count / 1000:6.0f} kB  {title:8} {median * 1000:7.2f} ms median  {best * 1000:7.2f} ms best")  # fmt: skip
        print(f"           ratio    {told['without'] / told['with']:7.1f}")


if __name__ == "__main__":
    main()
