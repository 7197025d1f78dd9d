"""litellm's response classes: responses, choices, messages, tool calls, deltas, usage.

A dict that is passed to a constructor becomes an object; one that is assigned later stays a dict, as in litellm.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from innervoice.bridges.litellm.litellm_object import LitellmObject, build, build_all, without_none

__all__ = [
    "ChatCompletionDeltaToolCall",
    "ChatCompletionMessageToolCall",
    "Choices",
    "CompletionTokensDetailsWrapper",
    "Delta",
    "Function",
    "FunctionCall",
    "Message",
    "ModelResponse",
    "ModelResponseBase",
    "ModelResponseStream",
    "PromptTokensDetailsWrapper",
    "StreamingChoices",
    "Usage",
]

_FIXED = ("object", "stream", "stream_options")
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "COMPLETE": "stop",
    "STOP": "stop",
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "ERROR_TOXIC": "content_filter",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "content_filtered": "content_filter",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}


class Function(LitellmObject):
    """The name and the arguments of a tool call; arguments are JSON text."""

    arguments: str
    name: str | None

    def __init__(self, arguments: Any = None, name: str | None = None, **parameters: Any) -> None:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        super().__init__(arguments="" if arguments is None else text, name=name, **parameters)


class FunctionCall(Function):
    """A tool call in OpenAI's older form."""


class ChatCompletionMessageToolCall(LitellmObject):
    """A tool call."""

    function: Any
    id: str
    type: str

    def __init__(
        self,
        function: Any = None,
        id: str | None = None,  # noqa: A002
        type: str | None = None,  # noqa: A002
        **parameters: Any,
    ) -> None:
        super().__init__(
            function=build(Function, function or {}),
            id=id or f"call_{uuid4().hex}",
            type=type or "function",
            **parameters,
        )


class ChatCompletionDeltaToolCall(LitellmObject):
    """A delta of a tool call; `index` says which one."""

    id: str | None
    function: Any
    type: str
    index: int

    def __init__(
        self,
        id: str | None = None,  # noqa: A002
        function: Any = None,
        type: str | None = None,  # noqa: A002
        index: int = 0,
        **parameters: Any,
    ) -> None:
        called = build(Function, function or {})
        super().__init__(id=id, function=called, type=type or "function", index=index, **parameters)


class Message(LitellmObject):
    """A message of the model. `reasoning_content`, `thinking_blocks` and other optional members exist only if they are set."""

    content: Any
    role: str
    tool_calls: Any
    function_call: Any
    audio: Any
    images: Any
    reasoning_content: str
    thinking_blocks: list[Any]
    reasoning_items: list[Any]
    annotations: Any
    provider_specific_fields: dict[str, Any] | None

    def __init__(
        self,
        content: Any = None,
        role: str = "assistant",
        function_call: Any = None,
        tool_calls: Iterable[Any] | None = None,
        audio: Any = None,
        images: Any = None,
        provider_specific_fields: dict[str, Any] | None = None,
        reasoning_content: str | None = None,
        thinking_blocks: list[Any] | None = None,
        reasoning_items: list[Any] | None = None,
        annotations: Any = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            content=content,
            role=role,
            tool_calls=build_all(ChatCompletionMessageToolCall, tool_calls or None),
            function_call=build(FunctionCall, function_call),
            **without_none(
                audio=audio,
                images=images,
                reasoning_content=reasoning_content,
                thinking_blocks=thinking_blocks,
                reasoning_items=reasoning_items,
                annotations=annotations,
            ),
            provider_specific_fields=provider_specific_fields,
            **parameters,
        )


