"""Choosing rows by what the others are: the best of several answers, near-duplicates, and tasks of a test set."""

import importlib.util
import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from bulk.sampled_sets import SET_OF_TASKS, free_text, slightly_changed, word_problem
from innervoice import bulk
from innervoice.bulk.maps import MAPS
from innervoice.bulk.sampling.best_of import best_of, compared_answer
from innervoice.bulk.sampling.contamination import contamination
from innervoice.cli.commands import innervoice
from innervoice.errors import UsageError

needs_rensa = pytest.mark.skipif(
    importlib.util.find_spec("rensa") is None, reason="rensa is in .venv-bulk"
)
STUCK = "wait, let me check. " * 60


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def lines(name):
    return [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]


def run(*arguments, processes=1, status=0):
    result = CliRunner().invoke(innervoice, ["bulk", "map", *arguments, "-j", str(processes)])
    assert status == result.exit_code, result.output
    return result.output


def sample(prompt, reasoning, answer, **columns):
    return {"prompt": prompt, "response": f"<think>{reasoning}</think>{answer}", **columns}


SAMPLES = [
    sample("6*7?", "six sevens, one after the other, are", "It is \\boxed{42}.", gold="42"),
    sample("6*7?", "quick", "The final answer is 42.0.", gold="42"),
    sample("6*7?", "hasty", "\\boxed{43}", gold="42"),
    sample("6*7?", STUCK, "\\boxed{42}", gold="42"),
    {"prompt": "6*7?", "response": "<think>it broke off", "gold": "42"},
    sample("half?", "a", "\\boxed{\\frac{1}{2}}", gold="1/2"),
    sample("half?", "b", "\\boxed{0.5}", gold="1/2"),
    sample("other?", "only one", "a long answer in words that marks no result at all", gold=None),
]


def test_an_answer_of_signs_alone_has_no_final_answer():
    """Seen failing: `$` is compared as nothing, and the shares were divided by the number of answers that are something."""
    write("samples.jsonl", [sample("6*7?", "hm", "$"), sample("6*7?", "hm", "$$")])
    run("samples.jsonl", "-o", "all.jsonl", "--map", "best_of")

    assert [None, None] == [row["sample_answer"] for row in lines("all.jsonl")]
    assert [None, None] == [row["agreement"] for row in lines("all.jsonl")]


def test_rejection_sampling_is_one_command():
    write("samples.jsonl", SAMPLES)
    said = run("samples.jsonl", "-o", "best.jsonl", "--best-of", "1", "--reference", "gold")
    best = {row["prompt"][0]["content"]: row for row in lines("best.jsonl")}

    assert {"6*7?", "half?", "other?"} == set(best)
    assert "quick" == best["6*7?"]["reasoning"], "of the right ones the shortest thought"
    assert "3 rows written, 5 rows rejected" in said
    assert (5, 0.75, True, "42") == tuple(
        best["6*7?"][name] for name in ("samples", "agreement", "correct", "sample_answer")
    )
    rejected = {row["reasoning"]: row["rejected"] for row in lines("best.rejected.jsonl")}
    assert "not sample_rank <= 1: sample_rank = 2" == rejected[SAMPLES[0]["response"][7:-25]]
    assert "not sample_rank <= 1: sample_rank = null" == rejected["hasty"]
    assert "not sample_rank <= 1: sample_rank = null" == rejected[STUCK.strip()]


def test_without_a_reference_the_answer_of_most_comes_first():
    write("samples.jsonl", SAMPLES)
    run("samples.jsonl", "-o", "all.jsonl", "--map", "best_of", "--keep", "none")
    rows = lines("all.jsonl")

    assert [2, 1, 3, None, None] == [row["sample_rank"] for row in rows[:5]]
    assert [0.75, 0.75, 0.25, 0.75, None] == [row["agreement"] for row in rows[:5]]
    assert [None] * 8 == [row["correct"] for row in rows]
    assert rows[0]["length_ratio"] > 1 > rows[1]["length_ratio"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,024", "1024"),
        ("$\\frac{1}{2}$", "1/2"),
        ("\\dfrac{3}{4}", "3/4"),
        ("0.50", ".5"),
        ("\\text{Paris}", "paris"),
        ("x = 3", "x=3"),
        ("12.", "12"),
        ("\\left( 1, 2 \\right)", "(1,2)"),
        ("1e3", "1000"),
        ("1e999999999", "1E999999999"),
    ],
)
def test_final_answers_that_are_the_same(one, other):
    assert compared_answer(one) == compared_answer(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1,02", "102"), ("12", "-12"), ("(1,2)", "(2,1)"), ("3/4", "4/3"), ("A", "B")],
)
def test_final_answers_that_differ(one, other):
    assert compared_answer(one) != compared_answer(other)


