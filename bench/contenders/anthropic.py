"""The SDK of Anthropic."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
from anthropic.types import Message, RawMessageStreamEvent

from contenders import BLOCK, CROWD, MESSAGES, Jobs, Said, said
from payloads import payload

_ASKED = {"model": "claude-opus-5-5", "max_tokens": 4000, "messages": MESSAGES}


def of_message(message: Any) -> Said:
    """The blocks of a message."""
    blocks = message.content
    return said(
        [block.thinking for block in blocks if block.type == "thinking"],
        [block.text for block in blocks if block.type == "text"],
    )


def of_events(events: Any) -> Said:
    """The deltas of a stream."""
    thinking, text = [], []
    for event in events:
        if event.type == "content_block_delta":
            if event.delta.type == "thinking_delta":
                thinking.append(event.delta.thinking)
            elif event.delta.type == "text_delta":
                text.append(event.delta.text)
    return said(thinking, text)


class Blocks(httpx2.SyncByteStream):
    """A stream from memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Any:
        for start in range(0, len(self._data), BLOCK):
            yield self._data[start : start + BLOCK]


def _made() -> Callable[[], Said]:
    message = Message.construct(**json.loads(payload("anthropic").body))
    return lambda: of_message(message)


def jobs(base: str) -> Jobs:
    """Messages."""
    client = anthropic.Anthropic(api_key="k", base_url=f"{base}/anthropic")
    crowd = anthropic.AsyncAnthropic(api_key="k", base_url=f"{base}/anthropic{CROWD}")

    def codec() -> Said:
        answer = httpx2.Response(
            200,
            stream=Blocks(payload("anthropic").stream),
            request=httpx2.Request("POST", "http://x"),
        )
        stream = anthropic.Stream(cast_to=RawMessageStreamEvent, response=answer, client=client)
        return of_events(stream)

    async def one_of_many() -> Said:
        events = await crowd.messages.create(**_ASKED, stream=True)
        return of_events([event async for event in events])

    name = "anthropic"
    return {
        ("body", name): _made,
        ("delta", name): codec,
        ("call", name): lambda: of_message(client.messages.create(**_ASKED)),
        ("stream", name): lambda: of_events(client.messages.create(**_ASKED, stream=True)),
        ("streams", name): one_of_many,
    }
