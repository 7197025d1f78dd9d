"""The parameters of `completion`: what happens to each, and its path in the body of each dialect.

a field of our request           temperature, tools, reasoning_effort, ...
another parameter of OpenAI's    mapped to the dialect's path: seed -> generationConfig.seed for Gemini
a setting of litellm itself      left out, with a reason
anything else                    the provider's own parameter; added to the body unchanged
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any

from innervoice.bridges.litellm.errors import UnsupportedParamsError
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.providers import TWO_DIALECTS, ResolvedModel, resolve_model
from innervoice.catalog.lookup import model_row_of
from innervoice.errors import InnervoiceError

__all__ = [
    "ACOMPLETION",
    "CHAT_ONLY",
    "COMPLETION",
    "FIELDS",
    "OPENAI_CHAT_COMPLETION_PARAMS",
    "TEXT_COMPLETION",
    "by_name",
    "get_optional_params",
    "get_supported_openai_params",
    "is_openai",
    "left_out",
    "own_place",
    "place",
    "placed",
    "reasons",
    "signature_of",
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
    """OpenAI's parameters that the provider supports, those for tools if `supports_function_calling`; None if the provider is unknown."""
    from innervoice.bridges.litellm.models import supports_function_calling  # noqa: PLC0415 - circular import

    if request_type != "chat_completion":
        return None
    supported = _supported(model, custom_llm_provider)
    if supported is None or supports_function_calling(model, custom_llm_provider):
        return supported
    return [name for name in supported if name not in _TOOLS]


def _supported(model: str, custom_llm_provider: str | None) -> list[str] | None:
    """What a call accepts: tools also for a model that nobody has registered, as servers of one's own have."""
    try:
        target = resolve_model(model, custom_llm_provider)
    except InnervoiceError:
        return None
    if target.host is None:
        return None
    dialect = target.dialect()
    places = _PLACES["openai-chat" if target.host in TWO_DIALECTS else dialect]
    supported = [*_GENERAL, *_TOOLS, "response_format", "extra_headers", *places]
    if dialect in ("openai-chat", "openai-responses", "mistral"):
        supported.append("stream_options")
    if reasons(target, dialect):
        supported += ["reasoning_effort", "thinking"]
        row = model_row_of(target.model, target.host, dialect)
        refused = row.refuses_always if row else ()
        supported = [name for name in supported if name not in refused]
    absent = (*_LEAST.get(dialect, ()), *(_TOOLS if _is_unknown(target, dialect) else ()))
    return [name for name in supported if name not in absent]


def _is_unknown(target: ResolvedModel, dialect: str) -> bool:
    """Whether nothing is known about a model on Bedrock, where tool support depends on the model: its ids begin with a vendor."""
    facts = flag("model_cost").get(target.model) or {}
    is_nameless = dialect == "bedrock-converse" and "." not in target.model
    return is_nameless and not facts.get("supports_function_calling")


