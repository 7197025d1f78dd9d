"""The types of messages, under the names that litellm has in `litellm.types.completion`."""

from typing import NoReturn, TypeAlias

from innervoice.bridges.litellm.types.llms.openai import (
    AllMessageValues,
    ChatCompletionAssistantMessage,
    ChatCompletionAssistantToolCall,
    ChatCompletionFunctionMessage,
    ChatCompletionImageObject,
    ChatCompletionSystemMessage,
    ChatCompletionTextObject,
    ChatCompletionToolMessage,
    ChatCompletionUserMessage,
)
from innervoice.bridges.litellm.unsupported import missing

__all__ = [
    "ChatCompletionAssistantMessageParam",
    "ChatCompletionContentPartImageParam",
    "ChatCompletionContentPartParam",
    "ChatCompletionContentPartTextParam",
    "ChatCompletionFunctionMessageParam",
    "ChatCompletionMessageParam",
    "ChatCompletionMessageToolCallParam",
    "ChatCompletionSystemMessageParam",
    "ChatCompletionToolMessageParam",
    "ChatCompletionUserMessageParam",
]

ChatCompletionAssistantMessageParam: TypeAlias = ChatCompletionAssistantMessage
ChatCompletionContentPartImageParam: TypeAlias = ChatCompletionImageObject
ChatCompletionContentPartTextParam: TypeAlias = ChatCompletionTextObject
ChatCompletionContentPartParam: TypeAlias = ChatCompletionTextObject | ChatCompletionImageObject
ChatCompletionFunctionMessageParam: TypeAlias = ChatCompletionFunctionMessage
ChatCompletionMessageParam: TypeAlias = AllMessageValues
ChatCompletionMessageToolCallParam: TypeAlias = ChatCompletionAssistantToolCall
ChatCompletionSystemMessageParam: TypeAlias = ChatCompletionSystemMessage
ChatCompletionToolMessageParam: TypeAlias = ChatCompletionToolMessage
ChatCompletionUserMessageParam: TypeAlias = ChatCompletionUserMessage


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
