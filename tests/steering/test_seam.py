"""Two texts as one: the second goes on where the first ended, to the character, however both are cut."""

from copy import copy

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
@given(st.text("abcdefgh ijkl mno\n“'", min_size=41, max_size=90), words, cuts, st.sampled_from(["", "\n\n"]), st.booleans())  # fmt: skip
def test_repeated_characters_are_left_out(first, rest, sizes, blanks_before, is_straight):
    """Also with other quotation marks and white space."""
    assume(not (first[-1].isspace() and rest[:1].isspace()))
    anchor = anchor_of(first)
    assume(anchor is not None and len(anchor) < len(first.rstrip()))
    said = anchor.replace("“", '"') if is_straight else anchor
    blanks = first[len(first.rstrip()) :]
    seam = Seam(first, is_repeated=True)

    assert rest == joined(seam, blanks_before + said + blanks + rest, sizes)
    assert not seam.has_failed


def test_more_may_be_repeated_and_fewer_may_not():
    """What is shorter than what was asked for shows too little of where the text goes on."""
    first = "The quick brown fox jumps over the lazy dog, and then it rests for a while."
    asked = len(anchor_of(first))
    for repeated in range(1, len(first) + 1):
        seam = Seam(first, is_repeated=True)
        rest = joined(seam, first[-repeated:] + " Then it runs.", [7, 7, 7])
        assert rest == ("" if seam.has_failed else " Then it runs.")
        assert repeated >= asked or seam.has_failed

    assert not seam.has_failed


@pytest.mark.parametrize(
    "second", ["Here is something else.", "x" * 500, "dog", "The quick brown fox", ""]
)
def test_what_does_not_follow_fails(second):
    seam = Seam("The quick brown fox jumps over the lazy dog, and then it rests for a while.", is_repeated=True)  # fmt: skip

    assert "" == joined(seam, second, [5] * 20)
    assert seam.has_failed


def test_a_short_text_has_to_be_repeated_whole():
    first = "So the answer"
    assert " is 3" == joined(Seam(first, is_repeated=True), "So the answer is 3", [])
    assert "" == joined(Seam(first, is_repeated=True), "Sure: So the answer is 3", [])


@pytest.mark.parametrize(
    "first", ["ha " * 40, "- one\n" * 20, '"', "```", '{"a": 1}\n' * 9, "ha", "- one"]
)
def test_what_fits_in_two_places_is_no_repetition(first):
    """Equal rows may follow equal rows, and what encloses a repetition may be the beginning of the text."""
    seam = Seam(first, is_repeated=True)

    assert "" == joined(seam, first.rstrip() + "\n" + first, [3] * 9)
    assert seam.has_failed


ROW = "| apples and pears and quinces and plums of this year | 12 | yes |\n"
TEXTS = {
    "equal JSON lines": '{"id": 1, "name": "the same name", "tags": ["a", "b"]}\n' * 7,
    "short JSON lines": '{"a": 1}\n' * 30,
    "counted JSON lines": "".join(
        f'{{"id": {n}, "name": "the same name", "ok": true}}\n' for n in range(9)
    ),
    "JSON lines in groups": "".join(
        f'{{"id": {n // 3 * 10}, "name": "the same name"}}\n' for n in range(12)
    ),
    "a table": "Here is the table:\n\n| fruit | count | fresh |\n|---|---|---|\n"
    + ROW * 4
    + "\nThat is all of it.",
    "a table alone": ROW + "|" + "-" * 66 + "|\n" + ROW * 4,
    "a list": "You need:\n\n"
    + "- an egg and a spoon of salt\n" * 3
    + "- milk\n"
    + "- an egg and a spoon of salt\n" * 3,
    "a list of words": "- one\n" * 15 + "- two\n" * 9 + "- one\n",
    "rows of prose": "The rows are these\n"
    + "apples are red and round and very good to eat in autumn\n" * 4,
    "sentences": "Say this. " + "He said that it was as good as it could be. " * 4 + "So be it.",
    "words": "ha " * 30 + "ha!",
    "numbers": "0 0 0 1 0 0 0 0\n" * 12,
    "code": "```python\ndef main():\n"
    + '    print("the same text", end="")\n' * 3
    + "\n\nmain()\n"
    + '    print("the same text", end="")\n' * 2
    + "```\n",
    "quotations": '"No," he said.\n"No," she said, "never." "No," he said.\n> "No," all of them said, and then they went home.\n'
    * 2,
    "equal stanzas": "One stanza of the song is here,\nand it has two lines.\n\n" * 4,
}


def second_texts(whole, first):
    """What models make of the request: they go on with the whole text, and repeat something first."""
    bare = first.rstrip()
    rest, anchor = whole[len(bare) :], anchor_of(first) or bare[-ANCHOR:]
    yield from (anchor + rest, whole, "\n\n" + anchor + rest)  # exactly, or from the start
    yield from (bare[-size:] + rest for size in range(1, len(anchor) + 90, 3))  # less and more
    yield from (rest, whole[len(first) :], rest.lstrip())  # nothing
    for begin, end in (
        '""',
        "“”",
        "''",
        "``",
        "«»",
        ("**", "**"),
        ("> ", "\n"),
        ("```\n", "\n```\n"),
    ):
        for size in (len(anchor) - 1, len(anchor), len(anchor) + 1, 12):
            yield begin + bare[-size:] + end + rest
            yield begin + bare[-size:] + rest + end
    yield "Sure:\n" + anchor + rest
    yield ""


@pytest.mark.parametrize("name", TEXTS)
def test_equal_rows_cut_at_every_place(name):
    """The result is the whole text, or the seam fails."""
    whole = TEXTS[name]
    for place in range(1, len(whole)):
        first = whole[:place]
        new = Seam(first, is_repeated=True)
        for second in second_texts(whole, first):
            seam = copy(new)
            made = first + joined(seam, second, [7] * 9)
            assert seam.has_failed or whole == made, (first, second)


def test_rows_that_differ_go_on_at_most_places():
    """A model that repeats what it was asked for is hardly ever refused."""
    rows = "".join(f'{{"id": {n}, "name": "the same name", "ok": true}}\n' for n in range(20))
    gone_on = 0
    for place in range(1, len(rows)):
        first = rows[:place]
        seam = Seam(first, is_repeated=True)
        joined(seam, (anchor_of(first) or "") + rows[len(first.rstrip()) :], [])
        gone_on += not seam.has_failed

    assert gone_on > len(rows) * 0.85


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
