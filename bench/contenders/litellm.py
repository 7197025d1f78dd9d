"""litellm, with its own table of prices instead of one from the network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from litellm.litellm_core_utils.llm_response_utils.convert_dict_to_response import (
    convert_to_model_response_object,
)
from litellm.litellm_core_utils.prompt_templates.common_utils import _parse_content_for_reasoning

from contenders import CROWD, MESSAGES, QUESTION, WHOLE, Jobs, Said, said
from payloads import payload
from texts import tagged

_MODELS = {
    "chat": "deepseek/deepseek-reasoner",
    "tags": "openai/qwen3-32b",
    "anthropic": "anthropic/claude-opus-5-5",
    "gemini": "gemini/gemini-3.5-flash",
}


def _of_message(completion: Any) -> Said:
    message = completion.choices[0].message
    return said([getattr(message, "reasoning_content", None)], [message.content])


def _of_chunks(chunks: Any) -> Said:
    thinking, text = [], []
    for chunk in chunks:
        if chunk.choices:
            delta = chunk.choices[0].delta
            thinking.append(getattr(delta, "reasoning_content", None))
            text.append(delta.content)
    return said(thinking, text)


def _of_response(response: Any) -> Said:
    items = [item for item in response.output if item.type == "reasoning"]
    entries = [entry for item in items for entry in item.summary]
    texts = [entry["text"] if isinstance(entry, dict) else entry.text for entry in entries]
    return said(texts, [response.output_text])


def _of_events(events: Any) -> Said:
    thinking, text = [], []
    for event in events:
        if event.type == "response.reasoning_summary_text.delta":
            thinking.append(event.delta)
        elif event.type == "response.output_text.delta":
            text.append(event.delta)
    return said(thinking, text)


def _made() -> Callable[[], Said]:
    completion = convert_to_model_response_object(
        response_object=json.loads(payload("chat").body),
        model_response_object=litellm.ModelResponse(),
    )
    return lambda: _of_message(completion)


def _split() -> Said:
    thinking, text = _parse_content_for_reasoning(tagged(WHOLE))
    return said([thinking], [text])


def jobs(base: str) -> Jobs:
    """Everything, in its own form of a completion."""
    found: Jobs = {("body", "chat"): _made, ("whole", "text"): _split}
    for name, model in _MODELS.items():
        found |= _jobs(model, f"{base}/{name}", f"{base}/{name}{CROWD}", name)
    asked = {"model": "openai/gpt-5.6", "input": QUESTION, "api_key": "k"}
    place = {"api_base": f"{base}/responses"}

    async def one_of_many() -> Said:
        events = await litellm.aresponses(**asked, api_base=f"{base}/responses{CROWD}", stream=True)
        return _of_events([event async for event in events])

    found["call", "responses"] = lambda: _of_response(litellm.responses(**asked, **place))
    found["stream", "responses"] = lambda: _of_events(
        litellm.responses(**asked, **place, stream=True)
    )
    found["streams", "responses"] = one_of_many
    return found


def _jobs(model: str, url: str, crowded: str, name: str) -> Jobs:
    asked = {"model": model, "messages": MESSAGES, "api_key": "k"}

    async def one_of_many() -> Said:
        chunks = await litellm.acompletion(**asked, api_base=crowded, stream=True)
        return _of_chunks([chunk async for chunk in chunks])

    return {
        ("call", name): lambda: _of_message(litellm.completion(**asked, api_base=url)),
        ("stream", name): lambda: _of_chunks(
            litellm.completion(**asked, api_base=url, stream=True)
        ),
        ("streams", name): one_of_many,
    }
