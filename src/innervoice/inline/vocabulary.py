"""Rows -> one compiled vocabulary: the expression that finds the next marker, and its meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from innervoice.errors import UsageError
from innervoice.inline.formats import DEFAULT_TAGS, ROWS, Format, Kind
from innervoice.inline.pattern import LONGEST_MARKER, LONGEST_TAG, Pattern, marker, tag

__all__ = ["INLINE", "Role", "Token", "Vocabulary", "rare_character", "vocabulary"]

INLINE = (None, "on", "off", "all")
"""The values of `inline=`: whether, and for which tag names, a text is searched."""

_WINDOW = 4096
_MOST_OF_A_MARKER = 2 * LONGEST_MARKER + 2 * LONGEST_TAG
"""A marker that begins before the end of a window ends within this distance."""
_LITERAL = re.compile(r"(?:\\[^\w]|[^\\\[\](){}?*+|.^$])+(?![?*+{])")
"""The beginning of an expression that stands for itself."""
_RARE = "◁▷|[=_'"
"""Characters of markers that prose has seldom; the first ones are the rarest."""
_LONGEST_BEGINNING = 16
"""The characters of a beginning among which a rare one is looked for."""
_COMMON = 8
"""Beginnings that have this many characters in common are searched for at once."""
_COUNTS = ("?", "*", "+", "{")

_Beginnings: TypeAlias = tuple[tuple[str, tuple[tuple[str, re.Pattern[str]], ...]], ...]
Role: TypeAlias = Literal["open", "close", "wrapper", "header", "end", "stop"]


@dataclass(frozen=True, slots=True)
class Token:
    """What a marker means."""

    role: Role
    row: Format | None = None
    """None for the tags, which all belong together, and for markers that begin something else."""
    head: bool = False
    """Whether it counts only at the head of the answer."""
    bare: bool = False
    """Whether it has no special tokens, so that only its position makes it a marker."""
    grows: bool = False
    """Whether another, longer marker begins with this one."""

    def kind(self, header: str) -> Kind:
        """What follows this header."""
        row = self.row
        assert row is not None
        if row.recipient and re.search(row.recipient, header):
            return "call"
        match = re.search(row.channel, header.lower())
        return row.kinds.get(match[1], row.otherwise) if match else row.otherwise


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All markers that are on."""

    search: re.Pattern[str]
    """Finds the next marker; the name of its group is a key of `tokens`, or "tag"."""
    half: re.Pattern[str]
    """Finds an incomplete marker at the end of the text."""
    tokens: Mapping[str, Token]
    suspect: re.Pattern[str] | None
    """Finds a `<` that may begin a marker; None if some markers begin with another character."""
    own_tags: re.Pattern[str]
    own_rows: frozenset[str]
    angled: re.Pattern[str]
    """Finds the next marker that begins with "<"."""
    others: _Beginnings
    """The other markers: a character that they have near their beginning, what they begin with, and what matches them there."""
    inside: _Beginnings
    """Those of them that count inside reasoning."""

    def find(self, text: str, position: int, *, inside: bool = False) -> re.Match[str] | None:
        """The next marker from this position on; `inside` reasoning, those that count only at the head of the answer may be left out."""
        if self.suspect is not None:
            # If all markers begin with one character, searching for that first is many times as fast.
            position = text.find("<", position)
            if position < 0:
                return None
            return self.search.search(text, position)
        return self._find_other(text, position, self.inside if inside else self.others)

    def _find_other(self, text: str, position: int, others: _Beginnings) -> re.Match[str] | None:
        """The same where markers begin with several characters: each beginning is searched for as a string, which is many times as fast as
        one expression for all, and before that a rare character of it, which is faster still. In windows that grow, so that many markers of
        one kind do not repeat the search for a distant other."""
        window, size = _WINDOW, len(text)
        while True:
            limit = min(position + window, size)
            marker = self.angled.search(text, position, limit + _MOST_OF_A_MARKER)
            if marker is not None and marker.start() >= limit:
                marker = None
            edge = limit if marker is None else marker.start()
            for rare, beginnings in others:
                if rare and text.find(rare, position, edge + _LONGEST_BEGINNING) < 0:
                    continue
                for beginning, pattern in beginnings:
                    start = text.find(beginning, position, edge + len(beginning) - 1)
                    while start >= 0:
                        match = pattern.match(text, start)
                        if match is not None:
                            marker, edge = match, start
                            break
                        start = text.find(beginning, start + 1, edge + len(beginning) - 1)
            if marker is not None or limit == size:
                return marker
            position, window = limit, window * 2

    def writes(self, name: str, row: Format | None) -> bool:
        """Whether the model's card says that it writes tags of this name, or of this row."""
        return row.name in self.own_rows if row else self.own_tags.fullmatch(name) is not None


