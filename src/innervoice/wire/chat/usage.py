"""Tokens as chat hosts count them -> one convention, and back.

Most hosts count reasoning inside `completion_tokens`. xAI's chat and DeepInfra count it in addition, Perplexity
in a separate field, and Gemini's compatible endpoint only in the total. The sums show which it is.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.usage import Usage
from innervoice.wire.json_access import as_count, as_dict

__all__ = ["usage_of", "write_usage"]


def usage_of(raw: dict[str, Any], *, separate: bool) -> Usage:
    """Reads a `usage` object; `separate` says that the host counts reasoning in addition to the output."""
    prompt, answer = as_count(raw.get("prompt_tokens")), as_count(raw.get("completion_tokens"))
    total = as_count(raw.get("total_tokens"))
    details = as_dict(raw.get("completion_tokens_details"))
    reasoning = as_count(details.get("reasoning_tokens"))
    if reasoning is None:
        reasoning = as_count(raw.get("reasoning_tokens"))
    cached = as_count(as_dict(raw.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = as_count(raw.get("prompt_cache_hit_tokens"))
    return Usage(
        input_tokens=prompt,
        output_tokens=_output(prompt, answer, total, reasoning, separate=separate),
        reasoning_tokens=reasoning,
        cached_input_tokens=cached,
        raw=raw,
    )


def _output(
    prompt: int | None,
    answer: int | None,
    total: int | None,
    reasoning: int | None,
    *,
    separate: bool,
) -> int | None:
    if answer is None:
        return (
            total - prompt
            if total is not None and prompt is not None and total > prompt
            else reasoning
        )
    if reasoning and (
        separate or reasoning > answer or total == (prompt or 0) + answer + reasoning
    ):
        return answer + reasoning
    if total is not None and prompt is not None and total > prompt + answer:
        return total - prompt
    return answer


def write_usage(usage: Usage) -> dict[str, Any]:
    """The `usage` object as OpenAI counts; counts that were not reported are left out."""
    counts = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
    written: dict[str, Any] = {name: count for name, count in counts.items() if count is not None}
    if usage.cached_input_tokens is not None:
        written["prompt_tokens_details"] = {"cached_tokens": usage.cached_input_tokens}
    if usage.reasoning_tokens is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return written
