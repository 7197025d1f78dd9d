"""Notes: what innervoice noticed, changed, dropped or guessed, the list of all codes, and what lint says of them.

A code is stable: programs may test for it. Its sentence is for people. Equal notes are one note with a
count, so that a hostile text cannot fill the memory with notes.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from innervoice.canon.value import Value

__all__ = ["ADVICE", "SENTENCES", "Note", "Notebook", "Severity"]

Severity: TypeAlias = Literal["refused", "degraded"]

SENTENCES: dict[str, str] = {
    # inline markup in a text
    "inline_thinking": "Reasoning inside the text, marked by tags, was split out of it.",
    "unclosed_thinking": "The reasoning at the start of the text has no closing tag; it is incomplete.",
    "opener_in_text": "An opening tag in the text has no closing tag; it stays text.",
    "orphan_closer": "A closing tag has no opening tag; the text before it was read as reasoning.",
    "closer_removed": "A closing tag without an opening tag was removed.",
    "opener_repeated": "An opening tag inside reasoning was removed.",
    "rethought": "A closing tag matched an opening tag that had been removed; the text after the previous closing tag was read as reasoning.",
    "stutter_removed": "A few characters before a superfluous closing tag were removed with it.",
    "prefix_assumed": "The model's card says that its text starts inside reasoning; the text was read that way.",
    "prefix_withdrawn": "The text was expected to start inside reasoning, but no closing tag followed; it is the answer.",
    "closed_by_marker": "The reasoning has no closing tag; the start of another section ended it.",
    "call_in_text": "The text contains a tool call; it is kept as an opaque part and was not run.",
    "wrapper_removed": "Markup around the answer, or a leaked control token, was removed.",
    "label_removed": "The answer started with the label of an empty reasoning channel; the label was removed.",
    "span_reopened": "A code span was not closed on its line; the tags on that line were read again as markup.",
    # values on the wire
    "odd_value": "A value has an unexpected type; it is kept as received.",
    "start_missing": "A delta came without the start of its block; the type of the delta says what the block is.",
    "invalid_utf8": "Bytes of the stream, or of a text file, are not valid UTF-8; each of them became the character U+FFFD.",
    "unknown_finish_reason": "The finish reason is unknown; the status of the answer is judged by its content.",
    "field_repeated": "Two fields contain the same reasoning; one is kept.",
    "fields_differ": "Two fields contain different reasoning; the first is kept.",
    "cumulative_deltas": "The reasoning deltas repeated earlier text; only the new text is kept.",
    "inline_repeated": "The text contains the same reasoning as the reasoning field; the field is kept.",
    "field_thinking": "The reasoning was received in a separate field.",
    # the response as a whole
    "content_not_logged": "The log records that there was an answer, but not its content.",
    "content_unread": "Nothing of this answer was read, although it has members with text that are not known; the API may have changed.",
    "unknown_block": "The answer has a block of an unknown type that looks like reasoning; it is kept, and sent back as it came.",
    "catalog_differs": "The provider contradicts the catalog; innervoice probe measures what is true, and can save it.",
    "model_replaced": "A different model than the one requested answered.",
    "dropped_by_provider": "The provider dropped reasoning of the request, and says why.",
    "mismatch_allowed": "Reasoning of the request does not match what was before it; the provider showed it to the model all the same.",
    "refused_for": "The provider says for which category of content it refused.",
    "context_edited": "The provider cleared a part of the context before the model read it.",
    "reasoning_unread": "The answer has reasoning of other models that worked for this one; it is not read.",
    "answer_in_reasoning": "The response has reasoning but no answer; the answer may be part of the reasoning.",
    "call_candidate": "The reasoning, or the text where it broke off, contains a tool call that the model did not make; it was not run.",
    # rows of data sets
    "row_unreadable": "The row could not be read, or has no answer where one was expected.",
    "request_failed": "The provider returned an error for this request of a batch.",
    # settings and history of a request
    "effort_wins": "Both an effort and a budget were requested; the effort is used.",
    "effort_clamped": "The model does not support this effort; the nearest supported one was sent.",
    "effort_as_budget": "The model supports a budget but no effort; the effort was converted into a budget.",
    "effort_as_switch": "The model's reasoning can only be switched on or off; it was switched on.",
    "budget_clamped": "The budget is outside the range that the model supports; the nearest value was sent.",
    "budget_as_effort": "The model supports an effort but no budget; the budget was converted into an effort.",
    "budget_lowered": "The budget left too little of max_tokens for the answer; it was lowered.",
    "max_tokens_raised": "max_tokens was too small for the minimum budget and an answer; it was raised.",
    "max_tokens_lowered": "max_tokens exceeds the model's output limit; that limit was sent.",
    "max_tokens_filled": "The API requires max_tokens; the model's output limit was sent.",
    "off_impossible": "The model's reasoning cannot be switched off; the lowest effort was sent.",
    "reasoning_impossible": "The model does not support reasoning; no setting was sent.",
    "reasoning_hidden": "The model reasoned, and nothing of it can be read.",
    "show_unavailable": "The model cannot show its reasoning in this form.",
    "control_unknown": "How to configure the reasoning of this model is unknown; no setting was sent.",
    "parameter_removed": "The model rejects this parameter, always or while it reasons; it was left out.",
    "tool_choice_relaxed": "The model does not support this tool choice, at all or while it reasons; a less strict one was sent.",
    "reasoning_off_for_tools": "The model rejects these tools while it reasons; reasoning was switched off.",
    "opaque_dropped": "A block of another provider was not sent; it stays in the history.",
    "effort_by_policy": "The configuration chose the effort.",
    "show_by_policy": "The configuration says what is shown of the reasoning.",
    "effort_later": "Another effort is in force from the user's next message on, because the model cannot change it before that.",
    "effort_in_place": "The effort was changed inside the conversation, so that the prompt cache stays valid.",
    "effort_at_top": "Another effort than in the last request was sent for the whole request: the prompt cache begins anew.",
    "effort_from_history": "The conversation sets another effort, in a form that the model does not read; the last one was sent for the whole request, and where it changed the prompt cache begins anew.",
    "compaction_as_text": "A provider's summary of the conversation was sent as a text.",
    "compaction_made": "The model has no compactions of its own; it was asked for a summary, and the client got it as a compaction.",
    "compaction_unasked": "The request asks for a compaction, which only its own provider makes; it was not sent, because an ordinary answer is something else.",
    "compaction_unreadable": "A compaction stands for everything before it, and only its own provider can read it; the request was not sent without it.",
    "thinking_omitted": "Reasoning that this model cannot read was not sent; it stays in the history.",
    "thinking_as_text": "Reasoning of another model was sent as labelled text, as requested.",
    "cut_answer_omitted": "The history ends with the beginning of an answer that was cut off, which this model does not continue; it was not sent.",
    "call_omitted": "A tool call that was interrupted before it was complete was not sent.",
    "thinking_cut_short": "The limit on reasoning was reached; the request was sent again without reasoning.",
    "thinking_loops": "The reasoning repeats itself.",
    "looped_thinking_omitted": "Reasoning that only repeats itself was not sent back: the model would go on repeating it.",
    "answer_continued": "The answer broke off; another request went on from where it ended.",
    "rounds_used_up": "The limit on tool rounds was reached; the last calls were not run.",
    "turn_removed": "A turn without any part left to send was not sent.",
    "turn_repeated": "The history has the same assistant turn twice in a row; it was sent once.",
    "result_repeated": "A tool call has more than one result; only the first one was sent.",
    "result_moved": "A tool result came after other messages; it was sent directly after its call, where the host requires it.",
    "blank_omitted": "A blank text was not sent, because the host refuses it.",
    "extra_dropped": "A member of a request, of a message or of a block has no counterpart in this dialect, or at this host; it was not sent.",
    "cache_mark_dropped": "The API does not support cache marks, or not in this place; the content was sent without the mark.",
    "tool_dropped": "A tool that exists only in the dialect it was read from was not sent.",
    "result_filled": "A tool call has no result; a result that says so was sent.",
    "prefix_changed": "This reasoning is bound to the messages before it, and they have changed since.",
    "held_by_server": "The server stores the conversation; only new messages were sent.",
    "reasoning_missing": "The model expects the reasoning of an open tool loop, and one of its turns has none.",
    "item_id_dropped": "The reasoning that led to this item was not sent; the item was sent without its id, because the host would look for that reasoning.",
    "item_not_stored": "The server did not store the response that contained this item; the item was sent without its id.",
    "calls_moved": "The host requires tool calls at the end of a turn; they were moved there.",
    "reasoning_off_unstreamed": "The model reasons only in streamed responses; reasoning is off.",
    "reasoning_off_for_loop": "The open tool loop was started by another model, which this model rejects while it reasons; reasoning is off.",
    "signature_filled": "A tool call that needs a signature has none; the documented value that skips the check was sent.",
    "tool_member_dropped": "This dialect has no place for a member of a tool's definition; the tool is sent without it.",
    "error_flag_dropped": "This dialect cannot mark a tool result as an error; only the text of the result was sent.",
    "schema_rewritten": "The API accepts a subset of JSON Schema; the schema was rewritten, and keywords it does not accept are in descriptions.",
    "schema_not_strict": "The API cannot enforce this schema; it was sent without strict.",
    "schema_as_instruction": "The API cannot enforce this response format; the system prompt asks for it instead.",
    "system_in_turn": "The API has no system messages inside a conversation; they were sent at their place, as marked text of the user's turn.",
    "system_behind_results": "A system message stood between a tool call and its result, which must follow the call; it was sent behind the result.",
    "file_as_text": "The API does not accept this kind of file; its text was sent instead.",
    "result_file_moved": "A tool result cannot hold files here; the file was sent in a user message after it.",
    "id_mapped": "The host rejects the id of a tool call; another id was sent, in the call and in its result.",
    "reasoning_filled": "The host requires the reasoning of every turn with tool calls; it is unknown and was sent empty.",
    "setting_ignored": "The response does not show that the reasoning setting was applied.",
    "stop_in_reasoning": "This host also applies stop strings to the reasoning; the response may end before the answer starts.",
    # turns that a program sends back
    "thinking_restored": "Reasoning that the program had lost was put back from the store.",
    "restoration_refused": "The provider refused the request with the restored reasoning; it was sent again as the program wrote it.",
    "several_turns_match": "Several stored turns have the same text at the same place of the same conversation; the newest was used.",
    "turn_rejoined": "The program had split a turn of the model, or merged two; they were sent as the model had sent them.",
    "envelope_unreadable": "The program sent reasoning back in an envelope that cannot be opened here: it is damaged, or belongs to another owner; it was dropped.",
    "words_replaced": "The program sent back a summary of the reasoning; the provider's own seal, which was stored without the summary, was sent instead.",
    "envelope_outdated": "The program changed a text or a tool call that carried an envelope; the changed version was sent, without the content of the envelope.",
    # what the gateway changes
    "system_line_dropped": "A line of the system prompt that only the client's own provider reads was not sent.",
    "budget_limited": "The configuration limits the tokens of reasoning; the limit was sent as a budget.",
    "effort_limited": "The configuration limits the effort; the limit was sent.",
    "reasoning_shown": "The client asked for reasoning, and its API shows it; the model was asked to show a summary.",
    "cache_key_added": "The provider looks up its prompt cache by a key, and the client sent none; one was derived from the beginning of the conversation.",
    "header_dropped": "The host does not know a feature that the client requested in a header; it was not requested.",
    "credential_left_out": "The request had keys of other providers besides the one that was sent on; they were left out.",
    "moved_on": "An upstream could not answer; the request went to the next one.",
    "tokens_estimated": "The provider did not count the tokens; the counts are estimates.",
    "cost_unknown": "The caller has a budget, but the price of the model is unknown; nothing was charged to the budget.",
    "compacted_not_stored": "The items that a compaction stands for could not be stored; the compaction itself has the summary.",
    "response_not_stored": "The response could not be stored: it cannot be retrieved, and no request can continue from it.",
    "conversation_incomplete": "The store no longer has some entries of the conversation; it was sent without them.",
    "conversation_not_extended": "The answer could not be added to its conversation: the next request of the conversation does not know it.",
    "turn_not_stored": "The store could not be read or written; the answer was served without it.",
    # sending a request
    "retried": "The host was busy, or the connection failed before any output; the request was sent again.",
    "refused_before": "The host refused this reasoning before, at this position in the conversation; it was not sent again.",
    "recovered_after_refusal": "The host refused reasoning of an earlier turn, or refused to show its own; the request was sent again without it.",
    "broken_after_end": "The connection failed after the end of the answer; the token counts may be missing.",
    # lookups in the catalog
    "unknown_model": "The model is unknown; the defaults were used.",
    # sessions that are carried to another program
    "seal_left": "A seal that only its own provider can read stays in the source session; it is not in the new file.",
    "thinking_shown": "The new program shows this reasoning to its user, and does not send it to its model.",
    "thinking_as_answer": "The new program sends this reasoning to its model as if it were part of the answer, as it does with such reasoning in its own sessions.",
    "thinking_left": "Reasoning stays in the source session, as requested, or because nothing of it can be read.",
    "file_as_url": "The new program, or its model, cannot have this file by its URL; the URL goes along as text.",
    "turn_left": "A turn that the next request of its own program would not contain, or that this program wrote, stays in the source session.",
    "compaction_left": "A compaction that only its own provider can read stays in the source session; the turns that it stands for go in its place.",
    "result_left": "A tool result without its call stays in the source session.",
    # answers that are written
    "thinking_without_place": "The dialect has no place for this reasoning, which is hidden or sealed by another provider; it was left out.",
    "unsent_after_break": "The answer broke off in a call that stays open, so what came after that call was not sent.",
    "seal_after_text": "A seal arrived after the text of a final answer, behind which clients of this API expect no block; the client does not carry it.",
    "finish_reason_changed": "The dialect has no member for the way in which this answer ended; the nearest one was written.",
    "part_without_place": "The dialect has no place for a part of this kind; it was left out.",
    "input_wrapped": "The dialect requires an object as the arguments of a call; arguments of another type became its only member, `input`.",
    "arguments_after_end": "More arguments arrived after the call's arguments were complete and had been sent; they were left out.",
    "sent_before_recast": "Text had already been sent when it turned out to be something else; it was not sent again.",
}

ADVICE: dict[str, tuple[Severity, str]] = {
    "thinking_omitted": (
        "refused",
        "leave it out of the request and keep it in the history, as innervoice does when it sends",
    ),
    "thinking_as_text": ("degraded", "models imitate such text; omit it instead"),
    "compaction_as_text": ("degraded", "nothing; the summary goes as a text"),
    "compaction_unreadable": (
        "refused",
        "send the history to the provider that wrote it, or go on from a turn before the compaction",
    ),
    "compaction_unasked": (
        "refused",
        "ask for a summary in a message, or send the request through the gateway",
    ),
    "opaque_dropped": (
        "refused",
        "leave it out of the request and keep it in the history, as innervoice does when it sends",
    ),
    "reasoning_filled": ("refused", "send the field, empty where the reasoning is lost"),
    "signature_filled": ("refused", "send the documented value that skips the check"),
    "prefix_changed": ("refused", "undo the change, or do not send the reasoning"),
    "held_by_server": ("degraded", "the messages that the server stores are not checked"),
    "reasoning_missing": (
        "degraded",
        "keep the reasoning of a tool loop, and send it back with the loop",
    ),
    "item_id_dropped": ("refused", "send it without its id"),
    "item_not_stored": ("refused", "send it without its id"),
    "calls_moved": ("refused", "move the calls to the end of their turn"),
    "turn_removed": ("refused", "do not send the turn"),
    "turn_repeated": ("refused", "do not send the second one"),
    "result_repeated": ("refused", "send only the first"),
    "result_moved": ("refused", "move it to its call"),
    "system_behind_results": ("refused", "move it behind the results of the call"),
    "blank_omitted": ("refused", "do not send it"),
    "cut_answer_omitted": ("refused", "do not send it, or ask for its end in a user message"),
    "call_omitted": ("refused", "do not send it"),
    "id_mapped": ("refused", "map the id, in the call and in its result"),
    "effort_from_history": (
        "degraded",
        "set the effort for the whole request; its prompt cache begins anew",
    ),
    "part_without_place": (
        "refused",
        "leave it out of the request and keep it in the history, as innervoice does when it sends",
    ),
    "extra_dropped": ("degraded", "remove it, or say it in the content"),
    "cache_mark_dropped": ("degraded", "remove the mark"),
    "result_filled": ("refused", "add a result that reports it"),
    "reasoning_off_for_loop": ("refused", "switch reasoning off for this request"),
    # only lint reports these
    "inline_thinking": (
        "degraded",
        "send it in the field that the model has for it, or leave it out",
    ),
    "call_without_result": ("refused", "add a result that reports it"),
    "prefill_refused": ("refused", "end with a user message"),
    "result_without_call": ("refused", "remove it"),
}
"""What lint says of a decision with this code: what happens if the part is sent unchanged, and how to fix it."""


class Note(Value, frozen=True):
    """One thing that was noticed, changed, dropped or guessed."""

    code: str
    """What it is about; stable, for programs to test."""
    detail: str | None = None
    """What it is about in this case."""
    count: int = 1
    """How often it happened."""

    @property
    def sentence(self) -> str:
        """The meaning of the code, in a sentence."""
        return SENTENCES[self.code]

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        times = f" [{self.count} times]" if self.count > 1 else ""
        return f"{self.code}: {self.sentence}{detail}{times}"


class Notebook:
    """Collects notes in the order of their first appearance, and counts equal ones."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str | None], int] = {}

    def add(self, code: str, detail: str | None = None, count: int = 1) -> None:
        """Adds a note; an unknown code is a programming error and raises `KeyError`."""
        if code not in SENTENCES:
            raise KeyError(code)
        key = (code, detail)
        self._counts[key] = self._counts.get(key, 0) + count

    def take(self, other: Notebook) -> None:
        """Adds all notes of another notebook."""
        for (code, detail), count in other._counts.items():
            self.add(code, detail, count)

    def notes(self) -> tuple[Note, ...]:
        """All notes so far."""
        if not self._counts:
            return ()
            # A tuple from a list is twice as fast as from a generator.
        return tuple([Note(code, detail, count) for (code, detail), count in self._counts.items()])
