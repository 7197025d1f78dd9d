"""Spans around a client, as OpenTelemetry's own SDK exports them."""

import asyncio
import contextlib
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
        self.tracer = tracing.get_tracer("tests")
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


def is_cancelled(span):
    """Whether a span is marked as cancelled, and not as an error."""
    attributes = span.attributes
    assert span.status.is_unset
    assert not {"error.type", "gen_ai.response.finish_reasons"} & {*attributes}
    return attributes["gen_ai.response.status"] == "cancelled"


@pytest.mark.parametrize("emit", ["true", "false"])
def test_stream_that_is_left(emit):
    """A stream that was left early is cancelled, which is not an error."""
    traced = Traced(environ={EMIT: emit})
    with traced.client.stream(MODEL, QUESTION) as events:
        next(events)

    assert is_cancelled(traced.span)
    assert all("cancelled" == event.attributes["gen_ai.response.status"] for event in traced.events)


@pytest.mark.parametrize("way", ["text", "error", "langchain"])
def test_other_ways_to_leave_a_stream(way):
    """A generator that is closed, and an error of the code that reads the stream."""
    traced = Traced()
    if way == "langchain":
        bridge = pytest.importorskip("innervoice.bridges.langchain")
        stream = bridge.ChatInnervoice(model=MODEL, client=traced.client).stream(QUESTION)
        next(stream)
        stream.close()
    elif way == "text":
        with traced.client.stream(MODEL, QUESTION) as events:
            pieces = events.text()
            next(pieces)
            pieces.close()
    else:
        with pytest.raises(KeyError), traced.client.stream(MODEL, QUESTION) as events:
            {}[type(next(events))]

    assert is_cancelled(traced.span)


def test_a_stream_that_was_read_to_its_end_is_not_cancelled():
    traced = Traced()
    with traced.client.stream(MODEL, QUESTION) as events:
        list(events)

    assert "gen_ai.response.status" not in traced.span.attributes


class Waiting:
    """An async client whose answer never comes."""

    async def ask(self, *_, **__):
        await asyncio.Event().wait()


async def test_a_request_that_is_cancelled():
    traced = Traced(lambda _: Waiting())
    task = asyncio.create_task(traced.client.ask(MODEL, QUESTION))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert is_cancelled(traced.span)


async def test_a_stream_that_is_cancelled():
    traced, begun = Traced(emulated_async_client), asyncio.Event()

    async def read():
        async with traced.client.stream(MODEL, QUESTION) as events:
            async for _ in events:
                begun.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert is_cancelled(traced.span)


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


# ---- conversations -------------------------------------------------------------------------------


def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city")
    return f"{city}: nice"


async def get_weather_slowly(city: str) -> str:
    """Tells the weather of a city."""
    await asyncio.sleep(0)
    return get_weather(city)


def tool_spans(traced):
    return [span for span in traced.spans.get_finished_spans() if span.kind.name == "INTERNAL"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("tool", [get_weather, get_weather_slowly])
@pytest.mark.parametrize("make", [emulated_client, emulated_async_client])
def test_conversation(make, tool, streamed):
    """Every request has a span, and every run of a tool; all are children of the caller's span."""
    traced = Traced(make)
    chat = traced.client.conversation(MODEL, tools=[tool]).fork()
    question = "What is the weather in Paris and Oslo, then the weather in Rome?"

    async def read():
        async with chat.stream(question) as events:
            assert [event async for event in events]

    with traced.tracer.start_as_current_span("caller") as caller:
        if make is emulated_async_client:
            asyncio.run(read() if streamed else chat.ask(question))
        elif streamed:
            with chat.stream(question) as events:
                list(events)
        else:
            chat.ask(question)
    *spans, _ = traced.spans.get_finished_spans()
    tools = tool_spans(traced)[:-1]

    assert "Paris: nice. Oslo: nice. Rome: nice." == chat.responses[-1].text
    assert 3 == sum(span.name == "chat claude-opus-5-5" for span in spans)
    assert [f"execute_tool {tool.__name__}"] * 3 == [span.name for span in tools]
    assert {caller.get_span_context().span_id} == {span.parent.span_id for span in spans}
    assert {call.id for response in chat.responses for call in response.tool_calls} == {
        span.attributes["gen_ai.tool.call.id"] for span in tools
    }
    assert {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.__name__,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Tells the weather of a city.",
    } == {name: value for name, value in tools[0].attributes.items() if name != "gen_ai.tool.call.id"}  # fmt: skip


def test_spans_of_a_tool_are_children_of_its_span():
    traced = Traced()

    def get_weather(city: str) -> str:
        with traced.tracer.start_as_current_span(f"inside {city}"):
            return f"{city}: nice"

    traced.client.conversation(MODEL, tools=[get_weather]).ask("The weather in Paris and Oslo?")
    spans = traced.spans.get_finished_spans()
    outer = {span.context.span_id for span in spans if span.name.startswith("execute_tool")}

    assert outer == {span.parent.span_id for span in spans if span.name.startswith("inside")}
    assert 2 == len(outer)


@pytest.mark.parametrize("vocabulary", ["genai", "openinference"])
@pytest.mark.parametrize("capture", ["NO_CONTENT", "SPAN_ONLY"])
def test_arguments_and_results_of_tools(vocabulary, capture):
    """They are content, so they are written only if content is captured."""
    traced = Traced(vocabulary=vocabulary, capture=capture)
    traced.client.conversation(MODEL, tools=[get_weather]).ask("The weather in Paris?")
    (span,) = tool_spans(traced)
    names = {
        "genai": ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
        "openinference": ("input.value", "output.value"),
    }[vocabulary]
    written = ['{"city":"Paris"}', "Paris: nice"] if capture == "SPAN_ONLY" else [None, None]

    assert written == [span.attributes.get(name) for name in names]
    assert (vocabulary == "genai") == ("gen_ai.tool.name" in span.attributes)
    assert (vocabulary != "genai") == (span.attributes.get("openinference.span.kind") == "TOOL")


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("tool", [get_weather, get_weather_slowly])
async def test_a_tool_that_fails(tool, raises):
    traced = Traced(emulated_async_client)
    chat = traced.client.conversation(MODEL, tools=[tool], raise_tool_errors=raises)
    with pytest.raises(LookupError) if raises else contextlib.nullcontext():
        await chat.ask("The weather in Atlantis?")
    (span,) = tool_spans(traced)

    assert ("LookupError", "ERROR") == (span.attributes["error.type"], span.status.status_code.name)


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
