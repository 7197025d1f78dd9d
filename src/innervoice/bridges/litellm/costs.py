"""Token counts -> cost, at the prices in `model_cost`, or else those of the package genai-prices if it is installed.

A price may have tiers: `..._above_200k_tokens` applies to the whole request once its prompt is longer, `..._priority` and
`..._flex` to a service tier. If a model has no price for a tier, the standard price applies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from innervoice.bridges.litellm.errors import ModelNotMappedError
from innervoice.bridges.litellm.models import OURS, entry_of
from innervoice.bridges.litellm.providers import PROVIDERS, resolve_model
from innervoice.bridges.litellm.tokens import token_counter
from innervoice.bridges.litellm.usage import Usage

__all__ = ["completion_cost", "cost_per_token"]

_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_INPUT, _OUTPUT = "input_cost_per_token", "output_cost_per_token"
_READ, _WRITTEN = "cache_read_input_token_cost", "cache_creation_input_token_cost"


def cost_per_token(
    model: str = "",
    prompt_tokens: int = 0,
    completion_tokens: int = 0,
    response_time_ms: float | None = 0.0,  # noqa: ARG001 - litellm's signature
    custom_llm_provider: str | None = None,
    *,
    cache_creation_input_tokens: int | None = 0,
    cache_read_input_tokens: int | None = 0,
    custom_cost_per_token: dict[str, float] | None = None,
    usage_object: Usage | None = None,
    service_tier: str | None = None,
    **_: Any,
) -> tuple[float, float]:
    """The cost of the prompt and of the completion, in dollars; raises if the price is unknown.

    `prompt_tokens` includes tokens read from the cache or written to it.
    """
    if usage_object is not None:
        prompt_tokens = usage_object.prompt_tokens
        completion_tokens = usage_object.completion_tokens
        cache_read_input_tokens = _cached(usage_object)
        cache_creation_input_tokens = usage_object.get("cache_creation_input_tokens")
    read, written = cache_read_input_tokens or 0, cache_creation_input_tokens or 0
    prices = custom_cost_per_token or _prices_of(model, custom_llm_provider)
    if prices is None:
        counts = {"input_tokens": prompt_tokens, "output_tokens": completion_tokens}
        counts |= {"cache_read_tokens": read, "cache_write_tokens": written}
        return _elsewhere(model, custom_llm_provider, counts)
    tier = _Tier(prices, prompt_tokens, service_tier)
    plain = max(0, prompt_tokens - read - written)
    each = tier.price(_INPUT)
    prompt = plain * each + read * tier.price(_READ, each) + written * tier.price(_WRITTEN, each)
    return prompt, completion_tokens * tier.price(_OUTPUT)


def completion_cost(
    completion_response: Any = None,
    model: str | None = None,
    prompt: str = "",
    messages: Sequence[Any] = (),
    completion: str = "",
    *,
    custom_llm_provider: str | None = None,
    custom_cost_per_token: dict[str, float] | None = None,
    service_tier: str | None = None,
    **_: Any,
) -> float:
    """The cost of a call in dollars, from a response or from texts that are counted here; raises if the price is unknown."""
    if completion_response is not None:
        hidden = getattr(completion_response, "_hidden_params", None) or {}
        custom_llm_provider = custom_llm_provider or hidden.get("custom_llm_provider")
        model = model or completion_response["model"]
        usage = completion_response.get("usage")
        counts = _chat_usage(usage)
    else:
        source = {"messages": list(messages)} if messages else {"text": prompt}
        counted = token_counter(model=model or "", **source)
        counts = Usage(counted, token_counter(model=model or "", text=completion))
    return sum(
        cost_per_token(
            model=model or "",
            custom_llm_provider=custom_llm_provider,
            custom_cost_per_token=custom_cost_per_token,
            usage_object=counts,
            service_tier=service_tier,
        )
    )


def _chat_usage(usage: Any) -> Usage:
    """The counts of a response; those of the Responses API have other names."""
    counts = usage or {}
    if "input_tokens" not in counts:
        return Usage(**usage) if isinstance(usage, dict) else usage or Usage()
    details = counts.get("input_tokens_details") or {}
    return Usage(
        counts["input_tokens"],
        counts["output_tokens"],
        prompt_tokens_details={"cached_tokens": details.get("cached_tokens")},
    )


class _Tier:
    """The prices of one model for one request."""

    def __init__(self, prices: dict[str, Any], prompt: int, service: str | None) -> None:
        self._prices = prices
        bounds = [int(match[1]) for name in prices if (match := _ABOVE.fullmatch(name))]
        passed = [bound for bound in bounds if prompt > bound * 1000]
        above = f"_above_{max(passed)}k_tokens" if passed else ""
        tier = f"_{service}" if service in ("priority", "flex") else ""
        self._endings = (above + tier, above, tier, "")

    def price(self, name: str, default: float = 0.0) -> float:
        """The price for this tier, or else for the closest tier that has one."""
        prices = (self._prices.get(name + ending) for ending in self._endings)
        return float(next((price for price in prices if price is not None), default))


def _prices_of(model: str, provider: str | None) -> dict[str, Any] | None:
    """The model's row; None if the model is unknown or its row has no price."""
    entry = entry_of(model, provider)
    if entry is None:
        return None
    facts = entry[1]
    priced = facts.get(_INPUT) is not None or facts.get(_OUTPUT) is not None
    return facts if priced or facts.get("source") != OURS else None


def _cached(usage: Usage) -> int | None:
    cached: int | None = usage.get("cache_read_input_tokens")
    details = usage.get("prompt_tokens_details")
    return cached if cached is not None or details is None else details.get("cached_tokens")


def _elsewhere(model: str, provider: str | None, counts: dict[str, int]) -> tuple[float, float]:
    """The cost according to genai-prices, an optional dependency."""
    target = resolve_model(model, provider)
    try:
        prices = import_module("genai_prices")
    except ImportError:
        raise _unpriced(model, provider) from None
    usage_there = prices.Usage(**{name: count for name, count in counts.items() if count})
    who = PROVIDERS.get(target.provider, target.provider)
    try:
        price = prices.calc_price(usage_there, model_ref=target.model, provider_id=who)
    except LookupError:
        raise _unpriced(model, provider) from None
    return float(price.input_price), float(price.output_price)


def _unpriced(model: str, provider: str | None) -> ModelNotMappedError:
    return ModelNotMappedError(
        f"The price of this model isn't mapped yet. model={model}, custom_llm_provider={provider}."
        " Register it with register_model, or install innervoice[prices]"
    )
