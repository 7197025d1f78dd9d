"""`completion` and `acompletion`: send one request, return the response or the stream."""

from __future__ import annotations

import inspect
import time
import traceback
import warnings
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from innervoice.bridges.litellm.arguments import CompletionCall, completion_call
from innervoice.bridges.litellm.chunks import AsyncChunkStream, ChunkStream, CustomStreamWrapper
from innervoice.bridges.litellm.connections import async_client_of, client_of
from innervoice.bridges.litellm.custom_providers import custom_call, mock_completion, wants_mock
from innervoice.bridges.litellm.error_mapping import translated
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.integrations.custom_logger import CustomLogger
from innervoice.bridges.litellm.litellm_object import plain
from innervoice.bridges.litellm.params import (
    ACOMPLETION,
    COMPLETION,
    FIELDS,
    by_name,
    is_openai,
    signature_of,
)
from innervoice.bridges.litellm.providers import resolve_model
from innervoice.bridges.litellm.response_types import ModelResponse
from innervoice.bridges.litellm.router import CALLBACKS, Attempts
from innervoice.bridges.litellm.to_litellm import additional_headers, model_response
from innervoice.canon.response import Response
from innervoice.errors import InnervoiceError, NotFoundError

__all__ = ["Report", "acompletion", "completion", "report_of"]


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


# ---- Callbacks: how calls are reported to `litellm.callbacks`, `success_callback` and similar lists.
#
# A callback is a `CustomLogger`, a function of (kwargs, response, start, end), or an async one, which `acompletion` awaits. They run in the
# call, before it returns or at the end of its stream. An error in one of them is logged, and the call continues.


_ASYNC = ("_async_success_callback", "_async_failure_callback", "_async_input_callback")
_warned: set[str] = set()
"""Names of loggers that were requested but do not exist here; each is warned about once."""


def report_of(attempts: Attempts, messages: Any, *, is_async: bool) -> Report:
    """The report of an attempt, after its start was reported."""
    callbacks = attempts.callbacks
    heard = {name: [*(flag(name) or ()), *(callbacks[name] or ())] for name in CALLBACKS}
    if is_async:
        for name, late in zip(CALLBACKS[1:], _ASYNC, strict=True):
            heard[name] += [item for item in flag(late) or () if item not in heard[name]]
    report = Report(heard, is_async=is_async)
    if any(heard.values()):
        report.begin(attempts.model, messages, attempts.options)
    return report


