"""Notes: what innervoice saw, changed, dropped or guessed, and the one list of their codes.

A code is stable: programs may test for it. Its sentence is for people. The same thing seen many
times is one note with a count, so that a hostile text cannot fill the memory with notes.
"""

from __future__ import annotations

from innervoice.canon.value import Value

__all__ = ["SENTENCES", "Note", "Notebook"]

SENTENCES: dict[str, str] = {
    # what an inline splitter saw in a text
    "inline_thinking": "Reasoning stood in the text, between markup, and was split out of it.",
    "unclosed_thinking": "Reasoning at the head of the text was never closed; it is incomplete.",
    "opener_in_text": "An opening tag in mid-text was never closed; it stayed text.",
    "orphan_closer": "A closing tag came without an opening one; what stood before it was taken as reasoning.",
    "closer_removed": "A closing tag had nothing to close and was removed.",
    "opener_repeated": "An opening tag inside reasoning was swallowed.",
    "rethought": "A closing tag answered a swallowed opening one; the text since the last became reasoning again.",
    "stutter_removed": "A line of a few characters before a spare closing tag was removed with it.",
    "prefix_assumed": "The text was taken to start inside reasoning, because the model's card says so.",
    "prefix_withdrawn": "The text was taken to start inside reasoning, but nothing closed it; it is the answer.",
    "closed_by_marker": "Reasoning was not closed; a marker that begins something else ended it.",
    "call_in_text": "A tool call stood in the text; it is kept as an opaque part and was not run.",
    "wrapper_removed": "Markup around the answer, or a leaked control token, was removed.",
    "label_removed": "The label of a reasoning channel led an answer without reasoning, and was removed.",
    "span_reopened": "A code span was not closed on its line; the markers on that line were judged again.",
    # what a reader of a dialect saw
    "odd_value": "A value had an unexpected type; it is kept as it came.",
    "unknown_finish_reason": "The answer ended for a reason nobody here knows; it counts as a plain stop.",
    "field_repeated": "Two fields carried the same reasoning; one is kept.",
    "fields_differ": "Two fields carried different reasoning; the first is kept.",
    "cumulative_deltas": "Deltas of the reasoning repeated what had come; only what was new is kept.",
    "inline_repeated": "The text carried the same reasoning as the field; the field is kept.",
    "field_thinking": "Reasoning came apart from the text.",
    # what a whole answer looks like
    "answer_in_reasoning": "There is reasoning but no answer; the answer may stand in the reasoning.",
    # what was looked up
    "unknown_model": "No card matches this model; the defaults were used.",
}


class Note(Value, frozen=True):
    """One thing that was seen, changed, dropped or guessed."""

    code: str
    detail: str | None = None
    count: int = 1

    @property
    def sentence(self) -> str:
        """What the code means."""
        return SENTENCES[self.code]

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        times = f" [{self.count} times]" if self.count > 1 else ""
        return f"{self.code}: {self.sentence}{detail}{times}"


class Notebook:
    """Collects notes in the order of their first appearance, equal ones counted."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str | None], int] = {}

    def add(self, code: str, detail: str | None = None) -> None:
        """Writes a note down; an unknown code is a mistake of ours and fails at once."""
        if code not in SENTENCES:
            raise KeyError(code)
        key = (code, detail)
        self._counts[key] = self._counts.get(key, 0) + 1

    def notes(self) -> tuple[Note, ...]:
        """All notes so far."""
        return tuple(Note(code, detail, count) for (code, detail), count in self._counts.items())
