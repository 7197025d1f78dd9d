"""Closed blocks of reasoning before the answer, where the host separates reasoning itself (rule S10).

Models of every provider write `<thinking>...</thinking>` before the answer when the prompt asks for it. Once the answer has begun
without such a block, its text is no longer searched, and events of the reader are passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from innervoice.canon.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking
from innervoice.canon.views import BLANKS
from innervoice.inline.marks import SettledPlace
from innervoice.inline.search import TextSearch
from innervoice.inline.stage import InlineStage
from innervoice.inline.vocabulary import vocabulary

__all__ = ["HEAD_TAGS", "HeadStage"]

HEAD_TAGS = ("think", "thinking", "ant_thinking")
"""Other names before an answer belong to the caller's own format."""
_ALL: frozenset[type[Event]] = frozenset((TextDelta, ThinkingDelta, ToolCallDelta))


class HeadStage(InlineStage):
    """Searches only the head of the answer. Most answers begin without markup, so it is set up only when needed."""

    # Until a text begins, only the starts and ends of parts matter.
    passing = frozenset((ThinkingDelta,))
    _is_set_up = False

    def __init__(self, origin: Callable[[], Origin], notebook: Notebook) -> None:
        self._origin, self._notebook = origin, notebook

    @property
    def settled(self) -> SettledPlace | None:
        """The first place that is not settled among all parts; None if all output so far is settled."""
        return super().settled if self._is_set_up and not self.untouched else None

    def feed(self, events: list[Event]) -> list[Event]:
        """Splits the blocks before the answer."""
        if self.untouched:
            return events
        if not (self._is_set_up and self._groups):
            for event in events:
                if type(event) is TextDelta:
                    head = event.text.lstrip(BLANKS)
                    if not head or head[0] == "<":
                        break
                    self.untouched, self.passing = True, _ALL
                    return events
        return self._look(events)

    def finish(self, parts: list[Part]) -> list[Event]:
        """Applies the reader's final parts, and drops reasoning in the text that repeats a field."""
        self._field = [part.text for part in parts if isinstance(part, Thinking)]
        return super().finish(parts)

    def _look(self, events: list[Event]) -> list[Event]:
        if not self._is_set_up:
            self._is_set_up = True
            super().__init__(_search(), self._origin, self._notebook)
        out = super().feed(events)
        if self._groups:
            self.passing = frozenset()
            is_holding = any(splitter.is_holding for splitter in self._splitters.values())
            if not is_holding and self._is_as_read() and self._has_begun():
                self.untouched, self.passing = True, _ALL
        return out

    def _is_as_read(self) -> bool:
        """Whether every part so far is one of the reader's, with the reader's number."""
        plain = (staged.index == wire for wire, staged in self._plain.items())
        texts = (
            len(group.parts) == 1
            and group.parts[0].index == wire
            and isinstance(group.parts[0].part, Text)
            for wire, group in self._groups.items()
        )
        return all(plain) and all(texts)


@cache
def _search() -> TextSearch:
    return TextSearch(vocabulary(HEAD_TAGS), head_only=True)
