"""Clients and streams that write spans.

What they do not trace is forwarded to the client. The span of a stream begins and ends with its `with` block.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast, get_args

from innervoice.bridges.otel.call import Capture, TracedCall, Tracing, Vocabulary
from innervoice.canon.events import Event
from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.client.conversation import AsyncConversation, Conversation
from innervoice.client.settings import CallFields, ConversationOptions, Messages
from innervoice.client.thinking_clock import OUTPUT_EVENTS
from innervoice.client.tools import ToolBox
from innervoice.errors import InnervoiceError, UsageError
from innervoice.show.policy import Policy, check_policy

__all__ = [
    "Capture",
    "TracedAsyncClient",
    "TracedAsyncConversation",
    "TracedClient",
    "TracedConversation",
    "Vocabulary",
    "instrument",
]

# ---- clients -------------------------------------------------------------------------------------


class _Traced:
    """What both clients share; other attributes are forwarded to the client."""

    def __init__(self, client: Any, tracing: Tracing) -> None:
        self._client = client
        self.tracing = tracing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _call(
        self, model: str, messages: Messages, fields: CallFields, *, stream: bool = False
    ) -> tuple[TracedCall, Messages]:
        """The call and its messages; an iterator is read into a list, because both need it."""
        if isinstance(messages, Iterator):
            messages = list(messages)
        return TracedCall(self.tracing, model, messages, fields, stream=stream), messages


class TracedClient(_Traced):
    def ask(self, model: str, messages: Messages, **fields: Unpack[CallFields]) -> Response:
        call, messages = self._call(model, messages, fields)
        try:
            with call.begin().current():
                response: Response = self._client.ask(model, messages, **fields)
        except BaseException as error:
            call.end(None, error)
            raise
        call.end(response)
        return response

    def stream(self, model: str, messages: Messages, **fields: Unpack[CallFields]) -> _TracedEvents:
        call, messages = self._call(model, messages, fields, stream=True)
        return _TracedEvents(call, self._client.stream(model, messages, **fields))

    def conversation(self, model: str, **options: Unpack[ConversationOptions]) -> Any:
        module = import_module("innervoice.bridges.otel.traced")
        return module.TracedConversation(self, model, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._client.close()


class TracedAsyncClient(_Traced):
    async def ask(self, model: str, messages: Messages, **fields: Unpack[CallFields]) -> Response:
        call, messages = self._call(model, messages, fields)
        try:
            with call.begin().current():
                response: Response = await self._client.ask(model, messages, **fields)
        except BaseException as error:
            call.end(None, error)
            raise
        call.end(response)
        return response

    def stream(
        self, model: str, messages: Messages, **fields: Unpack[CallFields]
    ) -> _TracedAsyncEvents:
        call, messages = self._call(model, messages, fields, stream=True)
        return _TracedAsyncEvents(call, self._client.stream(model, messages, **fields))

    def conversation(self, model: str, **options: Unpack[ConversationOptions]) -> Any:
        module = import_module("innervoice.bridges.otel.traced")
        return module.TracedAsyncConversation(self, model, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._client.close()


# ---- streams -------------------------------------------------------------------------------------


class _TracedStream:
    """What both kinds of stream share."""

    def __init__(self, call: TracedCall, events: Any) -> None:
        self._call = call
        self._events = events
        self._error: BaseException | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    def _saw(self, event: Event) -> Event:
        if type(event) in OUTPUT_EVENTS:
            self._call.saw_output()
        return event

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Records an error of the stream; errors of the code that reads it are not recorded."""
        try:
            yield
        except InnervoiceError as error:
            self._error = error
            raise

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Ends the span if no answer begins: `__exit__` does not run for a block that was not entered."""
        try:
            with self._call.begin().current():
                yield
        except BaseException as error:
            self._call.end(None, error)
            raise

    def _close(self) -> None:
        self._call.end(self._events.response, self._error)


class _TracedEvents(_TracedStream):
    def text(self, **options: Any) -> Iterator[str]:
        return self._pieces(self._events.text(**options))

    def thinking(self) -> Iterator[str]:
        return self._pieces(self._events.thinking())

    def _pieces(self, pieces: Iterator[str]) -> Iterator[str]:
        with self._watching():
            for piece in pieces:
                self._call.saw_output()
                yield piece

    def __enter__(self) -> Self:
        with self._opening():
            self._events.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._events.__exit__(kind, error, trace)
        self._close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        with self._watching():
            return self._saw(next(self._events))


class _TracedAsyncEvents(_TracedStream):
    def text(self, **options: Any) -> AsyncIterator[str]:
        return self._pieces(self._events.text(**options))

    def thinking(self) -> AsyncIterator[str]:
        return self._pieces(self._events.thinking())

    async def _pieces(self, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        with self._watching():
            async for piece in pieces:
                self._call.saw_output()
                yield piece

    async def __aenter__(self) -> Self:
        with self._opening():
            await self._events.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._events.__aexit__(kind, error, trace)
        self._close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        with self._watching():
            return self._saw(await anext(self._events))


# Conversations that write a span for each tool they run: `execute_tool {name}`, in addition to the spans of their
# requests.


_OPERATION = "execute_tool"


class TracedConversation(Conversation):
    """A conversation over a traced client."""

    def _tool_box(self) -> ToolBox:
        return _TracedToolBox(self.client.tracing, self._tool_arguments, raises=self._raises)


class TracedAsyncConversation(AsyncConversation):
    """The async counterpart."""

    def _tool_box(self) -> ToolBox:
        return _TracedToolBox(self.client.tracing, self._tool_arguments, raises=self._raises)


class _TracedToolBox(ToolBox):
    def __init__(self, tracing: Tracing, tools: Any, *, raises: bool) -> None:
        super().__init__(tools, raises=raises)
        self._tracing = tracing

    def _run_one(self, call: ToolCall) -> Message:
        with self._span(call) as span:
            return self._described(super()._run_one(call), span)

    async def _run_one_async(self, call: ToolCall) -> Message:
        if not inspect.iscoroutinefunction(self._functions.get(call.name)):
            return await super()._run_one_async(call)  # in a thread, by `_run_one`
        with self._span(call) as span:
            return self._described(await super()._run_one_async(call), span)

    def _failed(self, call: ToolCall, error: Exception) -> Message:
        trace = self._tracing.trace
        span = trace.get_current_span()
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(trace.Status(trace.StatusCode.ERROR, str(error)))
        return super()._failed(call, error)

    @contextmanager
    def _span(self, call: ToolCall) -> Iterator[Any]:
        tracing = self._tracing
        span = tracing.tracer.start_span(
            f"{_OPERATION} {call.name}",
            kind=tracing.trace.SpanKind.INTERNAL,
            attributes=self._attributes(call),
        )
        # `_failed` records errors; the current span is the parent of the spans of the tool.
        with tracing.trace.use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            yield span

    def _attributes(self, call: ToolCall) -> dict[str, Any]:
        tracing, attributes = self._tracing, dict[str, Any]()
        described = {tool.name: tool.description for tool in self.offered}
        if tracing.vocabulary != "openinference":
            attributes |= {
                "gen_ai.operation.name": _OPERATION,
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.description": described.get(call.name),
                "gen_ai.tool.call.arguments": call.arguments if tracing.on_span else None,
            }
        if tracing.vocabulary != "genai":
            attributes |= {
                "openinference.span.kind": "TOOL",
                "tool.name": call.name,
                "tool.description": described.get(call.name),
                "input.value": call.arguments if tracing.on_span else None,
            }
        return {name: value for name, value in attributes.items() if value is not None}

    def _described(self, message: Message, span: Any) -> Message:
        """Writes the result to the span, if content is captured."""
        tracing = self._tracing
        if tracing.on_span:
            result = _result_text(message)
            if tracing.vocabulary != "openinference":
                span.set_attribute("gen_ai.tool.call.result", result)
            if tracing.vocabulary != "genai":
                span.set_attribute("output.value", result)
        return message


def _result_text(message: Message) -> str:
    """The result of a tool as text; for files only the type."""
    (part,) = message.parts
    assert isinstance(part, ToolResult)
    if isinstance(part.content, str):
        return part.content
    texts = [
        {"type": "text", "content": item.text} if isinstance(item, Text) else {"type": item.type}
        for item in part.content
    ]
    return dump_json(texts).decode("utf-8")


# ---- A client -> the same client, with a span for every answer: `instrument(iv.Client())`.
#
# It needs opentelemetry-api; the application and its SDK decide where the spans go. Message content is written if
# `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is set: to the span (`SPAN_ONLY`), to an event (`EVENT_ONLY`), or to both
# (`SPAN_AND_EVENT`). A stream's span ends with its `with` block.


ClientT = TypeVar("ClientT")

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_EMIT_EVENT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"


def instrument(
    client: ClientT,
    *,
    capture: Capture | None = None,
    show: Policy = "full",
    vocabulary: Vocabulary = "genai",
    tracer_provider: Any = None,
    logger_provider: Any = None,
    environ: Mapping[str, str] | None = None,
) -> ClientT:
    """A client with the same methods that traces its calls.

    `capture` overrides the environment variable, `show` decides how much reasoning the captured content includes.
    """
    check_policy(show)
    if vocabulary not in get_args(Vocabulary):
        vocabularies = ", ".join(get_args(Vocabulary))
        raise UsageError(f"vocabulary must be one of {vocabularies}, not {vocabulary!r}")
    environ = os.environ if environ is None else environ
    settings = Tracing(
        capture=_captured(capture or environ.get(_CAPTURE)),
        event=environ.get(_EMIT_EVENT),
        show=show,
        vocabulary=vocabulary,
        tracer_provider=tracer_provider,
        logger_provider=logger_provider,
    )
    traced = (
        TracedAsyncClient if iscoroutinefunction(getattr(client, "ask", None)) else TracedClient
    )
    # Not an instance of the client's class, but with its methods: type checkers see their arguments this way.
    return cast("ClientT", traced(client, settings))


def _captured(word: str | None) -> Capture:
    """The capture mode of a setting; "true" means spans, as in some other libraries."""
    setting = (word or "").strip().upper()
    for mode in get_args(Capture):
        if setting == mode:
            capture: Capture = mode
            return capture
    if setting in ("", "FALSE"):
        return "NO_CONTENT"
    if setting == "TRUE":
        return "SPAN_ONLY"
    raise UsageError(f"{_CAPTURE} must be one of {', '.join(get_args(Capture))}, not {word!r}")
