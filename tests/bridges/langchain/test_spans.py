"""Spans around a client, as OpenTelemetry's own SDK exports them."""

import json

import pytest

import innervoice as iv
from innervoice.bridges.otel import instrument
from innervoice.emulator import Emulator, emulated_async_client, emulated_client

export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
logs = pytest.importorskip("opentelemetry.sdk._logs")
logs_export = pytest.importorskip("opentelemetry.sdk._logs.export")


MODEL = "anthropic/claude-opus-5-5"
QUESTION = "What is 15 * 23?"
REASONING = iv.Reasoning("high", show="summary")
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"


class Traced:
    """A client whose spans and events are recorded."""

    def __init__(self, make=emulated_client, **settings):
        self.spans, self.records = (
            memory.InMemorySpanExporter(),
            logs_export.InMemoryLogRecordExporter(),
        )
        tracing, logging = sdk.TracerProvider(), logs.LoggerProvider()
        tracing.add_span_processor(export.SimpleSpanProcessor(self.spans))
        logging.add_log_record_processor(logs_export.SimpleLogRecordProcessor(self.records))
        settings = {"environ": {}, **settings}
        self.client = instrument(
            make(Emulator()), tracer_provider=tracing, logger_provider=logging, **settings
        )

    @property
    def span(self):
        (span,) = self.spans.get_finished_spans()
        return span

    @property
    def events(self):
        return [data.log_record for data in self.records.get_finished_logs()]


def test_ask():
    traced = Traced()
    response = traced.client.ask(MODEL, QUESTION, reasoning=REASONING)
    span = traced.span

    assert ("chat claude-opus-5-5", "CLIENT") == (span.name, span.kind.name)
    assert "high" == span.attributes["gen_ai.request.reasoning.level"]
    assert ("stop",) == span.attributes["gen_ai.response.finish_reasons"]
    assert (
        response.usage.reasoning_tokens == span.attributes["gen_ai.usage.reasoning.output_tokens"]
    )
    assert "gen_ai.request.stream" not in span.attributes
    assert not [name for name in span.attributes if "messages" in name]
    assert [] == traced.events


def test_settings_of_a_call_are_not_settings_of_its_request():
    traced = Traced()
    traced.client.ask(MODEL, QUESTION, reasoning=REASONING, timeout=30, headers={"x-a": "b"})

    assert "chat claude-opus-5-5" == traced.span.name
    assert "high" == traced.span.attributes["gen_ai.request.reasoning.level"]


def test_stream():
    traced = Traced()
    with traced.client.stream(MODEL, [iv.user(QUESTION)], reasoning=REASONING) as events:
        kinds = {type(event) for event in events}
        response = events.response

    assert {iv.ThinkingDelta, iv.TextDelta, iv.Finish} <= kinds
    assert "15 * 23 = 345." == response.text
    assert traced.span.attributes["gen_ai.request.stream"]
    assert 0 < traced.span.attributes["gen_ai.response.time_to_first_chunk"] < 5
    assert ("stop",) == traced.span.attributes["gen_ai.response.finish_reasons"]


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_stream_of_text(kind):
    traced = Traced()
    with traced.client.stream(MODEL, QUESTION, reasoning=REASONING) as events:
        assert "345" in "".join(getattr(events, kind)())

    assert "gen_ai.response.time_to_first_chunk" in traced.span.attributes


def test_stream_that_is_left():
    """The stream was left early, without an error."""
    traced = Traced()
    with traced.client.stream(MODEL, QUESTION) as events:
        next(events)

    assert ("error",) == traced.span.attributes["gen_ai.response.finish_reasons"]
    assert traced.span.status.is_ok or traced.span.status.is_unset


async def test_async():
    traced = Traced(emulated_async_client)
    response = await traced.client.ask(MODEL, QUESTION)
    async with traced.client.stream("gemini/gemini-3-pro-preview", QUESTION) as events:
        assert [event async for event in events]
    async with traced.client.stream(MODEL, QUESTION) as events:
        pieces = [piece async for piece in events.text()]
    spans = traced.spans.get_finished_spans()

    assert response.text == "".join(pieces)
    assert ["chat claude-opus-5-5", "generate_content gemini-3-pro-preview"] == [
        span.name for span in spans[:2]
    ]


def test_conversation():
    """Every round of a conversation has its own span."""

    def get_weather(city: str) -> str:
        return f"{city}: nice"

    traced = Traced()
    chat = traced.client.conversation(MODEL, tools=[get_weather])
    answer = chat.ask("What is the weather in Paris, then the weather in Rome?")

    assert "Paris: nice. Rome: nice." == answer.text
    assert 3 == len(traced.spans.get_finished_spans())


# ---- errors --------------------------------------------------------------------------------------


