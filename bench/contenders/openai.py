"""OpenAI's SDK: chat, where the reasoning field is an undeclared attribute, and Responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from contenders import BLOCK, CROWD, MESSAGES, QUESTION, Jobs, Said
from contenders.openai_shapes import of_chunks, of_completion, of_events, of_response
from payloads import payload

_CHAT = {"model": "deepseek-reasoner", "messages": MESSAGES}
_RESPONSES = {"model": "gpt-5.6", "input": QUESTION}


class Blocks(httpx2.SyncByteStream):
    """A stream from memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Any:
        for start in range(0, len(self._data), BLOCK):
            yield self._data[start : start + BLOCK]


def _codec_jobs(client: openai.OpenAI) -> Jobs:
    def stream(name: str, type_: Any) -> Any:
        answer = httpx2.Response(
            200, stream=Blocks(payload(name).stream), request=httpx2.Request("POST", "http://x")
        )
        return openai.Stream(cast_to=type_, response=answer, client=client)

    def chat() -> Callable[[], Said]:
        completion = ChatCompletion.construct(**json.loads(payload("chat").body))
        return lambda: of_completion(completion)

    def response() -> Callable[[], Said]:
        made = Response.construct(**json.loads(payload("responses").body))
        return lambda: of_response(made)

    return {
        ("body", "chat"): chat,
        ("body", "responses"): response,
        ("delta", "chat"): lambda: of_chunks(stream("chat", ChatCompletionChunk)),
        ("delta", "responses"): lambda: of_events(stream("responses", ResponseStreamEvent)),
    }


def jobs(base: str) -> Jobs:
    """Chat with the field and with tags, and Responses."""
    found = _codec_jobs(openai.OpenAI(api_key="k", base_url=base))
    for name in ("chat", "tags", "responses"):
        client = openai.OpenAI(api_key="k", base_url=f"{base}/{name}")
        crowd = openai.AsyncOpenAI(api_key="k", base_url=f"{base}/{name}{CROWD}")
        found |= (
            _responses_jobs(client, crowd)
            if name == "responses"
            else _chat_jobs(client, crowd, name)
        )
    return found


def _chat_jobs(client: openai.OpenAI, crowd: openai.AsyncOpenAI, name: str) -> Jobs:
    async def one_of_many() -> Said:
        chunks = await crowd.chat.completions.create(**_CHAT, stream=True)
        return of_chunks([chunk async for chunk in chunks])

    return {
        ("call", name): lambda: of_completion(client.chat.completions.create(**_CHAT)),
        ("stream", name): lambda: of_chunks(client.chat.completions.create(**_CHAT, stream=True)),
        ("streams", name): one_of_many,
    }


def _responses_jobs(client: openai.OpenAI, crowd: openai.AsyncOpenAI) -> Jobs:
    async def one_of_many() -> Said:
        events = await crowd.responses.create(**_RESPONSES, stream=True)
        return of_events([event async for event in events])

    return {
        ("call", "responses"): lambda: of_response(client.responses.create(**_RESPONSES)),
        ("stream", "responses"): lambda: of_events(
            client.responses.create(**_RESPONSES, stream=True)
        ),
        ("streams", "responses"): one_of_many,
    }
