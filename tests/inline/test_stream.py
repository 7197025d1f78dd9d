"""What a person sees while a stream runs: reasoning live, text at once, tails in the end."""

import pytest

import innervoice as iv
from inline.streams import check_events, cut, events_of


def shown(events: list[iv.Event]) -> str:
    return "".join(
        event.text for event in events if isinstance(event, (iv.TextDelta, iv.ThinkingDelta))
    )


def test_reasoning_is_delivered_while_it_arrives():
    splitter = iv.Splitter()
    splitter.feed("<think>")

    for piece in ("Let ", "me ", "see"):
        assert [iv.ThinkingDelta(0, piece)] == splitter.feed(piece)


def test_reasoning_with_the_hint_is_thinking_from_the_first_character():
    splitter = iv.Splitter(prefix_open=True)

    assert [iv.PartStart(0, "thinking"), iv.ThinkingDelta(0, "Hm")] == splitter.feed("Hm")


@pytest.mark.parametrize(
    "text",
    ["a < b", "x <= y", "<3 you", "<br>", "if a<b and", "a<ü b", "<think!", "</div>", "<a:b "],
)
def test_text_that_is_no_tag_is_released_at_once(text):
    """Nothing of it is held once its last character says that it is no tag."""
    splitter = iv.Splitter()

    assert text == "".join(shown(splitter.feed(character)) for character in text)


@pytest.mark.parametrize(
    "tail", ["<", "</", "<thi", "<think", "<think a='b", "</think", "<mm:", "<mm:thi"]
)
def test_a_possible_tag_is_held_and_flushed(tail):
    splitter = iv.Splitter()

    assert "So " == shown(splitter.feed(f"So {tail}"))
    assert tail == shown(splitter.finish())
    assert f"So {tail}" == splitter.response.text


def test_a_tail_inside_thinking_is_flushed_as_thinking():
    result = iv.fold(events_of(["<think>R </thi"]))

    assert ("R </thi", "") == (result.thinking, result.text)


def test_held_back_text_is_bounded():
    """A tag that never ends is text as soon as it is too long for one."""
    splitter = iv.Splitter()
    given = 0
    for _ in range(2000):
        given += len(shown(splitter.feed("<think a") if not given else splitter.feed("a")))
    splitter = iv.Splitter()
    splitter.feed("<think ")
    seen = sum(len(shown(splitter.feed("a"))) for _ in range(300))
    assert seen > 300 - 256


def test_an_empty_block_is_legal():
    events = events_of(["<think>", "</think>", "A"])

    check_events(events)
    assert [iv.PartStart(0, "thinking"), iv.PartEnd] == [events[0], type(events[1])]


def test_no_events_for_nothing():
    splitter = iv.Splitter()

    assert [] == splitter.feed("")
    assert [] == splitter.finish()
    assert () == splitter.response.parts


def test_empty_pieces_between_others():
    assert (
        iv.split("<think>R</think>A").parts
        == iv.fold(events_of(["", "<think>R", "", "</think>", "", "A", ""])).parts
    )


def test_a_splitter_reads_one_text():
    splitter = iv.Splitter()
    splitter.feed("a")
    splitter.finish()

    with pytest.raises(iv.UsageError, match="one text"):
        splitter.feed("b")
    with pytest.raises(iv.UsageError, match="one text"):
        splitter.finish()


@pytest.mark.parametrize("before", [[], ["some text "]])
@pytest.mark.parametrize("value", [b"bytes", None, 3])
def test_what_is_no_text_is_refused(before, value):
    splitter = iv.Splitter()
    for piece in before:
        splitter.feed(piece)

    with pytest.raises(iv.UsageError, match=type(value).__name__):
        splitter.feed(value)


def test_the_finish_reason_may_come_with_the_end():
    splitter = iv.Splitter(model="qwq-32b")
    splitter.feed("Still thinking")
    splitter.finish("length")

    assert ("Still thinking", "budget_exhausted") == (
        splitter.response.thinking,
        splitter.response.status,
    )


def test_recasts_do_not_pile_up():
    """A line that is judged again repeats its own part only, however many there are."""
    text = "<think>R</think>" + "Don`t </think>\n" * 200
    sizes = [
        sum(len(part.text) for part in event.parts)
        for event in events_of(cut(text, 5))
        if isinstance(event, iv.Recast)
    ]

    assert len(sizes) == 200
    assert max(sizes) < 60
