"""`model_cost` and the look-ups in it.

`model_cost` is a plain dict on the package; every look-up reads it, so changes to it take effect at once. It starts with the
rows of models.toml in this folder, which have no prices.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from innervoice.bridges.litellm.errors import ModelNotMappedError
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.params import get_supported_openai_params, reasons
from innervoice.bridges.litellm.providers import PROVIDERS, resolve_model
from innervoice.catalog.lookup import all_model_rows, fits, host_of
from innervoice.errors import InnervoiceError

__all__ = [
    "OURS",
    "get_max_tokens",
    "get_model_info",
    "known_models",
    "register_model",
    "supports_audio_input",
    "supports_function_calling",
    "supports_parallel_function_calling",
    "supports_pdf_input",
    "supports_prompt_caching",
    "supports_reasoning",
    "supports_response_schema",
    "supports_system_messages",
    "supports_tool_choice",
    "supports_vision",
    "supports_web_search",
]

OURS = "innervoice"
"""Marks a row of models.toml, which has no price."""

_TABLE = Path(__file__).with_name("models.toml")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})$")
_COSTS = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_creation_input_token_cost",
    "cache_read_input_token_cost",
    "output_cost_per_reasoning_token",
)
_TIERS = ("", "_priority", "_flex", "_batches")
_ABOVE = (
    "",
    "_above_128k_tokens",
    "_above_200k_tokens",
    "_above_272k_tokens",
    "_above_512k_tokens",
)
_ABILITIES = (
    "audio_input",
    "audio_output",
    "function_calling",
    "parallel_function_calling",
    "pdf_input",
    "prompt_caching",
    "reasoning",
    "response_schema",
    "system_messages",
    "tool_choice",
    "vision",
    "web_search",
)
_BLANK: dict[str, Any] = {
    "key": None,
    "max_tokens": None,
    "max_input_tokens": None,
    "max_output_tokens": None,
    "litellm_provider": None,
    "mode": None,
    **{f"{cost}{above}{tier}": None for cost in _COSTS for above in _ABOVE for tier in _TIERS},
    **{f"supports_{ability}": None for ability in _ABILITIES},
}
"""The members that every result of `get_model_info` has."""


def known_models() -> dict[str, dict[str, Any]]:
    """The initial rows of `model_cost`."""
    models: dict[str, dict[str, Any]] = {}
    for row in tomllib.loads(_TABLE.read_text("utf-8"))["model"]:
        facts = {
            "max_tokens": row["output"],
            "max_input_tokens": row["input"],
            "max_output_tokens": row["output"],
            "litellm_provider": row["provider"],
            "mode": "chat",
            **{f"supports_{ability}": True for ability in row["supports"]},
            "source": OURS,
        }
        models |= {name: dict(facts) for name in row["names"]}
    return models


def register_model(model_cost: str | dict[str, Any], **_: Any) -> dict[str, Any]:
    """Adds rows to `model_cost`, merged into existing ones; returns the added rows."""
    added: dict[str, Any] = json.loads(model_cost) if isinstance(model_cost, str) else model_cost
    registry: dict[str, Any] = flag("model_cost")
    for model, facts in added.items():
        entry = {**registry.get(model, {}), **facts}
        if entry.get("source") == OURS and "source" not in facts and _has_price(facts):
            del entry["source"]
        registry[model] = entry
    return added


def _has_price(facts: dict[str, Any]) -> bool:
    return any("cost" in name and value is not None for name, value in facts.items())


# ---- look-ups --------------------------------------------------------------------------------------


def entry_of(model: str, provider: str | None = None) -> tuple[str, dict[str, Any]] | None:
    """The row of a model: by name, with or without the provider, ignoring case, and last without a date suffix."""
    registry: dict[str, Any] = flag("model_cost")
    names = list(_spellings(model, provider))
    name_there = next((name for name in names if name in registry), None)
    if name_there is None:
        lowered = {name.lower(): name for name in registry}
        name_there = next(
            (lowered[name.lower()] for name in names if name.lower() in lowered), None
        )
    if name_there is None and _DATE.search(model):
        return entry_of(_DATE.sub("", model), provider)
    return (name_there, registry[name_there]) if name_there is not None else None


def _spellings(model: str, provider: str | None) -> Iterator[str]:
    if provider and not model.lower().startswith(f"{provider.lower()}/"):
        yield f"{provider}/{model}"
    yield model
    head, slash, rest = model.partition("/")
    if slash and (head == provider or host_of(PROVIDERS.get(head.lower(), head))):
        yield rest


def get_model_info(
    model: str,
    custom_llm_provider: str | None = None,
    api_base: str | None = None,  # noqa: ARG001 - litellm's signature
    api_key: str | None = None,  # noqa: ARG001
) -> dict[str, Any]:
    """The facts about a model; raises `ModelNotMappedError` for an unregistered one.

    A registered model without a price costs 0, as in litellm; the rows of models.toml have None, for unknown.
    """
    entry = entry_of(model, custom_llm_provider)
    if entry is None:
        raise ModelNotMappedError(
            f"This model isn't mapped yet. model={model}, custom_llm_provider={custom_llm_provider}."
            " Register it with register_model"
        )
    name, facts = entry
    info = {**_BLANK, **facts, "key": name}
    for cost in _COSTS[:2] if facts.get("source") != OURS else ():
        info[cost] = info[cost] or 0
    info.setdefault("supported_openai_params", get_supported_openai_params(name))
    return info


def get_max_tokens(model: str) -> int | None:
    """The maximum output tokens of a model; raises `ModelNotMappedError` for an unregistered one."""
    entry = entry_of(model)
    if entry is None:
        raise ModelNotMappedError(
            f"Model {model} isn't mapped yet. Register it with register_model"
        )
    facts = entry[1]
    most = facts.get("max_output_tokens")
    limit: int | None = facts.get("max_tokens") if most is None else most
    return limit


def _supports(ability: str, model: str, provider: str | None) -> bool:
    entry = entry_of(model, provider)
    return bool(entry and entry[1].get(f"supports_{ability}"))


def supports_vision(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model accepts images."""
    return _supports("vision", model, custom_llm_provider)


