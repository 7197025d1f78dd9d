"""Open Responses: every body and every event that the gateway, the emulator and the library write is valid, whichever model answers."""

import base64
import json

import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, Served, Upstream
from gateway.open_responses import EVENTS, events_of, problems_of_response, problems_of_stream
from innervoice.answering.writing import encode_stream
from shared import SHARED, needs_shared

UPSTREAMS = ("openai-responses", "anthropic", "gemini", "openai-chat", "mistral")
UPSTREAM = pytest.mark.parametrize("behind", UPSTREAMS)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
PNG = "data:image/png;base64," + base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
).decode()  # fmt: skip
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": False}  # fmt: skip


def said(role, content):
    return {"type": "message", "role": role, "content": content}


HELLO = [said("user", "Say hello in exactly 3 words.")]
# The cases of the public suite.
SUITE = {
    "basic": {"input": HELLO},
    "counting": {"input": [said("user", "Count from 1 to 5.")]},
    "system prompt": {"input": [said("system", "You are a pirate. Always respond in pirate speak."), *HELLO]},
    "tool calling": {"input": [said("user", "What's the weather like in Lisbon?")], "tools": [WEATHER]},
    "image": {"input": [said("user", [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PNG}])]},
    "several turns": {"input": [said("user", "My name is Alice."), said("assistant", "Hello Alice!"), said("user", "What is my name?")]},
}  # fmt: skip
CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}  # fmt: skip
RESULT = {"type": "function_call_output", "call_id": "call_1"}
# One case for each kind of item, and for each form of it.
ITEMS = {
    "a text": {"input": "Hello."},
    "developer": {"input": [said("developer", "Be brief."), *HELLO]},
    "developer, entries": {"input": [said("developer", [{"type": "input_text", "text": "Be brief."}]), *HELLO]},
    "system, entries": {"input": [said("system", [{"type": "input_text", "text": "Be brief."}]), *HELLO]},
    "assistant, entries": {"input": [*HELLO, said("assistant", [{"type": "output_text", "text": "Hi!", "annotations": []}]), *HELLO]},
    "assistant, phase": {"input": [*HELLO, {**said("assistant", "Hi!"), "phase": "final_answer"}, *HELLO]},
    "assistant, refusal": {"input": [*HELLO, said("assistant", [{"type": "refusal", "refusal": "No."}]), *HELLO]},
    "image with detail": {"input": [said("user", [{"type": "input_image", "image_url": PNG, "detail": "low"}, {"type": "input_text", "text": "Look."}])]},
    "call and output": {"input": [*HELLO, CALL, {**RESULT, "output": "Rain"}], "tools": [WEATHER]},
    "output, entries": {"input": [*HELLO, CALL, {**RESULT, "output": [{"type": "input_text", "text": "Rain"}]}], "tools": [WEATHER]},
    "a call of a free-form tool": {"input": "Use the tool.", "tools": [WEATHER], "tool_choice": "required"},
}  # fmt: skip
# One case for each setting: what is sent; the response repeats it.
SETTINGS = [
    {"instructions": "Be brief."},
    {"metadata": {"run": "7"}},
    {"tools": [WEATHER]},
    {"tools": [WEATHER], "tool_choice": "none"},
    {"tools": [WEATHER], "tool_choice": "required"},
    {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_weather"}},
    {"tools": [WEATHER], "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "get_weather"}], "mode": "auto"}},
    {"tools": [WEATHER], "parallel_tool_calls": False},
    {"text": {"format": {"type": "text"}}},
    {"text": {"format": {"type": "json_object"}}, "input": "Answer in JSON."},
    {"text": {"format": {"type": "json_schema", "name": "reply", "schema": SCHEMA, "strict": True}}},
    {"text": {"verbosity": "low"}},
    {"temperature": 0.5},
    {"top_p": 0.9},
    {"presence_penalty": 0.5},
    {"frequency_penalty": 0.5},
    {"top_logprobs": 2},
    {"max_output_tokens": 4000},
    {"max_tool_calls": 3},
    {"reasoning": {"effort": "high", "summary": "auto"}},
    {"reasoning": {"effort": "low"}},
    {"safety_identifier": "somebody"},
    {"prompt_cache_key": "a-key"},
    {"truncation": "auto"},
    {"truncation": "disabled"},
    {"store": False},
    {"store": True},
    {"service_tier": "default"},
    {"service_tier": "auto"},
    {"user": "somebody"},
    {"include": ["reasoning.encrypted_content"]},
    {"stream_options": {"include_obfuscation": False}},
    {"background": False},
]  # fmt: skip
# What the models of OpenAI that reason do not accept, and what only Open Responses has: a server that refuses it is in its right.
REFUSABLE = {"temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs"}


def ask(served, model, stream, request):
    body = {"model": model, "input": HELLO, **request, "stream": stream}
    return served.ask("POST", "/v1/responses", body)


def checked(reply, stream):
    """The response of a reply, which is valid."""
    assert reply.status == 200, reply.body[:500]
    if not stream:
        assert [] == problems_of_response(reply.json)
        return reply.json
    assert [] == problems_of_stream(reply.body)
    return events_of(reply.body)[0][-1]["response"]


@STREAMED
@UPSTREAM
@pytest.mark.parametrize("case", [*SUITE, *ITEMS])
def test_cases(case, behind, stream):
    request = {**SUITE, **ITEMS}[case]
    response = checked(ask(Served(), BEHIND[behind], stream, request), stream)
    assert "completed" == response["status"]
    assert response["output"]
    kinds = [item["type"] for item in response["output"]]
    assert "tool calling" != case or "function_call" in kinds


@STREAMED
@UPSTREAM
@pytest.mark.parametrize("setting", SETTINGS, ids=json.dumps)
def test_a_setting_is_repeated(setting, behind, stream):
    reply = ask(Served(), BEHIND[behind], stream, setting)
    if reply.status == 400 and behind == "openai-responses" and setting.keys() & REFUSABLE:
        assert "nsupported" in reply.json["error"]["message"] or "nknown" in reply.json["error"]["message"]  # fmt: skip
        return
    response = checked(reply, stream)
    for name, value in setting.items():
        if name not in ("input", "include", "stream_options"):
            assert repeated(name, value) == response[name], name


def repeated(name, value):
    """A setting as a response has it."""
    if name == "tools":
        return [{"strict": None, **tool} for tool in value]
    if name == "reasoning":
        return {"effort": None, "summary": None, **value}
    if name == "service_tier" and value == "auto":
        return "default"
    if name != "text":
        return value
    form = value.get("format", {"type": "text"})
    more = {"description": None} if form["type"] == "json_schema" else {}
    return {**value, "format": {**more, **form}}


@UPSTREAM
def test_the_service_tier_is_the_one_that_was_used(behind):
    """Another provider has no such tier, and is not asked for it."""
    served = Served()
    response = checked(ask(served, BEHIND[behind], False, {"service_tier": "priority"}), False)
    is_asked = "service_tier" in served.upstream.requests[-1]
    assert is_asked or behind in ("anthropic", "gemini")
    assert ("priority" if is_asked else "default") == response["service_tier"]


def test_credentials_of_tools_are_not_repeated():
    tool = {"type": "mcp", "server_label": "s", "server_url": "https://example.com", "authorization": "secret-1", "headers": {"x": "secret-2"}}  # fmt: skip
    for behind in UPSTREAMS:
        reply = ask(Served(), BEHIND[behind], False, {"tools": [tool]})
        assert b"secret" not in reply.body


@STREAMED
@UPSTREAM
def test_a_loop_with_reasoning(behind, stream):
    """Reasoning items, calls and the message behind them."""
    served, history, kinds = Served(), [said("user", QUESTION)], set()
    for _ in range(3):
        request = {"input": history, "tools": [WEATHER], "reasoning": {"effort": "high", "summary": "auto"}}  # fmt: skip
        response = checked(ask(served, BEHIND[behind], stream, request), stream)
        kinds |= {item["type"] for item in response["output"]}
        calls = [item for item in response["output"] if item["type"] == "function_call"]
        results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "Sunshine"} for call in calls]  # fmt: skip
        history += [*response["output"], *results]
    assert {"reasoning", "function_call", "message"} == kinds


