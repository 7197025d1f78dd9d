"""Types about providers and models that programs import from `litellm.types.utils`."""

from enum import Enum
from typing import Any, Required

from innervoice.bridges.litellm.content_types import TypedDict
from innervoice.bridges.litellm.providers import provider_list
from innervoice.bridges.litellm.types.llms.openai import (
    ChatCompletionToolCallChunk,
    ChatCompletionUsageBlock,
)

__all__ = ["CostPerToken", "GenericStreamingChunk", "LlmProviders", "ModelInfo"]

# The members are data, which mypy cannot see.
LlmProviders = Enum(  # type: ignore[misc]
    "LlmProviders",
    {name.upper().replace("-", "_"): name for name in provider_list()},
    type=str,
    module=__name__,
)


class CostPerToken(TypedDict, total=False):
    """Prices in dollars per token."""

    input_cost_per_token: Required[float]
    output_cost_per_token: Required[float]
    cache_read_input_token_cost: float
    cache_creation_input_token_cost: float


class ModelInfo(TypedDict, total=False):
    """A result of `get_model_info`; it has more members than these."""

    key: Required[str]
    max_tokens: Required[int | None]
    max_input_tokens: Required[int | None]
    max_output_tokens: Required[int | None]
    input_cost_per_token: Required[float | None]
    output_cost_per_token: Required[float | None]
    litellm_provider: Required[str | None]
    mode: Required[str | None]
    supported_openai_params: Required[list[str] | None]
    supports_vision: bool | None
    supports_function_calling: bool | None
    supports_response_schema: bool | None
    supports_reasoning: bool | None
    supports_prompt_caching: bool | None


class GenericStreamingChunk(TypedDict, total=False):
    """A chunk of your own provider (`CustomLLM`)."""

    text: Required[str]
    tool_use: ChatCompletionToolCallChunk | None
    is_finished: Required[bool]
    finish_reason: Required[str]
    usage: Required[ChatCompletionUsageBlock | None]
    index: int
    provider_specific_fields: dict[str, Any] | None
