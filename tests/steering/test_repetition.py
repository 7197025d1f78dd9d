"""The detector of loops: how a text is cut changes nothing, stuck models are found soon, and sound thoughts are left alone."""

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice.bulk.loops import loop_numbers
from innervoice.steering.repetition import RepetitionDetector, repetition_in, words_of
from shared import needs_shared
from steering.thoughts import STUCK, prose, recorded, sound

CHARACTERS_A_TOKEN = 4
SOUND = 2_000
"""Thoughts that are examined in each run; `ALL` of them with `-m` or by hand: 20,000 took no false alarm on 2026-11-18."""


def onset(seed):
    return prose(random.Random(seed), 40) + "\n"


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(STUCK)), st.integers(0, 99), st.lists(st.integers(1, 3000), max_size=30))  # fmt: skip
def test_any_cutting_gives_the_same_alarm_at_the_same_place(name, seed, sizes):
    make, unit = STUCK[name]
    text = (onset(seed) + make(random.Random(seed), unit))[:30_000]
    detector, place = RepetitionDetector(), 0
    for size in [*sizes, len(text)]:
        detector.feed(text[place : place + size])
        place += size

    assert repetition_in(text) == detector.place


def test_single_characters_are_a_cutting_too():
    make, unit = STUCK["in other orders"]
    text = onset(1) + make(random.Random(1), unit)
    detector = RepetitionDetector()
    places = [detector.feed(character) for character in text]

    assert repetition_in(text) == detector.place
    assert detector.place == places.index(detector.place) + 1


@pytest.mark.parametrize("name", STUCK)
def test_the_loops_of_the_literature_are_found_within_2000_tokens(name):
    make, unit = STUCK[name]
    for seed in range(20):
        head = onset(seed)
        place = repetition_in(head + make(random.Random(seed), unit))

        assert place is not None
        assert place - len(head) <= 2_000 * CHARACTERS_A_TOKEN + 2_400 * (name == "in other words")


def test_sound_thoughts_are_left_alone():
    """Lists, sums, bytes, grids, drafts of code and prose: at most one alarm in 20,000, which means none here."""
    alarms = [seed for seed in range(SOUND) if repetition_in(sound(seed)) is not None]

    assert [] == alarms


@pytest.mark.parametrize(
    "words",
    [
        "The next element is checked against the target, and it is not equal, so we go on.",
        "这个元素和目标不相等所以我们继续检查下一个",
        "The next element is not equal to the target, "
        + "and it is not equal to the last one that we have seen " * 2
        + "so we go on.",
    ],
)
def test_a_long_numbered_list_is_no_loop(words):
    """Each of its lines has something new; a loop that counts is ended by the limit."""
    assert repetition_in("\n".join(f"{number}. {words}" for number in range(100, 2_000))) is None


@needs_shared
def test_recorded_thoughts_are_left_alone():
    thoughts = recorded()

    assert len(thoughts) > 100
    assert [] == [thought for thought in thoughts if repetition_in(thought) is not None]
    assert [] == [
        number for number in range(30) if repetition_in("\n\n".join(random.Random(number).sample(thoughts, 100)))
    ]  # fmt: skip


def test_a_repetition_of_the_input_is_copying():
    """As often as it stands there; more often it is a loop."""
    line = "The tests of this module have to be run again, because one of them has failed before. "
    head = onset(3)

    assert repetition_in(head + line * 80, read="Repeat this.\n" + line * 80) is None
    assert repetition_in(head + line * 80, read="Repeat this.\n" + line) is not None


def test_memory_is_bounded():
    draw = random.Random(5)
    detector = RepetitionDetector()
    peaks = []
    tracemalloc.start()
    try:
        for _ in range(4):
            for _ in range(150):
                detector.feed(prose(draw, 20))
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()

    assert peaks[-1] < 1_500_000
    assert peaks[-1] < peaks[0] * 1.3


def test_bulk_finds_it_at_the_same_place():
    make, unit = STUCK["a sentence"]
    text = onset(7) + make(random.Random(7), unit)

    assert repetition_in(text) == loop_numbers(text).alarm


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.sampled_from(["word ", "a", "\n", "\t", " ", "\x1c", "\xa0", "汉", "字 ", "ไทย", "é", "x" * 300, "y" * 1100, "many words in a row " * 40])).map("".join))  # fmt: skip
def test_the_words_that_were_kept_are_those_of_the_text(text):
    detector = RepetitionDetector(keeps_words=True)
    detector.feed(text)
    words = detector.words()

    assert words is None or words == words_of(text)
    is_cut = max(map(len, words_of(text)), default=0) >= 1024
    assert words is not None or detector.place is not None or is_cut