def get_optional_params(
    model: str,
    custom_llm_provider: str | None = None,
    drop_params: bool | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """The parameters that the provider supports; raises for others, or drops them with `drop_params=True`."""
    from innervoice.bridges.litellm.models import supports_function_calling  # noqa: PLC0415 - circular import

    supported = _supported(model, custom_llm_provider) or []
    if custom_llm_provider in _BY_MODEL and not supports_function_calling(
        model, custom_llm_provider
    ):
        supported = [name for name in supported if name not in _TOOLS]
    requested = {name: value for name, value in parameters.items() if value is not None}
    refused = [
        name for name in requested if name not in supported and (is_openai(name) or name in FIELDS)
    ]
    if refused and not drop_params:
        raise unsupported(refused, custom_llm_provider, model)
    return {name: value for name, value in requested.items() if name not in refused}


def unsupported(
    names: list[str], provider: str | None, model: str | None
) -> UnsupportedParamsError:
    """litellm's error for parameters that the provider does not support."""
    text = (
        f"{provider} does not support parameters: {names}, for model={model}."
        " To drop these, set `litellm.drop_params=True` or pass drop_params=True"
    )
    return UnsupportedParamsError(text, provider, model)


# The arguments of a call by position -> by name, in the orders of litellm's functions; and the signatures that
# programs inspect.


COMPLETION = (
    "timeout",
    "temperature",
    "top_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_completion_tokens",
    "max_tokens",
    "modalities",
    "prediction",
    "audio",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "user",
    "reasoning_effort",
    "verbosity",
    "response_format",
    "seed",
    "tools",
    "tool_choice",
    "logprobs",
    "top_logprobs",
    "parallel_tool_calls",
    "web_search_options",
    "include_server_side_tool_invocations",
    "deployment_id",
    "extra_headers",
    "safety_identifier",
    "service_tier",
    "store",
    "prompt_cache_key",
    "functions",
    "function_call",
    "base_url",
    "api_version",
    "api_key",
    "model_list",
    "thinking",
    "shared_session",
    "enable_json_schema_validation",
)
"""The arguments after `model, messages` in `completion`."""
ACOMPLETION = (
    "functions",
    "function_call",
    "timeout",
    "temperature",
    "top_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "modalities",
    "prediction",
    "audio",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "user",
    "response_format",
    "seed",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "logprobs",
    "top_logprobs",
    "deployment_id",
    "reasoning_effort",
    "verbosity",
    "safety_identifier",
    "service_tier",
    "store",
    "prompt_cache_key",
    "base_url",
    "api_version",
    "api_key",
    "model_list",
    "extra_headers",
    "thinking",
    "web_search_options",
    "include_server_side_tool_invocations",
    "shared_session",
    "enable_json_schema_validation",
)
"""The same in `acompletion`, which has another order."""
TEXT_COMPLETION = (
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "n",
    "presence_penalty",
    "stop",
    "stream",
    "stream_options",
    "suffix",
    "temperature",
    "top_p",
    "user",
    "api_base",
    "api_version",
    "api_key",
    "model_list",
    "custom_llm_provider",
)
"""The arguments after `prompt, model` in `text_completion`."""


def by_name(
    order: Sequence[str], values: Sequence[Any], options: dict[str, Any], function: str
) -> dict[str, Any]:
    """All options by name; raises TypeError like a call with too many arguments, or with one of them twice."""
    if len(values) > len(order):
        raise TypeError(f"{function}() takes at most {len(order) + 2} arguments by position")
    placed = dict(zip(order, values, strict=False))
    twice = next((name for name in placed if name in options), None)
    if twice is not None:
        raise TypeError(f"{function}() got multiple values for argument {twice!r}")
    return {**placed, **options}


def signature_of(first: Sequence[str], order: Sequence[str]) -> Signature:
    """A signature with every parameter by its name; some programs pass on only the parameters that they find in it."""
    required, *others = [*first, *order]
    head = [Parameter(required, Parameter.POSITIONAL_OR_KEYWORD)]
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in others]
    return Signature([*head, *parameters, Parameter("kwargs", Parameter.VAR_KEYWORD)])


# ---- Arguments of a call that are settings of litellm itself, and why each is left out of the request.
#
# An unknown argument is treated as a parameter of the provider, and is sent. So this list must have every setting of
# litellm: providers refuse unknown members, and some of these are secrets of other services.


