"""Calls of providers that a program registers itself: `litellm.custom_provider_map` and its `CustomLLM` objects."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from innervoice.bridges.litellm.chunks import CustomStreamWrapper
from innervoice.bridges.litellm.error_mapping import exception_of_status
from innervoice.bridges.litellm.errors import LitellmError
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.response_types import (
    Delta,
    ModelResponse,
    ModelResponseStream,
    StreamingChoices,
)

__all__ = ["CustomCall", "custom_call"]

_NOT_OPTIONAL = (
    "api_key",
    "api_base",
    "base_url",
    "headers",
    "extra_headers",
    "timeout",
    "client",
    "custom_llm_provider",
    "metadata",
    "num_retries",
    "max_retries",
    "drop_params",
    "mock_response",
)


def custom_call(
    model: str, messages: Sequence[Any] | None, options: dict[str, Any]
) -> CustomCall | None:
    """The call of a registered provider; None for all other models, and for mocks of it."""
    registered = {entry["provider"]: entry for entry in flag("custom_provider_map") or ()}
    head, _, rest = str(model).partition("/")
    provider = options.get("custom_llm_provider") or head
    if provider not in registered or options.get("mock_response") is not None:
        return None
    name = rest if head == provider else model
    return CustomCall(registered[provider]["custom_handler"], provider, name, messages, options)


class CustomCall:
    """One call of a `CustomLLM`."""

    def __init__(
        self,
        handler: Any,
        provider: str,
        model: str,
        messages: Sequence[Any] | None,
        options: dict[str, Any],
    ) -> None:
        self._handler, self._provider, self._model = handler, provider, model
        self._stream = bool(options.get("stream"))
        base = options.get("api_base") or options.get("base_url")
        parameters = {name: value for name, value in options.items() if name not in _NOT_OPTIONAL}
        headers = {**(options.get("headers") or {}), **(options.get("extra_headers") or {})}
        self._messages = list(messages or ())
        self._arguments = {
            "model": model,
            "messages": self._messages,
            "api_base": base,
            "custom_prompt_dict": {},
            "print_verbose": _print_nothing,
            "encoding": None,
            "api_key": options.get("api_key"),
            "logging_obj": None,
            "optional_params": {
                name: value for name, value in parameters.items() if value is not None
            },
            "litellm_params": {"metadata": options.get("metadata") or {}, "api_base": base},
            "logger_fn": None,
            "headers": headers,
            "timeout": options.get("timeout"),
            "client": options.get("client"),
        }

    def completion(self) -> Any:
        """The response or the stream."""
        began = time.monotonic()
        try:
            if self._stream:
                return self._wrapped(self._chunks(self._handler.streaming(**self._all(False))))
            return self._finished(self._handler.completion(**self._all(False)), began)
        except Exception as error:
            raise self._translated(error) from error

    async def acompletion(self) -> Any:
        """The same, async."""
        began = time.monotonic()
        try:
            if self._stream:
                return self._wrapped(self._achunks(self._handler.astreaming(**self._all(True))))
            return self._finished(await self._handler.acompletion(**self._all(True)), began)
        except Exception as error:
            raise self._translated(error) from error

    def _all(self, is_async: bool) -> dict[str, Any]:
        empty = ModelResponse(model=self._model)
        return {**self._arguments, "model_response": empty, "acompletion": is_async}

    def _finished(self, response: Any, began: float) -> Any:
        if isinstance(response, ModelResponse):
            response.model = response.model or self._model
            response._hidden_params.setdefault("custom_llm_provider", self._provider)
            response._response_ms = (time.monotonic() - began) * 1000
        return response

    def _wrapped(self, chunks: Any) -> CustomStreamWrapper:
        wrapper = CustomStreamWrapper(chunks, self._model, None, self._provider)
        wrapper.messages = self._messages
        return wrapper

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, (LitellmError, NotImplementedError)):
            return error
        status = getattr(error, "status_code", None)
        return exception_of_status(status, str(error), self._provider, self._model)

    # ---- streams -------------------------------------------------------------------------------

    def _chunks(self, source: Iterator[Any]) -> Iterator[Any]:
        writer = _ChunkWriter(self._model)
        try:
            for chunk in source:
                yield from writer.write(chunk)
        except Exception as error:
            raise self._translated(error) from error

    async def _achunks(self, source: AsyncIterator[Any]) -> AsyncIterator[Any]:
        writer = _ChunkWriter(self._model)
        try:
            async for chunk in source:
                for written in writer.write(chunk):
                    yield written
        except Exception as error:
            raise self._translated(error) from error


class _ChunkWriter:
    """`GenericStreamingChunk` dicts -> chunks; chunks are passed on unchanged."""

    def __init__(self, model: str) -> None:
        self._head = ModelResponseStream(model=model)
        self._begun = False

    def write(self, chunk: Any) -> Iterator[Any]:
        if not isinstance(chunk, dict) or "choices" in chunk:
            yield chunk if not isinstance(chunk, dict) else ModelResponseStream(**chunk)
            return
        role = None if self._begun else "assistant"
        self._begun = True
        called = chunk.get("tool_use")
        delta = Delta(
            chunk.get("text") or None,
            role,
            tool_calls=[called] if called else None,
            provider_specific_fields=chunk.get("provider_specific_fields"),
        )
        word = chunk.get("finish_reason") if chunk.get("is_finished") else None
        index = chunk.get("index") or 0
        yield ModelResponseStream(
            [StreamingChoices(word or None, index, delta)],
            self._head.id,
            self._head.created,
            self._head.model,
            usage=chunk.get("usage"),
        )


def _print_nothing(*_: Any) -> None:
    """litellm's `print_verbose`."""
