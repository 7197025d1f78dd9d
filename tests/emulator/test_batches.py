"""The emulated batch APIs: their states, and what they refuse."""

import json

import pytest

from innervoice.emulator import Emulator

HEADERS = {
    "authorization": "Bearer sk-test",
    "x-api-key": "sk-test",
    "x-goog-api-key": "sk-test",
    "anthropic-version": "2023-06-01",
}
MESSAGE = {
    "model": "claude-opus-5-5",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "What is 2 * 3?"}],
}
ASKED = {"model": "gpt-5.6", "input": "What is 2 * 3?"}
ANTHROPIC = "/anthropic/v1/messages/batches"


@pytest.fixture
def ask():
    emulator = Emulator()

    def call(method, path, body=None, headers=HEADERS):
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        content = content.encode() if isinstance(content, str) else content
        reply = emulator.reply(method, path, headers, content)
        return reply.status, reply.body

    return call


def upload(ask, *lines, purpose="batch"):
    """The id of an uploaded file."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    form = (
        f'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
        f'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{text}\r\n--x--\r\n'
    )
    headers = {**HEADERS, "content-type": "multipart/form-data; boundary=x"}
    status, body = ask("POST", "/openai/v1/files", form.encode(), headers)
    return status, json.loads(body)


def line(name="a", url="/v1/responses", **members):
    return {"custom_id": name, "method": "POST", "url": url, "body": {**ASKED, **members}}


def openai_batch(ask, *lines, **members):
    _, file = upload(ask, *lines)
    value = {"input_file_id": file["id"], "endpoint": "/v1/responses", "completion_window": "24h"}
    status, body = ask("POST", "/openai/v1/batches", {**value, **members})
    return status, json.loads(body)


def test_openai_goes_through_its_states_and_its_answers_are_in_files(ask):
    _, batch = openai_batch(ask, line("a"), line("b", no_such_member=1))
    words = [batch["status"]]
    while words[-1] != "completed":
        batch = json.loads(ask("GET", f"/openai/v1/batches/{batch['id']}")[1])
        words.append(batch["status"])

    assert words == ["validating", "in_progress", "finalizing", "completed"]
    assert batch["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    good = json.loads(ask("GET", f"/openai/v1/files/{batch['output_file_id']}/content")[1])
    bad = json.loads(ask("GET", f"/openai/v1/files/{batch['error_file_id']}/content")[1])
    assert (good["custom_id"], good["response"]["status_code"]) == ("a", 200)
    assert (bad["custom_id"], bad["response"]["status_code"]) == ("b", 400)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ((line("a"), line("a")), "duplicate_custom_id"),
        ((line("a"), line("b", model="gpt-5.6-mini")), "mismatched_model"),
        ((line("a", url="/v1/chat/completions"),), "mismatched_endpoint"),
        ((line("a", stream=True),), "invalid_request"),
        ((), "empty_file"),
    ],
)
def test_openai_fails_a_file_that_is_not_valid_after_the_batch_was_created(ask, lines, code):
    status, batch = openai_batch(ask, *lines)
    looked_up = json.loads(ask("GET", f"/openai/v1/batches/{batch['id']}")[1])

    assert (status, batch["status"], looked_up["status"]) == (200, "validating", "failed")
    assert [one["code"] for one in looked_up["errors"]["data"]] == [code]


@pytest.mark.parametrize(
    "members",
    [
        {"completion_window": "1h"},
        {"endpoint": "/v1/images"},
        {"input_file_id": "file-none"},
        {"no_such_member": 1},
    ],
)
def test_openai_refuses_a_batch(ask, members):
    assert openai_batch(ask, line(), **members)[0] == 400


def test_openai_refuses_a_file_for_another_purpose(ask):
    assert upload(ask, line(), purpose="fun")[0] == 400


def test_anthropic_has_no_results_before_the_end(ask):
    value = {"requests": [{"custom_id": "a", "params": MESSAGE}, {"custom_id": "b", "params": {}}]}
    batch = json.loads(ask("POST", ANTHROPIC, value)[1])
    place = f"{ANTHROPIC}/{batch['id']}"

    early, _ = ask("GET", f"{place}/results")
    words = [json.loads(ask("GET", place)[1])["processing_status"] for _ in range(2)]
    _, results = ask("GET", f"{place}/results")
    other, _ = ask("GET", place, headers={**HEADERS, "x-api-key": "sk-other", "authorization": ""})

    assert (early, words, other) == (404, ["in_progress", "ended"], 404)
    types = {
        one["custom_id"]: one["result"]["type"] for one in map(json.loads, results.splitlines())
    }
    assert types == {"a": "succeeded", "b": "errored"}


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [{"custom_id": "a b", "params": MESSAGE}],
        [{"custom_id": "x" * 65, "params": MESSAGE}],
        [{"custom_id": "a", "params": MESSAGE}] * 2,
        [{"custom_id": "a"}],
        [{"custom_id": "a", "params": {**MESSAGE, "stream": True}}],
    ],
    ids=["none", "character", "long", "twice", "params", "stream"],
)
def test_anthropic_refuses_a_batch(ask, requests):
    assert ask("POST", ANTHROPIC, {"requests": requests})[0] == 400


def test_gemini_gives_the_answers_with_their_keys_when_it_is_done(ask):
    asked = {"contents": [{"role": "user", "parts": [{"text": "What is 2 * 3?"}]}]}
    lines = [
        {"request": asked, "metadata": {"key": "a"}},
        {"request": {"no_such_member": 1}, "metadata": {"key": "b"}},
    ]
    path = "/gemini/v1beta/models/gemini-3.5-flash:batchGenerateContent"
    batch = {"displayName": "x", "inputConfig": {"requests": {"requests": lines}}}
    operation = json.loads(ask("POST", path, {"batch": batch})[1])
    words = [operation["metadata"]["state"]]
    while not operation.get("done"):
        operation = json.loads(ask("GET", f"/gemini/v1beta/{operation['name']}")[1])
        words.append(operation["metadata"]["state"])

    assert [word.removeprefix("BATCH_STATE_") for word in words] == ["PENDING", "RUNNING", "RUNNING", "SUCCEEDED"]  # fmt: skip
    answers = operation["response"]["inlinedResponses"]["inlinedResponses"]
    assert [one["metadata"]["key"] for one in answers] == ["a", "b"]
    assert "candidates" in answers[0]["response"]
    assert answers[1]["error"]["code"] == 3
    assert ask("POST", path, {"batch": {**batch, "displayName": ""}})[0] == 400
