"""Rows as data sets have them: where the reasoning is, is found without a word about it. The content is ours."""

import json
from typing import Any, NamedTuple

import pytest

from innervoice import bulk
from innervoice.errors import UsageError

THINK = "<think>\nWe add them.\n</think>\n\nIt is 5."
TOKENS = "<|begin_of_thought|>\nWe add them.\n<|end_of_thought|>\n\n<|begin_of_solution|>\nIt is 5.\n<|end_of_solution|>"
ASK = "What is 2 + 3?"


class Data(NamedTuple):
    """A data set: a row of it, and what must come out of that row."""

    row: dict[str, Any]
    kind: str
    markup: str | None = "think"
    answers: tuple[str, ...] = ("It is 5.",)
    reasoning: tuple[str | None, ...] = ("We add them.",)
    prompt: str | None = ASK
    rows: tuple[str, ...] = ()
    """Markup that is switched on."""


DATA = {
    "OpenThoughts3": Data(
        {"difficulty": 7, "source": "x", "domain": "math", "conversations": [{"from": "human", "value": ASK}, {"from": "gpt", "value": THINK}]},
        "messages",
    ),
    "OpenThoughts-114k, Bespoke-Stratos": Data(
        {"system": "Think.", "conversations": [{"from": "user", "value": ASK}, {"from": "assistant", "value": TOKENS}]},
        "messages",
        "openthinker",
        prompt="Think.",
        rows=("openthinker",),
    ),
    "OpenThoughts-114k, metadata": Data(
        {"problem": ASK, "deepseek_reasoning": "We add them.", "deepseek_solution": "It is 5.", "ground_truth_solution": "5", "domain": "math"},
        "columns",
        "column",
    ),
    "OpenR1-Math": Data(
        {
            "problem": ASK,
            "solution": "5",
            "answer": "5",
            "uuid": "u1",
            "is_reasoning_complete": [True, False],
            "generations": [THINK, "<think>\nWe add"],
            "finish_reasons": ["stop", "length"],
            "correctness_math_verify": [True, False],
            "messages": [{"role": "user", "content": ASK}, {"role": "assistant", "content": THINK}],
        },
        "generations",
        answers=("It is 5.", ""),
        reasoning=("We add them.", "We add"),
    ),
    "Mixture-of-Thoughts": Data(
        {"messages": [{"role": "user", "content": ASK}, {"role": "assistant", "content": THINK}], "num_tokens": 9, "source": "x"}, "messages"
    ),
    "s1K": Data(
        {"question": ASK, "solution": "5", "cot_type": "math", "thinking_trajectories": ["We add them."], "attempt": "It is 5.", "cot": None},
        "columns",
        "column",
    ),
    "s1K-1.1": Data(
        {
            "question": ASK,
            "solution": "5",
            "gemini_thinking_trajectory": "Sum.",
            "gemini_attempt": "5",
            "deepseek_thinking_trajectory": "We add them.",
            "deepseek_attempt": "It is 5.",
            "gemini_grade": "Yes",
        },
        "columns",
        "column",
        answers=("5", "It is 5."),
        reasoning=("Sum.", "We add them."),
    ),
    "DeepMath": Data(
        {"question": ASK, "final_answer": "5", "difficulty": 1.0, "topic": "x", "r1_solution_1": THINK, "r1_solution_2": THINK, "r1_solution_3": "5"},
        "text",
        answers=("It is 5.", "It is 5.", "5"),
        reasoning=("We add them.", "We add them.", None),
    ),
    "AM-DeepSeek-R1-Distilled": Data(
        {
            "messages": [
                {"role": "user", "content": ASK, "info": {"source": "x", "think_content": None}},
                {
                    "role": "assistant",
                    "content": "<think>We add them.</think> <answer>It is 5.</answer>",
                    "info": {"source": None, "think_content": "We add them.", "answer_content": "It is 5."},
                },
            ]
        },
        "messages",
        rows=("answer",),
    ),
    "SYNTHETIC-1": Data(
        {"problem_id": "p1", "prompt": ASK, "llm_response": THINK, "score": 1, "verification_info": "{}", "metadata": "{}"}, "text"
    ),
    "Nemotron, on": Data(
        {
            "uuid": "n1",
            "generator": "R1",
            "category": "math",
            "reasoning": "on",
            "messages": [{"role": "user", "content": ASK, "tool_calls": []}, {"role": "assistant", "content": THINK, "tool_calls": []}],
            "metadata": "{}",
        },
        "messages",
    ),
    "Nemotron, off": Data(
        {"uuid": "n2", "reasoning": "off", "messages": [{"role": "user", "content": ASK}, {"role": "assistant", "content": "It is 5."}]},
        "messages",
        None,
        reasoning=(None,),
    ),
    "Nemotron v3": Data(
        {
            "messages": [{"role": "user", "content": ASK}, {"role": "assistant", "content": "It is 5.", "reasoning_content": "We add them."}],
            "tools": [],
        },
        "messages",
        "field",
    ),
    "Dolci-Think, derived": Data(
        {"interactions": [{"query": ASK, "think": "We add them.", "answer": "It is 5."}]}, "interactions", "field"
    ),
    "Multilingual-Thinking": Data(
        {
            "reasoning_language": "English",
            "developer": "Be short.",
            "user": ASK,
            "analysis": "We add them.",
            "final": "It is 5.",
            "messages": [
                {"role": "user", "content": ASK, "thinking": None},
                {"role": "assistant", "content": "It is 5.", "thinking": "We add them."},
            ],
        },
        "messages",
        "field",
        prompt="Be short.",
    ),
    "NuminaMath-CoT": Data(
        {
            "source": "x",
            "problem": ASK,
            "solution": "We add them. It is 5.",
            "messages": [{"role": "user", "content": ASK}, {"role": "assistant", "content": "We add them. It is 5."}],
        },
        "messages",
        None,
        answers=("We add them. It is 5.",),
        reasoning=(None,),
    ),
    "reasoning as a switch": Data({"prompt": ASK, "reasoning": "on", "response": THINK}, "text"),
    "small: thought + response": Data({"prompt": ASK, "thought": "We add them.", "response": "It is 5."}, "columns", "column"),
    "small: rationale + answer": Data({"question": ASK, "rationale": "We add them.", "answer": "It is 5."}, "columns", "column"),
    "messages as JSON text": Data({"messages": json.dumps([{"role": "user", "content": ASK}, {"role": "assistant", "content": THINK}])}, "messages"),
    "gpt-oss text": Data(
        {"prompt": ASK, "completion": "<|channel|>analysis<|message|>We add them.<|end|><|start|>assistant<|channel|>final<|message|>It is 5."},
        "text",
        "harmony",
        rows=("harmony",),
    ),
    "OpenAI batch": Data(
        {
            "id": "batch_1",
            "custom_id": "c1",
            "response": {
                "status_code": 200,
                "body": {
                    "object": "chat.completion",
                    "model": "m",
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is 5.", "reasoning_content": "We add them."}, "finish_reason": "stop"}],
                },
            },
            "error": None,
        },
        "answers",
        "field",
        prompt=None,
    ),
    "Anthropic batch": Data(
        {
            "custom_id": "c2",
            "result": {
                "type": "succeeded",
                "message": {
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-x",
                    "content": [{"type": "thinking", "thinking": "We add them.", "signature": "c2Vjcg=="}, {"type": "text", "text": "It is 5."}],
                    "stop_reason": "end_turn",
                    "usage": {"input_tokens": 3, "output_tokens": 4},
                },
            },
        },
        "answers",
        "field",
        prompt=None,
    ),
}  # fmt: skip


