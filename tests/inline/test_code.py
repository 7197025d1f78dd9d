"""What is code (rule S3), and what is a tag (rule S1), written out in plain Python and compared with any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv

PIECES = ["`", "``", "```", "````", "~", "~~", "~~~", "~~~~", "\n", "\n", " ", "\t", "a", "b c"]
NAMES = {"think", "thinking", "ant_thinking", "antthinking", "reasoning", "thought", "reflection", "scratchpad"}  # fmt: skip
IN_TAGS = [*sorted(NAMES), "mm", "Think", ":", ":", " ", "\n", "/", "a='b'", ".", "-", "x" * 120, "y" * 126]  # fmt: skip


def ends_in_fence(text: str) -> bool:
    """Whether a fence is open at the end of a text that no further backticks follow."""
    fence, position = "", 0
    while position < len(text):
        run = run_at(text, position)
        start, position = position, position + max(len(run), 1)
        begins_line = not text[:start].rpartition("\n")[2].strip(" \t")
        if fence:
            if run.startswith(fence) and (run[0] == "`" or begins_line):
                fence = ""
        elif len(run) >= 3 and (run[0] == "`" or begins_line):
            fence = run
        elif run in {"`", "``"}:
            position = span_end(text, position, run)
    return bool(fence)


def run_at(text: str, position: int) -> str:
    """The backticks or tildes that begin here."""
    character = text[position]
    rest = text[position:]
    return rest[: len(rest) - len(rest.lstrip(character))] if character in "`~" else ""


def span_end(text: str, position: int, run: str) -> int:
    """The end of a span that begins before this position; the position itself if its line does not close it."""
    at = position
    while at < len(text) and text[at] != "\n":
        other = run_at(text, at)
        at += max(len(other), 1)
        if other == run:
            return at
    return position


def is_opening_tag(inside: str) -> bool:
    """Whether the text between `<` and `>` makes a tag that opens reasoning."""
    head = inside.split(maxsplit=1)[0] if inside[:1].strip() else ""
    space, colon, name = head.rpartition(":")
    is_space = bool(space) and all(c.isalnum() or c in "_.-" for c in space) if colon else True
    closes_itself = inside.endswith("/")
    return name.lower() in NAMES and is_space and not closes_itself and len(inside) + 2 <= 256


@pytest.mark.parametrize("fence", ["~~~", "~~~~~", "```", "````"])
def test_a_thought_in_a_fence_is_text(fence):
    text = f"{fence}\n<think>\nplan\n</think>\n{fence}\n"

    assert (None, text.rstrip()) == (iv.split(text).thinking, iv.split(text).text.rstrip())


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_a_thought_is_text_just_where_a_fence_is_open(before):
    split = iv.split(f"{before}.<think>plan</think>\n")

    assert (None if ends_in_fence(before) else "plan") == split.thinking


@settings(max_examples=500)
@given(st.lists(st.sampled_from(IN_TAGS), min_size=1, max_size=6).map("".join))
def test_a_tag_is_a_name_with_namespace_and_attributes(inside):
    split = iv.split(f"<{inside}>plan</think>answer")

    assert is_opening_tag(inside) == (split.thinking == "plan")
