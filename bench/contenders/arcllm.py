"""arcllm."""

from __future__ import annotations

from typing import Any

import arcllm

from contenders import CROWD, MESSAGES, Jobs, Said
from contenders.openai_shapes import of_chunks, of_completion

_MODELS = {
    "chat": "deepseek/deepseek-reasoner",
    "tags": "openai/qwen3-32b",
    "anthropic": "anthropic/claude-opus-5-5",
    "gemini": "gemini/gemini-3.5-flash",
}


def jobs(base: str) -> Jobs:
    """Its four dialects; none of its types has a place for reasoning."""
    found: Jobs = {}
    for name, model in _MODELS.items():
        found |= _jobs(model, f"{base}/{name}", f"{base}/{name}{CROWD}", name)
    return found


def _jobs(model: str, url: str, crowded: str, name: str) -> Jobs:
    asked = {"model": model, "messages": MESSAGES, "api_key": "k"}

    async def one_of_many() -> Said:
        chunks: Any = await arcllm.acompletion(**asked, api_base=crowded, stream=True)
        return of_chunks([chunk async for chunk in chunks])

    return {
        ("call", name): lambda: of_completion(arcllm.completion(**asked, api_base=url)),
        ("stream", name): lambda: of_chunks(arcllm.completion(**asked, api_base=url, stream=True)),
        ("streams", name): one_of_many,
    }
