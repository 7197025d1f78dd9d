"""litellm's names that are not supported; they exist so that code can import and patch them, and raise when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from innervoice.bridges.litellm.absent import sentence

__all__ = [
    "acreate_file",
    "aembedding",
    "aimage_edit",
    "aimage_generation",
    "aimage_variation",
    "amoderation",
    "arerank",
    "aspeech",
    "atranscription",
    "create_file",
    "embedding",
    "image_edit",
    "image_generation",
    "image_variation",
    "moderation",
    "rerank",
    "speech",
    "transcription",
]


def _absent(name: str) -> Callable[..., Any]:
    """A function with this name that raises NotImplementedError."""

    def missing(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(sentence(f"litellm.{name}"))

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"Not implemented: {name} is not part of chat completions."
    return missing


acreate_file = _absent("acreate_file")
aembedding = _absent("aembedding")
aimage_edit = _absent("aimage_edit")
aimage_generation = _absent("aimage_generation")
aimage_variation = _absent("aimage_variation")
amoderation = _absent("amoderation")
arerank = _absent("arerank")
aspeech = _absent("aspeech")
atranscription = _absent("atranscription")
create_file = _absent("create_file")
embedding = _absent("embedding")
image_edit = _absent("image_edit")
image_generation = _absent("image_generation")
image_variation = _absent("image_variation")
moderation = _absent("moderation")
rerank = _absent("rerank")
speech = _absent("speech")
transcription = _absent("transcription")
