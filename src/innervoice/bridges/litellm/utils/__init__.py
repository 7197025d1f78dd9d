"""The names that litellm has in `litellm.utils`: response classes, model look-ups, token counting."""

from typing import Any, NoReturn

from innervoice.bridges.litellm.chunks import CustomStreamWrapper
from innervoice.bridges.litellm.connections import (
    get_secret,
    get_secret_bool,
    get_secret_str,
    load_credentials_from_list,
    validate_environment,
)
from innervoice.bridges.litellm.models import (
    get_max_tokens,
    get_model_info,
    register_model,
    supports_audio_input,
    supports_function_calling,
    supports_parallel_function_calling,
    supports_pdf_input,
    supports_prompt_caching,
    supports_reasoning,
    supports_response_schema,
    supports_system_messages,
    supports_tool_choice,
    supports_vision,
    supports_web_search,
)
from innervoice.bridges.litellm.params import (
    OPENAI_CHAT_COMPLETION_PARAMS,
    get_optional_params,
    get_supported_openai_params,
)
from innervoice.bridges.litellm.providers import get_llm_provider
from innervoice.bridges.litellm.response_types import (
    ChatCompletionDeltaToolCall,
    ChatCompletionMessageToolCall,
    Choices,
    Delta,
    Function,
    FunctionCall,
    Message,
    ModelResponse,
    ModelResponseBase,
    ModelResponseStream,
    StreamingChoices,
    Usage,
)
from innervoice.bridges.litellm.responses_api import ProviderConfigManager
from innervoice.bridges.litellm.text_completions import (
    EmbeddingResponse,
    TextChoices,
    TextCompletionResponse,
)
from innervoice.bridges.litellm.tokens import (
    completion_cost,
    cost_per_token,
    decode,
    encode,
    token_counter,
    trim_messages,
)
from innervoice.bridges.litellm.unsupported import missing

__all__ = [
    "OPENAI_CHAT_COMPLETION_PARAMS",
    "ChatCompletionDeltaToolCall",
    "ChatCompletionMessageToolCall",
    "Choices",
    "CustomStreamWrapper",
    "Delta",
    "EmbeddingResponse",
    "Function",
    "FunctionCall",
    "Message",
    "ModelResponse",
    "ModelResponseBase",
    "ModelResponseStream",
    "ProviderConfigManager",
    "StreamingChoices",
    "TextChoices",
    "TextCompletionResponse",
    "Usage",
    "completion_cost",
    "cost_per_token",
    "decode",
    "encode",
    "get_llm_provider",
    "get_max_tokens",
    "get_model_info",
    "get_optional_params",
    "get_secret",
    "get_secret_bool",
    "get_secret_str",
    "get_supported_openai_params",
    "load_credentials_from_list",
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
    "token_counter",
    "trim_messages",
    "validate_and_fix_thinking_param",
    "validate_environment",
]


def validate_and_fix_thinking_param(thinking: Any) -> Any:
    """A `thinking` setting with `budget_tokens`, which some programs spell `budgetTokens`."""
    if not isinstance(thinking, dict) or "budgetTokens" not in thinking:
        return thinking
    rest = {name: value for name, value in thinking.items() if name != "budgetTokens"}
    return {**rest, "budget_tokens": thinking["budgetTokens"]}


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
