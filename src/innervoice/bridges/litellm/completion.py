"""`completion` and `acompletion`: send one request, return the response or the stream."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from innervoice.bridges.litellm.arguments import CompletionCall, completion_call
from innervoice.bridges.litellm.call_reports import report_of
from innervoice.bridges.litellm.chunks import AsyncChunkStream, ChunkStream, CustomStreamWrapper
from innervoice.bridges.litellm.connections import async_client_of, client_of
from innervoice.bridges.litellm.custom_providers import custom_call
from innervoice.bridges.litellm.error_mapping import translated
from innervoice.bridges.litellm.mock_response import mock_completion, wants_mock
from innervoice.bridges.litellm.params import (
    ACOMPLETION,
    COMPLETION,
    by_name,
    signature_of,
)
from innervoice.bridges.litellm.response_types import ModelResponse
from innervoice.bridges.litellm.router import Attempts
from innervoice.bridges.litellm.to_litellm import additional_headers, model_response
from innervoice.canon.response import Response
from innervoice.errors import NotFoundError

__all__ = ["acompletion", "completion"]


def completion(
    model: str, messages: Sequence[Any] | None = None, *more: Any, **options: Any
) -> ModelResponse | CustomStreamWrapper:
    """Calls a model, as litellm does: `provider/model`, messages in OpenAI's form, litellm's parameters.

    With `stream=True` the request is sent immediately and the result iterates over chunks. Every error is one of `exceptions`; after one,
    the `fallbacks` are tried.
    """
    attempts = Attempts(model, by_name(COMPLETION, more, options, "completion"))
    while True:
        report = report_of(attempts, messages, is_async=False)
        try:
            response = _completed(attempts.model, messages, attempts.options)
        except Exception as error:
            report.failed(error)
            if not attempts.go_on(error):
                raise
        else:
            return report.succeeded(response)  # type: ignore[no-any-return]


async def acompletion(
    model: str, messages: Sequence[Any] | None = None, *more: Any, **options: Any
) -> ModelResponse | CustomStreamWrapper:
    """The same, async; read a stream with `async for`."""
    attempts = Attempts(model, by_name(ACOMPLETION, more, options, "acompletion"))
    while True:
        report = report_of(attempts, messages, is_async=True)
        try:
            response = await _acompleted(attempts.model, messages, attempts.options)
        except Exception as error:
            await report.afailed(error)
            if not attempts.go_on(error):
                raise
        else:
            return await report.asucceeded(response)  # type: ignore[no-any-return]


_FIRST = ("model", "messages")
completion.__signature__ = signature_of(_FIRST, COMPLETION)  # type: ignore[attr-defined]
acompletion.__signature__ = signature_of(_FIRST, ACOMPLETION)  # type: ignore[attr-defined]


def _completed(
    model: str, messages: Sequence[Any] | None, options: dict[str, Any]
) -> ModelResponse | CustomStreamWrapper:
    if (custom := custom_call(model, messages, options)) is not None:
        return custom.completion()  # type: ignore[no-any-return]
    call = _call(model, messages, options)
    if wants_mock(options):
        return mock_completion(call, options)
    with translated(call.target.provider, call.target.model):
        try:
            return _sent(call)
        except NotFoundError:
            if not call.may_lack_responses:
                raise
            return _sent(completion_call(model, call.original_messages, options, chat=True))


async def _acompleted(
    model: str, messages: Sequence[Any] | None, options: dict[str, Any]
) -> ModelResponse | CustomStreamWrapper:
    if (custom := custom_call(model, messages, options)) is not None:
        return await custom.acompletion()  # type: ignore[no-any-return]
    call = _call(model, messages, options)
    if wants_mock(options):
        return mock_completion(call, options)
    with translated(call.target.provider, call.target.model):
        try:
            return await _sent_async(call)
        except NotFoundError:
            if not call.may_lack_responses:
                raise
            return await _sent_async(
                completion_call(model, call.original_messages, options, chat=True)
            )


def _sent(call: CompletionCall) -> ModelResponse | CustomStreamWrapper:
    began, client = time.monotonic(), client_of(call)
    if not call.stream:
        response = client.ask(call.model, call.messages, **call.fields)
        return _answered(response, call, began)
    events = client.stream(call.model, call.messages, **call.fields)
    return _streamed(ChunkStream(events.__enter__(), call), call)


async def _sent_async(call: CompletionCall) -> ModelResponse | CustomStreamWrapper:
    began, client = time.monotonic(), await async_client_of(call)
    if not call.stream:
        response = await client.ask(call.model, call.messages, **call.fields)
        return _answered(response, call, began)
    events = client.stream(call.model, call.messages, **call.fields)
    return _streamed(AsyncChunkStream(await events.__aenter__(), call), call)


def _call(model: str, messages: Sequence[Any] | None, options: dict[str, Any]) -> CompletionCall:
    with translated(options.get("custom_llm_provider"), model):
        return completion_call(model, messages, options)


def _answered(response: Response, call: CompletionCall, began: float) -> ModelResponse:
    result = model_response(response, call)
    result._response_ms = (time.monotonic() - began) * 1000
    return result


def _streamed(chunks: Any, call: CompletionCall) -> CustomStreamWrapper:
    provider = call.target.provider
    wrapper = CustomStreamWrapper(chunks, call.target.model, None, provider)
    wrapper.messages = call.original_messages
    headers = additional_headers(call.received)
    wrapper._hidden_params.update(
        api_base=call.settings["base_url"], notes=call.notes, additional_headers=headers
    )
    wrapper._response_headers = call.received
    return wrapper