@lru_cache(maxsize=64)
def vocabulary(
    tags: tuple[str, ...] = DEFAULT_TAGS,
    rows: tuple[str, ...] = (),
    stops: tuple[str, ...] = (),
    own: tuple[str, ...] = (),
) -> Vocabulary:
    """Compiles tag names, rows by their names, and the markers that end reasoning (rule S8).

    `own` are the tag names and the rows that the model's card says it writes (rule S5).
    """
    chosen = [_row(name) for name in rows]
    names = tuple(dict.fromkeys([*tags, *(name for row in chosen for name in row.tags)]))
    patterns = [pattern for row in chosen for pattern in _markers(row)]
    patterns += [(marker(stop), Token("stop")) for stop in stops]
    tokens = {f"m{number}": token for number, (_, token) in enumerate(patterns)}
    full = {f"m{number}": pattern.full for number, (pattern, _) in enumerate(patterns)}
    half = [pattern.half for pattern, _ in patterns]
    own_tags = [*own, *(tag_name for name in own if name in ROWS for tag_name in ROWS[name].tags)]
    if names:
        full["tag"] = tag(names).full
        half.append(tag(names).half)
    return Vocabulary(
        # `(?!)` never matches: nothing is on.
        search=re.compile(_either(full) or r"(?!)"),
        half=re.compile("|".join(half) or r"(?!)"),
        tokens=tokens,
        suspect=_suspect([pattern for pattern, _ in patterns]),
        own_tags=re.compile("|".join(own_tags) or r"(?!)", re.IGNORECASE),
        own_rows=frozenset(own),
        angled=re.compile(_either(_beginning_with(full, "<")) or r"(?!)"),
        others=_others(full),
        inside=_others(
            {
                name: pattern
                for name, pattern in full.items()
                if name == "tag" or not tokens[name].head
            }
        ),
    )


def _beginning_with(patterns: dict[str, str], beginning: str) -> dict[str, str]:
    return {
        name: pattern
        for name, pattern in patterns.items()
        if pattern.removeprefix("(?i:").startswith(beginning)
    }


def _others(patterns: dict[str, str]) -> _Beginnings:
    """The markers that do not begin with "<", by what they begin with; those that may begin at one place are together, and those with one rare character."""
    angled = _beginning_with(patterns, "<")
    groups: dict[str, list[str]] = {}
    for name, pattern in patterns.items():
        if name in angled:
            continue
        literal = _LITERAL.match(pattern)
        assert literal is not None, pattern
        beginning = re.sub(r"\\(.)", r"\1", literal[0], flags=re.DOTALL)
        for other in groups:
            common = _common(beginning, other)
            if len(common) >= min(len(beginning), len(other), _COMMON):
                groups[common] = groups.pop(other)
                beginning = common
                break
        groups.setdefault(beginning, []).append(f"(?P<{name}>{pattern})")
    by_rare: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for beginning, some in groups.items():
        rare = rare_character(beginning[:_LONGEST_BEGINNING])
        by_rare.setdefault(rare, []).append((beginning, re.compile("|".join(some))))
    return tuple((rare, tuple(beginnings)) for rare, beginnings in by_rare.items())


def rare_character(text: str) -> str:
    """A character of a marker that prose has seldom, so that it is found many times as fast; "" if there is none."""
    return next((one for one in _RARE if one in text), "")


