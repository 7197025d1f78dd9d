"""Bedrock's InvokeModel: a model's own API in Bedrock's paths, errors and frames."""

import json

import pytest

import innervoice as iv
from gateway.harness import Served, body_of
from innervoice.emulator import Emulator, emulated_client
from wire.streams import aws

CLAUDE = "us.anthropic.claude-sonnet-4-5-v1:0"
BODY = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 4000,
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "messages": [{"role": "user", "content": "What is 15 * 23?"}],
}


def reply(body, verb="invoke", model=CLAUDE, host="bedrock-invoke"):
    path = f"/{host}/model/{model}/{verb}"
    return Emulator().reply("POST", path, {"authorization": "Bearer k"}, json.dumps(body).encode())


def read(chunks, **names):
    *_, finish = iv.decode_stream(chunks, **names)
    return finish.response


def test_a_whole_answer():
    answer = reply(BODY)

    assert (200, "application/json") == (answer.status, answer.media)
    assert "15 * 23 = 345." == iv.decode(answer.body).text


def test_a_captured_stream_is_read_without_a_hint():
    answer = reply(BODY, "invoke-with-response-stream")
    response = read([answer.body])

    assert (200, "application/vnd.amazon.eventstream") == (answer.status, answer.media)
    assert ("15 * 23 = 345.", "answered") == (response.text, response.status)
    assert "345" in response.thinking
    (thought, _) = response.parts
    assert "anthropic" == thought.origin.dialect
    assert thought.origin.block["signature"]


def test_the_path_alone_says_what_it_is():
    """botocore has one client for both APIs of Bedrock, at one address."""
    assert reply(BODY, host="bedrock").body == reply(BODY).body


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anthropic_version": None}, "anthropic_version: Field required"),
        ({"model": CLAUDE}, "model: Extra inputs are not permitted"),
        ({"stream": True}, "stream: Extra inputs are not permitted"),
    ],
)
def test_what_it_refuses(change, message):
    """Refusals are Bedrock's: a message, and its kind in a header."""
    body = {name: value for name, value in {**BODY, **change}.items() if value is not None}
    answer = reply(body)

    assert 400 == answer.status
    assert "ValidationException" == answer.headers["x-amzn-errortype"]
    assert message in json.loads(answer.body)["message"]


def test_an_unknown_model():
    answer = reply(BODY, model="deepseek.r1-v1:0")

    assert (404, "ResourceNotFoundException") == (answer.status, answer.headers["x-amzn-errortype"])


def test_a_stream_that_fails():
    """An exception of the event stream ends it, as in Converse."""
    response = read([reply(BODY, "invoke-with-response-stream", f"{CLAUDE}+fail=4").body])  # fmt: skip

    assert "interrupted" == response.status
    assert response.error.type.endswith("Exception")
    assert response.error.message


def test_an_exception_of_the_model():
    stream = aws(("modelStreamErrorException", {"message": "No."}), kind="exception")
    response = read([stream], provider="bedrock-invoke")

    assert ("modelStreamErrorException", "No.") == (response.error.type, response.error.message)


@pytest.mark.parametrize("model", ["openai.gpt-oss-20b-1:0", "moonshot.kimi-k2-thinking"])
def test_events_of_botocore(model):
    """What `invoke_model_with_response_stream` gives for each chunk, of any model."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "<reasoning>So.</reasoning>"}}]},
        {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
    ]  # fmt: skip
    events = [{"chunk": {"bytes": json.dumps(chunk).encode()}} for chunk in chunks]
    response = read(events, provider="bedrock-invoke", model=model)

    assert ("Hi", "So.") == (response.text, response.thinking)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [f"bedrock-invoke/{CLAUDE}", "bedrock-invoke/openai.gpt-oss-120b-1:0", "bedrock-invoke/moonshot.kimi-k2-thinking", "bedrock-invoke/qwen.qwen3-32b-v1:0", "databricks/databricks-claude-opus-5-5", "azure/claude-opus-5-5", "bedrock-mantle/anthropic.claude-opus-5-5"])  # fmt: skip
def test_a_tool_loop(model, stream):
    """The second request carries the reasoning of the first back, and the host accepts it."""
    talk = emulated_client().conversation(model, tools=[weather], reasoning="high")
    response = talk.ask("What is the weather in Lisbon?", stream=stream)

    assert "sunny" in response.text


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


@pytest.mark.parametrize("front", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("stream", [False, True])
def test_behind_the_gateway(front, stream):
    """Its clients get the frames of their own API: the chunks stay behind."""
    served = Served()
    path, body = body_of(front, f"bedrock-invoke/{CLAUDE}", [iv.user("What is 15 * 23?")], max_tokens=4000, reasoning="high", stream=stream)  # fmt: skip
    answer = served.ask("POST", path, body)

    assert 200 == answer.status, answer.body
    assert answer.headers["content-type"].startswith("text/event-stream" if stream else "application/json")  # fmt: skip
    got = read([answer.body], dialect=front) if stream else iv.decode(answer.body)
    assert ("15 * 23 = 345.", "answered") == (got.text, got.status)
    assert "345" in got.thinking
