"""The parameters of `completion`: what happens to each, and its path in the body of each dialect.

a field of our request           temperature, tools, reasoning_effort, ...
another parameter of OpenAI's    mapped to the dialect's path: seed -> generationConfig.seed for Gemini
a setting of litellm itself      left out, with a reason
anything else                    the provider's own parameter; added to the body unchanged
"""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm.errors import UnsupportedParamsError
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.providers import TWO_DIALECTS, ResolvedModel, resolve_model
from innervoice.catalog.lookup import model_row_of
from innervoice.errors import InnervoiceError

__all__ = [
    "CHAT_ONLY",
    "FIELDS",
    "OPENAI_CHAT_COMPLETION_PARAMS",
    "get_optional_params",
    "get_supported_openai_params",
    "is_openai",
    "own_place",
    "place",
    "placed",
    "reasons",
    "unsupported",
]

FIELDS = (
    "temperature",
    "top_p",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "response_format",
    "reasoning_effort",
    "thinking",
    "stream",
    "stream_options",
)
"""Parameters of OpenAI and litellm that are fields of our request, which every dialect writes in its own way."""

_SAME = (
    "n",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "seed",
    "user",
    "parallel_tool_calls",
    "service_tier",
    "modalities",
    "prediction",
    "audio",
    "verbosity",
    "web_search_options",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "store",
)
OPENAI_CHAT_COMPLETION_PARAMS = [*FIELDS, *_SAME, "deployment_id", "extra_headers", "max_retries"]
"""OpenAI's parameters, under the name that litellm has for the list."""
_PLACES: dict[str, dict[str, str]] = {
    "openai-chat": {name: name for name in _SAME},
    "openai-responses": {
        **{name: name for name in ("parallel_tool_calls", "service_tier", "user", "top_logprobs")},
        **{name: name for name in ("safety_identifier", "prompt_cache_key", "store")},
        "prompt_cache_retention": "prompt_cache_retention",
        "verbosity": "text.verbosity",
    },
    "anthropic": {
        "user": "metadata.user_id",
        "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
        "service_tier": "service_tier",
    },
    "gemini": {
        "n": "generationConfig.candidateCount",
        "presence_penalty": "generationConfig.presencePenalty",
        "frequency_penalty": "generationConfig.frequencyPenalty",
        "seed": "generationConfig.seed",
        "logprobs": "generationConfig.responseLogprobs",
        "top_logprobs": "generationConfig.logprobs",
        "modalities": "generationConfig.responseModalities",
    },
    "mistral": {
        **{name: name for name in ("n", "presence_penalty", "frequency_penalty", "prediction")},
        "parallel_tool_calls": "parallel_tool_calls",
        "seed": "random_seed",
    },
    "cohere": {
        name: name for name in ("seed", "presence_penalty", "frequency_penalty", "logprobs")
    },
    "ollama": {
        "seed": "options.seed",
        "presence_penalty": "options.presence_penalty",
        "frequency_penalty": "options.frequency_penalty",
    },
    "bedrock-converse": {},
}
"""OpenAI's other parameters by dialect, as a path in the body."""

_OWN: dict[str, dict[str, str]] = {
    "gemini": {
        "top_k": "generationConfig.topK",
        "safety_settings": "safetySettings",
        "cached_content": "cachedContent",
    },
    "cohere": {"top_k": "k"},
    "ollama": {"top_k": "options.top_k", "num_ctx": "options.num_ctx"},
    "bedrock-converse": {"top_k": "additionalModelRequestFields.top_k"},
}
"""Provider parameters whose name in litellm differs from the name in the body."""

CHAT_ONLY = tuple(name for name in _SAME if name not in _PLACES["openai-responses"])
"""Parameters that chat completions supports and Responses does not."""

