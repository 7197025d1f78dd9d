"""Parts -> the answer and the reasoning as plain strings (rule S7).

Parts keep every character that was written; only these views change white space, and only next to a
*cut*, a place where something was removed from the text. At the beginning and the end of the answer the
white space next to a cut is removed, except the indentation of the first line that is left. At a cut in
mid-text both sides keep their white space, and one space is inserted where neither has any and a letter
or digit follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from innervoice.canon.parts import Part, Text, Thinking, is_inline

__all__ = [
    "BLANKS",
    "CUT",
    "NOTHING",
    "AnswerSpacing",
    "ReasoningSpacing",
    "answer_of",
    "is_blank",
    "is_same",
    "joined",
    "kinds_of",
    "thinking_of",
]

BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u200c\u200d\u2060\ufeff"
"""White space, zero-width characters and the byte order mark: characters that a reader does not see."""


# What is between two runs of text; several of these are possible.
NOTHING = 0
CUT = 1  # inline reasoning, a tag, a wrapper of the answer or a header was removed
_PART = 2  # a part of another kind is there


def answer_of(parts: Iterable[Part]) -> str:
    """The answer: the text parts, joined as described above."""
    return joined(*_runs(parts))


def joined(runs: list[str], gaps: list[int]) -> str:
    """Runs of text, which are not empty, joined as described above; `gaps` are `CUT` and similar values before each and after the last."""
    if len(runs) == 1 and not (gaps[0] | gaps[1]) & CUT:
        return runs[0]
    first = next((i for i, run in enumerate(runs) if not is_blank(run)), None)
    if first is None:
        return "" if any(_is_cut(gap) for gap in gaps) else "".join(runs)
    last = next(i for i in range(len(runs) - 1, -1, -1) if not is_blank(runs[i]))
    if any(_is_cut(gap) for gap in gaps[last + 1 :]):
        runs, gaps = runs[: last + 1], [*gaps[: last + 1], NOTHING]
        runs[-1] = runs[-1].rstrip(BLANKS)
    if any(_is_cut(gap) for gap in gaps[: first + 1]):
        runs, gaps = runs[first:], [NOTHING, *gaps[first + 1 :]]
        runs[0] = _without_head(runs[0])
    return "".join(_joined(runs, gaps))


def thinking_of(parts: Iterable[Part]) -> str | None:
    """The readable reasoning: blank parts skipped, a blank line between the others; None if none is left."""
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, Thinking) or not part.text or part.text.isspace():
            continue
        if not is_inline(part):
            texts.append(part.text)
        elif texts and _goes_on(part, texts[-1]):
            texts[-1] = texts[-1].rstrip() + part.text.rstrip()
        else:
            texts.append(part.text.strip())
    return "\n\n".join(texts) if texts else None


def is_blank(text: str) -> bool:
    """Whether a text shows nothing."""
    return not text.strip(BLANKS)


def is_same(one: str, other: str) -> bool:
    """Whether two texts are equal, or one begins with the other, ignoring white space."""
    short, long = sorted(("".join(one.split()), "".join(other.split())), key=len)
    return bool(short) and long.startswith(short)


def _goes_on(part: Thinking, before: str) -> bool:
    """Whether inline reasoning continues where a reasoning field ended; the text of the field was removed from its beginning."""
    lead = next(iter((part.origin.markup if part.origin else None) or ()), None)
    return lead is not None and lead.at == 0 and lead.text.endswith(before.rstrip())


def _runs(parts: Iterable[Part]) -> tuple[list[str], list[int]]:
    """Runs of text that were written without a gap, and the gap before each and after the last."""
    runs: list[str] = []
    gaps = [NOTHING]
    open_run: list[str] = []

    def close(gap: int) -> None:
        if open_run:
            runs.append("".join(open_run))
            open_run.clear()
            gaps.append(gap)
        else:
            gaps[-1] |= gap

    for part in parts:
        if not isinstance(part, Text):
            inline = isinstance(part, Thinking) and is_inline(part)
            close(CUT if inline else _PART)
            continue
        first, *others = _pieces(part)
        if first:
            open_run.append(first)
        for piece in others:
            close(CUT)
            if piece:
                open_run.append(piece)
    close(NOTHING)
    return runs, gaps


def _pieces(part: Text) -> list[str]:
    """The text of a part, cut where a tag was removed."""
    markup = part.origin.markup if part.origin else None
    if not markup:
        return [part.text]
    ends = [0, *(removed.at for removed in markup), len(part.text)]
    return [part.text[start:end] for start, end in pairwise(ends)]


def _joined(runs: list[str], gaps: list[int]) -> Iterator[str]:
    before = ""
    for gap, run in zip(gaps, runs, strict=False):
        touching = before and not before[-1].isspace() and not run[0].isspace()
        if touching and gap & _PART:
            yield "\n\n"
        elif touching and gap and run[0].isalnum():
            yield " "
        yield run
        before = run


def _is_cut(gap: int) -> bool:
    return bool(gap & CUT)


def _without_head(run: str) -> str:
    """The run without the white space at its beginning, but with the indentation of its first line."""
    body = run.lstrip(BLANKS)
    head = run[: len(run) - len(body)]
    line_start = head.rfind("\n") + 1
    return head[line_start:] + body if line_start else body


def kinds_of(parts: Iterable[Part]) -> tuple[bool, bool]:
    """Whether there is reasoning separate from the text, and whether there is text that is not blank."""
    apart = has_said = False
    for part in parts:
        # For a struct, comparing the type itself is three times as fast as isinstance.
        if type(part) is Thinking:
            apart = apart or not is_inline(part)
        elif type(part) is Text:
            has_said = has_said or bool(part.text and not part.text.isspace())
    return apart, has_said


# White space next to reasoning that was cut out of a text, in an answer that is written as it arrives (rule S7).
#
# The views above know what follows. Here only the text after a cut is known: white space before it
# has already been written.


class AnswerSpacing:
    """The text of one answer, piece by piece."""

    _held = (
        ""  # white space at the beginning of the answer or after a cut, until something follows it
    )
    _last = ""  # the last character that was written
    is_cut = False  # reasoning was cut out since

    def cut(self) -> None:
        """Reasoning was cut out here."""
        self.is_cut = True

    def feed(self, text: str, *, has_gap: bool = False) -> str:
        """What is written of a piece now; with a gap, a part before it was left out."""
        if has_gap and self._last and not self._last.isspace() and not text[:1].isspace():
            text = f"\n\n{text}"
        if self.is_cut or not self._last:
            text = self._held + text
            self._held = "" if text.strip(BLANKS) else text
            if self._held:
                return ""
            if self.is_cut:
                text, self.is_cut = self._behind_cut(text), False
        self._last = text[-1:] or self._last
        return text

    def skip(self, text: str) -> None:
        """A piece that was written unchanged."""
        self._last = text[-1:]

    def rest(self) -> str:
        """The white space of an answer that has nothing else."""
        return "" if self.is_cut or self._last else self._held

    def passes(self, text: str, has_gap: bool) -> bool:
        """Whether a piece is written unchanged."""
        if has_gap or self.is_cut or not self._last or not text:
            return False
        self._last = text[-1]
        return True

    def _behind_cut(self, text: str) -> str:
        if not self._last:
            body = text.lstrip(BLANKS)
            # Only the indentation of the first line stays.
            line_start = text[: len(text) - len(body)].rfind("\n") + 1
            return text[line_start:] if line_start else body
        touching = not self._last.isspace() and not text[0].isspace()
        return f" {text}" if touching and text[0].isalnum() else text


class ReasoningSpacing:
    """Reasoning that was cut out of a text: white space at its ends is not written."""

    _held = ""
    _has_begun = False

    def feed(self, text: str) -> str:
        """What is written of a piece now."""
        text = self._held + text
        if not self._has_begun:
            text = text.lstrip()
        body = text.rstrip()
        self._held = text[len(body) :]
        self._has_begun = self._has_begun or bool(body)
        return body
