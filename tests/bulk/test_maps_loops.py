"""Reasoning that repeats itself is found by four numbers, in linear time."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from bulk.batches import row
from innervoice.bulk.loops import loop_numbers, loops
from innervoice.steering.repetition import repetition_in


def slow_period(text):
    """The definition: the piece that covers the most of the end, four times or more; the shortest of those."""
    backwards = text[::-1]
    best = None
    for period in range(1, len(text)):
        covered = period
        while covered < len(text) and backwards[covered] == backwards[covered - period]:
            covered += 1
        if covered >= 4 * period:
            best = max(best or (0, 0), (covered, -period))
    return -best[1] if best else None


@settings(deadline=None)
@given(
    st.text("ab", max_size=12),
    st.text("ab", min_size=1, max_size=9),
    st.integers(1, 7),
    st.text("ab", max_size=3),
)
def test_period_is_what_the_definition_says(head, piece, times, end):
    text = head + piece * times + end

    assert slow_period(text) == loop_numbers(text).period


def test_a_loop_has_a_period_no_novelty_and_an_onset():
    head = " ".join(f"step{n}" for n in range(200))
    loop = " wait, let me check that once more from the start."
    numbers = loop_numbers(head + loop * 100, window=500)

    assert len(loop) == numbers.period
    assert 0.0 == numbers.novelty
    assert len(head) <= numbers.onset <= len(head) + 2 * len(loop)


def test_text_that_goes_on_has_none():
    chosen = random.Random(3)
    text = " ".join(f"w{chosen.randrange(500)}" for _ in range(3000))

    assert (None, 1.0, None, None) == loop_numbers(text)


def test_a_loop_with_a_counter_has_no_period_but_little_novelty():
    """An exact period misses it; most of its 8-grams are old."""
    said = "so we try the next case and see that it does not fit either because the remainder is not zero here again"
    text = " ".join(f"{said} {n}" for n in range(300))
    numbers = loop_numbers(text)

    assert numbers.period is None
    assert numbers.novelty < 0.5
    assert numbers.onset < 3 * len(said)


def test_a_repetition_that_was_left_again_is_no_onset():
    """The problem is often quoted twice; what counts is from where on nothing new comes."""
    quoted = " ".join(f"given{n}" for n in range(100))
    went_on = " ".join(f"step{n}" for n in range(500))
    head = f"{quoted} {quoted} {went_on}"

    assert loop_numbers(head).onset is None
    assert loop_numbers(head + " and so on and on it goes as it always did" * 90).onset > len(head)


def test_the_alarm_is_that_of_the_watch():
    """The same text, while it was written, would have been ended at this place."""
    text = " ".join(f"step{n}" for n in range(200)) + " wait, let me check that once more." * 300
    alarm = loop_numbers(text).alarm

    assert repetition_in(text) == alarm
    assert repetition_in(text[:alarm]) == alarm
    assert repetition_in(text[: alarm - 1]) is None


def test_script_without_blanks_is_counted_by_characters():
    numbers = loop_numbers("首先我们考虑这个问题的其他方面" + "再检查一遍答案是否正确。" * 60)

    assert 12 == numbers.period
    assert numbers.novelty < 0.1
    assert 15 <= numbers.onset <= 30


def test_novelty_is_that_of_the_last_window():
    """What was new at the beginning does not hide what goes round at the end."""
    head = " ".join(f"step{n}" for n in range(5000))
    text = head + " one two three four five six seven eight nine" * 200

    assert loop_numbers(text, window=500).novelty == 0.0
    assert loop_numbers(text, window=10_000).novelty > 0.5


def test_the_step_looks_at_the_reasoning_and_takes_null():
    batch = row(reasoning=None, answer="a " * 100)
    added = loops().run(batch)

    assert [None] == added["loop_period"] == added["loop_novelty"] == added["loop_onset"]
    assert [2] == loops(text="answer").run(batch)["loop_period"]
