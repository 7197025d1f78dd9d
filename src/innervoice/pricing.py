"""The cost of a response, from the user's own catalog or the public prices in `genai-prices` (the extra `innervoice[prices]`).

Output tokens include reasoning, so reasoning is not counted twice: its cost is its share of the output's cost. Counters that
`Usage` does not have, as those of cache writes, audio and web searches, are read from what the provider reported.
"""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from typing import Any

from innervoice.canon.response import Response
from innervoice.canon.rows import Price
from innervoice.canon.usage import Cost, Usage
from innervoice.catalog.lookup import host_of, price_of, user_catalog
from innervoice.errors import UsageError
from innervoice.installing import install_command
from innervoice.wire.json_access import as_count, as_dict, as_list

__all__ = ["Cost", "are_prices_known", "context_window", "cost", "own_cost", "token_prices"]

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


def are_prices_known() -> bool:
    """Whether there are prices at all: genai-prices is installed, or the user's own catalog has some."""
    if user_catalog().prices:
        return True
    try:
        import_module("genai_prices")
    except ImportError:
        return False
    return True


def cost(response: Response) -> Cost | None:
    """The cost of a response; None if it has no token counts, or nobody has a price for its model.

    :param response: An answer with token counts.
    """
    usage = response.usage
    is_counted = usage.input_tokens is not None and usage.output_tokens is not None
    price = price_of(response.model or "", response.provider) if response.model else None
    if price is not None:
        return own_cost(price, usage, response.model or "") if is_counted else None
    try:
        prices = import_module("genai_prices")
    except ModuleNotFoundError:
        raise UsageError(f"genai-prices is not installed: {install_command('prices')}") from None
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
    return Cost(
        total=found.total_price,
        input=found.input_price,
        output=found.output_price,
        reasoning=_reasoning_share(usage, found.output_price),
        model=found.model.id,
    )


def token_prices(provider: str, model: str) -> tuple[Decimal, Decimal] | None:
    """What a token of input and a token of output cost, in US dollars; None if nobody has a price.

    :param provider: The provider's name.
    :param model: The model, as the provider names it.
    """
    count = 1000
    usage = Usage(input_tokens=count, output_tokens=count)
    try:
        price = cost(Response(provider=provider, model=model, usage=usage))
    except UsageError:
        return None
    return (price.input / count, price.output / count) if price else None


def own_cost(price: Price, usage: Usage, model: str) -> Cost:
    """The cost at a price of the user's own catalog; cached input is part of the input.

    :param price: The price in the catalog.
    :param usage: The token counts.
    :param model: The model's name, for the result.
    """
    million = Decimal(1_000_000)
    cached = usage.cached_input_tokens or 0
    cached_price = price.input if price.cached_input is None else price.cached_input
    input_cost = (
        Decimal(str(price.input)) * max((usage.input_tokens or 0) - cached, 0)
        + Decimal(str(cached_price)) * cached
    ) / million
    output_cost = Decimal(str(price.output)) * (usage.output_tokens or 0) / million
    return Cost(
        total=input_cost + output_cost,
        input=input_cost,
        output=output_cost,
        reasoning=_reasoning_share(usage, output_cost),
        model=model,
    )


def _reasoning_share(usage: Usage, output_cost: Decimal) -> Decimal | None:
    """What the reasoning costs: its share of the output."""
    if usage.reasoning_tokens is None or not usage.output_tokens:
        return None
    return output_cost * (Decimal(usage.reasoning_tokens) / usage.output_tokens)


def context_window(provider: str, model: str) -> int | None:
    """The tokens that a model's context window holds at a provider, by genai-prices; None if it is not installed or does not know.

    :param provider: The provider's name.
    :param model: The model, as the provider names it.
    """
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
