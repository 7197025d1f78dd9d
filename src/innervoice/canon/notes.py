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
    "call_candidate": "A tool call was written out in the reasoning, or where it broke off, and none was made; it was not run.",
    # what became of the settings of a request
    "effort_wins": "Both an effort and a budget were asked for; the effort counts.",
    "effort_clamped": "The model does not take this effort; the nearest that it takes was sent.",
    "effort_as_budget": "The model takes a budget and no effort; the effort was turned into a budget.",
    "effort_as_switch": "The model can only be switched on and off; it was switched on.",
    "budget_clamped": "The budget lies outside of what the model takes; the nearest was sent.",
    "budget_as_effort": "The model takes an effort and no budget; the budget was turned into an effort.",
    "budget_lowered": "The budget left too little of max_tokens for the answer; it was lowered.",
    "max_tokens_raised": "max_tokens left no room for the least budget and an answer; it was raised.",
    "max_tokens_lowered": "max_tokens is more than the model can write; its own limit was sent.",
    "max_tokens_filled": "The API demands a limit on the output; the model's own was sent.",
    "off_impossible": "The model cannot be kept from reasoning; the least effort was sent.",
    "reasoning_impossible": "The model does not reason, whatever it is asked; nothing was sent.",
    "show_unavailable": "The model does not show its reasoning this way.",
    "control_unknown": "Nothing is known about how this model is asked to reason; nothing was sent.",
    "parameter_removed": "The model refuses this parameter, or does while it reasons; it was left out.",
    "tool_choice_relaxed": "The tool choice cannot be had here, or not while the model reasons; a looser one was sent.",
    "reasoning_off_for_tools": "The model refuses these tools while it reasons; reasoning was switched off.",
    "opaque_dropped": "A block of another provider cannot be sent here; it stays in the history.",
    "thinking_omitted": "Reasoning that this model cannot read is not sent; it stays in the history.",
    "thinking_as_text": "Reasoning of another model is sent as labelled text, as asked.",
    "call_omitted": "A call was interrupted before it was whole, and is not sent.",
    "thinking_cut_short": "The model thought for as long as it might; it was asked again without reasoning.",
    "rounds_used_up": "The limit on rounds of tools was reached; the last calls were not run.",
    "turn_removed": "Nothing of a turn was left to send, so it is not sent.",
    "result_filled": "A call never got a result; one that says so is sent.",
    "prefix_changed": "Something before this reasoning changed since it was made, and it is bound to that.",
    "held_by_server": "The server holds the conversation, so only what is new is sent.",
    "reasoning_missing": "The model wants the reasoning of an open tool loop back, and a turn of it has none: it was lost, or never was.",
    "item_id_dropped": "The reasoning that made this is not sent; it goes without its id, by which the host would ask for that.",
    "calls_moved": "The host wants the calls of a turn behind all else of it, so they were moved there.",
    "reasoning_off_unstreamed": "The model reasons only where its answer is streamed; reasoning is off.",
    "reasoning_off_for_loop": "A tool loop began at another model, which this one refuses while it reasons; reasoning is off.",
    "signature_filled": "Nobody signed a call that must be signed; the documented value that skips the check was sent.",
    "tool_member_dropped": "This dialect has no place for a member of a tool's definition; the tool is sent without it.",
    "error_flag_dropped": "This dialect cannot mark a tool result as an error; its text is sent alone.",
    "id_mapped": "A call's id is refused by this host; another stands for it, there and in its result.",
    "reasoning_filled": "The host wants the reasoning of every turn with calls; it is unknown here and sent empty.",
    "setting_ignored": "The answer does not show that the setting for reasoning was obeyed.",
    "stop_in_reasoning": "This host also looks for stop strings in the reasoning, and may end the answer before it begins.",
    # what became of a request on its way
    "retried": "The host was busy or the connection broke before any output; the request was sent again.",
    "recovered_after_refusal": "The host refused reasoning that was sent back; the request was sent again without it.",
    "broken_after_end": "The connection broke after the answer had ended; the count of tokens may be missing.",
    # what was looked up
    "unknown_model": "Nobody here has heard of this model; the defaults were used.",
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

    def add(self, code: str, detail: str | None = None, count: int = 1) -> None:
        """Writes a note down; an unknown code is a mistake of ours and fails at once."""
        if code not in SENTENCES:
            raise KeyError(code)
        key = (code, detail)
        self._counts[key] = self._counts.get(key, 0) + count

    def take(self, other: Notebook) -> None:
        """Takes over all that stands in another."""
        for (code, detail), count in other._counts.items():
            self.add(code, detail, count)

    def notes(self) -> tuple[Note, ...]:
        """All notes so far."""
        if not self._counts:
            return ()
        return tuple(Note(code, detail, count) for (code, detail), count in self._counts.items())
