"""pydantic-ai's direct requests, without an agent, which would add overhead."""

from __future__ import annotations

from typing import Any

from pydantic_ai import direct
from pydantic_ai._parts_manager import ModelResponsePartsManager
from pydantic_ai._thinking_part import split_content_into_text_and_thinking
from pydantic_ai.messages import ModelRequest, TextPart, ThinkingPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from contenders import CROWD, PIECES, QUESTION, WHOLE, Jobs, Said, said
from texts import pieces, tagged

_MODELS: dict[str, tuple[type[Any], str, type[Any]]] = {
    "chat": (OpenAIChatModel, "deepseek-reasoner", OpenAIProvider),
    "tags": (OpenAIChatModel, "qwen3-32b", OpenAIProvider),
    "anthropic": (AnthropicModel, "claude-opus-5-5", AnthropicProvider),
    "gemini": (GoogleModel, "gemini-3.5-flash", GoogleProvider),
    "responses": (OpenAIResponsesModel, "gpt-5.6", OpenAIProvider),
}
_TAGS = ("<think>", "</think>")


def _of(parts: Any) -> Said:
    return said(
        [part.content for part in parts if isinstance(part, ThinkingPart)],
        [part.content for part in parts if isinstance(part, TextPart)],
    )


def _model(name: str, url: str) -> Any:
    model, title, provider = _MODELS[name]
    return model(title, provider=provider(base_url=url, api_key="k"))


def _split_pieces(width: int) -> Said:
    manager = ModelResponsePartsManager(ModelRequestParameters())
    for piece in pieces(PIECES, width):
        for _ in manager.handle_text_delta(
            vendor_part_id="content", content=piece, thinking_tags=_TAGS
        ):
            pass
    return _of(manager.get_parts())


def jobs(base: str) -> Jobs:
    """Everything."""
    found: Jobs = {
        ("whole", "text"): lambda: _of(split_content_into_text_and_thinking(tagged(WHOLE), _TAGS)),
        ("pieces4", "text"): lambda: _split_pieces(4),
        ("pieces20", "text"): lambda: _split_pieces(20),
    }
    for name in _MODELS:
        found |= _jobs(name, f"{base}/{name}", f"{base}/{name}{CROWD}")
    return found


def _jobs(name: str, url: str, crowded: str) -> Jobs:
    model, crowd = _model(name, url), _model(name, crowded)
    history = [ModelRequest.user_text_prompt(QUESTION)]

    def stream() -> Said:
        with direct.model_request_stream_sync(model, history) as events:
            for _ in events:
                pass
            return _of(events.response.parts)

    async def one_of_many() -> Said:
        async with direct.model_request_stream(crowd, history) as events:
            async for _ in events:
                pass
            return _of(events.get().parts)

    return {
        ("call", name): lambda: _of(direct.model_request_sync(model, history).parts),
        ("stream", name): stream,
        ("streams", name): one_of_many,
    }
