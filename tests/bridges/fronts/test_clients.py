"""What the real clients of AG-UI and of the Vercel AI SDK understand of our streams, and what comes back from them."""

import base64
import json

import pytest
from front_ends import FRONTS, of_role, read_back, said, with_results, written

import innervoice as iv
from innervoice.wire.dialects import DIALECTS
from shared import SHARED, needs_shared
from wire.fixtures import ANSWERS, ARGUMENTS

every_front = pytest.mark.parametrize("front", FRONTS)
every_answer = pytest.mark.parametrize("answer", ANSWERS, ids=[answer.name for answer in ANSWERS])

TOOL = iv.Tool(name="weather", description="", parameters={"type": "object", "properties": {}})


def events_of(answer, stream=None):
    return list(
        iv.decode_stream(
            [answer.stream if stream is None else stream],
            provider=answer.provider,
            model=answer.model,
            dialect=answer.dialect,
        )
    )


def read(clients, front, events):
    """What a client understood, without any complaint of it."""
    found = clients.read(front, written(front, events))

    assert ([], None) == (found["warnings"], found["thrown"])
    return found


def body_of(model, messages):
    """The request that a program would send next."""
    return iv.encode(iv.Request(model, messages, tools=[TOOL])).body


@every_front
@every_answer
def test_a_client_shows_the_answer(clients, front, answer):
    found = read(clients, front, events_of(answer))
    shown = said(front, found["messages"])

    assert None is found["failure"]
    assert answer.text == "".join(shown["text"]).strip()
    assert answer.thinking.strip() == "\n\n".join(shown["thinking"]).strip()
    assert [("weather", ARGUMENTS)] == [(name, json.loads(text)) for name, text in shown["calls"]]


@every_front
@every_answer
def test_a_chat_goes_on_as_if_it_had_never_left(clients, front, answer):
    """The next request has every block and seal where it would be without a front end."""
    events = events_of(answer)
    response = events[-1].response
    model = f"{answer.provider}/{answer.model}"
    found = read(clients, front, events)
    back = read_back(front, with_results(front, found["messages"], "sunny"))
    results = [iv.tool_result(call.id, "sunny") for call in response.tool_calls]

    expected = body_of(model, [iv.user("hi"), response.message, *results])
    assert expected == body_of(model, back)
    for seal in answer.seals:
        assert seal not in repr(back)


