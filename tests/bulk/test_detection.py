"""What the texts of a file have in common is found all over it, and a text with other markup is not left unsplit without a word."""

import gzip
import json

import pytest
from click.testing import CliRunner

from innervoice.cli.commands import innervoice

USUAL = "<think>\nWe add {n}.\n</think>\n\nIt is {n}."
TOKENS = "<|begin_of_thought|>\nWe add {n}.\n<|end_of_thought|>\n\n<|begin_of_solution|>\nIt is {n}.\n<|end_of_solution|>"
PLAN = "<plan>\nWe add {n}.\n</plan>\n\nIt is {n}."
FILLER = "Some more words. " * 60


def split(tmp_path, content, *options, name="rows.jsonl"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    command = ["bulk", "split", str(path), "-o", str(tmp_path / "out" / "rows.jsonl"), "-j", "1"]
    result = CliRunner().invoke(innervoice, [*command, *options])
    assert 0 == result.exit_code, result.output
    lines = (tmp_path / "out" / "rows.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines], result.output


def lines_of(*parts):
    """Lines of several parts, each a text and how many there are of it."""
    texts = [text.format(n=n) + FILLER for text, count in parts for n in range(count)]
    rows = ({"prompt": "Sum?", "response": text} for text in texts)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_another_markup_in_a_later_part_is_split(name, tmp_path):
    """6 MB of one set, then a few rows of another: no sample of the beginning has them."""
    rows, _ = split(tmp_path, lines_of((USUAL, 5_000), (TOKENS, 20)), name=name)

    assert [f"We add {n}." for n in range(20)] == [row["reasoning"] for row in rows[5_000:]]
    assert ["openthinker"] * 20 == [row["markup"] for row in rows[5_000:]]
    assert {"think"} == {row["markup"] for row in rows[:5_000]}


def test_markup_that_was_refused_is_counted_with_the_option_for_it(tmp_path):
    rows, output = split(tmp_path, lines_of((USUAL, 50), (TOKENS, 7)), "--markup", "none")

    assert [None] * 7 == [row["reasoning"] for row in rows[50:]]
    assert "7 texts with the markup openthinker were not split: --markup openthinker" in output


def test_a_few_texts_with_tags_of_plain_words_are_counted(tmp_path):
    rows, output = split(tmp_path, lines_of((USUAL, 500), (PLAN, 3)))

    assert [None] * 3 == [row["reasoning"] for row in rows[500:]]
    assert "3 texts with the markup hermes were not split" in output


INSIDE = [
    *(f"First I look at number {n}, and then at the next.</think>\n\nIt is {n}." for n in range(90)),
    *(f"好{n}</think>是" for n in range(15)),
    *(f"Ok {n}</think>\nYes" for n in range(15)),
]  # fmt: skip


def inside_lines():
    return "".join(json.dumps({"prompt": "Q", "response": one}) + "\n" for one in INSIDE).encode()


def test_short_texts_begin_inside_a_thought_where_most_do(tmp_path):
    rows, output = split(tmp_path, inside_lines())

    assert "the texts begin inside a thought: 120 of 120" in output
    assert [text.split("</think>")[0] for text in INSIDE] == [row["reasoning"] for row in rows]
    assert [text.split("</think>")[1].strip() for text in INSIDE] == [
        row["answer"].strip() for row in rows
    ]
    assert {"answered"} == {row["status"] for row in rows}
    assert all("orphan_closer" in row["notes"] for row in rows)


def test_that_can_be_refused(tmp_path):
    rows, output = split(tmp_path, inside_lines(), "--no-prefix-open")

    assert "begin inside" not in output
    assert [None] * 30 == [row["reasoning"] for row in rows[90:]]


def test_a_few_closers_say_nothing_about_other_texts(tmp_path):
    texts = ["Plain answer."] * 10 + ["Ok</think>Yes"]
    content = "".join(json.dumps({"prompt": "Q", "response": one}) + "\n" for one in texts)
    rows, output = split(tmp_path, content.encode())

    assert "begin inside" not in output
    assert [None] * 11 == [row["reasoning"] for row in rows]


def test_tags_in_the_answers_of_a_batch_are_found(tmp_path):
    message = {"role": "assistant", "content": "<think>\nSum.\n</think>\n\n5"}
    body = {"object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    line = {"id": "b1", "custom_id": "c1", "response": {"status_code": 200, "body": body}, "error": None}  # fmt: skip
    rows, output = split(tmp_path, json.dumps(line).encode() + b"\n")

    assert ("Sum.", "5") == (rows[0]["reasoning"], rows[0]["answer"])
    assert "markup: <think> (1 of 1 texts)" in output
