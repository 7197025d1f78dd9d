"""Answers that break off: nothing incomplete is closed as complete, and a history that comes back with the remainder is mended."""

import json
from dataclasses import replace

import pytest

import innervoice as iv
from gateway.harness import BEHIND, HOMES, TOOLS, Served, body_of, read
from gateway.paced import Paced, frames_of
from gateway.test_answer_streams import complaints, recorded
from gateway.upstreams import Answer, BrokenError, Scripted
from gateway.witness import Witness
from innervoice.frames.sniff import AnyFraming
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.wire.dialects import DIALECTS, dialect_named

CALLED = "What is the weather in Lisbon?"
ONCE = GatewayConfig(server=ServerSettings(retries=0))


def recorded_call(dialect):
    """The frames of an answer with a call."""
    upstream = Paced()
    path, body = body_of(dialect, BEHIND[dialect], [iv.user(CALLED)], stream=True, tools=TOOLS)
    Served(None, upstream).ask("POST", path, body)
    media = dialect_named(dialect).media_type
    return frames_of(upstream.raw_answers[-1], media)


CALLS = {dialect: recorded_call(dialect) for dialect in DIALECTS}


def folded(dialect, data):
    """The answer in a stream; one that broke off is an answer too."""
    return iv.fold(iv.decode_stream([data], dialect=dialect, model=HOMES[dialect]))


def events_in(data):
    framing = AnyFraming()
    frames = [*framing.feed(data), *framing.finish()]
    return [json.loads(frame.data) for frame in frames if frame.data and frame.data != b"[DONE]"]


def closed_items(dialect, data):
    """What a client of a dialect takes for whole: the arguments of calls, which it may run, and texts.

    Of the two APIs whose clients ran half calls, their own events say it; of the others, a reader of the API does.
    """
    events = events_in(data)
    if dialect == "anthropic":
        blocks = [event["content_block"] | {"input": ""} for event in events if event["type"] == "content_block_start"]  # fmt: skip
        for event in events:
            if "partial_json" in event.get("delta", {}):
                blocks[event["index"]]["input"] += event["delta"]["partial_json"]
        ended = [blocks[event["index"]] for event in events if event["type"] == "content_block_stop"]  # fmt: skip
        calls = [block["input"] for block in ended if block["type"] == "tool_use"]
        return calls, [block for block in ended if block["type"] == "text"]
    if dialect == "openai-responses":
        items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        last = events[-1].get("response", {}).get("output", [])
        items += [item for item in last if item.get("status") == "completed" and item not in items]
        calls = [item["arguments"] for item in items if item["type"] == "function_call"]
        return calls, [item for item in items if item["type"] == "message"]
    parts = [part for part in folded(dialect, data).parts if part.complete]
    calls = [part.arguments for part in parts if part.type == "tool_call"]
    return calls, [part for part in parts if part.type == "text"]


def broken(front, behind, pieces):
    served = Served(ONCE, http=Scripted(Answer(*pieces, BrokenError("reset by peer"))))
    path, body = body_of(front, BEHIND[behind], [iv.user(CALLED)], stream=True, tools=TOOLS)
    return served, served.ask("POST", path, body)


@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("front", DIALECTS)
def test_no_half_call_is_closed(front, behind):
    """Wherever the upstream breaks off: a client that runs what was closed runs only whole calls.

    Seen failing: `content_block_stop` and `output_item.done` around half arguments, or none.
    """
    whole = {"city": "Lisbon"}
    for number in range(1, len(CALLS[behind])):
        pieces = CALLS[behind][:number]
        _, reply = broken(front, behind, pieces)
        if reply.status != 200:
            continue
        sent = folded(behind, b"".join(pieces))
        if sent.ended:
            continue  # what it lacks is no part of the answer
        calls, _ = closed_items(front, reply.body)
        assert [whole] * len(calls) == [json.loads(call or "null") for call in calls]
        assert bool(calls) <= any(call.arguments for call in sent.tool_calls)
        if front != behind:
            assert [] == complaints(front, reply.body)
        answer = folded(front, reply.body)
        assert "interrupted" == answer.status
        assert answer.error is not None


@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("front", DIALECTS)
def test_half_a_message_is_not_closed(front, behind):
    """The words stay, the message does not end, and there is an error."""
    data = recorded(behind)
    pieces = frames_of(data, dialect_named(behind).media_type)
    begun = next(
        number
        for number in range(len(pieces))
        if folded(behind, b"".join(pieces[: number + 1])).text
    )
    if begun + 1 == len(pieces):
        return  # all of it comes at once
    _, reply = broken(front, behind, pieces[: begun + 1])
    answer = folded(front, reply.body)

    assert [] == closed_items(front, reply.body)[1]
    assert answer.text
    assert "interrupted" == answer.status
    assert answer.error is not None


@pytest.mark.parametrize("front", DIALECTS)
def test_an_encoder_goes_by_the_same_rule(front):
    """Also where the events just end, and in the whole body, which a client of a queue may read."""
    encoder = iv.StreamEncoder(front, "m")
    data = b"".join(
        encoder.feed(event)
        for event in (
            iv.PartStart(0, "text"),
            iv.TextDelta(0, "I look."),
            iv.PartEnd(0, iv.Text("I look.")),
            iv.PartStart(1, "tool_call", iv.ToolCall("call00001", "get_weather", complete=False)),
            iv.ToolCallDelta(1, '{"city": "Lis'),
        )
    )
    data += encoder.finish()

    assert [] == closed_items(front, data)[0]
    assert "Lis" not in json.dumps(encoder.body) or "incomplete" in json.dumps(encoder.body)
    read_back = folded(front, data)
    assert ("I look.", "interrupted") == (read_back.text, read_back.status)
    assert all(not call.complete for call in read_back.tool_calls)


