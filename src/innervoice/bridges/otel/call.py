"""One request -> one span, and one event if events are on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Self, TypeAlias

from innervoice.bridges.otel.genai import (
    content_attributes,
    openinference_attributes,
    operation_at,
    operation_of,
    provider_name,
    request_attributes,
    response_attributes,
    thinking_attributes,
)
from innervoice.canon.jsontext import dump_json
from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Response
from innervoice.catalog.targets import names_of
from innervoice.client.settings import NOT_OF_A_REQUEST, CallFields, Messages, messages_of
from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.planning.encode import encode
from innervoice.show.policy import Policy

__all__ = ["Capture", "ServedSpans", "TracedCall", "Tracing", "Vocabulary", "served_attributes"]

Capture: TypeAlias = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]
Vocabulary: TypeAlias = Literal["genai", "openinference", "both"]

_EVENT = "gen_ai.client.inference.operation.details"
_SCOPE = "innervoice"


class Tracing:
    """Where spans go, and what they contain."""

    def __init__(
        self,
        *,
        capture: Capture,
        event: str | None,
        show: Policy,
        vocabulary: Vocabulary,
        tracer_provider: Any,
        logger_provider: Any,
    ) -> None:
        try:
            self.trace = import_module("opentelemetry.trace")
        except ModuleNotFoundError:
            raise UsageError(
                f"opentelemetry-api is not installed: {install_command('otel')}"
            ) from None
        on_event = capture in ("EVENT_ONLY", "SPAN_AND_EVENT")
        self.on_span = capture in ("SPAN_ONLY", "SPAN_AND_EVENT")
        self.on_event = on_event
        self.emits = on_event if event is None else event.strip().lower() == "true"
        self.show = show
        self.vocabulary = vocabulary
        self.tracer = self.trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._logger_provider = logger_provider

    def emit(self, attributes: dict[str, Any], span: Any) -> None:
        """Emits the event with the details of a call."""
        logs = import_module("opentelemetry._logs")
        logger = logs.get_logger(_SCOPE, logger_provider=self._logger_provider)
        context = self.trace.set_span_in_context(span)
        logger.emit(logs.LogRecord(event_name=_EVENT, attributes=attributes, context=context))


class TracedCall:
    """One request and its span."""

    def __init__(
        self, tracing: Tracing, model: str, messages: Messages, fields: CallFields, *, stream: bool
    ) -> None:
        self._tracing = tracing
        self._first: float | None = None
        self._request, self._wire = _request_of(model, messages, fields, stream=stream)
        self._began = 0.0
        self._span: Any = None

    def begin(self) -> Self:
        """Starts the span."""
        tracing, request = self._tracing, self._request
        name = f"{operation_of(request, self._wire)} {names_of(None, request.model)[1]}"
        self._began = time.monotonic()
        self._span = tracing.tracer.start_span(
            name,
            kind=tracing.trace.SpanKind.CLIENT,
            attributes=self._on_span(request_attributes(request, self._wire)),
        )
        return self

    def current(self) -> Any:
        """Makes the span the current one, so that spans of the HTTP client become its children."""
        return self._tracing.trace.use_span(
            self._span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )

    def saw_output(self) -> None:
        """Records the time of the first output."""
        if self._first is None:
            self._first = time.monotonic() - self._began

    def end(self, response: Response | None, error: BaseException | None = None) -> None:
        """Writes the outcome to the span and ends it; a call that the caller gave up is not an error."""
        tracing, span = self._tracing, self._span
        answer = response or getattr(error, "response", None)
        attributes = response_attributes(answer) if isinstance(answer, Response) else {}
        if _is_cancelled(response, error):
            # An intentional cancellation is not an error (semantic-conventions#3494); the GenAI registry has a status for it.
            attributes.pop("gen_ai.response.finish_reasons", None)
            attributes["gen_ai.response.status"] = "cancelled"
            error = None
        if self._first is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = self._first
        if error is not None:
            attributes["error.type"] = type(error).__name__
            attributes.setdefault("gen_ai.response.finish_reasons", ["error"])
            status = tracing.trace.Status(tracing.trace.StatusCode.ERROR, str(error))
            span.set_status(status)
        if span.is_recording():
            self._describe(attributes, answer if isinstance(answer, Response) else None)
        span.end()

    def _describe(self, attributes: dict[str, Any], response: Response | None) -> None:
        tracing, request = self._tracing, self._request
        self._span.set_attributes(self._on_span(attributes))
        wants_content = tracing.on_span or tracing.on_event
        content = content_attributes(request, response, tracing.show) if wants_content else {}
        if tracing.on_span:
            written = {name: dump_json(value).decode("utf-8") for name, value in content.items()}
            self._span.set_attributes(self._on_span(written))
        if tracing.vocabulary != "genai":
            flat = openinference_attributes(
                request, response, self._wire, content=tracing.on_span, show=tracing.show
            )
            self._span.set_attributes(flat)
        if tracing.emits:
            on_event = content if tracing.on_event else {}
            tracing.emit(
                {**request_attributes(request, self._wire), **attributes, **on_event}, self._span
            )

    def _on_span(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """The attributes for the span in this vocabulary; `error.type` belongs to both."""
        if self._tracing.vocabulary != "openinference":
            return attributes
        return {name: value for name, value in attributes.items() if name == "error.type"}


def _is_cancelled(response: Response | None, error: BaseException | None) -> bool:
    """Whether the caller left a stream before its end, or a task or the program was cancelled."""
    if error is not None:
        return not isinstance(error, Exception)
    return response is not None and not response.ended and response.error is None


def _request_of(
    model: str, messages: Messages, fields: CallFields, *, stream: bool
) -> tuple[Request, Wire | None]:
    """The request of a call, and its wire form; None if it cannot be compiled here."""
    settings: dict[str, Any] = {
        name: value for name, value in fields.items() if name not in NOT_OF_A_REQUEST
    }
    settings["stream"] = stream or bool(settings.get("stream"))
    try:
        request = Request(model, messages_of(messages), **settings)
    except (TypeError, UsageError):  # the client raises the same error
        return Request(str(model), ()), None
    try:
        return request, encode(request)
    except UsageError:  # the client may have a base URL for this provider
        return request, None


# ---- A request that the gateway has served, as in `/v1/explain` -> one span.
#
# The span is created when the request has ended, with the times of the report. It needs opentelemetry-api; the configured SDK
# decides where it goes.


_SERVED_SCOPE = "innervoice.gateway"
_LEFT = 499
"""The status of a request whose client disconnected: not an error."""


def served_attributes(explained: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a served request, by the names of the GenAI conventions, and our own for what happened to the reasoning."""
    usage, reasoning = explained["usage"], explained["reasoning"]
    provider, model = explained["provider"], explained["model"]
    is_left = explained["status"] == _LEFT
    attributes = {
        "gen_ai.operation.name": operation_at(provider or None, model),
        "gen_ai.provider.name": provider_name(provider) if provider else None,
        "gen_ai.request.model": explained["asked"] or None,
        "gen_ai.request.stream": True if explained["stream"] else None,
        "gen_ai.response.model": model or None,
        "gen_ai.response.status": "cancelled" if is_left else None,
        "gen_ai.response.time_to_first_chunk": explained["seconds"]["first"],
        "gen_ai.usage.input_tokens": usage["input_tokens"],
        "gen_ai.usage.output_tokens": usage["output_tokens"],
        "gen_ai.usage.reasoning.output_tokens": usage["reasoning_tokens"],
        "gen_ai.usage.cache_read.input_tokens": usage["cached_input_tokens"],
        "http.response.status_code": explained["status"] or None,
        "error.type": None if is_left else explained["error"],
        "innervoice.id": explained["id"],
        "innervoice.tenant": explained["tenant"],
        "innervoice.dialect": explained["dialect"],
        "innervoice.way": explained["way"],
        "innervoice.attempts": explained["attempts"],
        "innervoice.reasoning.kept": reasoning["kept"],
        "innervoice.reasoning.restored": reasoning["restored"],
        "innervoice.reasoning.omitted": reasoning["omitted"],
        "innervoice.reasoning.rules": reasoning["rules"] or None,
        **thinking_attributes(explained["thinking"]),
        "innervoice.store": reasoning["store"],
        "innervoice.notes": [note["code"] for note in explained["notes"]] or None,
    }
    return {name: value for name, value in attributes.items() if value is not None}


