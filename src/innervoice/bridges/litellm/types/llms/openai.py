"""litellm's types of messages, contents and tools, in OpenAI's form: dicts at run time.

Annotations are evaluated here, because TypedDict does not see `Required` inside of text.
"""

from collections.abc import Iterable
from typing import Any, Literal, NoReturn, Required, TypeAlias

from innervoice.bridges.litellm.content_types import (
    ChatCompletionAnnotation,
    ChatCompletionAnnotationURLCitation,
    ChatCompletionAudioObject,
    ChatCompletionCachedContent,
    ChatCompletionDocumentObject,
    ChatCompletionFileObject,
    ChatCompletionFileObjectFile,
    ChatCompletionImageObject,
    ChatCompletionImageUrlObject,
    ChatCompletionReasoningItem,
    ChatCompletionRedactedThinkingBlock,
    ChatCompletionTextObject,
    ChatCompletionThinkingBlock,
    ChatCompletionVideoObject,
    ChatCompletionVideoUrlObject,
    OpenAIChatCompletionTextObject,
    OpenAIMessageContent,
    OpenAIMessageContentListBlock,
    TypedDict,
)
from innervoice.bridges.litellm.litellm_object import ResponseAPIUsage, ResponsesAPIResponse
from innervoice.bridges.litellm.unsupported import missing

__all__ = [
    "AllMessageValues",
    "ChatCompletionAnnotation",
    "ChatCompletionAnnotationURLCitation",
    "ChatCompletionAssistantMessage",
    "ChatCompletionAssistantToolCall",
    "ChatCompletionAudioObject",
    "ChatCompletionCachedContent",
    "ChatCompletionDeltaChunk",
    "ChatCompletionDeltaToolCallChunk",
    "ChatCompletionDeveloperMessage",
    "ChatCompletionDocumentObject",
    "ChatCompletionFileObject",
    "ChatCompletionFileObjectFile",
    "ChatCompletionFunctionMessage",
    "ChatCompletionImageObject",
    "ChatCompletionImageUrlObject",
    "ChatCompletionReasoningItem",
    "ChatCompletionRedactedThinkingBlock",
    "ChatCompletionResponseMessage",
    "ChatCompletionSystemMessage",
    "ChatCompletionTextObject",
    "ChatCompletionThinkingBlock",
    "ChatCompletionToolCallChunk",
    "ChatCompletionToolCallFunctionChunk",
    "ChatCompletionToolChoiceFunctionParam",
    "ChatCompletionToolChoiceObjectParam",
    "ChatCompletionToolChoiceStringValues",
    "ChatCompletionToolChoiceValues",
    "ChatCompletionToolMessage",
    "ChatCompletionToolParam",
    "ChatCompletionToolParamFunctionChunk",
    "ChatCompletionUsageBlock",
    "ChatCompletionUserMessage",
    "ChatCompletionVideoObject",
    "ChatCompletionVideoUrlObject",
    "Function",
    "OpenAIChatCompletionAssistantMessage",
    "OpenAIChatCompletionDeveloperMessage",
    "OpenAIChatCompletionSystemMessage",
    "OpenAIChatCompletionTextObject",
    "OpenAIChatCompletionUserMessage",
    "OpenAIMessageContent",
    "OpenAIMessageContentListBlock",
    "ResponseAPIUsage",
    "ResponsesAPIResponse",
]


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)


# ---- tools -----------------------------------------------------------------------------------------


class ChatCompletionToolCallFunctionChunk(TypedDict, total=False):
    """The name and the arguments of a call."""

    name: str | None
    arguments: str
    provider_specific_fields: dict[str, Any] | None


class Function(TypedDict):
    """A function by its name, and other members; `litellm.Function` is this dict, `litellm.types.utils.Function` an object."""

    name: str


class ChatCompletionAssistantToolCall(TypedDict):
    """A call in a message."""

    id: str | None
    type: Literal["function"]
    function: ChatCompletionToolCallFunctionChunk


class ChatCompletionToolCallChunk(ChatCompletionAssistantToolCall):
    """A call of a response."""

    index: int


class ChatCompletionDeltaToolCallChunk(TypedDict, total=False):
    """A piece of a call."""

    id: str
    type: Literal["function"]
    function: ChatCompletionToolCallFunctionChunk
    index: int


class ChatCompletionToolParamFunctionChunk(TypedDict, total=False):
    """The definition of a tool: name, description, parameters."""

    name: Required[str]
    description: str
    parameters: dict[str, Any]
    strict: bool


