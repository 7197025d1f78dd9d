"""The requests of a batch are joined to its answers by their ids."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bulk.batches import row
from innervoice.bulk.requests import requests
from innervoice.cli.commands import innervoice
from innervoice.errors import UsageError

TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}
REQUESTS = {
    "OpenAI": {"custom_id": "a", "method": "POST", "body": {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}]}},
    "Anthropic": {"custom_id": "a", "params": {"model": "m", "system": [{"type": "text", "text": "Be brief."}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Q"}]}]}},
    "Gemini": {"key": "a", "request": {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [{"role": "user", "parts": [{"text": "Q"}]}]}},
    "Gemini without a file": {"metadata": {"key": "a"}, "request": {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [{"role": "user", "parts": [{"text": "Q"}]}]}},
    "Responses": {"custom_id": "a", "body": {"model": "m", "instructions": "Be brief.", "input": "Q"}},
    "Bedrock": {"recordId": "a", "modelInput": {"system": "Be brief.", "messages": [{"role": "user", "content": "Q"}]}},
}  # fmt: skip


def file_of(tmp_path, *lines):
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("provider", REQUESTS)
def test_every_form_of_requests(provider, tmp_path):
    path = file_of(tmp_path, {"custom_id": "other", "body": {"messages": []}}, REQUESTS[provider])
    after = requests(path).run(row(id="a", prompt=None))

    assert [
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}]
    ] == after["prompt"]


def test_a_prompt_that_is_there_stays_and_an_unknown_id_has_none(tmp_path):
    path = file_of(tmp_path, REQUESTS["OpenAI"])
    known = row(id="a")

    assert known["prompt"] == requests(path).run(known)["prompt"]
    assert [None] == requests(path).run(row(id="b", prompt=None))["prompt"]


def test_files_without_requests_are_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        requests(str(tmp_path / "missing.jsonl"))
    with pytest.raises(UsageError, match="has no requests"):
        requests(file_of(tmp_path, {"x": 1})).run(row())


def test_convert_joins_what_was_asked(tmp_path, monkeypatch):
    """Answers come in any order."""
    monkeypatch.chdir(tmp_path)
    asked = [
        {
            "custom_id": f"r{n}",
            "body": {"messages": [{"role": "user", "content": f"Q{n}"}], "tools": [TOOL]},
        }
        for n in range(3)
    ]
    said = [
        {"custom_id": f"r{n}", "response": {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": f"<think>R{n}</think>A{n}"}, "finish_reason": "stop"}]}}}
        for n in (2, 0, 1)
    ]  # fmt: skip
    Path("in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    Path("out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
    command = [
        "bulk",
        "convert",
        "out.jsonl",
        "-o",
        "train.jsonl",
        "--to",
        "trl",
        "--for",
        "qwen3",
        "-j",
        "1",
    ]
    without = CliRunner().invoke(innervoice, command)
    joined = CliRunner().invoke(innervoice, [*command, "--requests", "in.jsonl", "--overwrite"])
    examples = [json.loads(line) for line in Path("train.jsonl").read_text().splitlines()]

    assert "--requests FILE" in without.output
    assert 0 == joined.exit_code, joined.output
    assert [("Q2", "R2"), ("Q0", "R0"), ("Q1", "R1")] == [
        (example["prompt"][0]["content"], example["completion"][0]["reasoning_content"])
        for example in examples
    ]
    assert [TOOL] == examples[0]["tools"]


# ---- complete lines, as the APIs write them -----------------------------------------------------------------

ASKED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How many legs have three spiders?"},
]
OPENAI_ASKED = {"custom_id": "request-1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "gpt-x", "messages": ASKED, "max_completion_tokens": 1000}}  # fmt: skip
BATCHES = {
    "OpenAI": (
        OPENAI_ASKED,
        {
            "id": "batch_req_6735f2b1",
            "custom_id": "request-1",
            "response": {
                "status_code": 200,
                "request_id": "c187b3c6",
                "body": {
                    "id": "chatcmpl-1",
                    "object": "chat.completion",
                    "created": 1731589810,
                    "model": "gpt-x",
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": "<think>\n3 times 8.\n</think>\n\n24", "refusal": None, "annotations": []}, "logprobs": None, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 22, "completion_tokens": 10, "total_tokens": 32},
                    "system_fingerprint": "fp_1",
                },
            },
            "error": None,
        },
    ),
    "OpenAI, Responses": (
        {"custom_id": "request-1", "method": "POST", "url": "/v1/responses", "body": {"model": "gpt-x", "instructions": "Be brief.", "input": [{"role": "user", "content": [{"type": "input_text", "text": ASKED[1]["content"]}]}]}},
        {
            "id": "batch_req_1",
            "custom_id": "request-1",
            "response": {
                "status_code": 200,
                "request_id": "r1",
                "body": {
                    "id": "resp_1",
                    "object": "response",
                    "status": "completed",
                    "model": "gpt-x",
                    "output": [
                        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "3 times 8."}]},
                        {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": "24", "annotations": []}]},
                    ],
                },
            },
            "error": None,
        },
    ),
    "Anthropic": (
        {"custom_id": "request-1", "params": {"model": "claude-x", "max_tokens": 2000, "system": [{"type": "text", "text": "Be brief."}], "messages": [{"role": "user", "content": [{"type": "text", "text": ASKED[1]["content"]}]}]}},
        {
            "custom_id": "request-1",
            "result": {
                "type": "succeeded",
                "message": {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-x",
                    "content": [{"type": "thinking", "thinking": "3 times 8.", "signature": "c2Vjcg=="}, {"type": "text", "text": "24"}],
                    "stop_reason": "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 20, "output_tokens": 10},
                },
            },
        },
    ),
    "Gemini": (
        {"key": "request-1", "request": {"system_instruction": {"parts": [{"text": "Be brief."}]}, "contents": [{"role": "user", "parts": [{"text": ASKED[1]["content"]}]}]}},
        {
            "key": "request-1",
            "response": {
                "responseId": "g1",
                "modelVersion": "gemini-x",
                "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "3 times 8.", "thought": True}, {"text": "24"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 4, "thoughtsTokenCount": 6, "totalTokenCount": 30},
            },
        },
    ),
}  # fmt: skip


def converted(tmp_path, asked, answered, *more):
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in answered))
    arguments = [
        "bulk", "convert", str(tmp_path / "out.jsonl"), "-o", str(tmp_path / "train.jsonl"), "--to", "trl", "--for", "qwen3", "-j", "1",
        "--requests", str(tmp_path / "in.jsonl"), *more,
    ]  # fmt: skip
    result = CliRunner().invoke(innervoice, arguments)
    assert 0 == result.exit_code, result.output
    paths = (tmp_path / "train.jsonl", tmp_path / "train.rejected.jsonl")
    written, rejected = (
        [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        for path in paths
    )
    return written, [row["rejected"] for row in rejected]


@pytest.mark.parametrize("api", BATCHES)
def test_complete_lines_of_a_batch_are_joined(api, tmp_path):
    asked, answered = BATCHES[api]
    other = json.loads(json.dumps(asked).replace("request-1", "request-2").replace("legs", "eyes"))
    written, rejected = converted(tmp_path, [other, asked], [answered])

    assert [
        {
            "id": "request-1",
            "prompt": ASKED,
            "completion": [
                {"role": "assistant", "content": "24", "reasoning_content": "3 times 8."}
            ],
            "tools": None,
        }
    ] == [{"tools": None, **example} for example in written]
    assert [] == rejected


def test_an_answer_without_its_request_is_rejected(tmp_path):
    asked = json.loads(json.dumps(OPENAI_ASKED).replace("request-1", "request-9"))
    written, rejected = converted(tmp_path, [asked], [BATCHES["OpenAI"][1]])

    assert [] == written
    assert [f"no request in {tmp_path / 'in.jsonl'} has the id 'request-1'"] == rejected


def test_a_part_of_a_prompt_is_no_prompt(tmp_path):
    image = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]
    body = {**OPENAI_ASKED["body"], "messages": [{"role": "user", "content": image}]}
    written, rejected = converted(
        tmp_path, [{**OPENAI_ASKED, "body": body}], [BATCHES["OpenAI"][1]]
    )

    assert [] == written
    assert ["a part of the prompt is not text: media"] == rejected


def test_answers_of_a_batch_without_a_file_are_joined_by_the_key_in_their_metadata(tmp_path):
    """Gemini's inlined responses, in an order of their own."""
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "because", "thought": True}, {"text": "4"}]}, "finishReason": "STOP"}], "modelVersion": "gemini-3.5-flash"}  # fmt: skip
    asked = [
        {"request": {"contents": [{"role": "user", "parts": [{"text": f"{key}?"}]}]}, "metadata": {"key": key}}
        for key in ("a", "b", "c")
    ]  # fmt: skip
    answers = tmp_path / "answers.jsonl"
    lines = [
        {"error": {"code": 3, "message": "refused"}, "metadata": {"key": "c"}},
        {"response": answer, "metadata": {"key": "b"}},
        {"response": answer, "metadata": {"key": "a"}},
    ]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path, output = file_of(tmp_path, *asked), tmp_path / "train.jsonl"
    command = ["bulk", "convert", str(answers), "-o", str(output), "--to", "trl", "--requests", path, "-j", "1"]  # fmt: skip

    result = CliRunner().invoke(innervoice, command)

    assert result.exit_code == 0, result.output
    examples = [json.loads(line) for line in output.read_text().splitlines()]
    assert [one["messages"][0]["content"] for one in examples] == ["b?", "a?"]
    assert [one["messages"][1]["reasoning_content"] for one in examples] == ["because"] * 2
