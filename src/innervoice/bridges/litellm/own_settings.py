"""Arguments of a call that are settings of litellm itself, and why each is left out of the request.

An unknown argument is treated as a parameter of the provider, and is sent. So this list must have every setting of
litellm: providers refuse unknown members, and some of these are secrets of other services.
"""

from __future__ import annotations

import re

__all__ = ["left_out"]

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
