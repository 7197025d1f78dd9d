"""A request that the gateway has served, as in `/v1/explain` -> one span.

The span is created when the request has ended, with the times of the report. It needs opentelemetry-api; the configured SDK
decides where it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from innervoice.bridges.otel.genai import operation_at, provider_name
from innervoice.errors import UsageError

__all__ = ["ServedSpans", "served_attributes"]

_SCOPE = "innervoice.gateway"
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
                "opentelemetry-api is not installed: pip install 'innervoice[otel]'"
            ) from None
        self._tracer = self._trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)

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
