"""any-llm."""

from __future__ import annotations

from typing import Any

import any_llm
from any_llm.utils.reasoning import normalize_reasoning_from_provider_fields_and_xml_tags

from contenders import CROWD, MESSAGES, QUESTION, WHOLE, Jobs, Said, said
from contenders.openai_shapes import of_chunks, of_completion, of_events, of_response
from texts import tagged

_MODELS = {
    "chat": ("deepseek", "deepseek-reasoner"),
    "tags": ("minimax", "qwen3-32b"),
    "anthropic": ("anthropic", "claude-opus-5-5"),
    "gemini": ("gemini", "gemini-3.5-flash"),
}


def _reasoning(message: Any) -> str | None:
    found: str | None = getattr(message.reasoning, "content", None)
    return found


def _split() -> Said:
    message: dict[str, Any] = {"content": tagged(WHOLE)}
    normalize_reasoning_from_provider_fields_and_xml_tags(message)
    return said([message["reasoning"]["content"]], [message["content"]])


def jobs(base: str) -> Jobs:
    """Everything, in its own form of a completion."""
    found: Jobs = {("whole", "text"): _split}
    for name, (provider, model) in _MODELS.items():
        found |= _jobs(provider, model, base, name)
    responses = any_llm.AnyLLM.create("openai", api_key="k", api_base=f"{base}/responses")
    crowd = any_llm.AnyLLM.create("openai", api_key="k", api_base=f"{base}/responses{CROWD}")
    asked = {"model": "gpt-5.6", "input_data": QUESTION}

    async def one_of_many() -> Said:
        events = await crowd.aresponses(**asked, stream=True)
        return of_events([event async for event in events])

    found["call", "responses"] = lambda: of_response(responses.responses(**asked))
    found["stream", "responses"] = lambda: of_events(responses.responses(**asked, stream=True))
    found["streams", "responses"] = one_of_many
    return found


def _jobs(provider: str, model: str, base: str, name: str) -> Jobs:
    client = any_llm.AnyLLM.create(provider, api_key="k", api_base=f"{base}/{name}")
    crowd = any_llm.AnyLLM.create(provider, api_key="k", api_base=f"{base}/{name}{CROWD}")
    asked = {"model": model, "messages": MESSAGES}

    async def one_of_many() -> Said:
        chunks = await crowd.acompletion(**asked, stream=True)
        return of_chunks([chunk async for chunk in chunks], _reasoning)

    return {
        ("call", name): lambda: of_completion(client.completion(**asked), _reasoning),
        ("stream", name): lambda: of_chunks(client.completion(**asked, stream=True), _reasoning),
        ("streams", name): one_of_many,
    }
