"""Tables of a TOML file -> checked members, with every problem of the file in one list.

An invalid member is left out and its problem is noted, so that reading continues and all problems are reported at once. A problem has the
place of the member, what was expected, and what was received; a value that may be a secret is described, never shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from innervoice.privacy.secrets import may_be_secret

__all__ = ["MemberKind", "Problems", "did_you_mean", "number", "shown", "text", "word"]


class MemberKind(NamedTuple):
    """What a member must be: in words, and as a test."""

    expected: str
    fits: Callable[[Any], bool]
    words: tuple[str, ...] = ()
    """The allowed words, if there are few."""


def text(expected: str = "a text", pattern: str = r".+") -> MemberKind:
    """A text that matches a pattern."""
    compiled = re.compile(pattern)
    return MemberKind(
        expected, lambda value: isinstance(value, str) and bool(compiled.fullmatch(value))
    )


def word(*words: str) -> MemberKind:
    """One of a few words."""
    return MemberKind(f"one of {', '.join(words)}", lambda value: value in words, words)


def number(
    expected: str, *, least: float, most: float = float("inf"), whole: bool = False
) -> MemberKind:
    """A number in a range."""
    kinds = int if whole else (int, float)
    return MemberKind(
        expected,
        lambda value: (
            isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most
        ),
    )


@dataclass
class Problems:
    """The problems that were found so far."""

    found: list[str] = field(default_factory=list)

    def add(self, place: str, problem: str) -> None:
        """Adds a problem; the place is written as in `models[2].to[0]`."""
        self.found.append(f"{place}: {problem}" if place else problem)

    def members(
        self, value: Any, place: str, kinds: Mapping[str, MemberKind], required: Iterable[str] = ()
    ) -> dict[str, Any]:
        """The valid members of a table."""
        if not isinstance(value, dict):
            self.add(place, f"expected a table, got {shown(value)}")
            return {}
        for name in required:
            if name not in value:
                self.add(_below(place, name), f"expected {kinds[name].expected}, got nothing")
        good = {}
        for name, member in value.items():
            kind = kinds.get(name)
            where = _below(place, name)
            if kind is None:
                expected = ", ".join(kinds)
                hint = did_you_mean(name, kinds)
                self.add(where, f"unknown setting{hint or f'; expected one of {expected}'}")
            elif not kind.fits(member):
                hint = did_you_mean(member, kind.words) if isinstance(member, str) else ""
                self.add(where, f"expected {kind.expected}, got {shown(member)}{hint}")
            else:
                good[name] = member
        return good


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A suggestion with the nearest of the known words; empty if none is near."""
    close = get_close_matches(word.lower()[:200], list(words), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def shown(value: Any) -> str:
    """A value for an error message: texts and numbers as they are, but nothing that may be a secret."""
    match value:
        case str():
            short = value if len(value) <= 60 else value[:60] + "..."
            return repr(short) if not may_be_secret(value) else f"a text of {len(value)} characters"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "a table" if isinstance(value, dict) else f"a {type(value).__name__}"


def _below(place: str, name: str) -> str:
    plain = re.fullmatch(r"[\w-]{1,40}", name) and not may_be_secret(name)
    member = name if plain else shown(name)
    return f"{place}.{member}" if place else member