def test_a_limit_is_no_break():
    """Providers close their blocks themselves there, and so does the gateway."""
    frames = [frame for frame in recorded("openai-chat").split(b"\n\n") if b'"content"' in frame]
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n'
    served = Served(ONCE, http=Scripted(Answer(*(frame + b"\n\n" for frame in frames[:-1]), end)))
    path, body = body_of("anthropic", BEHIND["openai-chat"], [iv.user(CALLED)], stream=True)
    reply = served.ask("POST", path, body)

    assert [] == complaints("anthropic", reply.body)
    assert "length" == read(reply, "anthropic").finish_reason
    assert 1 == len(closed_items("anthropic", reply.body)[1])


# ---- the history that comes back -----------------------------------------------------------------------

HALF = "Let me look at the wea"


def with_half_message(front, body):
    """The request of a client that sends the beginning of the answer back, and nothing behind it."""
    match front:
        case "anthropic" | "openai-chat" | "mistral" | "cohere" | "ollama":
            return {**body, "messages": [*body["messages"], {"role": "assistant", "content": HALF}]}
        case "bedrock-converse":
            turn = {"role": "assistant", "content": [{"text": HALF}]}
            return {**body, "messages": [*body["messages"], turn]}
        case "gemini":
            return {**body, "contents": [*body["contents"], {"role": "model", "parts": [{"text": HALF}]}]}  # fmt: skip
        case "gemini-interactions":
            step = {"type": "model_output", "content": [{"type": "text", "text": HALF}]}
            return {**body, "input": [*body["input"], step]}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": HALF, "annotations": []}]}  # fmt: skip
    return {**body, "input": [*body["input"], item]}


class BrokenOnce(Witness):
    """The emulator; its first answer breaks off behind half a message."""

    def reply(self, *asked):
        reply = super().reply(*asked)
        return replace(reply, pieces=self._broken()) if len(self.bodies) == 1 else reply

    def _broken(self):
        begun = {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}  # fmt: skip
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}  # fmt: skip
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": HALF}}  # fmt: skip
        for event in (begun, block, delta):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


@pytest.mark.parametrize("front", DIALECTS)
def test_half_a_message_at_the_end_is_mended(front):
    """Claude takes no prefill; Codex sends what was done of a broken answer, and ended with `prefill_refused`."""
    served = Served(ONCE, BrokenOnce())
    path, body = body_of(front, BEHIND["anthropic"], [iv.user("What is 15 * 23?")], stream=True)
    first = served.ask("POST", path, body)
    assert HALF in folded(front, first.body).text
    reply = served.ask("POST", path, with_half_message(front, body))

    assert (200, "15 * 23 = 345.") == (reply.status, read(reply, front).text)
    assert "cut_answer_omitted" in {note.code for note in served.reports[-1].notes}
    assert HALF not in served.upstream.bodies[-1].decode()


@pytest.mark.parametrize("front", ["anthropic", "bedrock-converse"])
def test_a_prefill_is_none(front):
    """In an API that has it, the client is told that the model does not take it."""
    path, body = body_of(front, BEHIND["anthropic"], [iv.user("What is 15 * 23?")], stream=True)
    reply = Served().ask("POST", path, with_half_message(front, body))

    assert 400 == reply.status
    assert "prefill" in reply.body.decode()


def with_half_call(front, body, *, answered):
    """A history with a call whose arguments break off; clients answer it with an error, or go on without a result."""
    result = "invalid arguments"
    question = {"role": "user", "content": "What is 15 * 23?"}
    if front == "openai-responses":
        call = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"ci', "status": "completed"}  # fmt: skip
        output = [{"type": "function_call_output", "call_id": "call_1", "output": result}]
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}  # fmt: skip
        return {**body, "input": [*body["input"], said, call, *output * answered, question]}
    inner = {"name": "get_weather", "arguments": '{"ci'}
    call = {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "call00001", "type": "function", "function": inner}]}  # fmt: skip
    output = [{"role": "tool", "tool_call_id": "call00001", "content": result}]
    return {**body, "messages": [*body["messages"], call, *output * answered, question]}


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("front", ["openai-chat", "openai-responses", "mistral", "cohere"])
def test_half_a_call_is_mended(front, behind, answered):
    """DeepSeek refuses each request with such a call; it is left out, with its result, and noted."""
    served = Served(None, Witness())
    path, body = body_of(front, BEHIND[behind], [iv.user(CALLED)], tools=TOOLS)
    reply = served.ask("POST", path, with_half_call(front, body, answered=answered))

    assert (200, "15 * 23 = 345.") == (reply.status, read(reply, front).text)
    assert [200] == served.upstream.statuses
    assert "call_omitted" in {note.code for note in served.reports[-1].notes}
    sent = served.upstream.bodies[-1].decode()
    assert '{\\"ci' not in sent
    assert "invalid arguments" not in sent


def test_an_item_that_says_so_is_incomplete():
    """Half a message of Responses may come back with its status."""
    item = {"type": "message", "role": "assistant", "status": "incomplete", "content": [{"type": "output_text", "text": HALF}]}  # fmt: skip
    request = iv.decode_request({"model": "m", "input": [{"role": "user", "content": "?"}, item]}, "openai-responses")  # fmt: skip

    assert [False] == [part.complete for part in request.messages[-1].parts]
