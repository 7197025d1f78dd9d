"""litellm's usage objects."""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm.litellm_object import LitellmObject, build

__all__ = ["CompletionTokensDetailsWrapper", "PromptTokensDetailsWrapper", "Usage"]


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