@needs_rensa
@pytest.mark.parametrize("processes", [1, 2])
def test_columns_do_not_depend_on_pieces_and_processes(processes):
    generator = random.Random(3)
    texts = [free_text(generator) for _ in range(40)]
    rows = [
        sample(slightly_changed(text, generator), text[::-1], f"\\boxed{{{number}}}")
        for number in range(4)
        for text in texts
    ]
    write("rows.jsonl", rows)
    steps = [MAPS["duplicates"](), best_of()]
    bulk.run("rows.jsonl", "whole.jsonl", steps=steps)
    bulk.run("rows.jsonl", "parts.jsonl", steps=steps, processes=processes, piece_bytes=9_000)

    assert lines("whole.jsonl") == lines("parts.jsonl")
    firsts = {row["id"] for row in lines("whole.jsonl")[:40]}
    found = [row["prompt_near"] for row in lines("parts.jsonl")]
    assert len(firsts & set(found[40:])) > 30


@needs_rensa
def test_near_duplicates_of_prompts_and_thoughts():
    generator = random.Random(5)
    task, thought = free_text(generator), free_text(generator, 300)
    write(
        "rows.jsonl",
        [
            {"id": "a", **sample(task, thought, "A")},
            {"id": "b", **sample(task.upper() + " !", free_text(generator, 300), "A")},
            {"id": "c", **sample(free_text(generator), slightly_changed(thought, generator), "A")},
            {"id": "d", **sample(free_text(generator), "", "A")},
        ],
    )
    said = run("rows.jsonl", "-o", "new.jsonl", "--where", "prompt_near is None and reasoning_near is None")  # fmt: skip

    assert ["a", "d"] == [row["id"] for row in lines("new.jsonl")]
    assert ["not prompt_near is None: prompt_near = 'a'", "not reasoning_near is None: reasoning_near = 'a'"] == [
        row["rejected"] for row in lines("new.rejected.jsonl")
    ]  # fmt: skip
    assert "2 rows written, 2 rows rejected" in said


@needs_rensa
def test_tasks_with_other_numbers_are_other_tasks():
    first = "Natalia sold 48 clips to friends in April, and then half as many clips in May. How many clips did Natalia sell in all?"
    write("rows.jsonl", [{"id": n, **sample(first.replace("48", n), n, n)} for n in ("48", "52")])
    run("rows.jsonl", "-o", "out.jsonl", "--map", "duplicates")

    assert [None, None] == [row["prompt_near"] for row in lines("out.jsonl")]


def runs(text):
    words = text.casefold().split()
    return set(zip(words, words[1:], words[2:], strict=False))


def likeness(one, other):
    """The share of their runs of three words that two texts have in common, counted exactly."""
    return len(runs(one) & runs(other)) / len(runs(one) | runs(other))


@needs_rensa
def test_how_often_near_duplicates_are_missed_or_wrong():
    generator = random.Random(7)
    problems = dict.fromkeys(word_problem(generator) for _ in range(800))
    tasks = [*problems, *(free_text(generator) for _ in range(800))]
    changed = [slightly_changed(task, generator) for task in tasks[::2]]
    rows = [{"id": str(n), **sample(text, "", "A")} for n, text in enumerate((*tasks, *changed))]
    write("rows.jsonl", rows)
    run("rows.jsonl", "-o", "out.jsonl", "--map", "duplicates")
    found = [row["prompt_near"] for row in lines("out.jsonl")]
    pairs = [(row["prompt"], rows[int(near)]["prompt"]) for row, near in zip(rows, found, strict=True) if near]  # fmt: skip

    wrong = sum(likeness(*pair) < 0.6 for pair in pairs)
    near = [one for one, (text, task) in zip(found[len(tasks) :], zip(changed, tasks[::2], strict=True), strict=True) if likeness(text, task) >= 0.8]  # fmt: skip
    assert len(near) > 400, "most were changed only slightly"
    assert wrong == 0
    assert near.count(None) / len(near) < 0.01


