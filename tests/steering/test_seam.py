"""Two texts as one: the second goes on where the first ended, to the character, however both are cut."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.events import PartEnd, PartStart, Recast, TextDelta, ThinkingDelta
from innervoice.canon.parts import Text, Thinking
from innervoice.steering.seam import ANCHOR, Seam, anchor_of
from innervoice.steering.splicing import Splice

words = st.text("abcde fgh.,\n“”'\"é中 ", max_size=60)
cuts = st.lists(st.integers(1, 50), max_size=20)


def pieces(text, sizes):
    for size in [*sizes, len(text)]:
        if text:
            yield text[:size]
        text = text[size:]


def joined(seam, text, sizes):
    made = "".join([seam.feed(piece) for piece in pieces(text, sizes)])
    return made + seam.feed("", is_last=True)


@settings(deadline=None)
@given(words, words, st.integers(0, 10**6), cuts)
def test_prefill_goes_on_with_the_next_character(one, other, place, sizes):
    """White space at the end of the first text is not sent, so it may come once more; a model may also leave it out."""
    whole = one + other
    place %= len(whole) + 1
    first, rest = whole[:place], whole[place:]
    seconds = [whole[len(first.rstrip()) :], *([] if rest[:1].isspace() else [rest])]
    for second in seconds:
        assert whole == first + joined(Seam(first, is_repeated=False), second, sizes)


@settings(deadline=None)
@given(st.text("abcdefgh ijkl mno\n“'", min_size=41, max_size=90), words, cuts, st.sampled_from(["", "Sure:\n", "\n\n"]), st.booleans())  # fmt: skip
def test_repeated_characters_are_left_out(first, rest, sizes, preface, is_straight):
    """Also behind a word of politeness, and with other quotation marks and white space."""
    assume(len(first.rstrip()) > ANCHOR)
    assume(not (first[-1].isspace() and rest[:1].isspace()))
    anchor = anchor_of(first)
    assume(anchor not in preface)
    said = anchor.replace("“", '"') if is_straight else anchor
    blanks = first[len(first.rstrip()) :]
    seam = Seam(first, is_repeated=True)

    assert rest == joined(seam, preface + said + blanks + rest, sizes)
    assert not seam.has_failed


@pytest.mark.parametrize("repeated", [40, 32, 24, 16, 12])
def test_fewer_may_be_repeated(repeated):
    first = "The quick brown fox jumps over the lazy dog, and then it rests for a while."
    seam = Seam(first, is_repeated=True)

    assert " Then it runs." == joined(seam, first[-repeated:] + " Then it runs.", [7, 7, 7])


@pytest.mark.parametrize(
    "second", ["Here is something else.", "x" * 500, "dog", "The quick brown fox"]
)
def test_what_does_not_follow_fails(second):
    seam = Seam("The quick brown fox jumps over the lazy dog, and then it rests for a while.", is_repeated=True)  # fmt: skip

    assert "" == joined(seam, second, [5] * 20)
    assert seam.has_failed


def test_a_short_text_has_to_be_repeated_whole():
    assert " b" == joined(Seam("a", is_repeated=True), "a b", [])
    assert "" == joined(Seam("a", is_repeated=True), "b a b", [])


def test_a_text_that_repeats_itself_goes_on_behind_the_first_match():
    first = "ha " * 40
    assert "ha!" == joined(Seam(first, is_repeated=True), anchor_of(first) + " ha!", [])


# ---- events ----------------------------------------------------------------------------------------


def answer(*parts):
    events = []
    for index, part in enumerate(parts):
        delta = TextDelta if isinstance(part, Text) else ThinkingDelta
        events += [PartStart(index, part.type), delta(index, part.text), PartEnd(index, part)]
    return events


def test_the_second_thought_is_left_out_behind_a_text():
    splice = Splice()
    log = [*answer(Thinking("one")), PartStart(1, "text"), TextDelta(1, "Hello, ")]
    log += splice.leave(log, None, goes_on=True)
    splice.go_on(is_repeated=False)
    log += splice.feed(answer(Thinking("two"), Text("world."), Text("More.")))
    log += splice.finish()

    assert [Thinking("one"), Text("Hello, world."), Text("More.")] == list(iv.fold(log).parts)


def test_a_second_answer_comes_behind_a_thought_that_was_ended():
    splice = Splice()
    log = [PartStart(0, "thinking"), ThinkingDelta(0, "round and ")]
    log += splice.leave(log, None, goes_on=False)
    log += splice.feed(answer(Thinking("short"), Text("Yes.")))

    cut = Thinking("round and ", complete=False)
    assert [cut, Thinking("short"), Text("Yes.")] == list(iv.fold(log).parts)


def test_text_that_turns_out_to_be_something_else_ends_it():
    splice = Splice()
    log = [PartStart(0, "text"), TextDelta(0, "Hello, ")]
    log += splice.leave(log, None, goes_on=True)
    splice.go_on(is_repeated=False)
    splice.feed([PartStart(0, "text"), TextDelta(0, "wor"), Recast(0, (Thinking("wor"),))])

    assert splice.has_failed
