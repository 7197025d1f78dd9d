"""What batch files, logs and gateways put around an answer is taken off, and a failure in it is an error."""

import json

import pytest

import innervoice as iv

CHAT = {
    "id": "c",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi", "reasoning_content": "Hm"},
            "finish_reason": "stop",
        }
    ],
}
CLAUDE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "text", "text": "Hi"},
    ],
    "stop_reason": "end_turn",
}
GEMINI = {
    "candidates": [
        {
            "content": {"parts": [{"text": "Hm", "thought": True}, {"text": "Hi"}]},
            "finishReason": "STOP",
        }
    ]
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
    ],
}
NOVA = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [{"reasoningContent": {"reasoningText": {"text": "Hm"}}}, {"text": "Hi"}],
        }
    },
    "stopReason": "end_turn",
}
LOG = {"id": "l", "call_type": "acompletion", "messages": [], "model": "m", "status": "success"}
CLOUDFLARE = {"response": "Hi", "reasoning_content": "Hm"}


def batch(body, status=200, error=None):
    response = {"status_code": status, "request_id": "x", "body": body}
    return {"id": "b", "custom_id": "1", "response": response, "error": error}


def anthropic(**result):
    return {"custom_id": "1", "result": result}


def bedrock(**outcome):
    return {"recordId": "1", "modelInput": {"messages": []}, **outcome}


ANSWERS = {
    "OpenAI, chat": batch(CHAT),
    "OpenAI, Responses": batch(RESPONSE),
    "OpenAI, the body as a text": batch(json.dumps(CHAT)),
    "Fireworks": {"custom_id": "1", "response": CHAT},
    "Anthropic": anthropic(type="succeeded", message=CLAUDE),
    "Gemini": {"key": "k", "response": GEMINI},
    "Gemini, inline": {"response": GEMINI, "metadata": {"key": "k"}},
    "Vertex": {"request": {"contents": []}, "status": "", "response": GEMINI},
    "Vertex, from BigQuery": {"request": "{}", "status": "", "response": json.dumps(GEMINI)},
    "Vertex, Claude": {"custom_id": "1", "request": {}, "response": CLAUDE, "status": ""},
    "Bedrock, Claude": bedrock(modelOutput=CLAUDE),
    "Bedrock, Nova": bedrock(modelOutput=NOVA),
    "litellm": {**LOG, "response": CHAT, "error_str": None},
    "litellm, as a text": {**LOG, "response": json.dumps(CHAT)},
    "a log of a batch line": {**LOG, "response": batch(CHAT)},
    "HTTP": {"status_code": 200, "headers": {}, "body": CLAUDE},
    "Cloudflare": {"result": CLOUDFLARE, "success": True, "errors": [], "messages": []},
    "Cloudflare, chat": {"result": CHAT, "success": True, "errors": [], "messages": []},
    "Cloudflare, as a log keeps it": {"response": {"result": CLOUDFLARE, "success": True}},
    "Code Assist": {"response": GEMINI, "traceId": "t"},
}


def streamed(line, **hints):
    data = json.dumps(line).encode()
    *_, last = iv.decode_stream([data[:20], data[20:], b"\n"], **hints)
    return last.response


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("hints", [{}, {"provider": "openai"}])
def test_an_answer_in_an_envelope(name, hints):
    line = ANSWERS[name]
    read = iv.decode(json.dumps(line), **hints)

    assert ("Hi", "Hm", "answered") == (read.text, read.thinking, read.status)
    assert read == iv.decode(line, **hints) == streamed(line, **hints)


@pytest.mark.parametrize(
    ("line", "dialect"),
    [
        (batch(CHAT), "openai-chat"),
        (anthropic(type="succeeded", message=CLAUDE), "anthropic"),
        ({"key": "k", "response": GEMINI}, "gemini"),
        (bedrock(modelOutput=NOVA), "bedrock-converse"),
        (batch(RESPONSE), "openai-responses"),
    ],
)
def test_an_envelope_with_a_named_dialect(line, dialect):
    assert "Hi" == iv.decode(line, dialect=dialect).text


