"""Markers as written in the rows -> regular expressions that find them, complete and incomplete.

A marker is literal text with a few named placeholders: `<|open|>{blank}{word}{blank}<|sep|>`. Each compiles
to two expressions. `full` matches the marker. `half` matches every beginning of it at the
end of the text so far; that is what a stream must hold back. Both come from one list of atoms: where
`full` has an atom, `half` has the atom or the end of the text.

Every placeholder is bounded, so matching at one place costs a bounded number of steps, and hostile text
costs time in proportion to its length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from innervoice.errors import UsageError

__all__ = ["LONGEST_MARKER", "LONGEST_TAG", "Pattern", "marker", "tag"]

LONGEST_TAG = 256
"""A tag longer than this is text (rule S1)."""
LONGEST_MARKER = 512
"""No marker of any row is longer, so a stream never holds back more."""

# name -> (one character of it, at least, at most)
_HOLES: dict[str, tuple[str, int, int]] = {
    "blank": (r"\s", 0, 8),
    "word": (r"\w", 1, 40),
    "target": (r"[\w.-]", 1, 80),
    "uuid": (r"[0-9A-Fa-f-]", 36, 36),
    "hex": (r"[0-9A-Fa-f]", 1, 64),
    "header": (r"[^<>|\n]", 0, 120),
    "inside": (r"[^<>]", 0, 80),
}
_HOLE = re.compile(r"\{(\w+)\}")


class Pattern(NamedTuple):
    """A marker as two regular expressions, without capturing groups unless `tag` made it."""

    full: str
    half: str


def marker(template: str) -> Pattern:
    """Compiles a template whose first character is literal."""
    full: list[str] = []
    half: list[str] = []
    for number, piece in enumerate(_HOLE.split(template)):
        if number % 2:
            character, least, most = _hole(piece)
            full.append(f"{character}{{{least},{most}}}")
            half.append(rf"(?:{character}{{{least},{most}}}|{character}{{0,{most}}}\Z)")
            continue
        for literal in map(re.escape, piece):
            full.append(literal)
            # The first character must be there; from then on the text may end anywhere.
            half.append(rf"(?:{literal}|\Z)" if half else literal)
    return Pattern("".join(full), "".join(half) + r"\Z")


def _hole(name: str) -> tuple[str, int, int]:
    try:
        return _HOLES[name]
    except KeyError:
        raise UsageError(f"a marker may hold {', '.join(_HOLES)}, not {name!r}") from None


def tag(names: tuple[str, ...]) -> Pattern:
    """Opening and closing tags of these names (rule S1): any letter case, namespace and attributes.

    Attributes end at the first `>`. A self-closing tag (`<think/>`) opens nothing and is text, and
    so is one with spaces before its name. A name may be a regular expression.
    """
    either = "|".join(sorted(names, key=len, reverse=True))
    begun = "|".join(
        sorted(
            {name[:end] for name in names if name.isidentifier() for end in range(1, len(name) + 1)}
        )
    )
    # A run cannot contain the character after it, so `re` gives back its characters in vain; it does that fast if that one is a literal.
    space = rf"[\w.-]{{1,{LONGEST_TAG}}}:"
    inside = rf"\s[^<>]{{0,{LONGEST_TAG}}}"
    short = rf"(?=[^<>]{{0,{LONGEST_TAG - 2}}}\Z)"
    # Most "<" begin no tag, and the next character shows it: testing that is several times as fast as trying the names.
    begins = rf"(?=/?(?:[{''.join(sorted({name[0] for name in names}))}]|{space}))"
    return Pattern(
        full=rf"(?i:<{begins}(?P<slash>/?)(?:{space})?(?P<name>{either})(?:>|{inside}>(?<!/>)))",
        half=rf"(?i:<{short}/?(?:[\w.-]*|{space}(?:{begun})?|(?:{space})?(?:{either}){inside})\Z)",
    )