def _common(one: str, other: str) -> str:
    """What two texts begin with."""
    size = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        size += 1
    return one[:size]


def _either(patterns: dict[str, str]) -> str:
    """One expression for all of these, each in a group of its name.

    The first characters, which are literal in every marker, come before their markers: only then does the search skip to the next
    place where one can begin, and try those that can.
    """
    groups: dict[str, dict[str, str]] = {}
    tags = {}
    for name, pattern in patterns.items():
        if pattern.startswith("(?i:<"):
            # The first character of a tag is inside a group for the letter case, which "<" does not have.
            tags[name] = f"(?P<{name}>(?i:{pattern.removeprefix('(?i:<')})"
            continue
        first, rest = _first(pattern)
        groups.setdefault(first, {})[name] = rest
    if tags:
        groups.setdefault("<", {})
    pieces = []
    for first, members in groups.items():
        rests = _rests(members, _DEPTH)
        if first == "<" and tags:
            rests += tags.values()  # a marker counts before a tag
        pieces.append(f"{first}(?:{'|'.join(rests)})")
    return "|".join(pieces)


_DEPTH = 2
"""How many characters after the first one are looked at together; markers have three or more."""


def _rests(patterns: dict[str, str], depth: int) -> list[str]:
    """The alternatives for what follows a character, by their own first characters."""
    groups: dict[str, dict[str, str]] = {}
    for name, pattern in patterns.items():
        first, rest = _first(pattern)
        groups.setdefault(first, {})[name] = rest
    pieces: list[str] = []
    for first, members in groups.items():
        if not first or len(members) == 1 or depth == 1:
            pieces += [f"{first}(?P<{name}>{rest})" for name, rest in members.items()]
        else:
            pieces.append(f"{first}(?:{'|'.join(_rests(members, depth - 1))})")
    return pieces


def _first(pattern: str) -> tuple[str, str]:
    """The first character of an expression that stands for itself, escaped as it is, and the rest; an empty text if there is none."""
    size = 2 if pattern[:1] == "\\" else 1
    is_literal = (
        bool(_LITERAL.fullmatch(pattern[:size])) and pattern[size : size + 1] not in _COUNTS
    )
    return (pattern[:size], pattern[size:]) if is_literal else ("", pattern)


def _suspect(patterns: list[Pattern]) -> re.Pattern[str] | None:
    if not all(pattern.full.startswith("<") for pattern in patterns):
        return None
    # The second character of a marker, escaped as in the pattern; for a tag, any character of a name.
    seconds = {
        pattern.full[1:3] if pattern.full[1] == "\\" else pattern.full[1] for pattern in patterns
    }
    return re.compile(
        "|".join([r"<[/\w.-]", r"<\Z", *(f"<{second}" for second in sorted(seconds))])
    )


def _row(name: str) -> Format:
    """A row by its name, or by the text that opens it."""
    for row in ROWS.values():
        if name == row.name or name in row.opens or name in row.wrappers:
            return row
    raise UsageError(f"markup must be one of {', '.join(ROWS)}, not {name!r}")


def _markers(row: Format) -> Iterator[tuple[Pattern, Token]]:
    """The markers of a row. Of two that begin at one place the first one matches, so longer ones come first."""
    templates: list[tuple[str, Role]] = [
        *((template, "header") for template in row.headers),
        *((template, "end") for template in row.ends),
        *((template, "open") for template in (*row.opens, *row.heads)),
        *((template, "close") for template in row.closes),
        *((template, "wrapper") for template in row.wrappers),
    ]
    for template, role in sorted(templates, key=lambda entry: len(entry[0]), reverse=True):
        # A wrapper with a placeholder is a fragment of the prompt: only at the head it is not part of the answer.
        head = template in row.heads or (role == "wrapper" and "{" in template)
        grows = any(other != template and other.startswith(template) for other, _ in templates)
        yield marker(template), Token(role, row, head=head, grows=grows)
    for bare in row.bare_heads:
        yield bare, Token("header", row, head=True, bare=True)
    for bare in row.bare_headers:
        yield bare, Token("header", row, bare=True)
