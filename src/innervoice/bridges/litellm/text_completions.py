"""`text_completion` and `atext_completion`: a prompt as one user message, and the answer as text.

litellm sends a prompt to OpenAI's old completions API for the models that have it; innervoice supports only chat.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

from innervoice.bridges.litellm.errors import BadRequestError
from innervoice.bridges.litellm.litellm_object import LitellmObject, build, build_all, without_none
from innervoice.bridges.litellm.params import TEXT_COMPLETION, by_name, signature_of
from innervoice.bridges.litellm.response_types import ModelResponseBase, Usage

__all__ = ["TextCompletionStreamWrapper", "atext_completion", "text_completion"]

_NO_CHAT = ("best_of", "echo", "suffix")
"""Parameters of the old API that chat does not have."""


def text_completion(prompt: Any, model: str | None = None, *more: Any, **options: Any) -> Any:
    """The completion of a prompt, which is a text or a list of one; with `stream=True` an iterator of chunks."""
    name, messages, chat_options = _chat(prompt, model, by_name(TEXT_COMPLETION, more, options, "text_completion"))  # fmt: skip
    response = _function("completion")(name, messages, **chat_options)
    return TextCompletionStreamWrapper(response) if chat_options.get("stream") else _text(response)


async def atext_completion(
    prompt: Any, model: str | None = None, *more: Any, **options: Any
) -> Any:
    """The same, async."""
    name, messages, chat_options = _chat(prompt, model, by_name(TEXT_COMPLETION, more, options, "text_completion"))  # fmt: skip
    response = await _function("acompletion")(name, messages, **chat_options)
    return TextCompletionStreamWrapper(response) if chat_options.get("stream") else _text(response)


_FIRST = ("prompt", "model")
text_completion.__signature__ = signature_of(_FIRST, TEXT_COMPLETION)  # type: ignore[attr-defined]
atext_completion.__signature__ = signature_of(_FIRST, TEXT_COMPLETION)  # type: ignore[attr-defined]


class TextCompletionStreamWrapper:
    """Iterates over the chunks of a text completion, with `for` or `async for`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[TextCompletionResponse]:
        return map(_text, self._stream)

    async def __aiter__(self) -> Any:
        async for chunk in self._stream:
            yield _text(chunk)


def _function(name: str) -> Any:
    # Read from the package, where programs patch it.
    return getattr(sys.modules["innervoice.bridges.litellm"], name)


def _chat(
    prompt: Any, model: str | None, options: dict[str, Any]
) -> tuple[str, list[dict[str, str]], dict[str, Any]]:
    prompts = [prompt] if isinstance(prompt, str) else list(prompt)
    if len(prompts) != 1 or not isinstance(prompts[0], str):
        raise BadRequestError(
            "text_completion takes one string in innervoice, not several strings or tokens; call it once for each",
            model,
            "",
        )
    refused = [name for name in _NO_CHAT if options.get(name)]
    if refused:
        raise BadRequestError(
            f"text_completion is a chat completion in innervoice, which has no {', '.join(refused)}",
            model,
            "",
        )
    chat_options = {name: value for name, value in options.items() if name not in _NO_CHAT}
    name = str(model).replace("text-completion-openai/", "openai/")
    return name, [{"role": "user", "content": prompts[0]}], chat_options


def _text(response: ModelResponseBase) -> TextCompletionResponse:
    """A chat response or chunk as one of text."""
    choices = [
        {
            "index": choice["index"],
            "finish_reason": choice.get("finish_reason"),
            "text": (choice.get("message") or choice["delta"])["content"] or "",
        }
        for choice in response["choices"]
    ]
    completion = TextCompletionResponse(
        id=response.id,
        choices=choices,
        created=response.created,
        model=response.model,
        usage=response.get("usage"),
        stream=response.object == "chat.completion.chunk",
        hidden_params=response._hidden_params,
    )
    for written, choice in zip(completion.choices, choices, strict=True):
        written.finish_reason = choice["finish_reason"]
    return completion


# ---- litellm's responses besides chat: text completions, and embeddings for code that builds one.


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