def test_prompts_that_are_in_a_test_set():
    generator = random.Random(9)
    tasks = [free_text(generator, 60) for _ in range(50)]
    write("test.jsonl", [{"question": f"{SET_OF_TASKS} {task}", "answer": "1"} for task in tasks])
    inside = f"Please solve this carefully:\n{tasks[3].capitalize()}!"
    half = " ".join(tasks[4].split()[:30])
    only_instructions = f"{SET_OF_TASKS} {free_text(generator, 60)}"
    write("rows.jsonl", [sample(text, "t", "A") for text in (inside, half, only_instructions, free_text(generator))])  # fmt: skip
    run("rows.jsonl", "-o", "out.jsonl", "--against", "test.jsonl", "--where", "contamination < 0.7")  # fmt: skip

    part, instructions, own = lines("out.jsonl")
    assert "test.jsonl:5" == part["contaminated_by"]
    assert 0.2 < part["contamination"] < 0.5
    assert instructions["contamination"] < 0.05, "all tasks have the instructions"
    assert (None, 0.0) == (own["contaminated_by"], own["contamination"])
    (rejected,) = lines("out.rejected.jsonl")
    assert ("test.jsonl:4", inside) == (rejected["contaminated_by"], rejected["prompt"][0]["content"])  # fmt: skip


def test_how_often_a_prompt_is_wrongly_in_a_test_set():
    generator = random.Random(11)
    test = list(dict.fromkeys(f"{SET_OF_TASKS} {word_problem(generator)}" for _ in range(500)))
    write("test.jsonl", [{"problem": task} for task in test])
    others = [word_problem(generator) for _ in range(800)]
    others = [task for task in others if f"{SET_OF_TASKS} {task}" not in test]
    batch = {"prompt": [[{"role": "user", "content": task}] for task in (*others, *test)]}
    shares = contamination("test.jsonl").run(batch)["contamination"]

    wrong = sum(share >= 0.8 for share in shares[: len(others)]) / len(others)
    missed = sum(share < 0.8 for share in shares[len(others) :]) / len(test)
    assert missed == 0
    assert wrong < 0.05, "tasks of one template differ in a name, a thing and two numbers"


def test_short_tasks_are_found_only_as_whole_prompts():
    write("test.jsonl", [{"text": "What is 2 + 2?"}])
    batch = {"prompt": [[{"role": "user", "content": text}] for text in ("what is 2+2", "Say why what is 2 + 2 is easy")]}  # fmt: skip
    found = contamination("test.jsonl").run(batch)

    assert [1.0, 0.0] == found["contamination"]
    assert ["test.jsonl:1", None] == found["contaminated_by"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--against", "none.jsonl"), "none.jsonl"),
        (("--against", "rows.jsonl", "--against-column", "task"), "no column 'task'"),
        (("--against-column", "task"), "name its file with --against"),
        (("--reference", "truth"), "'truth'"),
    ],
)
def test_what_cannot_be_compared_is_said(options, expected):
    write("rows.jsonl", SAMPLES)

    assert expected in run("rows.jsonl", "-o", "out.jsonl", *options, status=2)
    assert not Path("out.jsonl").exists()


def test_a_survey_needs_files_that_can_be_read_twice(monkeypatch):
    result = CliRunner().invoke(
        innervoice,
        ["bulk", "map", "-", "-o", "out.jsonl", "--best-of", "1"],
        input="".join(json.dumps(row) + "\n" for row in SAMPLES),
    )

    assert 2 == result.exit_code
    assert "standard input can be read only once" in result.output


def test_engines_say_that_they_cannot_look_at_all_rows():
    with pytest.raises(UsageError, match="innervoice bulk map"):
        bulk.schema.prepared([best_of()], lambda name: [])


def test_the_test_set_is_read_only_and_part_of_the_plan():
    write("rows.jsonl", SAMPLES)
    write("test.jsonl", [{"question": "6*7?"}])
    arguments = ("rows.jsonl", "-o", "out.jsonl", "--against", "test.jsonl")
    run(*arguments)
    assert "test.jsonl:1" == lines("out.jsonl")[0]["contaminated_by"]

    write("test.jsonl", [{"question": "7*8?"}])
    assert "--overwrite" in run(*arguments, status=2)
    assert "test.jsonl" in run("rows.jsonl", "-o", "test.jsonl", *arguments[3:], "--overwrite", status=2)  # fmt: skip
    run(*arguments, "--overwrite")
    assert lines("out.jsonl")[0]["contaminated_by"] is None
