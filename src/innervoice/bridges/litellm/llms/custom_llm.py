"""`CustomLLM`: your own provider, registered in `litellm.custom_provider_map`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn

from innervoice.bridges.litellm.response_types import ModelResponse
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["CustomLLM", "CustomLLMError"]


class CustomLLMError(Exception):
    """An error of your provider, with an HTTP status that decides which of litellm's exceptions it becomes."""

    def __init__(self, status_code: int, message: str) -> None:
        self.status_code = status_code
        self.message = message
        super().__init__(message)


class CustomLLM:
    """Override what your provider supports; everything is passed by keyword.

    `model`, `messages`, `optional_params` (OpenAI's parameters), `api_key`, `api_base`, `headers`, `timeout`, `model_response` (an
    empty response to fill) and some that are None here. `streaming` and `astreaming` yield `GenericStreamingChunk` dicts.
    """

    def completion(self, *_: Any, **__: Any) -> ModelResponse:
        """A response."""
        raise CustomLLMError(500, "Not implemented yet!")

    def streaming(self, *_: Any, **__: Any) -> Iterator[Any]:
        """The chunks of a response."""
        raise CustomLLMError(500, "Not implemented yet!")

    async def acompletion(self, *_: Any, **__: Any) -> ModelResponse:
        """A response, async."""
        raise CustomLLMError(500, "Not implemented yet!")

    async def astreaming(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """The chunks of a response, async."""
        raise CustomLLMError(500, "Not implemented yet!")
        yield  # makes it an async generator, as overriding methods are


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
