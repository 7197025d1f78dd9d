"""`CustomStreamWrapper`, litellm's class for a stream."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from innervoice.bridges.litellm.chunk_builder import stream_chunk_builder
from innervoice.bridges.litellm.response_types import ModelResponseBase

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
        self.chunks: list[ModelResponseBase] = []
        self.response_id: str | None = None
        self._hidden_params: dict[str, Any] = {"custom_llm_provider": custom_llm_provider}
        self._response_headers = _response_headers
        self._source: Any = None
        self.report: Any = None
        """Reports the end of the stream to the callbacks."""
        self.messages: Any = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ModelResponseBase:
        if self._source is None:
            self._source = iter(
                self.completion_stream if self.completion_stream is not None else ()
            )
        source: Iterator[Any] = self._source
        try:
            return self._seen(next(source))
        except StopIteration:
            if report := self._end():
                report.succeeded(self._whole())
            raise
        except Exception as error:
            if report := self._end():
                report.failed(error)
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelResponseBase:
        stream = self.completion_stream
        if self._source is None:
            self._source = aiter(stream) if hasattr(stream, "__aiter__") else _awaited(stream)
        source: AsyncIterator[Any] = self._source
        try:
            return self._seen(await anext(source))
        except StopAsyncIteration:
            if report := self._end():
                await report.asucceeded(self._whole())
            raise
        except Exception as error:
            if report := self._end():
                await report.afailed(error)
            raise

    def _end(self) -> Any:
        """The report, once."""
        report, self.report = self.report, None
        return report

    def _whole(self) -> Any:
        return stream_chunk_builder(self.chunks, messages=self.messages)

    def _seen(self, chunk: Any) -> ModelResponseBase:
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


async def _awaited(stream: Any) -> AsyncIterator[Any]:
    """The chunks of a synchronous source."""
    for chunk in stream if stream is not None else ():
        yield chunk