def lines_of(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def only(path, options=None):
    (batch,) = bulk.read(path, options)
    return batch


@pytest.mark.parametrize("name", DATA)
def test_layout_is_found(name, tmp_path):
    data = DATA[name]
    path = lines_of(tmp_path / "rows.jsonl", [data.row] * 3)
    finding = bulk.find(path, bulk.ReadOptions())
    batch = only(path)

    assert (data.kind, data.rows) == (finding.layout.kind, tuple(finding.markup.rows))
    assert list(data.answers) * 3 == batch["answer"]
    assert list(data.reasoning) * 3 == batch["reasoning"]
    assert data.markup == batch["markup"][0]
    assert data.prompt == (batch["prompt"][0] or [{"content": None}])[0]["content"]
    assert list(range(len(data.answers))) * 3 == batch["turn"]


@pytest.mark.parametrize("name", [name for name in DATA if DATA[name].kind != "answers"])
def test_layout_is_found_in_parquet_as_in_lines(name, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: .venv-bulk")
    arrow = pytest.importorskip("pyarrow")
    rows = [DATA[name].row] * 3
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    of_lines, of_parquet = (
        only(lines_of(tmp_path / "rows.jsonl", rows)),
        only(tmp_path / "rows.parquet"),
    )

    for column in (
        "answer",
        "reasoning",
        "status",
        "notes",
        "markup",
        "prompt",
        "turn",
        "finish",
        "model",
    ):
        assert of_lines[column] == list(of_parquet[column]), column


def test_finish_reasons_belong_to_their_generation(tmp_path):
    batch = only(lines_of(tmp_path / "rows.jsonl", [DATA["OpenR1-Math"].row]))

    assert ["stop", "length"] == batch["finish"]
    assert ["answered", "budget_exhausted"] == batch["status"]
    assert ["u1", "u1"] == batch["id"]


def test_reasoning_that_is_there_twice_is_kept_once(tmp_path):
    batch = only(lines_of(tmp_path / "rows.jsonl", [DATA["AM-DeepSeek-R1-Distilled"].row]))

    assert "inline_repeated" in batch["notes"][0]
    assert ["We add them."] == batch["reasoning"]


def test_columns_that_are_not_read_are_passed_on(tmp_path):
    row = DATA["OpenThoughts3"].row
    batch = only(lines_of(tmp_path / "rows.jsonl", [row]))

    assert ([7], ["math"], ["x"]) == (batch["difficulty"], batch["domain"], batch["row_source"])
    assert str(tmp_path / "rows.jsonl") == batch["source"][0]


def test_only_the_columns_that_are_asked_for_are_passed_on(tmp_path):
    path = lines_of(tmp_path / "rows.jsonl", [DATA["OpenThoughts3"].row])
    batch = only(path, bulk.ReadOptions(keep=("domain",)))

    assert "domain" in batch
    assert "difficulty" not in batch


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (bulk.ReadOptions(text=("b",)), "two"),
        (bulk.ReadOptions(text=("a", "b")), "one"),
        (bulk.ReadOptions(reasoning="a", answer="b"), "two"),
        (bulk.ReadOptions(messages="c"), "three"),
        (bulk.ReadOptions(generations="d"), "four"),
    ],
    ids=str,
)
def test_options_override_what_is_found(options, answer, tmp_path):
    row = {
        "a": "one",
        "b": "two",
        "c": [{"role": "assistant", "content": "three"}],
        "d": ["four"],
        "response": "five",
    }
    batch = only(lines_of(tmp_path / "rows.jsonl", [row]), options)

    assert answer == batch["answer"][0]


