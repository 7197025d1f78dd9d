"""A stream that ends early is interrupted in every dialect, wherever it ends, and a body without an answer is an error."""

import json

import pytest

import innervoice as iv
from client.faulty import Faulty, stream, whole
from client.harness import KEY, VERBS
from wire.streams import aws, ndjson, sse

BEGUN = {"role": "assistant"}
START = {
    "type": "message_start",
    "message": {"id": "m", "type": "message", "role": "assistant", "content": []},
}
# The first frame of an answer, which has nothing of its text, and the second.
STREAMS = {
    "bedrock/anthropic.claude-opus-4-8": (
        aws(("messageStart", BEGUN)),
        aws(("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "So "}})),
    ),
    "anthropic/claude-opus-5-5": (
        sse(START, named=True),
        sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "So "}}, named=True),
    ),
    "deepseek/deepseek-v4": (
        sse({"choices": [{"index": 0, "delta": BEGUN}]}),
        sse({"choices": [{"index": 0, "delta": {"content": "So "}}]}),
    ),
    "gemini/gemini-3.5-flash": (
        sse({"candidates": [{"content": {"parts": []}}]}),
        sse({"candidates": [{"content": {"parts": [{"text": "So "}]}}]}),
    ),
    "openai/gpt-5.6": (
        sse({"type": "response.created", "response": {"id": "r"}}),
        sse({"type": "response.output_text.delta", "output_index": 0, "delta": "So "}),
    ),
    "ollama/qwen3": (
        ndjson({"model": "qwen3", "message": BEGUN, "done": False}),
        ndjson({"model": "qwen3", "message": {"content": "So "}, "done": False}),
    ),
    "cohere/command-a": (
        sse({"type": "message-start", "id": "c"}),
        sse({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "So "}}}}),
    ),
}  # fmt: skip


def outcome_of(verb, kind, model, script):
    provider = model.split("/")[0]
    with Faulty(script) as server:
        settings = {
            "base_url": server.url,
            "keys": {provider: KEY},
            "retries": 0,
            "idle_timeout": 5.0,
            "timeout": 10.0,
        }
        return VERBS[verb](kind, settings, model=model)


@pytest.mark.parametrize("model", STREAMS)
@pytest.mark.parametrize("cut", ["behind the first", "in the second", "behind the second"])
def test_a_stream_that_ends_early(model, cut, kind):
    first, second = STREAMS[model]
    frames = {
        "behind the first": [first],
        "in the second": [first, second[:-9]],
        "behind the second": [first, second],
    }
    error = outcome_of("stream", kind, model, stream(*frames[cut])).error

    assert isinstance(error, iv.AnswerInterruptedError)
    assert error.response.status == "interrupted"
    assert error.response.text == ("So " if cut == "behind the second" else "")


@pytest.mark.parametrize("body", [{"id": "x"}, {"choices": []}, {"model": "m"}])
def test_a_body_without_an_answer(body, kind):
    answered = outcome_of("ask", kind, "deepseek/deepseek-v4", whole(json.dumps(body).encode()))

    assert isinstance(answered.error, iv.DecodeError)


def test_a_stream_that_is_cut_after_its_end(kind):
    frames = [
        *STREAMS["deepseek/deepseek-v4"],
        sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        sse({"choices": [], "usage": {"prompt_tokens": 1}})[:-9],
    ]
    response = outcome_of("stream", kind, "deepseek/deepseek-v4", stream(*frames)).response

    assert ("So ", "answered") == (response.text, response.status)
    assert ["broken_after_end"] == [note.code for note in response.notes]
