"""The arguments of a call by position -> by name, in the orders of litellm's functions; and the signatures that programs inspect."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any

__all__ = ["ACOMPLETION", "COMPLETION", "TEXT_COMPLETION", "by_name", "signature_of"]

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
    order: Sequence[str], given: Sequence[Any], options: dict[str, Any], function: str
) -> dict[str, Any]:
    """All options by name; raises TypeError like a call with too many arguments, or with one of them twice."""
    if len(given) > len(order):
        raise TypeError(f"{function}() takes at most {len(order) + 2} arguments by position")
    placed = dict(zip(order, given, strict=False))
    twice = next((name for name in placed if name in options), None)
    if twice is not None:
        raise TypeError(f"{function}() got multiple values for argument {twice!r}")
    return {**placed, **options}


def signature_of(first: Sequence[str], order: Sequence[str]) -> Signature:
    """A signature with every parameter by its name; some programs pass on only the parameters that they find in it."""
    required, *others = [*first, *order]
    head = [Parameter(required, Parameter.POSITIONAL_OR_KEYWORD)]
    named = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in others]
    return Signature([*head, *named, Parameter("kwargs", Parameter.VAR_KEYWORD)])
