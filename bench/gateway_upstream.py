"""The provider behind the measured gateways: canned answers of Anthropic's and of Chat's, in a process of its own.

    python bench/gateway_upstream.py        # prints its port

The path says in which form it answers. A whole answer has 9 kB; a stream has 200 events, `PAUSE` apart, each written when its
time has come. Words in the request ask for something else: `TURN`, without `LAST`, for a short turn that thinks and calls a tool, each with ids
of its own, and `HOLD` for a stream that stops in the middle and stays open.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httptools
import uvloop

from payloads import payload

EVENTS = 200
PAUSE = 0.005
"""Seconds between two events of a stream."""
TURN = b"[[turn]]"
LAST = b"[[last]]"
HOLD = b"[[hold]]"
_HELD = 20
"""How many events a stream has sent that is held."""
_STREAM = re.compile(rb'"stream"\s*:\s*true')
_NUMBER = b"000000"
"""Stands in the canned turn where each turn has a number of its own."""
_THOUGHT = "The file was read before, and the second test fails there; look at the next one. " * 7
_SEAL = "EuwB" + "s" * 392 + "000000" + "s" * 2
_ARGUMENTS = {"path": "src/part_000000.py", "from": 1, "to": 80}


def _turn(form: str) -> bytes:
    """A turn that calls a tool."""
    said, id_ = "Now part 000000.", "toolu_01000000"
    thought = _THOUGHT + "000000"
    if form == "anthropic":
        content: list[dict[str, Any]] = [
            {"type": "thinking", "thinking": thought, "signature": _SEAL},
            {"type": "text", "text": said},
            {"type": "tool_use", "id": id_, "name": "read_file", "input": _ARGUMENTS},
        ]
        answer = json.loads(payload("anthropic").body)
        answer = {**answer, "content": content, "stop_reason": "tool_use"}
    else:
        call = {"name": "read_file", "arguments": json.dumps(_ARGUMENTS)}
        answer = json.loads(payload("chat").body)
        choice = answer["choices"][0]
        choice["finish_reason"] = "tool_calls"
        choice["message"] |= {
            "content": said,
            "reasoning_content": thought,
            "tool_calls": [{"id": id_, "type": "function", "function": call}],
        }
    return json.dumps(answer, ensure_ascii=False).encode()


def frames_of(form: str) -> tuple[bytes, ...]:
    """The stream of a form, `EVENTS` frames."""
    bare = len(payload(f"{form}.1.1").frames) - 2
    text = (EVENTS - bare) // 3
    return payload(f"{form}.{EVENTS - bare - text}.{text}").frames


FORMS = ("anthropic", "chat")
_WHOLE = {form: payload(form).body for form in FORMS}
_TURNS = {form: _turn(form) for form in FORMS}
_CHUNKS = {
    form: [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames_of(form)] for form in FORMS
}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: "
_STREAMED = _HEAD + b"text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Upstream(asyncio.Protocol):
    """One connection, kept alive."""

    turns = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None

    def on_message_begin(self) -> None:
        self._url = b""
        self._body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        body = b"".join(self._body)
        form = "anthropic" if b"/messages" in self._url else "chat"
        if _STREAM.search(body):
            self._transport.write(_STREAMED + _CHUNKS[form][0])
            chunks = iter(_CHUNKS[form][1 : _HELD if HOLD in body else None])
            self._loop.call_later(PAUSE, self._go_on, chunks, HOLD in body)
            return
        answer = _WHOLE[form]
        if TURN in body and LAST not in body:
            Upstream.turns += 1
            answer = _TURNS[form].replace(_NUMBER, b"%06d" % Upstream.turns)
        head = _HEAD + b"application/json\r\ncontent-length: %d\r\n\r\n" % len(answer)
        self._transport.write(head + answer)

    def _go_on(self, chunks: Any, held: bool) -> None:
        if self._transport is None:
            return
        chunk = next(chunks, None)
        if chunk is not None:
            self._transport.write(chunk)
            self._loop.call_later(PAUSE, self._go_on, chunks, held)
        elif not held:
            self._transport.write(b"0\r\n\r\n")


async def serve(protocol: Any) -> None:
    """Serves a protocol at a free port, which is printed, until the process ends."""
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(Upstream))
