"""Calls of providers that a program registers itself: `litellm.custom_provider_map` and its `CustomLLM` objects."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from innervoice.bridges.litellm import errors
from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.chunks import CustomStreamWrapper
from innervoice.bridges.litellm.error_mapping import exception_of_status
from innervoice.bridges.litellm.errors import LitellmError
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.response_types import (
    Choices,
    Delta,
    Message,
    ModelResponse,
    ModelResponseStream,
    StreamingChoices,
    Usage,
)
from innervoice.bridges.litellm.to_litellm import call_facts, cost_of
from innervoice.bridges.litellm.tokens import token_counter
from innervoice.errors import InnervoiceError

__all__ = ["CustomCall", "custom_call", "mock_completion", "wants_mock"]

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


# ---- `mock_response=`: a response, a stream or an error without a request.


_ERRORS: dict[str, tuple[type[errors.LitellmError], str]] = {
    "litellm.RateLimitError": (errors.RateLimitError, "rate limit"),
    "litellm.ContextWindowExceededError": (
        errors.ContextWindowExceededError,
        "context window exceeded",
    ),
    "litellm.ContentPolicyViolationError": (
        errors.ContentPolicyViolationError,
        "content policy violation",
    ),
    "litellm.InternalServerError": (errors.InternalServerError, "internal server"),
}
_SIZE = 3
_ONLY_CALLS = "This is a mock request"
"""The text of a mock that was requested with `mock_tool_calls` alone."""
_USAGE = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
"""The usage that litellm reports for a mock, so that totals in users' tests do not change."""


def wants_mock(options: dict[str, Any]) -> bool:
    """Whether the caller requested a mock."""
    names = ("mock_response", "mock_tool_calls")
    return any(options.get(name) is not None for name in names) or bool(options.get("mock_timeout"))


def mock_completion(
    call: CompletionCall, options: dict[str, Any]
) -> ModelResponse | CustomStreamWrapper:
    """The mock response or stream; raises the mock error."""
    answer = options.get("mock_response", _ONLY_CALLS)
    facts = {"llm_provider": call.target.provider, "model": call.target.model}
    if options.get("mock_timeout"):
        raise errors.Timeout(message="this is a mock timeout error", **facts)
    if isinstance(answer, (errors.LitellmError, InnervoiceError)):
        raise answer
    if isinstance(answer, Exception):
        mocked = errors.MockException(
            getattr(answer, "status_code", 500),
            str(answer),
            call.target.provider,
            call.target.model,
        )
        raise errors.InternalServerError(message=mocked.message, **facts) from answer
    if isinstance(answer, str) and answer in _ERRORS:
        kind, what = _ERRORS[answer]
        raise kind(message=f"this is a mock {what} error", **facts)
    if isinstance(answer, (ModelResponse, CustomStreamWrapper)):
        return answer
    if isinstance(answer, dict):
        return ModelResponse(**answer)
    text, calls = str(answer), options.get("mock_tool_calls")
    if not call.stream:
        count = int(options.get("n") or 1)
        choices = [
            Choices("stop", number, Message(text, tool_calls=calls)) for number in range(count)
        ]
        response = ModelResponse(
            model=call.target.model, choices=choices, usage=_USAGE, response_ms=0.0
        )
        cost = cost_of(call, None, response["usage"])
        response._hidden_params.update(call_facts(call), response_cost=cost, notes=call.notes)
        return response
    provider = call.target.provider
    wrapper = CustomStreamWrapper(_MockStream(call, text, calls), call.target.model, None, provider)
    wrapper.messages = call.original_messages
    return wrapper


class _MockStream:
    """The chunks of a mock; `CustomStreamWrapper` iterates them synchronously and asynchronously."""

    def __init__(self, call: CompletionCall, text: str, calls: Any) -> None:
        self._call = call
        self._chunks = self._mock_chunks(text, calls)

    def __iter__(self) -> Iterator[ModelResponseStream]:
        return self._chunks

    def _mock_chunks(self, text: str, calls: Any) -> Iterator[ModelResponseStream]:
        name = self._call.target.model
        head = ModelResponseStream(model=name)
        pieces = [text[start : start + _SIZE] for start in range(0, len(text), _SIZE)]
        deltas = [Delta(piece) for piece in pieces] + ([Delta(tool_calls=calls)] if calls else [])
        for number, delta in enumerate(deltas):
            delta.role = None if number else "assistant"
            yield self._chunk(head, StreamingChoices(delta=delta))
        yield self._chunk(head, StreamingChoices("tool_calls" if calls else "stop"))
        if self._call.include_usage:
            prompt = token_counter(model=name, messages=self._call.original_messages)
            usage = Usage(prompt, token_counter(model=name, text=text))
            yield self._chunk(head, StreamingChoices(), usage=usage)

    @staticmethod
    def _chunk(
        head: ModelResponseStream, choice: StreamingChoices, usage: Usage | None = None
    ) -> ModelResponseStream:
        return ModelResponseStream(
            id=head.id, created=head.created, model=head.model, choices=[choice], usage=usage
        )