@STREAMED
@UPSTREAM
def test_an_incomplete_response(behind, stream):
    request = {"max_output_tokens": 16, "reasoning": {"effort": "low"}}
    if behind == "anthropic":
        request["reasoning"] = {"effort": "none"}
    response = checked(ask(Served(), BEHIND[behind], stream, request), stream)
    assert ("incomplete", "max_output_tokens") == (response["status"], response["incomplete_details"]["reason"])  # fmt: skip


@UPSTREAM
def test_a_stream_that_breaks_off(behind):
    """The end is `response.failed`, or an error event where the events are the provider's own."""
    served = Served()
    reply = ask(served, f"{BEHIND[behind]}+cut=4", True, {})
    assert [] == problems_of_stream(reply.body)
    assert events_of(reply.body)[0][-1]["type"] in ("response.failed", "error")


@STREAMED
@UPSTREAM
def test_stored_responses_are_valid(behind, stream):
    served = Served()
    response = checked(ask(served, BEHIND[behind], stream, {}), stream)
    stored = served.ask("GET", f"/v1/responses/{response['id']}").json
    assert [] == problems_of_response(stored)
    assert response == stored


@STREAMED
@pytest.mark.parametrize("request_", [*SUITE.values(), *ITEMS.values(), *SETTINGS], ids=lambda one: json.dumps(one)[:40])  # fmt: skip
def test_the_emulator_itself(request_, stream):
    body = {"model": "gpt-5.6", "input": HELLO, **request_, "stream": stream}
    reply = Upstream().reply("POST", "/openai/v1/responses", {}, json.dumps(body).encode())
    data = reply.body
    if reply.status == 400:
        assert request_.keys() & REFUSABLE
        return
    assert [] == (problems_of_stream(data) if stream else problems_of_response(json.loads(data)))