def test_refusal():
    traced = Traced()
    with pytest.raises(iv.ProviderError):
        traced.client.ask(f"{MODEL}+fail=0", QUESTION)
    span = traced.span

    assert ("OverloadedError", "ERROR") == (
        span.attributes["error.type"],
        span.status.status_code.name,
    )
    assert ("error",) == span.attributes["gen_ai.response.finish_reasons"]


@pytest.mark.parametrize("ending", ["cut=4", "fail=4"])
def test_stream_that_breaks(ending):
    traced = Traced()
    with (
        pytest.raises(iv.InnervoiceError),
        traced.client.stream(f"{MODEL}+{ending}", QUESTION, reasoning=REASONING) as events,
    ):
        list(events)

    assert "error.type" in traced.span.attributes
    assert ("error",) == traced.span.attributes["gen_ai.response.finish_reasons"]


def test_stream_that_never_begins():
    traced = Traced()
    with pytest.raises(iv.ProviderError), traced.client.stream(f"{MODEL}+fail=0", QUESTION):
        pass

    assert "ERROR" == traced.span.status.status_code.name


def test_mistakes_of_the_reader_are_not_the_models():
    traced = Traced()
    with pytest.raises(KeyError), traced.client.stream(MODEL, QUESTION) as events:
        {}[len(list(events))]

    assert "error.type" not in traced.span.attributes


def test_wrong_fields_are_the_clients_to_refuse():
    with pytest.raises(iv.UsageError, match="unexpected keyword argument 'tempratur'"):
        Traced().client.ask(MODEL, QUESTION, tempratur=1)


# ---- content -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "on_span", "on_event"),
    [
        (None, False, False),
        ("NO_CONTENT", False, False),
        ("false", False, False),
        ("true", True, False),
        ("span_only", True, False),
        ("EVENT_ONLY", False, True),
        ("SPAN_AND_EVENT", True, True),
    ],
)
def test_switch(word, on_span, on_event):
    traced = Traced(environ={CAPTURE: word} if word else {})
    traced.client.ask(MODEL, QUESTION, system="Be brief.", reasoning=REASONING)
    attributes = traced.span.attributes

    assert on_span == ("gen_ai.output.messages" in attributes)
    assert on_event == bool(traced.events)
    if on_span:
        (answer,) = json.loads(attributes["gen_ai.output.messages"])
        assert ["reasoning", "text"] == [part["type"] for part in answer["parts"]]
    if on_event:
        (event,) = traced.events
        assert "gen_ai.client.inference.operation.details" == event.event_name
        assert traced.span.context.span_id == event.span_id
        assert "assistant" == event.attributes["gen_ai.output.messages"][0]["role"]


def test_event_without_content():
    traced = Traced(environ={EMIT: "true"})
    traced.client.ask(MODEL, QUESTION)
    (event,) = traced.events

    assert "claude-opus-5-5" == event.attributes["gen_ai.request.model"]
    assert "gen_ai.output.messages" not in event.attributes


def test_capture_overrides_the_environment():
    traced = Traced(environ={CAPTURE: "SPAN_ONLY"}, capture="NO_CONTENT")
    traced.client.ask(MODEL, QUESTION)

    assert "gen_ai.output.messages" not in traced.span.attributes


def test_unknown_words():
    for wrong in ({"environ": {CAPTURE: "all"}}, {"vocabulary": "x"}, {"show": "x"}):
        with pytest.raises(iv.UsageError):
            Traced(**wrong)


@pytest.mark.parametrize("vocabulary", ["genai", "openinference", "both"])
def test_vocabulary(vocabulary):
    traced = Traced(vocabulary=vocabulary, capture="SPAN_ONLY")
    traced.client.ask(MODEL, QUESTION, reasoning=REASONING)
    names = {name.split(".")[0] for name in traced.span.attributes}

    assert (vocabulary != "openinference") == ("gen_ai" in names)
    assert (vocabulary != "genai") == ("llm" in names)


@pytest.mark.parametrize("show", ["full", "none"])
def test_seals_are_never_told(show):
    """No seals in any vocabulary, even with all content; reasoning only if the policy allows it."""
    traced = Traced(vocabulary="both", capture="SPAN_AND_EVENT", show=show)
    first = traced.client.ask(MODEL, QUESTION, reasoning=REASONING)
    traced.client.ask(MODEL, [iv.user(QUESTION), first, iv.user("And 2 * 2?")], reasoning=REASONING)
    told = str([dict(span.attributes) for span in traced.spans.get_finished_spans()])
    told += str([dict(event.attributes) for event in traced.events])

    assert first.parts[0].origin.block["signature"] not in told
    assert (show == "full") == ("That is all I need to answer" in told)
