"""The response classes, under the module name that litellm uses."""

from innervoice.bridges.litellm.response_types import (
    ChatCompletionDeltaToolCall,
    ChatCompletionMessageToolCall,
    Choices,
    CompletionTokensDetailsWrapper,
    Delta,
    EmbeddingResponse,
    Function,
    FunctionCall,
    Message,
    ModelResponse,
    ModelResponseStream,
    PromptTokensDetailsWrapper,
    StreamingChoices,
    Usage,
)

__all__ = [
    "ChatCompletionDeltaToolCall",
    "ChatCompletionMessageToolCall",
    "Choices",
    "CompletionTokensDetailsWrapper",
    "Delta",
    "EmbeddingResponse",
    "Function",
    "FunctionCall",
    "Message",
    "ModelResponse",
    "ModelResponseStream",
    "PromptTokensDetailsWrapper",
    "StreamingChoices",
    "Usage",
]