@every_front
@every_answer
def test_an_answer_that_breaks_off_ends_legally(clients, front, answer):
    """Wherever the provider's stream is cut, the client reports a failure, and shows what came."""
    size = len(answer.stream)
    for end in range(0, size, max(1, size // 12)):
        events = events_of(answer, answer.stream[:end])
        came = events[-1].response
        if came.status != "interrupted":
            continue
        found = clients.read(front, written(front, events))
        shown = said(front, found["messages"])
        assert [] == found["warnings"]
        assert (came.error.message if came.error else "ended before") in str(
            found["failure"] or found["thrown"]
        )
        assert came.text.strip() == "".join(shown["text"]).strip()
        assert (came.thinking or "").strip() == "\n\n".join(shown["thinking"]).strip()


def finished(*parts, **more):
    return [iv.Finish(iv.Response(parts=parts, ended=True, **more))]


@every_front
def test_parallel_calls_keep_their_ids(clients, front):
    calls = [iv.ToolCall(f"toolu_{n}", "weather", json.dumps({"n": n})) for n in range(3)]
    events = [
        *(iv.PartStart(n, "tool_call", call.replace(arguments="")) for n, call in enumerate(calls)),
        *(iv.ToolCallDelta(n, call.arguments[:4]) for n, call in enumerate(calls)),
        *(iv.ToolCallDelta(n, call.arguments[4:]) for n, call in enumerate(calls)),
        *(iv.PartEnd(n, call) for n, call in enumerate(calls)),
        *finished(*calls, finish_reason="tool_calls"),
    ]
    found = read(clients, front, events)
    (turn,) = [item for item in read_back(front, found["messages"]) if item.role == "assistant"]

    assert calls == [
        call.replace(arguments=json.dumps(json.loads(call.arguments))) for call in turn.tool_calls
    ]

    if front == "ag-ui":
        assert 1 == len(of_role(found["messages"], "assistant"))


@every_front
def test_ids_that_we_counted_are_unique_in_a_chat(clients, front):
    """Providers without ids get `call_0` in every answer, and a client adds arguments to a call that it has."""
    lines = [
        {
            "message": {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "weather", "arguments": {"a": 1}}}],
            },
            "done": False,
        },
        {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    events = list(iv.decode_stream([stream], provider="ollama", model="qwen3"))
    first = clients.read(front, written(front, events))["messages"]
    answered = with_results(front, first, "sunny")
    second = clients.read(front, written(front, events), answered)["messages"]
    back = read_back(front, with_results(front, second, "sunny"))

    assert [["call_0"], ["call_0"]] == [
        [call.id for call in item.tool_calls] for item in back if item.role == "assistant"
    ]
    assert {"call_0"} == {item.parts[0].call_id for item in back if item.role == "tool"}


ODD = {
    "nothing": (),
    "hidden": (iv.Thinking("", "hidden"), iv.Text("a")),
    "opaque": (iv.Text("a"), iv.Opaque({"type": "server_tool_use", "id": "s"}, origin=iv.Origin(provider="anthropic", dialect="anthropic")), iv.Text("b")),
    "alternating": (iv.Thinking("t1"), iv.Text("a"), iv.ToolCall("c1", "weather", "{}"), iv.Thinking("t2"), iv.ToolCall("c2", "weather", "{}"), iv.Text("b")),
    "no arguments": (iv.ToolCall("c1", "weather", ""),),
    "line separators": (iv.Text("a\u2028b\n\ndata: c\r\n"),),
}  # fmt: skip


@every_front
@pytest.mark.parametrize("name", ODD)
def test_odd_answers_come_back_in_their_order(clients, front, name):
    parts = ODD[name]
    found = read(clients, front, finished(*parts, finish_reason="stop"))
    turns = [item for item in read_back(front, found["messages"]) if item.role == "assistant"]
    filled = [part.replace(arguments="{}") if part.type == "tool_call" else part for part in parts]

    assert None is found["failure"]
    # AG-UI has no message for hidden reasoning that nothing is known of.
    kept = [part for part in filled if front != "ag-ui" or part != iv.Thinking("", "hidden")]
    assert kept == [part for turn in turns for part in turn.parts]


@every_front
def test_a_call_that_was_cut_off_is_never_run(clients, front):
    call = iv.ToolCall("c1", "weather", '{"city": "Ro', complete=False)
    found = read(clients, front, finished(call, finish_reason="length"))
    (turn,) = [item for item in read_back(front, found["messages"]) if item.role == "assistant"]

    assert [call] == list(turn.parts)
    for event in found["events"]:
        assert "tool-input-available" != event["type"]
        assert "pendingToolCallIds" not in (event.get("outcome") or {})


@every_front
def test_what_belongs_to_a_turn_as_a_whole_comes_back(clients, front):
    origin = iv.Origin(provider="openai", dialect="openai-chat", block={"annotations": [{"n": 1}]})
    found = read(clients, front, finished(iv.Text("a"), origin=origin))
    (turn,) = [item for item in read_back(front, found["messages"]) if item.role == "assistant"]

    assert (origin, (iv.Text("a"),)) == (turn.origin, turn.parts)


@pytest.mark.parametrize("front", ["ai", "ai-6"])
def test_a_tool_that_takes_text_and_one_that_got_nonsense(clients, front):
    """Only JSON, or the text of a tool that takes text, makes the front end run a tool."""
    block = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"}
    free = iv.ToolCall(
        "c1", "patch", "*** Begin", origin=iv.Origin(dialect="openai-responses", block=block)
    )
    found = read(clients, front, finished(free, iv.ToolCall("c2", "weather", "{city: Rome")))
    _, patch, weather = found["messages"][-1]["parts"]
    turn, result = read_back(front, found["messages"])[1:]

    assert ("input-available", "*** Begin") == (patch["state"], patch["input"])
    assert "output-error" == weather["state"]
    assert (free, iv.ToolCall("c2", "weather", "{city: Rome")) == turn.parts
    assert ("c2", True) == (result.parts[0].call_id, result.parts[0].error)


@every_front
def test_an_error_is_the_last_word(clients, front):
    failure = iv.Failure(type="overloaded_error", message="Overloaded")
    response = iv.Response(parts=(iv.Text("Hal", complete=False),), error=failure)
    found = clients.read(
        front,
        written(front, [iv.PartStart(0, "text"), iv.TextDelta(0, "Hal"), iv.Finish(response)]),
    )

    assert "Overloaded" in (found["failure"] or found["thrown"])
    assert ["Hal"] == said(front, found["messages"])["text"]
    assert found["events"][-1]["type"] in ("RUN_ERROR", "error")


@every_front
def test_usage_and_finish_reason(clients, front):
    usage = iv.Usage(input_tokens=3, output_tokens=5, reasoning_tokens=2)
    found = read(
        clients,
        front,
        finished(iv.Text("a"), usage=usage, provider="p", model="m", finish_reason="length"),
    )
    last = found["events"][-1]

    if front == "ag-ui":
        counts = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8, "reasoningTokens": 2}
        assert [{"provider": "p", "model": "m", **counts}] == last["usage"]
        assert {"finishReason": "length"} == last["metadata"]
    else:
        assert {"type": "finish", "finishReason": "length"} == last