def supports_pdf_input(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model accepts PDF documents."""
    return _supports("pdf_input", model, custom_llm_provider)


def supports_function_calling(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model supports tool calls: as registered, or else whether catalog/models.toml names the model."""
    entry = entry_of(model, custom_llm_provider)
    if entry:
        return bool(entry[1].get("supports_function_calling"))
    patterns = (row.match for row in all_model_rows() if not row.guess)
    return any(fits([name for name in names if name != "*"], model) for names in patterns)


def supports_parallel_function_calling(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model supports parallel tool calls."""
    return _supports("parallel_function_calling", model, custom_llm_provider)


def supports_tool_choice(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model supports a forced tool choice."""
    return _supports("tool_choice", model, custom_llm_provider)


def supports_response_schema(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model supports a response schema."""
    return _supports("response_schema", model, custom_llm_provider)


def supports_system_messages(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model accepts a system prompt."""
    return _supports("system_messages", model, custom_llm_provider)


def supports_prompt_caching(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model supports prompt caching."""
    return _supports("prompt_caching", model, custom_llm_provider)


def supports_audio_input(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model accepts audio."""
    return _supports("audio_input", model, custom_llm_provider)


def supports_web_search(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model has built-in web search."""
    return _supports("web_search", model, custom_llm_provider)


def supports_reasoning(model: str, custom_llm_provider: str | None = None) -> bool:
    """Whether the model reasons: as registered, or else according to catalog/models.toml."""
    entry = entry_of(model, custom_llm_provider)
    registered = entry[1].get("supports_reasoning") if entry else None
    if registered is not None:
        return bool(registered)
    try:
        target = resolve_model(model, custom_llm_provider)
    except InnervoiceError:
        return False
    return target.host is not None and reasons(target, target.dialect())
