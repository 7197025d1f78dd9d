"""innervoice, from the source beside this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import innervoice as iv
from contenders import BLOCK, CROWD, MIXED, ORPHAN, PIECES, QUESTION, WHOLE, Jobs, Said, said
from payloads import MAKERS, payload
from texts import mixed, orphaned, pieces, tagged

MODELS = {
    "chat": "deepseek/deepseek-reasoner",
    "tags": "sglang/qwen3-32b",
    "anthropic": "anthropic/claude-opus-5-5",
    "gemini": "gemini/gemini-3.5-flash",
    "responses": "openai/gpt-5.6",
}


def of_response(response: Any) -> Said:
    """What a user sees of a response."""
    return Said(response.thinking or "", response.text)


def _later(response: Any) -> Callable[[], Said]:
    """The text and the reasoning; these views are computed on access."""
    return lambda: of_response(response)


def read_stream(stream: bytes, provider: str) -> Any:
    """Reads a stream from memory, in blocks."""
    decoder = iv.StreamDecoder(provider=provider)
    for start in range(0, len(stream), BLOCK):
        decoder.feed(stream[start : start + BLOCK])
    decoder.finish()
    return decoder.response


def split_pieces(width: int) -> Callable[[], Said]:
    """Splits a text that comes in pieces."""
    splitter = iv.Splitter()
    feed = splitter.feed
    for piece in pieces(PIECES, width):
        feed(piece)
    splitter.finish()
    return _later(splitter.response)


def split_orphan() -> Callable[[], Said]:
    """Splits a text that began in the prompt."""
    thought, answer = orphaned(ORPHAN)
    return _later(iv.split(f"{thought}</think>{answer}"))


def split_mixed() -> Callable[[], Said]:
    """Splits many short texts."""
    responses = [iv.split(row.text) for row in mixed(MIXED)]
    return lambda: said(
        (response.thinking for response in responses), (response.text for response in responses)
    )


def _client_jobs(base: str, name: str) -> Jobs:
    model = MODELS[name]
    provider = model.split("/", maxsplit=1)[0]
    client = iv.Client(base_url=f"{base}/{name}", keys={provider: "k"})
    crowd = iv.AsyncClient(base_url=f"{base}/{name}{CROWD}", keys={provider: "k"})

    def stream() -> Said:
        with client.stream(model, QUESTION) as events:
            for _ in events:
                pass
            return of_response(events.response)

    async def one_of_many() -> Said:
        async with crowd.stream(model, QUESTION) as events:
            async for _ in events:
                pass
            return of_response(events.response)

    return {
        ("call", name): lambda: _later(client.ask(model, QUESTION)),
        ("stream", name): stream,
        ("streams", name): one_of_many,
    }


def jobs(base: str) -> Jobs:
    """All of them."""
    found: Jobs = {
        ("whole", "text"): lambda: _later(iv.split(tagged(WHOLE))),
        ("pieces4", "text"): lambda: split_pieces(4),
        ("pieces20", "text"): lambda: split_pieces(20),
        ("orphan", "text"): split_orphan,
        ("mixed", "text"): split_mixed,
    }
    for name in MAKERS:
        provider = MODELS[name].split("/", maxsplit=1)[0]
        body, stream = payload(name).body, payload(name).stream
        found["body", name] = lambda body=body, provider=provider: _later(
            iv.decode(body, provider=provider)
        )
        found["delta", name] = lambda stream=stream, provider=provider: of_response(
            read_stream(stream, provider)
        )
        found |= _client_jobs(base, name)
    return found