FAILURES = {
    "OpenAI": (
        batch(None, error={"code": "expired", "message": "late"}),
        (None, "expired", "late"),
    ),
    "OpenAI, no response": (
        {"custom_id": "1", "response": None, "error": {"code": "c", "message": "No"}},
        (None, "c", "No"),
    ),
    "OpenAI, status": (
        batch({"error": {"type": "t", "code": "c", "message": "No"}}, 400),
        ("t", "c", "No"),
    ),
    "a page": (batch("<html>Bad Gateway", 502), (None, 502, "<html>Bad Gateway")),
    "no words": (batch(None, 500), (None, 500, "status 500")),
    "vLLM": (
        batch(None, 400, {"error": {"message": "No", "type": "BadRequestError", "code": 400}}),
        ("BadRequestError", 400, "No"),
    ),
    "Anthropic": (
        anthropic(type="errored", error={"type": "error", "error": {"type": "t", "message": "No"}}),
        ("t", None, "No"),
    ),
    "Anthropic, canceled": (
        anthropic(type="canceled"),
        ("canceled", None, "the request of this batch is canceled"),
    ),
    "Anthropic, expired": (
        anthropic(type="expired"),
        ("expired", None, "the request of this batch is expired"),
    ),
    "Gemini": ({"key": "k", "error": {"code": 3, "message": "No"}}, (None, 3, "No")),
    "Vertex": (
        {"request": {}, "status": 'Bad: {"error": {"code": 400, "message": "No"}}', "response": {}},
        (None, 400, "No"),
    ),
    "Vertex, words": ({"request": {}, "status": "No", "response": {}}, (None, None, "No")),
    "Bedrock": (
        bedrock(error={"errorCode": 400, "errorMessage": "No", "expired": False}),
        (None, 400, "No"),
    ),
    "litellm": (
        {
            **LOG,
            "response": None,
            "status": "failure",
            "error_information": {
                "error_code": "429",
                "error_class": "RateLimitError",
                "error_message": "Slow",
            },
        },
        ("RateLimitError", "429", "Slow"),
    ),
    "Cloudflare": (
        {"result": None, "success": False, "errors": [{"code": 7, "message": "No"}]},
        (None, 7, "No"),
    ),
    "Cloudflare, no result": (
        {"success": False, "errors": [{"code": 7, "message": "No"}]},
        (None, 7, "No"),
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_in_an_envelope(name):
    line, expected = FAILURES[name]
    with pytest.raises(iv.ProviderError) as raised:
        iv.decode(line)
    response = streamed(line)
    error = response.error

    assert expected == (raised.value.type, raised.value.code, raised.value.message)
    assert expected == (error.type, error.code, error.message)
    assert "interrupted" == response.status


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (batch(None), "has no answer"),
        (batch({}), "has no answer"),
        ({"custom_id": "1", "response": None, "error": None}, "batch file has no answer.*custom_id"),
        (anthropic(type="succeeded"), "Anthropic batch file has no answer"),
        ({"key": "k", "response": {}}, "Gemini batch file has no answer"),
        (bedrock(), "Bedrock batch file has no answer"),
        (bedrock(modelOutput={"generation": "x"}), "not an answer of a known API.*generation"),
        ({**LOG, "response": None}, "litellm has no answer"),
        ({"response": 5}, "has no answer"),
        ({"response": {"a": 1}}, "not an answer of a known API"),
        ({"result": {}}, "has no answer"),
        ({"id": "x"}, "beginning"),
        ({"choices": []}, "beginning"),
        ({"object": "response", "id": "r", "status": "queued", "output": []}, "queued"),
        ({"response": {"response": {"response": {"response": {"response": CHAT}}}}}, "more than 4"),
    ],
)  # fmt: skip
def test_no_answer_is_never_an_empty_answer(value, says):
    with pytest.raises(iv.DecodeError, match=says):
        iv.decode(value)
    assert "interrupted" == streamed(value).status


def test_a_file_with_several_lines_is_not_one_answer():
    lines = b"".join(json.dumps(batch(CHAT)).encode() + b"\n" for _ in range(2))
    with pytest.raises(iv.DecodeError, match="decode each line"):
        iv.decode(lines)
    assert ["Hi", "Hi"] == [iv.decode(line).text for line in lines.splitlines()]


def test_a_stream_in_envelopes():
    """Google's Code Assist wraps every chunk."""
    texts = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in "Hi"]
    end = {"candidates": [{"finishReason": "STOP"}]}
    chunks = [{"response": chunk, "traceId": "t"} for chunk in (*texts, end)]
    response = iv.fold(iv.decode_stream(chunks))

    assert ("Hi", "answered") == (response.text, response.status)


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"response": {"a": 1}, "usage": {"prompt_tokens": 1}}, '{"a":1}'),
        ({"response": '{"a": 1}', "usage": {"prompt_tokens": 1}}, '{"a": 1}'),
        ({"response": "Hi"}, "Hi"),
    ],
)
def test_answers_of_cloudflares_own_models(own, text):
    """An answer that is JSON is not taken for an envelope."""
    response = iv.decode({"result": own, "success": True, "errors": []})

    assert (text, "answered") == (response.text, response.status)


def test_calls_of_cloudflares_own_models():
    own = {"response": None, "tool_calls": [{"name": "f", "arguments": {"a": 1}}], "usage": {}}
    response = iv.decode({"result": own, "success": True, "errors": []})
    [call] = response.tool_calls

    assert ("f", '{"a":1}', "tool_calls") == (call.name, call.arguments, response.status)


def test_inspect_reads_every_line_of_a_batch_file(tmp_path):
    click_testing = pytest.importorskip("click.testing")
    from innervoice.cli.commands import innervoice

    file = tmp_path / "batch.jsonl"
    file.write_text("".join(json.dumps(batch(CHAT)) + "\n" for _ in range(2)))
    shown = click_testing.CliRunner().invoke(innervoice, ["inspect", str(file)]).output

    assert 2 == shown.count("answered")
