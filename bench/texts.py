"""Texts with inline reasoning: ordinary Markdown after reasoning, and hostile texts."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

_WORDS = """the model answers with several paragraphs of prose that explain one step after another and sometimes
quote `a_name` or **stress** a word, link to [a page](https://example.org/page) or compare a <= b in passing""".split()
THOUGHT = "Let me see. " * 500


@lru_cache(maxsize=8)
def markdown(size: int) -> str:
    """Ordinary Markdown: prose with inline code, lists, headings and fences, and a `<` now and then."""
    rng = random.Random(7)
    blocks: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(rng.choices(_WORDS, k=rng.randrange(30, 80))).capitalize() + "."
        block = rng.choice(
            [
                sentence,
                sentence,
                f"## {sentence[:40]}",
                f"- {sentence}\n- {sentence[:50]}",
                f"```python\nfor item in items:\n    print(item, {len(sentence)})\n```",
            ]
        )
        blocks.append(block)
        length += len(block) + 2
    return "\n\n".join(blocks)[:size]


@lru_cache(maxsize=8)
def tagged(size: int) -> str:
    """Reasoning in tags, followed by Markdown of this length."""
    return f"<think>{THOUGHT}</think>\n\n{markdown(size)}"


@lru_cache(maxsize=8)
def pieces(size: int, width: int) -> list[str]:
    """The same in pieces of this many characters."""
    text = tagged(size)
    return [text[start : start + width] for start in range(0, len(text), width)]


@lru_cache(maxsize=8)
def orphaned(size: int) -> tuple[str, str]:
    """Markdown of this length as reasoning whose opening tag was in the prompt, then a closing tag and the answer."""
    return markdown(size).rpartition("\n\n```")[0], "The answer is 42."


class Row(NamedTuple):
    """A text, its reasoning and its answer."""

    text: str
    thinking: str
    answer: str


@lru_cache(maxsize=8)
def mixed(count: int, size: int = 5_000) -> list[Row]:
    """Answers from a log, of this length each: with reasoning, with only a closing tag, with neither, with tags in code."""
    found: list[Row] = []
    blocks = iter(markdown(count * size * 2).split("\n\n"))
    for number in range(count):
        halves = []
        for _ in range(2):
            half = ""
            while len(half) < size // 2:
                half += next(blocks) + "\n\n"
            halves.append(half)
        first, second = halves
        quoted = f"{first}Write `<think>` and `</think>` around it.\n\n{second}"
        found.append(
            (
                Row(f"<think>{first}</think>{second}", first, second),
                Row(f"{first}</think>{second}", first, second),
                Row(first + second, "", first + second),
                Row(quoted, "", quoted),
            )[number % 4]
        )
    return found


HOSTILE = {
    "<think>": "<think>",
    "<": "<",
    "backticks": "`",
    "half tags": "<thi",
    "</think>": "</think>",
    "pairs": "<think>x</think>",
    "spans left open": "`<think>x</think>\n",
    "closers in open spans": "`</think>\n",
    "fences": "```<think>",
    "long attributes": "<think " + "a" * 250,
    "long namespaces": "<" + "a" * 100,
    "blank and closer": "   </think>",
    "nested and closed": "",
    "spans of two": "``a``\n",
    "spans of two on one line": "``a``",
    "spans of one after a tilde fence": "`a`",
    "long fences": "````a````\n",
    "tildes": " a~~~",
    "tilde fences": "~~~\na\n~~~\n",
}
# Code is read when a marker follows it; the last run decides how much of it may be skipped.
_BEFORE = {"spans of one after a tilde fence": "~~~\na\n~~~\n"}
_AFTER = {
    "spans of two": "```\n<think>x</think>",
    "spans of two on one line": "```<think>x</think>",
    "spans of one after a tilde fence": "`<think>x</think>",
    "long fences": "<think>x</think>",
    "tildes": "`<think>x</think>",
    "tilde fences": "<think>x</think>",
}


def hostile(name: str, size: int) -> str:
    """A text of this length that is designed to be slow."""
    if name == "nested and closed":
        depth = size // 16
        return "<think>" * depth + "x</think>" * depth
    atom = HOSTILE[name]
    return _BEFORE.get(name, "") + atom * (size // len(atom)) + _AFTER.get(name, "")
