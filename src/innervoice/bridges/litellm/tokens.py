"""Token counts of texts, messages and tools, by OpenAI's formula.

Each message is 3 tokens plus its texts, a name is 1 more, and the answer is primed with 3
(https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken, read 2026-11-15). Tools are counted as the
declarations that OpenAI shows to the model, plus 9, minus 4 if there is a system message.

With tiktoken and a cached vocabulary the count is exact for OpenAI's models. Otherwise it is an estimate, and the returned
number has `estimated=True`. tiktoken downloads its vocabularies, so it is used only if the file is already on this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from innervoice.bridges.litellm.errors import ModelNotMappedError
from innervoice.bridges.litellm.litellm_object import plain
from innervoice.bridges.litellm.models import OURS, entry_of
from innervoice.bridges.litellm.providers import PROVIDERS, resolve_model
from innervoice.bridges.litellm.response_types import Usage
from innervoice.installing import install_command
from innervoice.wire.json_access import as_dict, as_list

__all__ = [
    "TokenCount",
    "completion_cost",
    "cost_per_token",
    "decode",
    "encode",
    "token_counter",
    "tool_declarations",
    "trim_messages",
]

_A_MESSAGE, _A_NAME, _BEFORE_THE_ANSWER = 3, 1, 3
_FOR_TOOLS, _BESIDE_A_SYSTEM, _NO_TOOL, _ONE_TOOL = 9, 4, 1, 7
_AN_IMAGE = 85
"""An image at low detail; its size is ignored."""
_USUAL = "cl100k_base"
_VOCABULARIES = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]|\s+")


class TokenCount(int):
    """A number of tokens; `estimated` is True if it was not counted with the model's tokenizer."""

    estimated: bool = False

    @classmethod
    def of(cls, count: int, *, estimated: bool) -> Self:
        """A count with its flag."""
        counted = cls(count)
        counted.estimated = estimated
        return counted


def token_counter(
    model: str = "",
    custom_tokenizer: Any = None,
    text: str | list[str] | None = None,
    messages: Sequence[Any] | None = None,
    count_response_tokens: bool | None = False,
    tools: Sequence[Any] | None = None,
    tool_choice: Any = None,
    **_: Any,
) -> TokenCount:
    """The number of tokens of a text, or of messages with their tools.

    `custom_tokenizer` is a dict whose `tokenizer` encodes a text into a list, or into something with `ids`.
    """
    if text is not None and messages is not None:
        raise ValueError("text and messages cannot both be set")
    count, estimated = _counting(model, custom_tokenizer)
    if text is not None:
        joined = text if isinstance(text, str) else "".join(text)
        return TokenCount.of(count(joined), estimated=estimated)
    if messages is None:
        raise ValueError("Either text or messages must be provided")
    dumped = [as_dict(plain(message)) for message in messages]
    total = sum(_message(message, count) for message in dumped)
    if count_response_tokens:
        return TokenCount.of(total, estimated=estimated)
    total += _BEFORE_THE_ANSWER
    if tools:
        total += count(tool_declarations(tools)) + _FOR_TOOLS
        if any(message.get("role") == "system" for message in dumped):
            total -= _BESIDE_A_SYSTEM
    total += _choice(tool_choice, count)
    return TokenCount.of(total, estimated=estimated)


def encode(model: str = "", text: str = "", custom_tokenizer: Any = None) -> Any:
    """The tokens of a text; needs tiktoken and its vocabulary."""
    tokenizer = as_dict(custom_tokenizer).get("tokenizer") or _vocabulary(model)
    if tokenizer is None:
        raise NotImplementedError("encode needs tiktoken and its vocabulary on this machine")
    return tokenizer.encode(text)


def decode(model: str = "", tokens: Iterable[int] = (), custom_tokenizer: Any = None) -> Any:
    """The text of tokens; needs tiktoken and its vocabulary."""
    tokenizer = as_dict(custom_tokenizer).get("tokenizer") or _vocabulary(model)
    if tokenizer is None:
        raise NotImplementedError("decode needs tiktoken and its vocabulary on this machine")
    return tokenizer.decode(list(tokens))


# ---- the formula -----------------------------------------------------------------------------------


def _message(message: dict[str, Any], count: Callable[[str], int]) -> int:
    total = _A_MESSAGE
    for name, value in message.items():
        if name == "tool_calls":
            functions = [as_dict(as_dict(call).get("function")) for call in as_list(value)]
            total += sum(count(str(function.get("arguments") or "")) for function in functions)
        elif name == "function_call":
            total += count(str(as_dict(value).get("arguments") or ""))
        elif isinstance(value, str):
            total += count(value)
        elif name == "content":
            total += sum(_block(block, count) for block in as_list(value))
        if name == "name" and value:
            total += _A_NAME
    return total


def _block(block: Any, count: Callable[[str], int]) -> int:
    if isinstance(block, str):
        return count(block)
    match as_dict(block):
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return count(text)
        case {"type": "image_url" | "image" | "input_image"}:
            return _AN_IMAGE
        case {"type": "thinking", "thinking": str(text)}:
            return count(text)
        case {"type": "tool_result", "content": content}:
            inner = content if isinstance(content, list) else [content]
            return sum(_block(item, count) for item in inner)
        case {"type": "tool_use", "input": value}:
            return count(json.dumps(value))
        case _:
            return 0


def _choice(choice: Any, count: Callable[[str], int]) -> int:
    match choice:
        case "none":
            return _NO_TOOL
        case {"function": {"name": str(name)}}:
            return _ONE_TOOL + count(name)
        case _:
            return 0


# ---- tokenizers ------------------------------------------------------------------------------------


