"""The state of the splitter: a marker it found, what is open, a line it cannot judge yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from innervoice.canon.value import Value
from innervoice.inline.draft import DraftKind
from innervoice.inline.formats import Format
from innervoice.inline.vocabulary import Token, Vocabulary

__all__ = ["UNSETTLED", "Mark", "Opening", "Pending", "Prefix", "SettledPlace", "mark_of"]

Prefix: TypeAlias = Literal["no", "told", "card"]
"""Whether the text starts inside thinking, and according to whom: the caller, or the model's card."""


class SettledPlace(NamedTuple):
    """A place among parts: the characters before it in its part, and all earlier parts, are in front of it.

    `settled` is the first place that is not settled. The characters in front of it keep their kind (text or thinking) and
    their order, whatever arrives later; more text may lengthen a part that has ended. Text that is not searched for
    reasoning is settled when it arrives. Text that is searched is settled

      - once reasoning was split out of it, came in a field, or was opened for certain, or if the answer is JSON: a closing
        tag without an opening one can no longer make it reasoning (rules S2, S5). Before that nothing is settled;
      - not from reasoning with a repeated opener on, for which an extra closer may still come (S6);
      - up to a marker after the start of a code span that its line has not closed (S3);
      - up to the last few characters, where the model's card says that it stutters (S6).

    Reasoning is settled where nothing can make it text again: its opener was at the head of the answer or
    belongs to a channel, or the caller said that the text starts inside it (S4, S5). The one exception: reasoning in the text
    that repeats a field is dropped when the answer ends.
    """

    part: int
    characters: int


UNSETTLED = SettledPlace(0, 0)
"""Nothing new is settled."""
_TAG_OPEN, _TAG_CLOSE = Token("open"), Token("close")


class Mark(Value, frozen=True):
    """A marker that was found in a text."""

    token: Token
    name: str
    """The name of a tag."""
    start: int
    end: int
    text: str


@dataclass(slots=True)
class Opening:
    """What is open: a block of thinking, or a call."""

    kind: DraftKind = "thinking"
    row: Format | None = None
    name: str = ""
    prefix: Prefix = "no"
    head: bool = True
    """Whether only white space was before it in the answer."""
    channel: bool = False
    label: bool = False
    """Whether it was opened by a label, which also comes before answers without thinking."""
    fresh: bool = True
    """Whether no opener was found inside."""
    stop: tuple[int, str] | None = None
    """The first marker inside that begins something else: its position in the open part, and its text (S8)."""

    @property
    def is_certain(self) -> bool:
        """Whether this is thinking whatever arrives later, and even if nothing closes it (S4, S5)."""
        if self.kind != "thinking" or self.prefix == "card" or self.label:
            return False
        return self.head or self.channel

    def is_kin(self, mark: Mark) -> bool:
        """Whether the marker belongs to the format that opened this, or that format is still unknown."""
        row = mark.token.row
        return self.row is row or (self.prefix != "no" and not (row and row.paired))


@dataclass(slots=True)
class Pending:
    """A marker after the start of a code span that its line has not closed yet."""

    at: int
    """The position of the marker in the open part."""
    span: int
    """The length of the run of backticks that opened the span."""
    ticks: str = ""
    """The backticks at the end of the text so far: more of them may follow."""


def mark_of(found: re.Match[str], vocabulary: Vocabulary) -> Mark:
    """The meaning of a match of the vocabulary's search."""
    group = found.lastgroup or ""
    if group == "tag":
        token, name = _TAG_CLOSE if found["slash"] else _TAG_OPEN, found["name"].lower()
    else:
        token, name = vocabulary.tokens[group], ""
    return Mark(token, name, found.start(), found.end(), found[0])
