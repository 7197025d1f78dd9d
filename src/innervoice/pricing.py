"""The cost of a response, from the public prices in `genai-prices` (the extra `innervoice[prices]`).

Output tokens include reasoning, so reasoning is not counted twice: its cost is its share of the output's cost. Counters that
`Usage` does not have, as those of cache writes, audio and web searches, are read from what the provider reported.
"""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from typing import Any

from innervoice.canon.response import Response
from innervoice.canon.usage import Cost, Usage
from innervoice.catalog.lookup import host_of
from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.wire.json_access import as_count, as_dict, as_list

__all__ = ["Cost", "context_window", "cost"]

# The names of genai-prices 0.2.1 (read 2026-11-17), and where each API reports the count; the first place that has one counts.
_COUNTERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "cache_write_tokens": (
        ("cache_creation_input_tokens",),
        ("cacheWriteInputTokens",),
        ("prompt_tokens_details", "cache_write_tokens"),
        ("input_tokens_details", "cache_write_tokens"),
    ),
    "cache_write_5m_tokens": (
        ("cache_creation", "ephemeral_5m_input_tokens"),
        ("cacheDetails", "ttl=5m", "inputTokens"),
    ),
    "cache_write_1h_tokens": (
        ("cache_creation", "ephemeral_1h_input_tokens"),
        ("cacheDetails", "ttl=1h", "inputTokens"),
    ),
    "input_audio_tokens": (("prompt_tokens_details", "audio_tokens"),),
    "output_audio_tokens": (("completion_tokens_details", "audio_tokens"),),
    "web_searches": (
        ("server_tool_use", "web_search_requests"),
        ("num_search_queries",),
        ("tool_calls_details", "search_web", "invocation"),
    ),
    "output_citation_tokens": (("citation_tokens",),),
    "input_tool_tokens": (("toolUsePromptTokenCount",), ("total_tool_use_tokens",)),
}
# Gemini's lists by modality, and the names of their counters; a count in two lists is added up.
_BY_MODALITY = (
    ("promptTokensDetails", "input_{}_tokens"),
    ("toolUsePromptTokensDetails", "input_{}_tokens"),
    ("toolUsePromptTokensDetails", "input_{}_tool_tokens"),
    ("cacheTokensDetails", "cache_{}_read_tokens"),
    ("candidatesTokensDetails", "output_{}_tokens"),
)
_MODALITIES = {
    "TEXT": "text",
    "AUDIO": "audio",
    "IMAGE": "image",
    "DOCUMENT": "image",
    "VIDEO": "video",
}


def cost(response: Response) -> Cost | None:
    """The cost of a response; None if it has no token counts, or genai-prices has no price for its model."""
    try:
        prices = import_module("genai_prices")
    except ModuleNotFoundError:
        raise UsageError(f"genai-prices is not installed: {install_command('prices')}") from None
    usage = response.usage
    if usage.input_tokens is None or usage.output_tokens is None or not response.model:
        return None
    plain = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cached_input_tokens,
    }
    host = host_of(response.provider or "")
    provider = (host and host.prices_name) or response.provider
    found = None
    # Counters that contradict each other are an error there; then those that every provider reports count alone.
    for counts in ({**plain, **_reported(usage)}, plain):
        try:
            found = prices.calc_price(
                prices.Usage(**counts), model_ref=response.model, provider_id=provider or None
            )
            break
        except LookupError:
            return None
        except ValueError:
            continue
    if found is None:
        return None
    reasoned = usage.reasoning_tokens
    share = (
        Decimal(reasoned) / usage.output_tokens
        if reasoned is not None and usage.output_tokens
        else None
    )
    return Cost(
        total=found.total_price,
        input=found.input_price,
        output=found.output_price,
        reasoning=None if share is None else found.output_price * share,
        model=found.model.id,
    )


def context_window(provider: str, model: str) -> int | None:
    """The tokens that a model's context window holds at a provider, by genai-prices; None if it is not installed or does not know."""
    try:
        snapshots = import_module("genai_prices.data_snapshot")
    except ModuleNotFoundError:
        return None
    host = host_of(provider)
    name = (host and host.prices_name) or provider
    try:
        _, facts = snapshots.get_snapshot().find_provider_model(model, None, name, None)
    except LookupError:
        return None
    window = facts.context_window
    return window if isinstance(window, int) else None


def _reported(usage: Usage) -> dict[str, int]:
    """The counters of the provider beside those of `Usage`, by their names in genai-prices."""
    counts: dict[str, int] = {}
    if usage.reasoning_tokens is not None:
        counts["output_reasoning_tokens"] = usage.reasoning_tokens
    for name, places in _COUNTERS.items():
        reported = (as_count(_at(usage.raw, place)) for place in places)
        count = next((count for count in reported if count is not None), None)
        if count is not None:
            counts[name] = count
    for member, pattern in _BY_MODALITY:
        entries = as_list(as_dict(usage.raw).get(member))
        if entries:  # a modality that is not listed has no tokens; genai-prices asks for the zero
            counts = {pattern.format(name): 0 for name in _MODALITIES.values()} | counts
        for entry in entries:
            modality = _MODALITIES.get(str(as_dict(entry).get("modality")))
            count = as_count(as_dict(entry).get("tokenCount"))
            if modality and count is not None:
                name = pattern.format(modality)
                counts[name] = counts.get(name, 0) + count
    return counts


def _at(value: Any, place: tuple[str, ...]) -> Any:
    """The value at a path; a step `member=word` is the entry of a list that has this member."""
    for step in place:
        member, is_entry, word = step.partition("=")
        if is_entry:
            entries = (as_dict(entry) for entry in as_list(value))
            value = next((entry for entry in entries if entry.get(member) == word), None)
        else:
            value = as_dict(value).get(step)
    return value