# ---- the library ------------------------------------------------------------------------------------------

PIECES = {
    "text": iv.Text("Hello."),
    "reasoning": iv.Thinking("Let me see.", "full"),
    "summary": iv.Thinking("Let me see.", "summary"),
    "call": iv.ToolCall("call_1", "get_weather", '{"city": "Oslo"}'),
    "a call without arguments": iv.ToolCall("call_1", "get_weather", ""),
}


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "refusal", "error", "tool_calls"])  # fmt: skip
@pytest.mark.parametrize("name", PIECES)
def test_what_the_library_writes(name, finish):
    response = iv.Response(parts=(PIECES[name],), model="m", ended=True, finish_reason=finish)
    assert [] == problems_of_response(iv.encode_response(response, dialect="openai-responses"))
    stream = b"".join(encode_stream([iv.Finish(response)], "openai-responses"))
    assert [] == problems_of_stream(stream)


@needs_shared
def test_recorded_answers_as_open_responses():
    """Answers of every other API, written as this one."""
    count = 0
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        recorded = exchange["response"].get("json") or exchange["response"].get("sse")
        if exchange["dialect"] not in UPSTREAMS[1:] or not recorded or exchange["status"] != 200:
            continue
        response = iv.decode(recorded, model=exchange["model"], dialect=exchange["dialect"])
        written = iv.encode_response(response, dialect="openai-responses")
        assert [] == problems_of_response(written), path.name
        events = b"".join(encode_stream([iv.Finish(response)], "openai-responses"))
        assert [] == problems_of_stream(events), path.name
        count += 1
    assert count > 200


def test_every_event_is_reached():
    """The events of the specification that the cases above do not all have, from answers that have them."""
    citation = {"type": "url_citation", "url": "https://example.com", "start_index": 0, "end_index": 2, "title": "E"}  # fmt: skip
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Hi", "annotations": [citation]}]},
        {"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "shell", "input": "ls", "status": "completed"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "c2VhbA=="},
    ]  # fmt: skip
    body = {"object": "response", "id": "resp_1", "status": "completed", "model": "gpt-5.6", "output": items}  # fmt: skip
    response = iv.decode(body, dialect="openai-responses")
    stream = b"".join(encode_stream([iv.Finish(response)], "openai-responses"))
    assert [] == problems_of_stream(stream)
    reached = {event["type"] for event in events_of(stream)[0]}
    later = {"response.queued", "response.failed", "response.incomplete", "error"}
    assert EVENTS.keys() - later == reached


@pytest.mark.parametrize(
    "broken",
    [
        {"completed_at": "now"},
        {"status": "done"},
        {"output": [{"type": "message", "id": "msg_1"}]},
        {"tools": [{"type": "function", "name": "f"}]},
        {"top_logprobs": None},
        {"parallel_tool_calls": 1},
    ],
)
def test_the_check_finds_mistakes(broken):
    response = iv.Response(parts=(iv.Text("Hi"),), ended=True, finish_reason="stop")
    body = iv.encode_response(response, dialect="openai-responses")
    assert [] == problems_of_response(body)
    assert problems_of_response({**body, **broken})
    for name in body:
        assert problems_of_response({key: body[key] for key in body if key != name}), name