_GENERAL = ("stream", "stop", "temperature", "top_p", "max_tokens", "max_completion_tokens")
_TOOLS = ("tools", "tool_choice", "functions", "function_call")
_LEAST = {"bedrock-converse": ("response_format",), "ollama": ("tool_choice", "function_call")}
# Providers where tool support depends on the model.
_BY_MODEL = ("together_ai",)


def placed(dialect: str, name: str) -> str | None:
    """The path of one of OpenAI's other parameters in a dialect's body; None if the dialect does not support it."""
    return _PLACES.get(dialect, {}).get(name)


def is_openai(name: str) -> bool:
    """Whether a parameter is one of OpenAI's that only some dialects support."""
    return name in _SAME


def own_place(dialect: str, name: str) -> str:
    """The path of a provider's own parameter in the body, usually its name."""
    return _OWN.get(dialect, {}).get(name, name)


def place(body: dict[str, Any], path: str, value: Any) -> None:
    """Sets the value at a path."""
    *way, last = path.split(".")
    for step in way:
        body = body.setdefault(step, {})
    body[last] = value


def reasons(target: ResolvedModel, dialect: str) -> bool:
    """Whether a model reasons, according to models.toml."""
    row = model_row_of(target.model, target.host, dialect)
    return row is not None and row.reasons


def get_supported_openai_params(
    model: str,
    custom_llm_provider: str | None = None,
    request_type: str = "chat_completion",
    base_model: str | None = None,  # noqa: ARG001 - litellm's signature
) -> list[str] | None:
    """OpenAI's parameters that the provider supports; None if the provider is unknown."""
    if request_type != "chat_completion":
        return None
    try:
        target = resolve_model(model, custom_llm_provider)
    except InnervoiceError:
        return None
    if target.host is None:
        return None
    dialect = target.dialect()
    places = _PLACES["openai-chat" if target.host in TWO_DIALECTS else dialect]
    found = [*_GENERAL, *_TOOLS, "response_format", "extra_headers", *places]
    if dialect in ("openai-chat", "openai-responses", "mistral"):
        found.append("stream_options")
    if reasons(target, dialect):
        found += ["reasoning_effort", "thinking"]
        row = model_row_of(target.model, target.host, dialect)
        refused = row.refuses_always if row else ()
        found = [name for name in found if name not in refused]
    absent = (*_LEAST.get(dialect, ()), *(_TOOLS if _is_unknown(target, dialect) else ()))
    return [name for name in found if name not in absent]


def _is_unknown(target: ResolvedModel, dialect: str) -> bool:
    """Whether nothing is known about a model on Bedrock, where tool support depends on the model: its ids begin with a vendor."""
    facts = flag("model_cost").get(target.model) or {}
    is_nameless = dialect == "bedrock-converse" and "." not in target.model
    return is_nameless and not facts.get("supports_function_calling")


def get_optional_params(
    model: str,
    custom_llm_provider: str | None = None,
    drop_params: bool | None = None,
    **given: Any,
) -> dict[str, Any]:
    """The parameters that the provider supports; raises for others, or drops them with `drop_params=True`."""
    from innervoice.bridges.litellm.models import supports_function_calling  # noqa: PLC0415 - circular import

    known = get_supported_openai_params(model, custom_llm_provider) or []
    if custom_llm_provider in _BY_MODEL and not supports_function_calling(
        model, custom_llm_provider
    ):
        known = [name for name in known if name not in _TOOLS]
    asked = {name: value for name, value in given.items() if value is not None}
    refused = [name for name in asked if name not in known and (is_openai(name) or name in FIELDS)]
    if refused and not drop_params:
        raise unsupported(refused, custom_llm_provider, model)
    return {name: value for name, value in asked.items() if name not in refused}


def unsupported(
    names: list[str], provider: str | None, model: str | None
) -> UnsupportedParamsError:
    """litellm's error for parameters that the provider does not support."""
    text = (
        f"{provider} does not support parameters: {names}, for model={model}."
        " To drop these, set `litellm.drop_params=True` or pass drop_params=True"
    )
    return UnsupportedParamsError(text, provider, model)
