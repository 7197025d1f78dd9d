"""Cards and hosts as types: what a model family writes and demands. The rows are in `hosts/`."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from innervoice.canon.value import Value

__all__ = ["Card", "Host"]


class Row(Value, frozen=True, forbid_unknown_fields=True):
    """A row of data; a member that the type does not have is a mistake in the row."""

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """Reads a row as TOML gives it."""
        return msgspec.convert(row, cls)


class Card(Row, frozen=True, kw_only=True):
    """One model family."""

    family: str
    match: tuple[str, ...]
    """Names of its models; `*` stands for anything."""
    tags: tuple[str, ...] = ("think", "thinking")
    """Which tag names it writes, for reading its answers."""
    markup: tuple[str, ...] = ()
    """Which other rows of the inline vocabulary it writes."""
    prefix_open: bool = False
    """Its prompt ends with the opening tag, so that its text starts inside thinking."""
    stutter: bool = False
    """It may write a line of a few characters and a spare closing tag behind its thinking."""
    ends: tuple[str, ...] = ()
    """Markers that end its thinking when it forgets to close it."""
    leaks: tuple[str, ...] = ()
    """Hosts that separate reasoning, but not that of this family."""
    source: str
    """Where this is known from, and when it was read."""


class Host(Row, frozen=True, kw_only=True):
    """Who answers."""

    id: str
    aliases: tuple[str, ...] = ()
    base_url: str
    keys: tuple[str, ...]
    """Environment variables that may hold its key."""
    dialect: str
    fields: tuple[str, ...]
    """Where its answers carry reasoning, for people to read."""
    inline: bool
    """Whether its answers may carry reasoning as markup in the text."""
    cumulative: bool = False
    separate_reasoning: bool = False
    source: str
