"""litellm, with its own table of prices instead of one from the network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from litellm.litellm_core_utils.llm_response_utils.convert_dict_to_response import (
    convert_to_model_response_object,
)
from litellm.litellm_core_utils.prompt_templates.common_utils import _parse_content_for_reasoning

from contenders import CROWD, MESSAGES, QUESTION, WHOLE, Jobs, Said, said
from contenders.openai_shapes import of_chunks, of_completion, of_events, of_response
from payloads import payload
from texts import tagged

_MODELS = {
    "chat": "deepseek/deepseek-reasoner",
    "tags": "openai/qwen3-32b",
    "anthropic": "anthropic/claude-opus-5-5",
    "gemini": "gemini/gemini-3.5-flash",
}


def _made() -> Callable[[], Said]:
    completion = convert_to_model_response_object(
        response_object=json.loads(payload("chat").body),
        model_response_object=litellm.ModelResponse(),
    )
    return lambda: of_completion(completion)


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
        return of_events([event async for event in events])

    found["call", "responses"] = lambda: of_response(litellm.responses(**asked, **place))
    found["stream", "responses"] = lambda: of_events(
        litellm.responses(**asked, **place, stream=True)
    )
    found["streams", "responses"] = one_of_many
    return found


def _jobs(model: str, url: str, crowded: str, name: str) -> Jobs:
    asked = {"model": model, "messages": MESSAGES, "api_key": "k"}

    async def one_of_many() -> Said:
        chunks = await litellm.acompletion(**asked, api_base=crowded, stream=True)
        return of_chunks([chunk async for chunk in chunks])

    return {
        ("call", name): lambda: of_completion(litellm.completion(**asked, api_base=url)),
        ("stream", name): lambda: of_chunks(litellm.completion(**asked, api_base=url, stream=True)),
        ("streams", name): one_of_many,
    }
