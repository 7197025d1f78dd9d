"""Rows know what was said before them: the reasoning and the calls of earlier answers, apart from their text."""

import json

import pytest

import innervoice as iv
from innervoice import bulk

CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
CALLS = '[{"id":"c","name":"look","arguments":"{\\"a\\":1}"}]'


def read(tmp_path, *rows, **options):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (batch,) = bulk.read(path, bulk.ReadOptions(**options))
    return batch


TAGGED = [
    {"role": "user", "content": "Q1"},
    {"role": "assistant", "content": "<think>R1</think>A1"},
    {"role": "user", "content": "Q2"},
    {"role": "assistant", "content": "<think>R2</think>A2"},
]
FIELDS = [
    {"role": "user", "content": "Q1"},
    {"role": "assistant", "content": "A1", "reasoning_content": "R1"},
    {"role": "user", "content": "Q2"},
    {"role": "assistant", "content": "A2", "thinking": "R2"},
]
STORED = json.loads(
    iv.to_json(
        [
            iv.user("Q1"),
            iv.assistant([iv.Thinking("R1"), iv.Text("A1")]),
            iv.user("Q2"),
            iv.assistant([iv.Thinking("R2"), iv.Text("A2")]),
        ]
    )
)
SHAREGPT = [
    {"from": "human", "value": "Q1"},
    {"from": "gpt", "value": "<think>\nR1\n</think>\n\nA1"},
    {"from": "human", "value": "Q2"},
    {"from": "gpt", "value": "<think>\nR2\n</think>\n\nA2"},
]


@pytest.mark.parametrize(
    "row",
    [
        {"messages": TAGGED},
        {"messages": FIELDS},
        {"messages": STORED},
        {"conversations": SHAREGPT},
        {"prompt": TAGGED[:3], "completion": TAGGED[3:]},
        {"prompt": FIELDS[:3], "completion": FIELDS[3:]},
    ],
)
def test_the_prompt_has_the_reasoning_of_earlier_answers(row, tmp_path):
    batch = read(tmp_path, row)

    assert [("A2", "R2")] == list(zip(batch["answer"], batch["reasoning"], strict=True))[-1:]
    assert [
        {"role": "user", "content": "Q1"},
        {"role": "assistant", "content": "A1", "reasoning": "R1"},
        {"role": "user", "content": "Q2"},
    ] == batch["prompt"][-1]


def test_only_the_last_answer_of_a_conversation_is_last(tmp_path):
    batch = read(tmp_path, {"messages": TAGGED}, {"messages": FIELDS[:2]})

    assert [False, True, True] == batch["last"]


def test_every_answer_of_a_list_is_last(tmp_path):
    batch = read(
        tmp_path, {"prompt": "Q", "generations": ["<think>a</think>A", "<think>b</think>B"]}
    )

    assert [True, True] == batch["last"]
    assert [0, 1] == batch["turn"]


def test_calls_and_results_are_kept(tmp_path):
    messages = [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "<think>R1</think>", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
        {"role": "assistant", "content": "A"},
    ]
    batch = read(tmp_path, {"messages": messages}, parts=True)

    assert [CALLS, None] == batch["calls"]
    assert ["tool_calls", "answered"] == batch["status"]
    assert ["thinking", "tool_call"] == [part["type"] for part in batch["parts"][0]]
    assert {"role": "assistant", "content": "", "reasoning": "R1", "calls": CALLS} == batch[
        "prompt"
    ][1][1]
    assert {"role": "tool", "content": "sunny", "call_id": "c"} == batch["prompt"][1][2]


def test_calls_as_llama_factory_writes_them(tmp_path):
    conversations = [
        {"from": "human", "value": "Q"},
        {
            "from": "function_call",
            "value": '<think>\nR1\n</think>\n\n{"name": "look", "arguments": {"a": 1}}',
        },
        {"from": "observation", "value": "sunny"},
        {"from": "gpt", "value": "A"},
    ]
    batch = read(tmp_path, {"conversations": conversations})

    assert ["R1", None] == batch["reasoning"]
    assert ["", "A"] == batch["answer"]
    assert ["look"] == [call["name"] for call in json.loads(batch["calls"][0])]
    assert "tool" == batch["prompt"][1][-1]["role"]


def test_rows_that_were_split_are_not_split_again(tmp_path):
    first = read(
        tmp_path,
        {"messages": TAGGED},
        {
            "messages": [
                {"role": "user", "content": "Q"},
                {"role": "assistant", "content": "Write `<think>`."},
            ]
        },
    )
    rows = [dict(zip(first, values, strict=True)) for values in zip(*first.values(), strict=True)]
    again = read(tmp_path, *rows)

    assert first == again


def test_answers_of_a_session_get_the_whole_conversation_on_request(tmp_path):
    def line(kind, content, number):
        message = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {
                "id": f"m{number}",
                "type": "message",
                "model": "claude-opus-5-5",
                "stop_reason": "end_turn",
            }
        return {"type": kind, "sessionId": "s", "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "message": message, "timestamp": f"2026-11-16T10:00:0{number}Z"}  # fmt: skip

    def said(thought, text):
        return [
            {"type": "thinking", "thinking": thought, "signature": "c2VhbA=="},
            {"type": "text", "text": text},
        ]

    lines = [
        line("user", "Q1", 0),
        line("assistant", said("R1", "A1"), 1),
        line("user", "Q2", 2),
        line("assistant", said("R2", "A2"), 3),
    ]
    new, whole = (read(tmp_path, *lines, whole_prompts=whole) for whole in (False, True))

    assert ["R1", "R2"] == new["reasoning"] == whole["reasoning"]
    assert [{"role": "user", "content": "Q2"}] == new["prompt"][1]
    assert ["Q1", "A1", "Q2"] == [message["content"] for message in whole["prompt"][1]]
    assert "R1" == whole["prompt"][1][1]["reasoning"]
    assert [False, True] == whole["last"]