class Delta(LitellmObject):
    """A delta of a message."""

    content: Any
    role: str | None
    function_call: Any
    tool_calls: Any
    audio: Any
    images: Any
    reasoning_content: str
    thinking_blocks: list[Any]
    reasoning_items: list[Any]
    annotations: Any
    provider_specific_fields: dict[str, Any] | None

    def __init__(
        self,
        content: Any = None,
        role: str | None = None,
        function_call: Any = None,
        tool_calls: Iterable[Any] | None = None,
        audio: Any = None,
        images: Any = None,
        reasoning_content: str | None = None,
        thinking_blocks: list[Any] | None = None,
        reasoning_items: list[Any] | None = None,
        annotations: Any = None,
        provider_specific_fields: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            **without_none(
                reasoning_content=reasoning_content,
                thinking_blocks=thinking_blocks,
                reasoning_items=reasoning_items,
                images=images,
                annotations=annotations,
            ),
            provider_specific_fields=provider_specific_fields,
            content=content,
            role=role,
            function_call=build(FunctionCall, function_call),
            tool_calls=build_all(ChatCompletionDeltaToolCall, tool_calls),
            audio=audio,
            **parameters,
        )


class Choices(LitellmObject):
    """One choice of a response."""

    finish_reason: str
    index: int
    message: Any
    logprobs: Any
    provider_specific_fields: dict[str, Any]

    def __init__(
        self,
        finish_reason: str | None = None,
        index: int = 0,
        message: Any = None,
        logprobs: Any = None,
        enhancements: Any = None,
        provider_specific_fields: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        word = _REASONS.get(finish_reason or "", finish_reason) or "stop"
        if finish_reason and word != finish_reason:
            native = {"native_finish_reason": finish_reason}
            provider_specific_fields = {**native, **(provider_specific_fields or {})}
        if "delta" in parameters:
            parameters["delta"] = build(Delta, parameters["delta"])
        super().__init__(
            finish_reason=word,
            index=index,
            message=Message() if message is None else build(Message, message),
            **without_none(
                logprobs=logprobs,
                enhancements=enhancements,
                provider_specific_fields=provider_specific_fields,
            ),
            **parameters,
        )


class StreamingChoices(LitellmObject):
    """One choice of a chunk."""

    finish_reason: str | None
    index: int
    delta: Any
    logprobs: Any

    def __init__(
        self,
        finish_reason: str | None = None,
        index: int = 0,
        delta: Any = None,
        logprobs: Any = None,
        enhancements: Any = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            finish_reason=_REASONS.get(finish_reason or "", finish_reason),
            index=index,
            delta=Delta() if delta is None else build(Delta, delta),
            logprobs=logprobs,
            **without_none(enhancements=enhancements),
            **parameters,
        )


class ModelResponseBase(LitellmObject):
    """What responses and chunks share: `isinstance(x, ModelResponseBase)` is true for both."""

    id: str
    created: int
    model: str | None
    object: str
    system_fingerprint: str | None

    def _set_hidden(
        self, hidden: dict[str, Any] | None, headers: dict[str, Any] | None, took: float | None
    ) -> None:
        """The private attributes that litellm keeps on a response."""
        self._hidden_params: dict[str, Any] = dict(hidden or {})
        self._response_headers = headers
        self._response_ms = took

    @property
    def hidden_params(self) -> dict[str, Any]:
        """The same as `_hidden_params`."""
        return self._hidden_params


class ModelResponse(ModelResponseBase):
    """A response; with `stream=True` it looks like a chunk of one."""

    choices: list[Any]

    def __init__(
        self,
        id: str | None = None,  # noqa: A002
        choices: Iterable[Any] | None = None,
        created: int | None = None,
        model: str | None = None,
        object: str | None = None,  # noqa: A002
        system_fingerprint: str | None = None,
        usage: Any = None,
        stream: bool | None = None,
        stream_options: Any = None,  # noqa: ARG002 - litellm's signature
        response_ms: float | None = None,
        hidden_params: dict[str, Any] | None = None,
        _response_headers: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        kind: type[LitellmObject] = StreamingChoices if stream else Choices
        built = [kind()] if choices is None else [_choice(choice, kind) for choice in choices]
        if usage is None and not stream:
            usage = Usage()
        super().__init__(
            id=id or f"chatcmpl-{uuid4()}",
            created=int(time.time()) if created is None else created,
            model=model,
            object=object or ("chat.completion.chunk" if stream else "chat.completion"),
            system_fingerprint=system_fingerprint,
            choices=built,
            **without_none(usage=build(Usage, usage)),
            **parameters,
        )
        self._set_hidden(hidden_params, _response_headers, response_ms)


class ModelResponseStream(ModelResponseBase):
    """A chunk of a response; not a kind of `ModelResponse`."""

    choices: list[Any]

    def __init__(
        self,
        choices: Any = None,
        id: str | None = None,  # noqa: A002
        created: int | None = None,
        model: str | None = None,
        usage: Any = None,
        **parameters: Any,
    ) -> None:
        choice_list = (
            choices if isinstance(choices, (list, tuple)) else [choices or StreamingChoices()]
        )
        super().__init__(
            id=id or f"chatcmpl-{uuid4()}",
            created=int(time.time()) if created is None else created,
            model=model,
            object="chat.completion.chunk",
            system_fingerprint=parameters.pop("system_fingerprint", None),
            choices=[build(StreamingChoices, choice) for choice in choice_list],
            **without_none(usage=build(Usage, usage)),
            **{name: value for name, value in parameters.items() if name not in _FIXED},
        )
        self._set_hidden(None, None, None)


def _choice(choice: Any, kind: type[LitellmObject]) -> Any:
    is_delta = isinstance(choice, dict) and "delta" in choice and "message" not in choice
    return build(StreamingChoices if is_delta else kind, choice)


# ---- litellm's usage objects.


class CompletionTokensDetailsWrapper(LitellmObject):
    """The output tokens by kind."""

    def __init__(
        self,
        reasoning_tokens: int | None = None,
        text_tokens: int | None = None,
        audio_tokens: int | None = None,
        accepted_prediction_tokens: int | None = None,
        rejected_prediction_tokens: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            accepted_prediction_tokens=accepted_prediction_tokens,
            audio_tokens=audio_tokens,
            reasoning_tokens=reasoning_tokens,
            rejected_prediction_tokens=rejected_prediction_tokens,
            text_tokens=text_tokens,
            **parameters,
        )


class PromptTokensDetailsWrapper(LitellmObject):
    """The input tokens by kind."""

    def __init__(
        self,
        cached_tokens: int | None = None,
        text_tokens: int | None = None,
        audio_tokens: int | None = None,
        image_tokens: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            audio_tokens=audio_tokens,
            cached_tokens=cached_tokens,
            text_tokens=text_tokens,
            image_tokens=image_tokens,
            **parameters,
        )


class Usage(LitellmObject):
    """Token counts; output includes reasoning, input includes cached tokens."""

    completion_tokens: int
    prompt_tokens: int
    total_tokens: int
    completion_tokens_details: Any
    prompt_tokens_details: Any

    def __init__(
        self,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
        total_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        prompt_tokens_details: Any = None,
        completion_tokens_details: Any = None,
        **parameters: Any,
    ) -> None:
        read, written = prompt_tokens or 0, completion_tokens or 0
        if reasoning_tokens and completion_tokens_details is None:
            completion_tokens_details = {"reasoning_tokens": reasoning_tokens}
        details = build(CompletionTokensDetailsWrapper, completion_tokens_details)
        if isinstance(details, LitellmObject) and details.get("text_tokens") is None:
            reasoned = details.get("reasoning_tokens")
            details["text_tokens"] = None if reasoned is None else max(0, written - reasoned)
        cached = parameters.get("cache_read_input_tokens")
        if cached and prompt_tokens_details is None:
            prompt_tokens_details = {"cached_tokens": cached}
        super().__init__(
            completion_tokens=written,
            prompt_tokens=read,
            total_tokens=read + written if total_tokens is None else total_tokens,
            completion_tokens_details=details,
            prompt_tokens_details=build(PromptTokensDetailsWrapper, prompt_tokens_details),
            **parameters,
        )
