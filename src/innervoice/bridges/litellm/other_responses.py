"""litellm's responses besides chat: text completions, and embeddings for code that builds one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from innervoice.bridges.litellm.litellm_object import LitellmObject, build, build_all, without_none
from innervoice.bridges.litellm.response_types import ModelResponseBase
from innervoice.bridges.litellm.usage import Usage

__all__ = ["EmbeddingResponse", "TextChoices", "TextCompletionResponse"]


class TextChoices(LitellmObject):
    """One choice of a text completion."""

    finish_reason: str | None
    index: int
    text: str | None
    logprobs: Any

    def __init__(
        self,
        finish_reason: str | None = None,
        index: int = 0,
        text: str | None = None,
        logprobs: Any = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            finish_reason=finish_reason or "stop",
            index=index,
            text=text,
            logprobs=logprobs,
            **parameters,
        )


class TextCompletionResponse(ModelResponseBase):
    """The response of a text completion, or with `stream=True` a chunk of one."""

    choices: list[Any]

    def __init__(
        self,
        id: str | None = None,  # noqa: A002
        choices: Iterable[Any] | None = None,
        created: int | None = None,
        model: str | None = None,
        usage: Any = None,
        stream: bool = False,
        response_ms: float | None = None,
        object: str | None = None,  # noqa: A002
        hidden_params: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            id=id or f"cmpl-{uuid4()}",
            object=object or "text_completion",
            created=int(time.time()) if created is None else created,
            model=model,
            choices=[TextChoices()] if choices is None else build_all(TextChoices, choices),
            **without_none(usage=build(Usage, usage) or (None if stream else Usage())),
            **parameters,
        )
        self._set_hidden(hidden_params, None, response_ms)


class EmbeddingResponse(LitellmObject):
    """litellm's embedding response, for code that builds one; innervoice computes no embeddings."""

    model: str | None
    data: list[Any]
    object: str
    usage: Any

    def __init__(
        self,
        model: str | None = None,
        usage: Any = None,
        response_ms: float | None = None,
        data: list[Any] | None = None,
        hidden_params: dict[str, Any] | None = None,
        _response_headers: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            model=model,
            data=data or [],
            object=parameters.pop("object", "list"),
            usage=Usage() if usage is None else build(Usage, usage),
            **parameters,
        )
        self._hidden_params: dict[str, Any] = dict(hidden_params or {})
        self._response_headers = _response_headers
        self._response_ms = response_ms
