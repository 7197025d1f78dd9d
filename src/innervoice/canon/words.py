"""The words of the field, as APIs, libraries, traces and data sets spell them -> ours: why an answer ended, who speaks, which field reasons.

One list for readers of answers, of other programs' files and of data sets: a word that one of them learned is known to all.
Letter case does not matter, nor whether a word is joined by `_`, `-` or a blank.
"""

from __future__ import annotations

from typing import Any, get_args

from innervoice.canon.messages import Role
from innervoice.canon.response import FinishReason

__all__ = [
    "BILLING_LINE",
    "CACHE_MARKS",
    "FINISH_REASONS",
    "REASONING_FIELDS",
    "finish_reason_of",
    "role_of",
]

_FINISH_WORDS: dict[FinishReason, str] = {
    "stop": "stop end_turn stop_sequence eos eos_token complete completed load unload finish_reason_unspecified",
    "length": "length max_tokens max_output_tokens model_length model_context_window_exceeded max_messages incomplete budget_exceeded error_limit",
    "tool_calls": "tool_calls tool_call tool_use function_call requires_action",
    "content_filter": "content_filter content_filtered guardrail_intervened sensitive safety recitation language blocklist prohibited_content spii"
    " image_safety image_prohibited_content image_recitation error_toxic model_armor pup_limited_disabled",
    "refusal": "refusal",
    "pause": "pause pause_turn compaction continuation requires_continuation steered",
    "error": "error abort network_error insufficient_system_resource failed cancelled timeout user_cancel other no_image image_other"
    " missing_thought_signature malformed_function_call malformed_response malformed_model_output malformed_tool_use unexpected_tool_call too_many_tool_calls",
}
FINISH_REASONS = {
    spelled: reason
    for reason, words in _FINISH_WORDS.items()
    for word in words.split()
    for spelled in (word, word.upper())
}
"""The two spellings that nearly all APIs use; `finish_reason_of` knows the others as well."""
_ROLE_WORDS: dict[Role, str] = {
    "system": "system developer",
    "user": "user human",
    "assistant": "assistant ai model gpt bot chatbot function_call",
    "tool": "tool function observation",
}
_ROLES = {word: role for role, words in _ROLE_WORDS.items() for word in words.split()}
assert set(_ROLE_WORDS) == set(get_args(Role))

REASONING_FIELDS = (
    "reasoning_details",
    "reasoning_content",
    "reasoning",
    "thinking_content",
    "thinking",
    "reasoning_text",
)
"""The members of a message that hold its reasoning, in the order in which they count if several do."""

CACHE_MARKS = ("cache_control", "cachePoint")
"""The members that mark content as worth caching; programs move them with every request."""
BILLING_LINE = "x-anthropic-billing-header:"
"""How the first line of Claude Code's system prompt begins; its number differs in every request, which defeats prompt caches."""


def finish_reason_of(word: Any) -> FinishReason | None:
    """Why an answer ended; None for a word that is not known."""
    return FINISH_REASONS.get(_plain(word))


def role_of(word: Any) -> Role | None:
    """Who speaks; None for a word that is not known."""
    return _ROLES.get(_plain(word))


def _plain(word: Any) -> str:
    return word.lower().replace("-", "_").replace(" ", "_") if isinstance(word, str) else ""
