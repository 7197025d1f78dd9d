"""`text_completion` and `atext_completion`: a prompt as one user message, and the answer as text.

litellm sends a prompt to OpenAI's old completions API for the models that have it; innervoice supports only chat.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from innervoice.bridges.litellm.call_options import TEXT_COMPLETION, by_name, signature_of
from innervoice.bridges.litellm.errors import BadRequestError
from innervoice.bridges.litellm.other_responses import TextCompletionResponse
from innervoice.bridges.litellm.response_types import ModelResponseBase

__all__ = ["TextCompletionStreamWrapper", "atext_completion", "text_completion"]

_NO_CHAT = ("best_of", "echo", "suffix")
"""Parameters of the old API that chat does not have."""


def text_completion(prompt: Any, model: str | None = None, *more: Any, **options: Any) -> Any:
    """The completion of a prompt, which is a text or a list of one; with `stream=True` an iterator of chunks."""
    name, messages, kept = _chat(prompt, model, by_name(TEXT_COMPLETION, more, options, "text_completion"))  # fmt: skip
    made = _function("completion")(name, messages, **kept)
    return TextCompletionStreamWrapper(made) if kept.get("stream") else _text(made)


async def atext_completion(
    prompt: Any, model: str | None = None, *more: Any, **options: Any
) -> Any:
    """The same, async."""
    name, messages, kept = _chat(prompt, model, by_name(TEXT_COMPLETION, more, options, "text_completion"))  # fmt: skip
    made = await _function("acompletion")(name, messages, **kept)
    return TextCompletionStreamWrapper(made) if kept.get("stream") else _text(made)


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
    kept = {name: value for name, value in options.items() if name not in _NO_CHAT}
    name = str(model).replace("text-completion-openai/", "openai/")
    return name, [{"role": "user", "content": prompts[0]}], kept


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
    made = TextCompletionResponse(
        id=response.id,
        choices=choices,
        created=response.created,
        model=response.model,
        usage=response.get("usage"),
        stream=response.object == "chat.completion.chunk",
        hidden_params=response._hidden_params,
    )
    for written, choice in zip(made.choices, choices, strict=True):
        written.finish_reason = choice["finish_reason"]
    return made
