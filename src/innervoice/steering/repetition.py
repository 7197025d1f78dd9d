"""Pieces of a text -> the place from which it only repeats itself, found while the text is being written.

The text is examined in blocks of a fixed size, so how it is cut into pieces changes nothing. Two signs, each sufficient:

  cycle    the last characters are one piece, four times or more
  stale    in block after block, many word 5-grams were in earlier blocks, and hardly a word is new

Most stuck models repeat themselves in other words and orders, which only the second sign finds. A list with numbers has a new word in
each line, and a table of bytes has no letters: both are no loop. What the model copies from its input is none either
(vllm pull 52677, oh-my-pi `thinking-loop.ts`, the cline fork of 2026-10-14; read 2026-11-16).

Memory is bounded: after some thousand different words everything is forgotten, and a loop is found a few blocks later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["RepetitionDetector", "grams_of", "repetition_in", "word_places", "words_of"]

_GRAM = 5
"""The words of an n-gram."""
_BLOCK = 1024
"""The characters of a block."""
_COVER = 3 * _BLOCK
"""The characters that a cycle must cover, and those that are compared with the input."""
_TIMES = 4
_MARK = 64
"""So many characters at the end are searched for, to find the length of a cycle."""
_BLOCKS = 3
"""So many blocks must be stale, less those in between that are not."""
_MOST_WORDS = 4096
"""The most words and 5-grams that are remembered."""
_FRESH = 0.1
"""The share of new words from which on a block is not compared with others."""
_SHARE = 0.25
"""The share of the 5-grams of a stale block that must be old."""
_NEW_WORDS = 0.02
"""The highest share of new words in a stale block."""
_LETTERS = 0.5
"""The lowest share of letters in the text of a stale block."""
_FEW_WORDS = 20
"""A block with fewer words says nothing."""
_COPIED = 0.5
"""The share of the last 5-grams that must be in the input."""
_MOST_INPUT = 200_000
"""So many characters at the end of the input are compared."""
_REST = 8
"""So many blocks are not judged after one that was copied from the input."""

# Han, kana, Thai, Lao, Khmer and Myanmar are written without spaces.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_HAS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_LETTER_RUNS = re.compile(r"[^\W\d_]{2,}")
_SPACED = re.compile(r"\S+")
_SPACE = re.compile(r"\s")


def words_of(text: str) -> list[str]:
    """The words of a text; in scripts without spaces, its characters."""
    if text.isascii() or not _HAS_UNSPACED.search(text):
        return text.split()
    return _WORD.findall(text)


def word_places(text: str) -> Iterator[int]:
    """The characters at which these words begin."""
    is_spaced = text.isascii() or not _HAS_UNSPACED.search(text)
    return (match.start() for match in (_SPACED if is_spaced else _WORD).finditer(text))


def grams_of(words: Sequence[str], size: int = _GRAM) -> Iterable[int]:
    """The n-grams of some words, as hashes: thousands of tuples would keep the garbage collector busy."""
    return map(hash, zip(*(words[start:] for start in range(size)), strict=False))


def repetition_in(text: str, read: str = "") -> int | None:
    """The character of a text at which a model that writes it is known to repeat itself; None if it is not."""
    return RepetitionDetector(lambda: read).feed(text)


class RepetitionDetector:
    """Examines one text while it is written."""

    __slots__ = (
        "_blocks_read", "_carry", "_held", "_kept", "_read", "_room", "_run", "_seen", "_tail", "_words", "place",
    )  # fmt: skip

    def __init__(self, read: Callable[[], str] = str, *, keeps_words: bool = False) -> None:
        """`read` returns what the model has read: it is called only if the text seems to repeat itself. `keeps_words` is for `words`."""
        self.place: int | None = None
        """The character at which the repetition was certain; None while it is not."""
        self._read = read
        self._held: list[str] = []
        self._room = _BLOCK
        """So many characters are missing in the next block."""
        self._blocks_read = 0
        self._tail = ""
        self._carry = ""
        """The beginning of a word, whose rest is in the next block."""
        self._seen: tuple[set[int], set[int]] = set(), set()
        """The 5-grams that were in one block with few new words, and in two."""
        self._words: set[str] = set()
        self._kept: list[str] | None = [] if keeps_words else None
        self._run = 0
        """How many blocks were stale, less those since that were not."""

    def feed(self, piece: str) -> int | None:
        """Reads the next piece; returns the place from which the text is known to repeat itself."""
        self._held.append(piece)
        self._room -= len(piece)
        return self.place if self._room > 0 else self._examine()

    def words(self) -> list[str] | None:
        """The words of the text so far, which need not be cut twice; None if they were not kept to the end."""
        if self._kept is None or self.place is not None:
            return None
        return [*self._kept, *words_of(self._carry + "".join(self._held))]

    def _examine(self) -> int | None:
        text = "".join(self._held)
        end = len(text) - len(text) % _BLOCK
        for start in range(0, end, _BLOCK):
            if self.place is None:
                self._judge(text[start : start + _BLOCK])
        self._held = [text[end:]]
        self._room = _BLOCK - (len(text) - end)
        return self.place

    def _judge(self, block: str) -> None:
        self._tail = self._tail[-_COVER + _BLOCK :] + block
        self._blocks_read += 1
        is_stale = self._is_stale(block)
        if self._run < 0:
            self._run += 1
            return
        self._run = self._run + 1 if is_stale else max(self._run - 1, 0)
        if self._run < _BLOCKS and not self._is_cycle():
            return
        if self._is_copied():
            self._run = -_REST
        else:
            self.place = self._blocks_read * _BLOCK

    def _is_cycle(self) -> bool:
        """Whether the last characters are one piece, several times."""
        tail = self._tail
        if len(tail) < _COVER:
            return False
        at = tail.rfind(tail[-_MARK:], 0, -1)
        period = len(tail) - _MARK - at
        return at >= 0 and period * _TIMES <= _COVER and tail[period:] == tail[:-period]

    def _is_stale(self, block: str) -> bool:
        """Whether hardly anything of a block is new."""
        text = self._carry + block
        words = words_of(text)
        self._carry = ""
        if words and not _SPACE.match(text[-1]):
            if len(words[-1]) < _BLOCK:
                self._carry = words.pop()
            else:
                self._kept = None  # the word is cut here
        if self._kept is not None:
            self._kept += words
        if len(words) < _FEW_WORDS:
            return False
        known = len(self._words)
        self._words.update(words)
        new = len(self._words) - known
        if len(self._words) > _MOST_WORDS:
            self._words = set()
        if new > _FRESH * len(words):
            return False  # as in most blocks: what costs more is for the others
        once, often = self._seen
        grams = set(grams_of(words))
        old = len(often & grams)
        often |= once & grams
        once |= grams
        if len(once) > _MOST_WORDS:
            self._seen = set(), set()
        if old < _SHARE * len(grams) or new > _NEW_WORDS * len(words):
            return False
        letters = sum(map(len, _LETTER_RUNS.findall(text)))
        return letters >= _LETTERS * sum(map(len, words))

    def _is_copied(self) -> bool:
        """Whether the end of the text stands in what the model has read, as often as here."""
        read = self._read()[-_MOST_INPUT:]
        if not read:
            return False
        if self._tail[-_COVER // 2 :] in read:
            return True
        here = Counter(grams_of(words_of(self._tail)))
        there = Counter(gram for gram in grams_of(words_of(read)) if gram in here)
        copied = sum(count for gram, count in here.items() if there[gram] >= count)
        return copied >= _COPIED * here.total()
