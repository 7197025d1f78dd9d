"""`CustomStreamWrapper`, litellm's class for a stream."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from innervoice.bridges.litellm.response_types import ModelResponse

__all__ = ["CustomStreamWrapper"]


class CustomStreamWrapper:
    """Iterates over the chunks of a stream, with `for` or `async for`, whichever the source supports."""

    def __init__(
        self,
        completion_stream: Any = None,
        model: str | None = None,
        logging_obj: Any = None,
        custom_llm_provider: str | None = None,
        stream_options: Any = None,
        make_call: Any = None,
        _response_headers: dict[str, Any] | None = None,
    ) -> None:
        self.completion_stream = completion_stream
        self.model = model
        self.logging_obj = logging_obj
        self.custom_llm_provider = custom_llm_provider
        self.stream_options = stream_options
        self.make_call = make_call
        self.chunks: list[ModelResponse] = []
        self.response_id: str | None = None
        self._hidden_params: dict[str, Any] = {"custom_llm_provider": custom_llm_provider}
        self._response_headers = _response_headers
        self._source: Any = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ModelResponse:
        if self._source is None:
            self._source = iter(
                self.completion_stream if self.completion_stream is not None else ()
            )
        source: Iterator[Any] = self._source
        return self._seen(next(source))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelResponse:
        stream = self.completion_stream
        if not hasattr(stream, "__aiter__"):
            try:
                return next(self)
            except StopIteration:
                raise StopAsyncIteration from None
        if self._source is None:
            self._source = aiter(stream)
        source: AsyncIterator[Any] = self._source
        return self._seen(await anext(source))

    def _seen(self, chunk: Any) -> ModelResponse:
        self.chunks.append(chunk)
        self.response_id = self.response_id or getattr(chunk, "id", None)
        return chunk  # type: ignore[no-any-return]

    def close(self) -> None:
        """Closes the connection of a synchronous stream."""
        close = getattr(self.completion_stream, "close", None)
        if callable(close) and not inspect.iscoroutinefunction(close):
            close()

    async def aclose(self) -> None:
        """Closes the connection."""
        close = getattr(self.completion_stream, "aclose", None)
        if callable(close):
            await close()
        else:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