@pytest.mark.parametrize("front", ["ai", "ai-6"])
def test_the_sdk_gets_the_signatures_under_its_own_names(clients, front):
    """So a backend that is built on the SDK's providers can go on with a chat of ours."""
    answer = next(answer for answer in ANSWERS if answer.dialect == "anthropic")
    found = read(clients, front, events_of(answer))
    (turn,) = of_role(found["model"], "assistant")
    seen = [
        part["providerOptions"]["anthropic"]
        for part in turn["content"]
        if part["type"] == "reasoning"
    ]

    assert [
        {"signature": "sig-anthropic=="},
        {"redactedData": "redacted-data=="},
        {"signature": "sig-empty=="},
    ] == seen


@pytest.mark.parametrize("front", ["ai", "ai-6"])
def test_a_picture_is_a_file(clients, front):
    picture = iv.Media("image/png", data="iVBORw0KGgo=")
    found = read(clients, front, finished(picture))
    (turn,) = [item for item in read_back(front, found["messages"]) if item.role == "assistant"]

    assert [picture] == list(turn.parts)


def exchanges():
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text())
        if exchange["status"] == 200 and exchange["dialect"] in DIALECTS:
            response = exchange["response"]
            if "json" in response:
                body = json.dumps(response["json"]).encode()
            elif "eventstream_b64" in response:
                body = base64.b64decode(response["eventstream_b64"])
            else:
                body = (response.get("sse") or response.get("ndjson") or "").encode()
            yield path.stem, exchange, body


@needs_shared
@every_front
def test_recorded_answers_come_back(clients, front):
    """Every recorded answer: shown by the client word for word, and sent again with the same blocks."""
    count, wrong = 0, []
    for name, exchange, body in exchanges():
        hints = {"provider": exchange["provider"].split("/")[-1], "model": exchange["model"]}
        events = list(iv.decode_stream([body], dialect=exchange["dialect"], **hints))
        response = events[-1].response
        if response.status == "interrupted":
            continue
        count += 1
        found = clients.read(front, written(front, events))
        wrong += (
            [(name, found["thrown"], found["warnings"])]
            if found["thrown"] or found["warnings"]
            else []
        )
        back = read_back(front, with_results(front, found["messages"], "ok"))
        results = [iv.tool_result(call.id, "ok") for call in response.tool_calls]
        model = f"{hints['provider']}/{hints['model'] or 'unknown'}"
        request = {"dialect": exchange["dialect"], "tools": [TOOL]}
        history = [iv.user("hi"), response.message, *results, iv.user("and?")]
        expected = iv.encode(iv.Request(model, history, **request)).body
        if expected != iv.encode(iv.Request(model, [*back, iv.user("and?")], **request)).body:
            wrong.append((name, "another request"))
    assert [] == wrong[:5], len(wrong)
    assert count > 400