class Report:
    """One call, reported to its callbacks."""

    def __init__(self, heard: dict[str, list[Any]], *, is_async: bool) -> None:
        self._heard = heard
        self._is_async = is_async
        self.facts: dict[str, Any] = {}

    def begin(self, model: str, messages: Any, options: dict[str, Any]) -> None:
        """Before the request."""
        self.facts = _facts(model, messages, options, is_async=self._is_async)
        for item in self._callbacks("input_callback"):
            if isinstance(item, CustomLogger):
                self._run(item.log_pre_api_call, self.facts["model"], messages, self.facts)
            elif not inspect.iscoroutinefunction(item):
                self._run(item, self.facts)

    def succeeded(self, result: Any) -> Any:
        """After a response, which is returned; a stream is reported when it ends."""
        if self._waits(result):
            return result
        for item in self._callbacks("success_callback") if self.facts else ():
            arguments = self._success(result)
            if isinstance(item, CustomLogger):
                self._run(item.log_post_api_call, *arguments)
                self._run(item.log_success_event, *arguments)
            elif inspect.iscoroutinefunction(item):
                _warn(item.__name__, "is async, so only acompletion() runs it")
            else:
                self._run(item, *arguments)
        return result

    def failed(self, error: BaseException) -> None:
        """After an error."""
        for item in self._callbacks("failure_callback") if self.facts else ():
            arguments = self._failure(error)
            if isinstance(item, CustomLogger):
                self._run(item.log_failure_event, *arguments)
            elif not inspect.iscoroutinefunction(item):
                self._run(item, *arguments)

    async def asucceeded(self, result: Any) -> Any:
        """The same for `acompletion`."""
        if self._waits(result):
            return result
        for item in self._callbacks("success_callback") if self.facts else ():
            arguments = self._success(result)
            if isinstance(item, CustomLogger):
                self._run(item.log_post_api_call, *arguments)
                await self._arun(item.async_log_success_event, *arguments)
            else:
                await self._arun(item, *arguments)
        return result

    async def afailed(self, error: BaseException) -> None:
        """The same for `acompletion`."""
        for item in self._callbacks("failure_callback") if self.facts else ():
            arguments = self._failure(error)
            is_logger = isinstance(item, CustomLogger)
            await self._arun(item.async_log_failure_event if is_logger else item, *arguments)

    # ---- the reports ---------------------------------------------------------------------------

    def _waits(self, result: Any) -> bool:
        """Whether the result is a stream, which then reports its own end."""
        is_stream = hasattr(result, "completion_stream")
        if is_stream and self.facts:
            result.report = self
        return is_stream

    def _success(self, response: Any) -> tuple[Any, ...]:
        facts, hidden = self.facts, getattr(response, "_hidden_params", None) or {}
        facts |= {
            "log_event_type": "successful_api_call",
            "end_time": _now(),
            "response_cost": hidden.get("response_cost"),
            "cache_hit": False,
        }
        if facts["stream"]:
            name = "async_complete_streaming_response"
            facts["complete_streaming_response"] = facts[name] = response
        return facts, response, facts["start_time"], facts["end_time"]

    def _failure(self, error: BaseException) -> tuple[Any, ...]:
        self.facts |= {
            "log_event_type": "failed_api_call",
            "end_time": _now(),
            "response_cost": 0,
            "exception": error,
            "traceback_exception": "".join(traceback.format_exception(error)),
        }
        return self.facts, None, self.facts["start_time"], self.facts["end_time"]

    # ---- the callbacks -------------------------------------------------------------------------

    def _callbacks(self, name: str) -> Iterable[Any]:
        """The callbacks of one kind; those in `callbacks` are of every kind."""
        seen: list[Any] = []
        for item in (*self._heard["callbacks"], *self._heard[name]):
            if isinstance(item, str):
                _warn(item, "is not available: set a function or a CustomLogger, or use innervoice.bridges.otel")  # fmt: skip
            # Others are not called, as in litellm: crewai has such objects in the list, and calls them itself.
            elif (isinstance(item, CustomLogger) or callable(item)) and item not in seen:
                seen.append(item)
        return seen

    @staticmethod
    def _run(callback: Any, *arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception:  # noqa: BLE001 - what a callback does must not change the call
            _log(callback)

    @staticmethod
    async def _arun(callback: Any, *arguments: Any) -> None:
        try:
            result = callback(*arguments)
            if inspect.isawaitable(result):
                await result
        except Exception:  # noqa: BLE001 - the same
            _log(callback)


def _facts(model: str, messages: Any, options: dict[str, Any], *, is_async: bool) -> dict[str, Any]:
    """The `kwargs` of callbacks; never contains a key."""
    provider = options.get("custom_llm_provider")
    base = options.get("api_base") or options.get("base_url")
    try:
        target = resolve_model(model, provider, base)
        model, provider = target.model, target.provider
    except InnervoiceError:
        pass
    parameters = {
        name: value
        for name, value in options.items()
        if value is not None and (name in FIELDS or is_openai(name))
    }
    call_id = str(options.get("litellm_call_id") or uuid4())
    return {
        "model": model,
        "messages": messages,
        "input": messages,
        "optional_params": parameters,
        **parameters,
        "stream": bool(options.get("stream")),
        "user": options.get("user"),
        "custom_llm_provider": provider,
        "call_type": "acompletion" if is_async else "completion",
        "litellm_call_id": call_id,
        "litellm_params": {
            "metadata": options.get("metadata") or {},
            "model_info": options.get("model_info") or {},
            "api_base": base,
            "custom_llm_provider": provider,
            "acompletion": is_async,
            "litellm_call_id": call_id,
        },
        "additional_args": {"complete_input_dict": plain(parameters)},
        "start_time": _now(),
        "log_event_type": "pre_api_call",
    }


def _now() -> datetime:
    return datetime.now()  # noqa: DTZ005 - litellm's times have no zone, and programs subtract their own


def _warn(name: str, problem: str) -> None:
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"litellm's callback {name!r} {problem}", stacklevel=6)


def _log(callback: Any) -> None:
    from innervoice.bridges.litellm._logging import verbose_logger  # noqa: PLC0415 - rarely needed

    verbose_logger.exception("the callback %r failed", getattr(callback, "__qualname__", callback))