def _counting(model: str, custom: Any) -> tuple[Callable[[str], int], bool]:
    """A function that counts the tokens of a text, and whether it only estimates."""
    tokenizer = as_dict(custom).get("tokenizer")
    if tokenizer is not None:
        return lambda text: _length(tokenizer.encode(text)), False
    vocabulary = _vocabulary(model)
    if vocabulary is None:
        return _estimated, True
    exact = _encoding_of(model) is not None
    return lambda text: len(vocabulary.encode(text, disallowed_special=())), not exact


def _length(encoded: Any) -> int:
    return len(getattr(encoded, "ids", encoded))


def _estimated(text: str) -> int:
    """A rough estimate: one token per seven letters of a word, per three digits, per punctuation character."""
    total = 0
    for piece in _PIECE.findall(text):
        if piece.isspace():
            total += len(piece) > 1
        elif piece.isdigit():
            total += (len(piece) + 2) // 3
        else:
            total += (len(piece) + 6) // 7
    return total


def _vocabulary(model: str) -> Any:
    """tiktoken's encoding for a model; the default one for other vendors' models, as in litellm."""
    return _loaded(_encoding_of(model) or _USUAL)


@lru_cache(maxsize=64)
def _encoding_of(model: str) -> str | None:
    """The name of an OpenAI model's encoding."""
    if find_spec("tiktoken") is None:
        return None
    try:
        name: str = import_module("tiktoken").encoding_name_for_model(model.rsplit("/", 1)[-1])
    except KeyError:
        return None
    return name


@lru_cache(maxsize=8)
def _loaded(name: str) -> Any:
    if find_spec("tiktoken") is None or not _is_at_hand(name):
        return None
    return import_module("tiktoken").get_encoding(name)


def _is_at_hand(name: str) -> bool:
    """Whether the vocabulary is in tiktoken's cache folder."""
    cache = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    folder = Path(cache) if cache else Path(tempfile.gettempdir()) / "data-gym-cache"
    key = hashlib.sha1(_VOCABULARIES.format(name).encode(), usedforsecurity=False).hexdigest()
    return (folder / key).is_file()


# ---- Tools -> the TypeScript declarations that OpenAI shows to its models, for counting their tokens.
#
# OpenAI does not document the format; it was reverse-engineered (https://github.com/hmarr/openai-chat-tokens, read 2026-11-15).


def tool_declarations(tools: Sequence[Any]) -> str:
    """The declarations of all tools, as one text."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        function = as_dict(as_dict(tool).get("function")) or as_dict(tool)
        if description := function.get("description"):
            lines.append(f"// {description}")
        name, schema = function.get("name"), as_dict(function.get("parameters"))
        members = _members(schema, 0) if as_dict(schema.get("properties")) else None
        if members is None:
            lines.append(f"type {name} = () => any;")
        else:
            lines += [f"type {name} = (_: {{", members, "}) => any;"]
        lines.append("")
    lines.append("} // namespace functions")
    return "\n".join(lines)


def _members(schema: dict[str, Any], depth: int) -> str:
    required = as_list(schema.get("required"))
    lines = []
    for name, value in as_dict(schema.get("properties")).items():
        member = as_dict(value)
        if description := member.get("description"):
            lines.append(f"// {description}")
        mark = "" if name in required else "?"
        lines.append(f"{name}{mark}: {_type(member, depth)},")
    return "\n".join(" " * max(0, depth) + line for line in lines)


def _type(schema: dict[str, Any], depth: int) -> str:
    kind = schema.get("type")
    if values := as_list(schema.get("enum")):
        return " | ".join(f'"{value}"' if kind == "string" else str(value) for value in values)
    match kind:
        case "array":
            return (
                f"{_type(as_dict(schema.get('items')), depth)}[]" if "items" in schema else "any[]"
            )
        case "object":
            return f"{{\n{_members(schema, depth + 2)}\n}}"
        case "string" | "boolean" | "null":
            return str(kind)
        case "integer" | "number":
            return "number"
        case _:
            return "any"


# ---- `trim_messages`: a history, shortened to a number of tokens.


_RATIO = 0.75


def trim_messages(
    messages: Sequence[Any],
    model: str | None = None,
    trim_ratio: float = _RATIO,
    return_response_tokens: bool = False,
    max_tokens: int | None = None,
) -> Any:
    """The system messages and the newest others that fit, whole; with `return_response_tokens` also the tokens left for the answer.

    The limit is `max_tokens`, or `trim_ratio` of the model's input limit; an unknown model has none. The last message always stays, and
    a tool result is never kept without the message with its call.
    """
    remaining = list(messages)
    entry = entry_of(model) if model else None
    window = entry[1].get("max_input_tokens") if entry else None
    limit = int(window * trim_ratio) if max_tokens is None and window else max_tokens
    if limit is not None:
        remaining = _fitting(remaining, model or "", limit)
    if not return_response_tokens:
        return remaining
    used = token_counter(model=model or "", messages=remaining)
    return remaining, max(0, int(window or limit or 0) - used)


def _fitting(messages: list[Any], model: str, limit: int) -> list[Any]:
    system = [message for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    start = len(others)
    for first in range(len(others) - 1, -1, -1):
        if others[first]["role"] == "tool":
            continue  # it needs the call before it
        remaining = [*system, *others[first:]]
        if start < len(others) and token_counter(model=model, messages=remaining) > limit:
            break
        start = first
    return [*system, *others[start:]]


# ---- Token counts -> cost, at the prices in `model_cost`, or else those of the package genai-prices if it is installed.
#
# A price may have tiers: `..._above_200k_tokens` applies to the whole request once its prompt is longer, `..._priority` and
# `..._flex` to a service tier. If a model has no price for a tier, the standard price applies.


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
        f" Register it with register_model, or install the prices: {install_command('prices')}"
    )
