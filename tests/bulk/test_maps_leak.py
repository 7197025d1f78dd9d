"""Answers in the wrong place are found."""

import pytest

from bulk.batches import message, row
from innervoice.bulk.leak import copied_share, final_answer, leak

LONG = "the product of the two numbers is the sum of their squares"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{12} and then \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"cut off \boxed{12} then \boxed{\frac{1}", "12"),
        ("work\n#### 1,024", "1,024"),
        ("Hence the final answer is **42**.", "42"),
        ("Answer: Paris\n", "Paris"),
        ("所以答案是：四\n", "四"),
        ("nothing of the kind", None),
        (r"\boxed{}", None),
        ("", None),
    ],
)
def test_final_answer_of_a_text(text, answer):
    assert answer == final_answer(text)


def test_answer_that_is_only_in_the_reasoning():
    added = leak().run(row(reasoning=r"that gives \boxed{1729}", answer="I hope this helps!"))

    assert (["1729"], [True]) == (added["final_answer"], added["answer_only_in_reasoning"])


@pytest.mark.parametrize(
    ("reasoning", "answer", "found"),
    [
        (r"\boxed{1729}", "It is 1729.", False),
        (r"\boxed{1729}", "It is 17290.", True),
        ("some thought", "", True),
        (None, "", False),
        ("no mark", "no mark", False),
    ],
)
def test_answer_only_in_reasoning(reasoning, answer, found):
    assert [found] == leak().run(row(reasoning=reasoning, answer=answer))[
        "answer_only_in_reasoning"
    ]


def test_final_answer_that_the_prompt_gives_away():
    prompt = [message("user", "Show that it is 1729."), message("assistant", "1729!")]
    given_away = leak().run(row(prompt=prompt, answer=r"\boxed{1729}"))
    not_said = leak().run(row(prompt=[prompt[1]], answer=r"\boxed{1729}"))

    assert [True] == given_away["answer_in_prompt"]
    assert [False] == not_said["answer_in_prompt"], "an earlier answer is no prompt"


def test_short_answers_are_in_every_prompt():
    batch = row(prompt=[message("user", "Choose A or B.")], answer="#### B")

    assert [False] == leak().run(batch)["answer_in_prompt"]
    assert [True] == leak(shortest=1).run(batch)["answer_in_prompt"]


def test_a_reference_column_replaces_the_search():
    batch = row(reasoning="it is 1729", answer="Done.", truth=1729)

    assert [True] == leak(reference="truth").run(batch)["answer_only_in_reasoning"]


def test_reasoning_that_was_copied_into_the_answer():
    assert 1.0 == copied_share(LONG, f"well, {LONG}, yes {LONG}".replace(",", " "))
    assert 0.0 == copied_share(LONG, "something else entirely")
    assert 0.2 < copied_share(f"{LONG} {LONG[::-1]}", LONG) < 0.7
    assert copied_share("too short", LONG) is None
