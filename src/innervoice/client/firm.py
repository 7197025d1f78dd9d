"""How far the text of an answer is settled: where no later character can turn it into something else.

Text that nobody searches for reasoning is settled when it comes. What passes through a splitter is settled

  - once reasoning was split out of it or came in a field, or if it is JSON: a closing tag without an opening one can no
    longer make it reasoning (rules S2, S5). Before that nothing is settled, to the end of the answer;
  - not behind reasoning with a repeated opener in it, for which a spare closer may still come (S6);
  - up to a marker behind the start of a code span that its line has not closed (S3);
  - up to the last few characters, where the model's card says that it stutters (S6).

An opener in mid-text that never closes makes more text, never less, so it settles nothing and unsettles nothing (S4).
"""

from __future__ import annotations

from typing import TypeAlias

from innervoice.inline.splitter import _STUTTER_LONGEST, Splitter
from innervoice.inline.stage import InlineStage

__all__ = ["Bound", "bound_of"]

Bound: TypeAlias = tuple[int, int] | None
"""A part, and how many characters of it are settled; all before it is, too. None: all that came is."""


def bound_of(stage: InlineStage) -> Bound:
    """The first place that is not settled, among all parts of the answer."""
    bound: Bound = None
    for wire, splitter in stage._splitters.items():
        group = stage._groups[wire]
        place = _place(splitter)
        if place and place[0] < len(group):
            found = (group[place[0]].index, place[1])
            bound = min(bound, found) if bound else found
    return bound


def _place(splitter: Splitter) -> Bound:
    """The first place that is not settled, among the parts of one text."""
    is_json = splitter._left_alone and splitter._channel is None
    if not (splitter._split or splitter._elsewhere or is_json):
        return (0, 0)
    if splitter._swallowed:
        return (splitter._last, 0)
    draft = splitter._composer.draft
    if draft is None:
        return None
    if draft.kind != "text":
        return (draft.index, 0)
    characters = draft.length()
    if splitter._pending:
        characters = min(characters, splitter._pending.at)
    if splitter._stutter:
        characters = max(0, characters - _STUTTER_LONGEST)
    return (draft.index, characters)
