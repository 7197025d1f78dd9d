"""Spans of OpenTelemetry: three vocabularies, conversations over several spans, lanes of agents, and what our own bridge writes."""

import json

import pytest

import innervoice as iv
from innervoice.bridges import otel as bridge
from innervoice.canon.jsontext import dump_json
from innervoice.errors import DecodeError
from innervoice.sources.opening import open_source
from sources.made_sessions import (
    AT,
    CALL,
    REQUEST,
    RESULT,
    SEAL,
    THOUGHT,
    lines,
    otlp,
    otlp_newer,
    request_span,
    said,
    span,
    text,
)


def shown(turns):
    return [(turn.message.role, *map(words, turn.message.parts), *turn.marks) for turn in turns]


def words(part):
    match part:
        case iv.Thinking():
            return (part.form, part.text)
        case iv.ToolCall():
            return ("calls", part.id, part.name, json.loads(part.arguments))
        case iv.ToolResult():
            return ("result", part.call_id, part.content)
        case iv.Text():
            return part.text
        case _:
            return part.type


def opened(*spans):
    return open_source(json.dumps(otlp(*spans)).encode())


CALLED = ("calls", "call_1", "clock", {"zone": "UTC"})
TURNS = [
    ("user", "When do they meet?"),
    ("assistant", ("full", "The clock knows."), CALLED),
    ("tool", ("result", "call_1", "10:40")),
    ("assistant", "At 10:40."),
]
QUESTION = said("user", text("When do they meet?"))


def test_requests_that_repeat_each_other_are_one_conversation():
    """The answer of the first comes back in the second without its reasoning; it is there once, and whole."""
    source = open_source(otlp_newer())
    conversation = source.conversation()

    assert (source.kind, source.troubles) == ("otel", [])
    assert "When do they meet?" == conversation.title
    assert TURNS == shown(conversation.turns)
    assert [None, AT + 2, None, AT + 7] == [turn.at for turn in conversation.turns]
    assert [None, 2.0, None, 2.0] == [turn.seconds for turn in conversation.turns]


def test_a_line_for_each_export_is_the_same():
    whole = json.loads(otlp_newer())
    first, second = whole["resourceSpans"][0]["scopeSpans"][0]["spans"]
    source = open_source(lines(otlp(first), otlp(second)) + b'{"resourceSpans": [{"sco\n')

    assert TURNS == shown(source.conversation().turns)
    assert [1, 1, 2, 2] == [turn.line for turn in source.conversation().turns]
    assert [3] == [trouble.line for trouble in source.troubles]


def test_answers_have_author_tokens_status_and_settings():
    members = {"gen_ai.request.max_tokens": 500, "gen_ai.request.reasoning.level": "HIGH", "gen_ai.response.id": "msg_1", "gen_ai.usage.cache_read.input_tokens": 10, "gen_ai.system_instructions": json.dumps([text("Be brief.")]), "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "clock", "parameters": {"type": "object"}}])}  # fmt: skip
    conversation = opened(request_span("a", [QUESTION], THOUGHT, CALL, finish="tool_call", members=members)).conversation()  # fmt: skip
    answer, request = conversation.turns[-1].answer, conversation.request

    assert ("anthropic", "claude-opus-5-5", "msg_1") == (answer.provider, answer.model, answer.id)
    assert ("tool_calls", "tool_calls") == (answer.finish_reason, answer.status)
    assert (30, 20, 15, 10) == (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.reasoning_tokens, answer.usage.cached_input_tokens)  # fmt: skip
    assert ("anthropic/claude-opus-5-5", 500, "high", "Be brief.", ["clock"]) == (request.model, request.max_tokens, request.reasoning.effort, request.system, [tool.name for tool in request.tools])  # fmt: skip


def test_values_in_place_of_json_text():
    members = {**REQUEST, "gen_ai.input.messages": [QUESTION], "gen_ai.output.messages": [said("assistant", THOUGHT, CALL)]}  # fmt: skip

    assert TURNS[:2] == shown(opened(span("a", members)).conversation().turns)


def chat_events(content_in):
    """The older revision: a message of OpenAI's chat in each event, in one of the ways that were in use."""
    called = [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "clock", "arguments": '{"zone": "UTC"}'},
        }
    ]
    said_before = {
        "role": "assistant",
        "reasoning_content": "The clock knows.",
        "tool_calls": json.dumps(called),
    }
    answer = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"content": "At 10:40.", "role": "assistant"},
    }
    events = [
        ("gen_ai.system.message", {"content": "Be brief."}),
        ("gen_ai.user.message", {"content": "When do they meet?"}),
        ("gen_ai.assistant.message", said_before),
        ("gen_ai.tool.message", {"content": "10:40", "id": "call_1"}),
        ("gen_ai.choice", {**answer, "message": json.dumps(answer["message"])}),
    ]
    if content_in == "gen_ai.event.content":
        return [(name, {content_in: json.dumps(about)}) for name, about in events]
    return events