class ServedSpans:
    """Creates the spans."""

    def __init__(self, tracer_provider: Any = None) -> None:
        try:
            self._trace = import_module("opentelemetry.trace")
        except ModuleNotFoundError:
            raise UsageError(
                f"opentelemetry-api is not installed: {install_command('otel')}"
            ) from None
        self._tracer = self._trace.get_tracer(_SERVED_SCOPE, tracer_provider=tracer_provider)

    def add(self, explained: Mapping[str, Any]) -> None:
        """Creates the span of a request that has ended."""
        attributes = served_attributes(explained)
        begun = int(explained["begun"] * 1e9)
        span = self._tracer.start_span(
            f"{attributes['gen_ai.operation.name']} {explained['model'] or explained['asked']}",
            context=self._parent(explained.get("trace")),
            kind=self._trace.SpanKind.SERVER,
            attributes=attributes,
            start_time=begun,
        )
        if "error.type" in attributes:
            span.set_status(
                self._trace.Status(self._trace.StatusCode.ERROR, attributes["error.type"])
            )
        span.end(end_time=begun + int((explained["seconds"]["total"] or 0) * 1e9))

    def _parent(self, traceparent: str | None) -> Any:
        """The context of the client's span, so that its trace goes on; None without one."""
        if traceparent is None:
            return None
        _, trace_id, span_id, flags = traceparent.split("-")
        context = self._trace.SpanContext(
            int(trace_id, 16),
            int(span_id, 16),
            is_remote=True,
            trace_flags=self._trace.TraceFlags(int(flags, 16)),
        )
        return self._trace.set_span_in_context(self._trace.NonRecordingSpan(context))