class ChatCompletionToolParam(TypedDict, total=False):
    """A tool that the model may call."""

    type: Required[str]
    function: Required[ChatCompletionToolParamFunctionChunk]
    cache_control: ChatCompletionCachedContent


class ChatCompletionToolChoiceFunctionParam(TypedDict):
    """The name of a tool."""

    name: str


class ChatCompletionToolChoiceObjectParam(TypedDict):
    """The tool that must be called."""

    type: Literal["function"]
    function: ChatCompletionToolChoiceFunctionParam


ChatCompletionToolChoiceStringValues: TypeAlias = Literal["none", "auto", "required"]
ChatCompletionToolChoiceValues: TypeAlias = (
    ChatCompletionToolChoiceStringValues | ChatCompletionToolChoiceObjectParam
)

# ---- messages --------------------------------------------------------------------------------------


class OpenAIChatCompletionUserMessage(TypedDict):
    """A user message."""

    role: Literal["user"]
    content: OpenAIMessageContent


class ChatCompletionUserMessage(OpenAIChatCompletionUserMessage, total=False):
    """A user message with a cache mark."""

    cache_control: ChatCompletionCachedContent


class OpenAIChatCompletionAssistantMessage(TypedDict, total=False):
    """An assistant message."""

    role: Required[Literal["assistant"]]
    content: str | Iterable[Any] | None
    name: str | None
    tool_calls: list[ChatCompletionAssistantToolCall] | None
    function_call: ChatCompletionToolCallFunctionChunk | None
    reasoning_content: str | None


class ChatCompletionAssistantMessage(OpenAIChatCompletionAssistantMessage, total=False):
    """An assistant message with its reasoning."""

    cache_control: ChatCompletionCachedContent
    thinking_blocks: list[ChatCompletionThinkingBlock | ChatCompletionRedactedThinkingBlock] | None
    reasoning_items: list[ChatCompletionReasoningItem] | None


class ChatCompletionToolMessage(TypedDict):
    """The result of a call."""

    role: Literal["tool"]
    content: str | Iterable[ChatCompletionTextObject | ChatCompletionImageObject]
    tool_call_id: str


class ChatCompletionFunctionMessage(TypedDict):
    """The result of a call in OpenAI's older form."""

    role: Literal["function"]
    content: str | Iterable[ChatCompletionTextObject] | None
    name: str
    tool_call_id: str | None


class OpenAIChatCompletionSystemMessage(TypedDict, total=False):
    """The system prompt."""

    role: Required[Literal["system"]]
    content: Required[str | list[Any]]
    name: str


class ChatCompletionSystemMessage(OpenAIChatCompletionSystemMessage, total=False):
    """The system prompt, with a cache mark."""

    cache_control: ChatCompletionCachedContent


class OpenAIChatCompletionDeveloperMessage(TypedDict, total=False):
    """The system prompt, as newer OpenAI models name it."""

    role: Required[Literal["developer"]]
    content: Required[str | list[Any]]
    name: str


class ChatCompletionDeveloperMessage(OpenAIChatCompletionDeveloperMessage, total=False):
    """The developer message, with a cache mark."""

    cache_control: ChatCompletionCachedContent


AllMessageValues: TypeAlias = (
    ChatCompletionUserMessage
    | ChatCompletionAssistantMessage
    | ChatCompletionToolMessage
    | ChatCompletionSystemMessage
    | ChatCompletionFunctionMessage
    | ChatCompletionDeveloperMessage
)

# ---- responses -------------------------------------------------------------------------------------


class ChatCompletionDeltaChunk(TypedDict, total=False):
    """A piece of a message."""

    content: str | None
    tool_calls: list[ChatCompletionDeltaToolCallChunk]
    role: str


class ChatCompletionResponseMessage(TypedDict, total=False):
    """The message of a response."""

    content: str | list[Any] | None
    tool_calls: list[ChatCompletionToolCallChunk] | None
    role: Literal["assistant"]
    function_call: ChatCompletionToolCallFunctionChunk | None
    provider_specific_fields: dict[str, Any] | None
    reasoning_content: str | None
    thinking_blocks: list[Any] | None
    annotations: list[ChatCompletionAnnotation]


class ChatCompletionUsageBlock(TypedDict, total=False):
    """Token counts."""

    prompt_tokens: Required[int]
    completion_tokens: Required[int]
    total_tokens: Required[int]
    prompt_tokens_details: dict[str, Any] | None
    completion_tokens_details: dict[str, Any] | None
