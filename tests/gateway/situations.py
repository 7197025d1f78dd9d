"""Shared by the tests of G29 to G56: answers as providers send them, and what a client reads of a reply."""

import json

import innervoice as iv
from gateway.harness import BEHIND, URLS, Served
from gateway.upstreams import Answer, Scripted
from innervoice.emulator.core import Emulator
from innervoice.frames.sniff import AnyFraming
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.wire.dialects import dialect_named

__all__ = [
    "ASKED", "FOUR", "beginning_of", "complaints", "events", "noted", "played", "recorded", "serve", "signs_of_life", "sse", "words",
]  # fmt: skip

ASKED = "What is 15 * 23?"
FOUR = ("anthropic", "openai-chat", "openai-responses", "gemini")
"""The dialects that agents speak."""


def serve(http=None, *, models=(), upstreams=None, keys=None, environ=None, **server):
    """A gateway whose timer is quick, on an upstream of the test's own or on the emulator."""
    config = GatewayConfig(
        server=ServerSettings(**server), models=models, upstreams=upstreams or {}, keys=keys or {}
    )
    served = Served(config, http=http, environ=environ)
    served.gateway.pings._step = 0.01
    return served


def played(body, *, headers=None, status=200, **server):
    """A gateway whose upstream answers with this body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return serve(Scripted(Answer(data, status=status, headers=headers)), retries=0, **server)


def recorded(dialect, asked=ASKED, **settings) -> bytes:
    """A stream of the emulator in a dialect."""
    model = BEHIND[dialect]
    given = {"reasoning": iv.Reasoning("high", show="summary"), "max_tokens": 4000, **settings}
    request = iv.Request(
        model,
        (iv.user(asked),),
        stream=True,
        base_url=URLS[model.partition("/")[0]],
        **given,
    )
    wire = iv.encode(request)
    path = wire.url.removeprefix("http://emulator")
    body = json.dumps(wire.body).encode()
    reply = Emulator().reply("POST", path, {"authorization": "Bearer x"}, body)
    assert reply.status == 200, reply.body
    return reply.body


def sse(*values, done=False) -> bytes:
    """A stream of server-sent events; an event is named by its `type`, if it has one."""
    lines = []
    for value in values:
        named = f"event: {value['type']}\n" if "type" in value else ""
        lines.append(f"{named}data: {json.dumps(value)}\n\n")
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def events(reply) -> list:
    """The values in a stream of server-sent events."""
    lines = reply.body.decode().splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(line) for line in data if line != "[DONE]"]


def complaints(dialect, data) -> list[str]:
    """What is wrong with the order of a stream."""
    framing = AnyFraming()
    frames = [*framing.feed(data), *framing.finish()]
    return [str(found) for found in dialect_named(dialect).grammar(None).check(frames)]


def signs_of_life(reply) -> list[bytes]:
    """The pieces of a reply that say nothing but that it goes on."""
    return [piece for piece in reply.pieces if piece.startswith((b":", b"event: ping")) or piece in (b"\n", b"data: ", b" ")]  # fmt: skip


def beginning_of(data: bytes, count: int) -> bytes:
    """The first frames of a stream of server-sent events."""
    return b"".join(frame + b"\n\n" for frame in data.split(b"\n\n")[:count])


def noted(served, number=-1) -> dict:
    """The notes of a request: code -> details."""
    found: dict = {}
    for note in served.reports[number].notes:
        found.setdefault(note.code, []).append(note.detail)
    return found


def words(value) -> str:
    """All that a body says, as JSON."""
    return json.dumps(value, ensure_ascii=False)
