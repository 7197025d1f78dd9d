"""A span for each request that the gateway has served, as OpenTelemetry's own SDK exports it."""

import pytest

from innervoice.bridges.otel.call import ServedSpans
from innervoice.canon.notes import Note
from innervoice.canon.usage import Usage
from innervoice.gateway.operations.journal import Journal, explain
from innervoice.gateway.report import Report

export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
sdk = pytest.importorskip("opentelemetry.sdk.trace")

KEY = "sk-0123456789abcdef0123456789"


def span_of(**fields):
    spans, tracing = memory.InMemorySpanExporter(), sdk.TracerProvider()
    tracing.add_span_processor(export.SimpleSpanProcessor(spans))
    served = ServedSpans(tracing)
    journal = Journal()
    journal.listen(lambda report: served.add(explain(report)))
    journal.add(
        Report(
            **{"id": "iv_1", "tenant": "somebody", "dialect": "anthropic", "asked": "flash",
               "provider": "gemini", "model": "gemini-3.5-flash", "status": 200, "attempts": 1,
               "begun": 1795000000.0, "first_byte": 0.5, "total": 2.0, **fields}
        )
    )  # fmt: skip
    (span,) = spans.get_finished_spans()
    return span


def test_an_answer():
    span = span_of(
        stream=True, kept=3, restored=2, omitted=1, rules=("H2",), notes=[Note("effort_clamped")],
        usage=Usage(input_tokens=1204, output_tokens=310, reasoning_tokens=96, cached_input_tokens=7),
    )  # fmt: skip
    assert ("generate_content gemini-3.5-flash", "SERVER", "UNSET") == (
        span.name,
        span.kind.name,
        span.status.status_code.name,
    )
    assert (1795000000 * 10**9, 2 * 10**9) == (span.start_time, span.end_time - span.start_time)
    assert {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "flash",
        "gen_ai.request.stream": True,
        "gen_ai.response.model": "gemini-3.5-flash",
        "gen_ai.response.time_to_first_chunk": 0.5,
        "gen_ai.usage.input_tokens": 1204,
        "gen_ai.usage.output_tokens": 310,
        "gen_ai.usage.reasoning.output_tokens": 96,
        "gen_ai.usage.cache_read.input_tokens": 7,
        "http.response.status_code": 200,
        "innervoice.id": "iv_1",
        "innervoice.tenant": "somebody",
        "innervoice.dialect": "anthropic",
        "innervoice.way": "canon",
        "innervoice.attempts": 1,
        "innervoice.reasoning.kept": 3,
        "innervoice.reasoning.restored": 2,
        "innervoice.reasoning.omitted": 1,
        "innervoice.reasoning.rules": ("H2",),
        "innervoice.thinking.share": 0.3097,
        "innervoice.store": "ok",
        "innervoice.notes": ("effort_clamped",),
    } == dict(span.attributes)


def test_the_clients_trace_goes_on():
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    span = span_of(trace=f"00-{trace}-{parent}-01")

    assert (int(trace, 16), int(parent, 16)) == (span.context.trace_id, span.parent.span_id)
    assert span_of().parent is None


def test_an_error():
    span = span_of(status=429, error="RateLimitError")
    assert "ERROR" == span.status.status_code.name
    assert "RateLimitError" == span.attributes["error.type"]


def test_a_client_that_left_is_no_error():
    span = span_of(status=499, error="left")
    assert "UNSET" == span.status.status_code.name
    assert "error.type" not in span.attributes
    assert "cancelled" == span.attributes["gen_ai.response.status"]


def test_a_refusal_before_a_provider_was_asked():
    span = span_of(provider="", model="", asked="gpt-9", status=404, error="UnknownModelError")
    assert "chat gpt-9" == span.name
    assert "gen_ai.provider.name" not in span.attributes


def test_no_key():
    span = span_of(asked=KEY, notes=[Note("retried", KEY)], model=KEY)
    assert KEY not in repr((span.name, dict(span.attributes)))
