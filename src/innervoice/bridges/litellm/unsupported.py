"""litellm's names that are not supported; they exist so that code can import and patch them, and raise when called."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

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


# ---- Names of litellm that this package does not have -> an error with an alternative.


_THEIRS, _OURS = "litellm", "innervoice.bridges.litellm"
_SDK = "use the provider's own SDK for that"
_OWN = "innervoice writes the requests of each provider itself; use completion()"
_TYPES = "use a plain dict, or a class that docs/bridges.md lists"
_INSTEAD: tuple[tuple[str, str], ...] = (
    (r"proxy|budget|team|guardrail|pii|secret|audit|prisma|sso", "litellm's proxy needs the real litellm"),
    (r"embed|image|video|audio|speech|transcri|ocr|realtime|rerank|moderat|search|vector|rag\b|ingest", _SDK),
    (r"file|batch|fine_tun|finetun|assistant|thread|_run|container|eval|skill|agent|sandbox|character", _SDK),
    (r"cache|caching|redis|ttl", "innervoice does not cache responses; cache them in your program"),
    (r"langfuse|langsmith|datadog|prometheus|otel|opentelemetry|arize|s3|gcs|posthog|newrelic|logfire", "set a callback of your own, or use innervoice.bridges.otel"),
    (r"(_key|_api_key|_api_base)$", "pass api_key= to completion(), or set the provider's environment variable"),
    (r"Config$|ModelInfo$|_transformation$|_llm$|LLM$|Handler$|_handler$|ChatCompletion$|_completions?$|_config$|API$|_instance$", _OWN),
    (r"Event$|Object$|Param|Request$|Response$|Message$|Chunk$|Item$|TypedDict|Literal$", _TYPES),
    (r"_models$|_model_list$|models_by|_providers$", "look models up in model_cost or with get_model_info()"),
)  # fmt: skip
"""What to use instead, by the first pattern that the name contains."""
_INSTEAD_RULES = tuple((re.compile(pattern, re.IGNORECASE), text) for pattern, text in _INSTEAD)
_OTHERWISE = "docs/bridges.md lists what it has; the rest needs the real litellm"


def sentence(name: str) -> str:
    """The sentence for a dotted name of litellm."""
    last = name.rpartition(".")[2]
    instead = next((text for pattern, text in _INSTEAD_RULES if pattern.search(last)), _OTHERWISE)
    return f"innervoice's stand-in for litellm has no {name!r}: {instead}"


def missing(name: str, module: str) -> AttributeError:
    """The error for a name that a module does not have; raised by the module's `__getattr__`."""
    whole = f"{_THEIRS}{module.removeprefix(_OURS)}.{name}"
    if name.startswith("__"):
        # The import system and debuggers read these all the time.
        return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return AttributeError(sentence(whole), name=name)
