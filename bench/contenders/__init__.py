"""Who is measured: a module for each, which says how a user of that library would do the work.

`jobs(base)` gives the jobs that a contender can do, by (work, payload); `base` is the address of the upstream. The works are

    body        a whole body, as bytes, to what the library calls an answer
    delta       a stream, as bytes in blocks of 16 kB, to what it calls events
    call        ask and wait for the answer, over HTTP
    stream      ask and read the answer as it comes
    streams     the same as a coroutine, of which many run at a time
    whole       reasoning split out of a text, whole; and in pieces: pieces4, pieces20
    orphan      the same where the opening tag was in the prompt; and of many short texts: mixed

Every job gives what a user gets of it, `Said`, or a function that gives it where looking at an answer is no part of the work; so
a lost thought is seen. A floor gives None.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1]))

BLOCK = 16_384
"""The block size of a stream from memory, in bytes."""
WHOLE = 1_000_000
PIECES = 200_000
ORPHAN = 48_000
MIXED = 100
"""How many characters of Markdown are split, whole, in pieces and before an orphan closer; and how many texts."""
CROWD = ".200.60"
"""The streams of which many run at a time are shorter."""
QUESTION = "What is 15 * 23?"
MESSAGES = [{"role": "user", "content": QUESTION}]


class Said(NamedTuple):
    """The parts of a response that a user reads."""

    thinking: str
    text: str


Job: TypeAlias = Callable[[], Any]
Jobs: TypeAlias = dict[tuple[str, str], Job]


def said(thinking: Iterable[str | None], text: Iterable[str | None]) -> Said:
    """The joined pieces."""
    return Said("".join(filter(None, thinking)), "".join(filter(None, text)))