def test_markup_can_be_switched_off(tmp_path):
    path = lines_of(tmp_path / "rows.jsonl", [{"response": TOKENS}])

    assert [TOKENS] == only(path, bulk.ReadOptions(markup=()))["answer"]


def test_an_unknown_column_is_said(tmp_path):
    path = lines_of(tmp_path / "rows.jsonl", [{"response": "x", "topic": "y"}])

    with pytest.raises(UsageError, match="no column 'answers'; the columns are: response, topic"):
        bulk.find(path, bulk.ReadOptions(text=("answers",)))


def test_rows_without_any_text_of_a_model_are_said(tmp_path):
    path = lines_of(tmp_path / "rows.jsonl", [{"n": 1, "label": True}])

    with pytest.raises(UsageError, match=r"The columns are: n \(int\), label \(bool\)"):
        bulk.find(path, bulk.ReadOptions())


def test_a_failed_request_of_a_batch_is_a_row_with_its_id(tmp_path):
    good = DATA["OpenAI batch"].row
    bad = {
        "custom_id": "c9",
        "response": None,
        "error": {"code": "batch_expired", "message": "too late"},
    }
    batch = only(lines_of(tmp_path / "rows.jsonl", [good, bad]))

    assert ["answered", "interrupted"] == batch["status"]
    assert ["It is 5.", None] == batch["answer"]
    assert ["request_failed"] == batch["notes"][1]


def test_a_session_log_is_a_row_for_each_answer(tmp_path):
    lines = [
        {
            "type": "user",
            "uuid": "1",
            "parentUuid": None,
            "sessionId": "s",
            "message": {"role": "user", "content": ASK},
        },
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "sessionId": "s",
            "message": {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "model": "claude-x",
                "content": [
                    {"type": "thinking", "thinking": "We add them.", "signature": "c2Vjcg=="},
                    {"type": "text", "text": "It is 5."},
                ],
                "stop_reason": "end_turn",
            },
        },
    ]
    batch = only(lines_of(tmp_path / "session.jsonl", lines))

    assert (["It is 5."], ["We add them."], ["claude-x"]) == (
        batch["answer"],
        batch["reasoning"],
        batch["model"],
    )
    assert [{"role": "user", "content": ASK}] == batch["prompt"][0]


def test_parts_keep_what_the_columns_join(tmp_path):
    path = lines_of(tmp_path / "rows.jsonl", [{"response": THINK}])
    parts = only(path, bulk.ReadOptions(parts=True))["parts"][0]

    assert ["thinking", "text"] == [part["type"] for part in parts]
    assert "</think>" in parts[0]["origin"]


@pytest.mark.parametrize(
    "word", ["length", "Length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"]
)
def test_every_word_for_the_limit_is_one(word, tmp_path):
    """An answer that ended at its limit is not answered, however its data set spells that."""
    rows = [{"response": "<think>a</think>b", "finish_reason": word}]

    assert ["truncated"] == only(lines_of(tmp_path / "rows.jsonl", rows))["status"]
