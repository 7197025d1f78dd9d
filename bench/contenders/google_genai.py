"""The SDK of Google."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from google import genai
from google.genai import models, types

from contenders import CROWD, QUESTION, Jobs, Said, said
from payloads import payload

_ASKED = {"model": "gemini-3.5-flash", "contents": QUESTION}


def of_answers(answers: Any) -> Said:
    """The parts of one answer, or of the chunks of a stream."""
    thinking, text = [], []
    for answer in answers:
        for part in answer.candidates[0].content.parts:
            (thinking if part.thought else text).append(part.text)
    return said(thinking, text)


def _client(url: str) -> genai.Client:
    return genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))


def _made() -> Callable[[], Said]:
    """As its method makes the answer of a body."""
    value = models._GenerateContentResponse_from_mldev(  # noqa: SLF001 - it has no public way
        json.loads(payload("gemini").body), None, None
    )
    answer = types.GenerateContentResponse._from_response(  # noqa: SLF001
        response=value, kwargs={}
    )
    return lambda: of_answers([answer])


def jobs(base: str) -> Jobs:
    """generateContent."""
    client, crowd = _client(f"{base}/gemini"), _client(f"{base}/gemini{CROWD}")

    async def one_of_many() -> Said:
        chunks = await crowd.aio.models.generate_content_stream(**_ASKED)
        return of_answers([chunk async for chunk in chunks])

    return {
        ("body", "gemini"): _made,
        ("call", "gemini"): lambda: of_answers([client.models.generate_content(**_ASKED)]),
        ("stream", "gemini"): lambda: of_answers(client.models.generate_content_stream(**_ASKED)),
        ("streams", "gemini"): one_of_many,
    }
