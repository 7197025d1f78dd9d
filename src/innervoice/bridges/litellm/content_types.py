"""litellm's types of contents, in OpenAI's form: dicts at run time.

Annotations are evaluated here, because TypedDict does not see `Required` inside of text.
"""

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Literal, Required, TypeAlias

if sys.version_info >= (3, 12) or find_spec("typing_extensions") is None:
    from typing import TypedDict
else:
    # pydantic accepts only this one before Python 3.12.
    from typing_extensions import TypedDict

__all__ = [
    "ChatCompletionAnnotation",
    "ChatCompletionAnnotationURLCitation",
    "ChatCompletionAudioObject",
    "ChatCompletionCachedContent",
    "ChatCompletionDocumentObject",
    "ChatCompletionFileObject",
    "ChatCompletionFileObjectFile",
    "ChatCompletionImageObject",
    "ChatCompletionImageUrlObject",
    "ChatCompletionReasoningItem",
    "ChatCompletionRedactedThinkingBlock",
    "ChatCompletionTextObject",
    "ChatCompletionThinkingBlock",
    "ChatCompletionVideoObject",
    "ChatCompletionVideoUrlObject",
    "OpenAIChatCompletionTextObject",
    "OpenAIMessageContent",
    "OpenAIMessageContentListBlock",
    "TypedDict",
]


class ChatCompletionCachedContent(TypedDict, total=False):
    """`cache_control`: the content up to here is cached."""

    type: Required[Literal["ephemeral"]]
    ttl: str


class OpenAIChatCompletionTextObject(TypedDict):
    """A text."""

    type: Literal["text"]
    text: str


class ChatCompletionTextObject(OpenAIChatCompletionTextObject, total=False):
    """A text, with a cache mark."""

    cache_control: ChatCompletionCachedContent


class ChatCompletionImageUrlObject(TypedDict, total=False):
    """The location of an image."""

    url: Required[str]
    detail: str
    format: str


class ChatCompletionImageObject(TypedDict):
    """An image."""

    type: Literal["image_url"]
    image_url: str | ChatCompletionImageUrlObject


class ChatCompletionVideoUrlObject(TypedDict, total=False):
    """The location of a video."""

    url: Required[str]
    detail: str


class ChatCompletionVideoObject(TypedDict):
    """A video."""

    type: Literal["video_url"]
    video_url: str | ChatCompletionVideoUrlObject


class ChatCompletionAudioObject(TypedDict, total=False):
    """A recording: its data and format."""

    type: Required[Literal["input_audio"]]
    input_audio: Required[dict[str, str]]


class ChatCompletionDocumentObject(TypedDict):
    """A document in Anthropic's form."""

    type: Literal["document"]
    source: dict[str, Any]
    title: str
    context: str
    citations: dict[str, bool] | None


class ChatCompletionFileObjectFile(TypedDict, total=False):
    """A file: its data, or its id at the provider."""

    file_data: str
    file_id: str
    filename: str
    format: str
    detail: str
    video_metadata: dict[str, Any]


class ChatCompletionFileObject(TypedDict):
    """A file as content."""

    type: Literal["file"]
    file: ChatCompletionFileObjectFile


class ChatCompletionThinkingBlock(TypedDict, total=False):
    """Reasoning with its signature."""

    type: Required[Literal["thinking"]]
    thinking: str
    signature: str | None
    cache_control: dict[str, Any] | ChatCompletionCachedContent | None


class ChatCompletionRedactedThinkingBlock(TypedDict, total=False):
    """Reasoning that the provider encrypted."""

    type: Required[Literal["redacted_thinking"]]
    data: str
    cache_control: dict[str, Any] | ChatCompletionCachedContent | None


class ChatCompletionReasoningItem(TypedDict, total=False):
    """A reasoning item of the Responses API."""

    type: Required[Literal["reasoning"]]
    id: str
    encrypted_content: str | None
    summary: list[Any]


class ChatCompletionAnnotationURLCitation(TypedDict, total=False):
    """The source of a citation."""

    start_index: int
    end_index: int
    title: str
    url: str


class ChatCompletionAnnotation(TypedDict, total=False):
    """A citation."""

    type: Literal["url_citation"]
    url_citation: ChatCompletionAnnotationURLCitation


OpenAIMessageContentListBlock: TypeAlias = (
    ChatCompletionTextObject
    | ChatCompletionImageObject
    | ChatCompletionAudioObject
    | ChatCompletionDocumentObject
    | ChatCompletionVideoObject
    | ChatCompletionFileObject
)
OpenAIMessageContent: TypeAlias = str | Iterable[OpenAIMessageContentListBlock]
