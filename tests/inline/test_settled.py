"""What is settled stays: no later event changes the characters in front of `settled`, nor their kind."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

import innervoice as iv

PIECES = [
    "<think>", "</think>", "<thinking>", "</thinking>", "`", "``", "```", "\n", "\n\n", " ", "a", "word", "A sentence of some words.", ".",
    "{", "[", '"', "<tool_call>", "<answer>", "</answer>", "<|channel|>analysis<|message|>", "<|end|>", "<|channel|>final<|message|>", "~~~", "x.\n", "<|im_end|>",
    "<|channel|>commentary to=functions.f<|message|>",
]  # fmt: skip
MODELS = ["some-model", "deepseek-r1t2-chimera", "qwq-32b", "glm-4.7", "gpt-oss-20b"]
A_THOUGHT = "A thought of more than twenty characters"


def characters(parts):
    """Every character of text and thinking with its kind; a call in the text counts as one."""
    found = []
    for part in parts:
        text = part.text if isinstance(part, (iv.Text, iv.Thinking)) else "*"
        found += [(part.type, character) for character in text]
    return found


def in_front(parts, place):
    """The characters in front of a place."""
    if place is None:
        return characters(parts)
    index, count = place
    return characters(parts[:index]) + characters(parts[index : index + 1])[:count]


@settings(max_examples=1500, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=25),
    st.lists(st.integers(1, 12), min_size=1, max_size=8),
    st.sampled_from(MODELS),
    st.sampled_from([None, True, False]),
)
@example(["<think>a<think>b</think>word</think>Rest."], [1], "some-model", None)
@example(["<think>a</think>Of it.\nx.\n</think>Rest."], [1], "deepseek-r1t2-chimera", None)
def test_settled_characters_stay(pieces, widths, model, prefix_open):
    """Whatever comes.

    Seen failing: an open code span, a repeated opener, a stutter, or a guess of the card that counted as settled.
    """
    text = "".join(pieces)
    splitter = iv.Splitter(model=model, prefix_open=prefix_open)
    events, seen, start, number = [], [], 0, 0
    while start < len(text):
        width = widths[number % len(widths)]
        events += splitter.feed(text[start : start + width])
        seen.append(in_front(iv.fold(events).parts, splitter.settled))
        start, number = start + width, number + 1
    events += splitter.finish()
    final = characters(iv.fold(events).parts)

    assert splitter.settled is None
    for before in seen:
        assert before == final[: len(before)]


def place_after(text, **hints):
    splitter = iv.Splitter(**hints)
    splitter.feed(text)
    return splitter.settled


def test_reasoning_that_stays_reasoning_is_settled_as_it_comes():
    assert (0, 4) == place_after("<think>Hmm.")
    assert (0, 4) == place_after("Hmm.", prefix_open=True)
    assert (1, 4) == place_after("A.<|channel|>analysis<|message|>Hmm.", markup=["harmony"])


def test_reasoning_that_may_be_text_is_not():
    assert (0, 0) == place_after("Hmm.", model="qwq-32b")
    assert (0, 0) == place_after("In <think>Hmm.")
    assert (2, 0) == place_after("<think>a</think>In <think>Hmm.")


def test_text_may_become_reasoning_until_some_was_split_out():
    assert (0, 0) == place_after(A_THOUGHT)
    assert (1, 9) == place_after(f"{A_THOUGHT}</think>The text.")
    assert (0, 2) == place_after('{"')
    assert (0, len(A_THOUGHT)) == place_after(A_THOUGHT, inline="off")
