"""Text to be shown contains no character that affects the display."""

import unicodedata

import pytest
from hypothesis import given

from innervoice.show.visible import one_line, visible
from show.hostile import hostile


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x9b2J", "\ufffd2J"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("user\u202egpj.exe", "user\ufffdgpj.exe"),
        ("\x7f", "␡"),
        ("\ud83d\ude42 and \ud83d", "🙂 and \ufffd"),
        ("שלום\u200f!", "שלום\u200f!"),
    ],
)
def test_control_characters_are_seen_and_do_nothing(text, shown):
    assert shown == visible(text)


@given(hostile)
def test_no_control_character_is_left(text):
    shown = visible(text)

    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert shown == shown.encode().decode()
    assert shown == visible(shown)


def test_one_line_is_short_and_says_so():
    assert "a b" == one_line(" a\n\n b ")
    assert "x" * 199 + "…" == one_line("x" * 10_000)
    assert 200 == len(one_line("x" * 200))


def test_one_line_of_a_long_blank_text_says_that_there_is_more():
    assert "…" == one_line("\n" * 10_000 + "end")
