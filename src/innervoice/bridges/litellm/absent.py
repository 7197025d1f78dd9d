"""Names of litellm that this package does not have -> an error with an alternative."""

from __future__ import annotations

import re

__all__ = ["missing", "sentence"]

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
