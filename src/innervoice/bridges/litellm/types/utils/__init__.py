"""The response classes, under the module name that litellm uses."""

from typing import NoReturn

from innervoice.bridges.litellm.providers import (
    CostPerToken,
    GenericStreamingChunk,
    LlmProviders,
    ModelInfo,
)
from innervoice.bridges.litellm.response_types import (
    ChatCompletionDeltaToolCall,
    ChatCompletionMessageToolCall,
    Choices,
    CompletionTokensDetailsWrapper,
    Delta,
    Function,
    FunctionCall,
    Message,
    ModelResponse,
    ModelResponseBase,
    ModelResponseStream,
    PromptTokensDetailsWrapper,
    StreamingChoices,
    Usage,
)
from innervoice.bridges.litellm.text_completions import (
    EmbeddingResponse,
    TextChoices,
    TextCompletionResponse,
)
from innervoice.bridges.litellm.unsupported import missing

__all__ = [
    "ChatCompletionDeltaToolCall",
    "ChatCompletionMessageToolCall",
    "Choices",
    "CompletionTokensDetails",
    "CompletionTokensDetailsWrapper",
    "CostPerToken",
    "Delta",
    "EmbeddingResponse",
    "Function",
    "FunctionCall",
    "GenericStreamingChunk",
    "LlmProviders",
    "Message",
    "ModelInfo",
    "ModelResponse",
    "ModelResponseBase",
    "ModelResponseStream",
    "PromptTokensDetails",
    "PromptTokensDetailsWrapper",
    "StreamingChoices",
    "TextChoices",
    "TextCompletionResponse",
    "Usage",
]

PromptTokensDetails = PromptTokensDetailsWrapper
CompletionTokensDetails = CompletionTokensDetailsWrapper


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