@pytest.mark.parametrize("content_in", ["attributes", "gen_ai.event.content"])
def test_the_older_revision_has_events(content_in):
    members = {"gen_ai.system": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.6", "gen_ai.usage.prompt_tokens": 7}  # fmt: skip
    conversation = opened(span("a", members, events=chat_events(content_in))).conversation()

    assert TURNS == shown(conversation.turns)
    assert "Be brief." == conversation.request.system
    answer = conversation.turns[-1].answer
    assert ("openai", "stop", 7) == (
        answer.provider,
        answer.finish_reason,
        answer.usage.input_tokens,
    )


def test_openinference():
    start = "llm.input_messages"
    members = {
        "openinference.span.kind": "LLM", "llm.provider": "anthropic", "llm.model_name": "claude-opus-5-5", "llm.token_count.prompt": 9, "llm.token_count.completion_details.reasoning": 4, "llm.invocation_parameters": '{"max_tokens": 300}',
        f"{start}.0.message.role": "system", f"{start}.0.message.content": "Be brief.",
        f"{start}.1.message.role": "user", f"{start}.1.message.content": "When do they meet?",
        f"{start}.2.message.role": "assistant", f"{start}.2.message.contents.0.message_content.type": "reasoning", f"{start}.2.message.contents.0.message_content.text": "The clock knows.",
        f"{start}.2.message.tool_calls.0.tool_call.id": "call_1", f"{start}.2.message.tool_calls.0.tool_call.function.name": "clock", f"{start}.2.message.tool_calls.0.tool_call.function.arguments": '{"zone": "UTC"}',
        f"{start}.3.message.role": "tool", f"{start}.3.message.tool_call_id": "call_1", f"{start}.3.message.content": "10:40",
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
        "llm.output_messages.0.message.contents.0.message_content.text": "So it is.", "llm.output_messages.0.message.contents.0.message_content.signature": SEAL,
        "llm.output_messages.0.message.contents.1.message_content.type": "text", "llm.output_messages.0.message.contents.1.message_content.text": "At 10:40.",
    }  # fmt: skip
    conversation = opened(span("a", members)).conversation()
    answer = conversation.turns[-1].answer

    assert [*TURNS[:3], ("assistant", ("full", "So it is."), "At 10:40.")] == shown(
        conversation.turns
    )
    assert ("signature",) == answer.parts[0].origin.seals
    assert (9, 4, 300) == (answer.usage.input_tokens, answer.usage.reasoning_tokens, conversation.request.max_tokens)  # fmt: skip
    assert SEAL not in repr(conversation)


def test_flat_attributes_of_openllmetry():
    members = {
        "gen_ai.system": "openai", "gen_ai.request.model": "gpt-5.6",
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "When do they meet?",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "call_1", "gen_ai.completion.0.tool_calls.0.name": "clock", "gen_ai.completion.0.tool_calls.0.arguments": '{"zone": "UTC"}',
    }  # fmt: skip

    assert [TURNS[0], ("assistant", CALLED)] == shown(
        opened(span("a", members)).conversation().turns
    )


def test_what_a_later_request_does_not_have_is_abandoned():
    """The user went back and asked something else after the first answer."""
    again = [QUESTION, said("assistant", text("Soon.")), said("user", text("Really?"))]
    spans = (
        request_span("a", [QUESTION], text("Soon.")),
        request_span("b", [*again[:2], said("user", text("Where?"))], text("Here."), second=3),
        request_span("c", again, text("Yes."), second=6),
    )

    assert [
        TURNS[0], ("assistant", "Soon."), ("user", "Where?", "abandoned"), ("assistant", "Here.", "abandoned"), ("user", "Really?"), ("assistant", "Yes."),
    ] == shown(opened(*spans).conversation().turns)  # fmt: skip


def test_a_conversation_that_the_provider_stores_has_new_messages_only():
    named = {"gen_ai.conversation.id": "conv_1"}
    spans = [
        request_span("a", [QUESTION], text("Soon."), members=named, trace="1" * 32),
        request_span(
            "b",
            [said("user", text("Where?"))],
            text("Here."),
            members=named,
            trace="2" * 32,
            second=5,
        ),
    ]
    source = opened(*spans)

    assert ["conv_1"] == [entry.id for entry in source.entries]
    assert [TURNS[0], ("assistant", "Soon."), ("user", "Where?"), ("assistant", "Here.")] == shown(source.conversation().turns)  # fmt: skip


def test_unrelated_requests_of_a_trace_are_conversations_of_their_own():
    title = request_span("t", [said("user", text("Give it a title."))], text("Meeting"), second=1)
    first = request_span("a", [QUESTION], text("Soon."))
    source = opened(first, title)

    assert ["When do they meet?", "Give it a title."] == [entry.title for entry in source.entries]
    assert [None, None] == [entry.parent for entry in source.entries]
    assert [entry.id for entry in source.entries] == [
        entry.id for entry in opened(first, title).entries
    ]


def test_nested_agents_are_lanes():
    """The outer agent calls a tool that is an agent; each has requests of its own."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "outer"}
    inner = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "searcher"}
    spans = [
        span("root", agent, took=20),
        request_span("a", [QUESTION], CALL, parent="root", second=1, finish="tool_call"),
        span("tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.result": "10:40"}, parent="root", second=4),
        span("sub", inner, parent="tool", second=5),
        request_span("b", [said("user", text("Search."))], text("Found."), parent="sub", second=6),
    ]  # fmt: skip
    source = opened(*spans)
    main, lane = source.entries

    assert (None, main.id) == (main.parent, lane.parent)
    assert ["When do they meet?", "Search."] == [main.title, lane.title]
    assert [TURNS[0], ("assistant", CALLED), TURNS[2]] == shown(source.conversation().turns)
    assert [("user", "Search."), ("assistant", "Found.")] == shown(
        source.conversation(lane.id).turns
    )


def test_two_spans_for_one_request_count_once():
    """A framework and an SDK both make one; that with the content counts."""
    outer = request_span("a", [QUESTION], text("Soon."))
    bare = span("b", REQUEST, parent="a", second=1)
    hidden = span("c", REQUEST, second=10)
    held = request_span("d", [QUESTION], text("Later."), parent="c", second=11)
    turns = opened(outer, bare, hidden, held).conversation().turns

    assert [TURNS[0], ("assistant", "Soon.", "abandoned"), ("assistant", "Later.")] == shown(turns)


def test_an_agent_counts_where_its_requests_are_not_recorded():
    members = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps([QUESTION]), "gen_ai.output.messages": json.dumps([said("assistant", text("Soon."))])}  # fmt: skip

    assert [TURNS[0], ("assistant", "Soon.")] == shown(
        opened(span("a", members)).conversation().turns
    )


def test_content_that_was_not_recorded_is_told():
    source = opened(span("a", {**REQUEST, "gen_ai.usage.output_tokens": 20}))
    (turn,) = source.conversation().turns

    assert "The content of 1 requests: it was not recorded." in source.cannot_know
    assert ("assistant", (), 20) == (
        turn.message.role,
        turn.message.parts,
        turn.answer.usage.output_tokens,
    )


def test_errors_and_calls_that_were_given_up():
    failed = request_span(
        "a",
        [QUESTION],
        members={"error.type": "timeout"},
        status={"code": 2, "message": "too slow"},
    )
    left = request_span(
        "b", [QUESTION], text("So"), members={"gen_ai.response.status": "cancelled"}, second=9
    )
    answers = [turn.answer for turn in opened(failed, left).conversation().turns if turn.answer]

    assert [("interrupted", "timeout", "too slow"), ("interrupted", None, None)] == [
        (answer.status, answer.error and answer.error.type, answer.error and answer.error.message) for answer in answers
    ]  # fmt: skip


def test_traces_without_a_model_say_so():
    source = opened(span("GET /", {"http.request.method": "GET"}))

    assert [] == source.entries
    assert ["none of the 1 spans is a request to a model"] == [
        trouble.why for trouble in source.troubles
    ]
    with pytest.raises(DecodeError, match="no conversation"):
        source.conversation()


# ---- what our bridge writes ------------------------------------------------------------------------

ORIGIN = iv.Origin(provider="anthropic", model="claude-opus-5-5", dialect="anthropic", block={"type": "thinking", "thinking": "Two trains.", "signature": SEAL}, seals=("signature",))  # fmt: skip
ANSWER = iv.Response(
    parts=(
        iv.Thinking("Two trains.", origin=ORIGIN),
        iv.Text("A moment."),
        iv.ToolCall("call_1", "clock", '{"at":"10:40"}'),
    ),
    provider="anthropic", model="claude-opus-5-5", id="msg_1", ended=True, finish_reason="tool_calls",
    usage=iv.Usage(input_tokens=30, output_tokens=20, reasoning_tokens=15, cached_input_tokens=10),
)  # fmt: skip
ASKED = iv.Request(
    "anthropic/claude-opus-5-5",
    [iv.user(["When?", iv.Media("image/png", "aW1n"), iv.Media(url="https://a.test/b.png")])],
    system="Be brief.",
    tools=[iv.Tool("clock", "Tells it.", {"type": "object"})],
    reasoning="high",
    max_tokens=500,
    temperature=1.0,
)


def bridged(vocabulary, request=ASKED, answer=ANSWER):
    """The span that `bridges/otel` makes, by its own functions; its exporter would need opentelemetry-sdk, which is not here."""
    if vocabulary == "openinference":
        return span(
            "a", bridge.openinference_attributes(request, answer, iv.encode(request), content=True)
        )
    content = {
        name: dump_json(value).decode()
        for name, value in bridge.content_attributes(request, answer).items()
    }
    wire = iv.encode(request)
    return span(
        "a",
        {
            **bridge.request_attributes(request, wire),
            **bridge.response_attributes(answer),
            **content,
        },
    )


@pytest.mark.parametrize("vocabulary", ["genai", "openinference"])
def test_what_our_bridge_writes_is_read_back(vocabulary):
    conversation = opened(bridged(vocabulary)).conversation()
    answer, request = conversation.turns[-1].answer, conversation.request

    assert [("full", "Two trains."), "A moment.", ("calls", "call_1", "clock", {"at": "10:40"})] == [words(part) for part in answer.parts]  # fmt: skip
    assert ("anthropic", "claude-opus-5-5") == (
        answer.parts[0].origin.provider,
        answer.parts[0].origin.model,
    )
    assert ANSWER.usage == answer.usage.replace(raw=None)
    assert ("anthropic/claude-opus-5-5", "Be brief.", "high", 500, 1.0, ["clock"]) == (request.model, request.system, request.reasoning.effort, request.max_tokens, request.temperature, [tool.name for tool in request.tools])  # fmt: skip
    assert "When?" == conversation.turns[0].message.text
    if vocabulary == "genai":  # OpenInference has no place for these
        assert ASKED.messages[0] == conversation.turns[0].message
        assert ("tool_calls", "msg_1") == (answer.finish_reason, answer.id)


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "gemini/gemini-3-pro-preview", "vertex/gemini-3-pro-preview", "azure/gpt-5.6", "bedrock/us.anthropic.claude-opus-5-5-v1:0", "mistral/magistral-medium-latest", "xai/grok-4"])  # fmt: skip
def test_every_provider_is_known_by_the_name_that_our_bridge_writes(model):
    provider, _, name = model.partition("/")
    request = iv.Request(model, [iv.user("?")], max_tokens=100)
    answer = ANSWER.replace(provider=provider, model=name)
    read = opened(bridged("genai", request, answer)).conversation()

    assert (provider, name, model) == (
        read.turns[-1].answer.provider,
        read.turns[-1].answer.model,
        read.request.model,
    )


def test_thoughts_that_our_bridge_cut_or_hid_are_told_apart():
    hidden = ANSWER.replace(parts=(iv.Thinking("", "hidden", origin=ORIGIN), iv.Text("10:40.")))
    cut = [
        {
            "role": "assistant",
            "parts": [{"type": "reasoning", "content": "Two ...", "characters": 900}],
        }
    ]
    asked = json.dumps([QUESTION])
    first = opened(bridged("genai", answer=hidden)).conversation().turns[-1]
    second = opened(span("a", {**REQUEST, "gen_ai.input.messages": asked, "gen_ai.output.messages": json.dumps(cut)})).conversation().turns[-1]  # fmt: skip

    assert [("hidden", ""), "10:40."] == [words(part) for part in first.message.parts]
    assert ("summary", "Two ...") == words(second.message.parts[0])
    assert [] == [one for one in iv.plan([first.message], "anthropic/claude-opus-5-5").decisions if one.kind == "thinking" and one.action == "kept"]  # fmt: skip


def test_what_the_format_does_not_tell_is_said():
    said_so = " ".join(open_source(otlp_newer()).cannot_know)

    for subject in ("When users and tools wrote", "Signatures", "Which model wrote answers"):
        assert subject in said_so


def test_results_of_any_shape():
    held = [text("It is"), {"type": "blob", "mime_type": "image/png", "content": "aW1n"}]
    results = [
        {**RESULT, "id": name, "response": value}
        for name, value in (("a", held), ("b", {"at": 1}), ("c", None))
    ]
    turns = (
        opened(request_span("s", [QUESTION, said("tool", *results)], text("ok")))
        .conversation()
        .turns
    )
    contents = [part.content for part in turns[1].message.parts]

    assert [("It is", "aW1n"), '{"at":1}', ""] == [
        (contents[0][0].text, contents[0][1].data),
        *contents[1:],
    ]
