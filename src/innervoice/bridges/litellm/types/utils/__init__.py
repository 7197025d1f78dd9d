"""The classes of answers, in the place where litellm has them."""

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