_LOGS = "it is for callbacks, which receive it"
_CACHES = "innervoice does not cache responses"
_ROUTES = "it is for a Router; the request goes to the named model"
_PROXY = "it is for litellm's proxy"
_TRAVELS = "innervoice sends requests with its own client"
_PRICES = "prices are those of register_model"
_LOGGERS = "it is for a logger of litellm, which innervoice does not have"
_CREDENTIALS = "innervoice does not use these credentials; pass api_key"
_USELESS = "innervoice has no use for it"
_NAMED: dict[str, str] = {
    "acompletion": _PROXY,
    "api_type": "the provider's name determines it",
    "api_version": "the API that is called has no versions",
    "azure": "the provider's name determines it",
    "cache": _CACHES,
    "cache_control_injection_points": "`cache_control` in the messages is kept where it is",
    "caching": _CACHES,
    "client": _TRAVELS,
    "deployment_id": _ROUTES,
    "force_timeout": "use `timeout`",
    "guardrails": _PROXY,
    "hooks": _PROXY,
    "id": _LOGS,
    "kwargs": _PROXY,
    "logger_fn": _LOGS,
    "max_budget": _PROXY,
    "merge_reasoning_content_in_choices": "reasoning stays out of the text",
    "metadata": _LOGS,
    "mock_delay": "a mock answers at once",
    "model_info": _ROUTES,
    "model_list": _ROUTES,
    "no-log": _LOGS,
    "preset_cache_key": _CACHES,
    "prompt_id": _PROXY,
    "prompt_variables": _PROXY,
    "proxy_server_request": _PROXY,
    "shared_session": _TRAVELS,
    "ssl_verify": _TRAVELS,
    "tags": _LOGS,
    "ttl": _CACHES,
    "verbose": _LOGS,
    "base_model": _PRICES,
    "default_headers": "use `extra_headers`",
    "retry_strategy": "retries wait longer each time",
    "stream_timeout": "use `timeout`",
    "tiered_pricing": _PRICES,
    **dict.fromkeys(("client_id", "client_secret", "tenant_id", "secret_fields"), _CREDENTIALS),
    **dict.fromkeys(("cache_key", "caching_groups"), _CACHES),
    **dict.fromkeys(
        [
            "allowed_model_region",
            "attempted_targets",
            "client_side_timeout",
            "cooldown_time",
            "enable_tag_filtering",
            "fallback_depth",
            "fastest_response",
            "itpm",
            "max_fallbacks",
            "max_parallel_requests",
            "order",
            "otpm",
            "region_name",
            "routing_strategy",
            "rpm",
            "silent_model",
            "tag_regex",
            "tpm",
            "weight",
        ],
        _ROUTES,
    ),
    **dict.fromkeys(
        [
            "aembedding",
            "aimg_generation",
            "allm_passthrough_route",
            "allow_client_keepalive_override",
            "assistant_continue_message",
            "async_call",
            "atext_completion",
            "bedrock_tags",
            "bos_token",
            "budget_duration",
            "complete_response",
            "completion_call_id",
            "configurable_clientside_auth_params",
            "custom_prompt_dict",
            "data_residency",
            "default_api_key_rpm_limit",
            "default_api_key_tpm_limit",
            "disable_add_transform_inline_image_block",
            "enable_json_schema_validation",
            "enable_prompt_caching",
            "ensure_alternating_roles",
            "eos_token",
            "final_prompt_value",
            "fireworks_forward_user_id",
            "hf_model_name",
            "include_server_side_tool_invocations",
            "keepalive_seconds",
            "log_client_error_tracebacks",
            "max_agentic_loops",
            "max_file_size_mb",
            "model_alias_map",
            "model_config",
            "model_file_id_mapping",
            "output_vector_size",
            "prompt_environment",
            "prompt_label",
            "prompt_version",
            "provider_affinity_header",
            "provider_specific_header",
            "roles",
            "rust",
            "search_tool_name",
            "self",
            "stream_chunk_size",
            "stream_response",
            "stream_timeout_by_service_tier",
            "supports_system_message",
            "text_completion",
            "timeout_by_service_tier",
            "turn_off_message_logging",
            "use_chat_completions_api",
            "use_client",
            "use_in_pass_through",
            "use_litellm_proxy",
            "use_xai_oauth",
            "user_continue_message",
        ],
        _USELESS,
    ),
}
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (r"_|litellm_", _USELESS),
        (r"(aws|azure|vertex)_", _USELESS),
        (r"(anthropic|openai)_(disable|federation|identity|issuer|keycloak|organization_id|service)", _CREDENTIALS),
        (r"(arize|dd|gcs|humanloop|langfuse|langsmith|newrelic|posthog|s3|signoz|wandb|weave)_", _LOGGERS),
        (r"(auto|adaptive|complexity|quality)_router_", _ROUTES),
        (r"(\w+_)?cost_per_|\w+_token_cost|regional_\w+_uplift", _PRICES),
    )
)  # fmt: skip
"""Prefixes of names; some hold secrets, so none of them goes into a request body."""


def left_out(name: str) -> str | None:
    """Why an argument is left out; None for one that is not a setting of litellm."""
    if (reason := _NAMED.get(name)) is not None:
        return reason
    return next((reason for pattern, reason in _PATTERNS if pattern.match(name)), None)
