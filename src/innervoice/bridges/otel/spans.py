"""A client -> the same client, with a span for every answer.

    client = instrument(iv.Client())

It needs opentelemetry-api; the application and its SDK decide where the spans go. Message content is written if
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is set: to the span (`SPAN_ONLY`), to an event (`EVENT_ONLY`), or to both
(`SPAN_AND_EVENT`). A stream's span ends with its `with` block.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from inspect import iscoroutinefunction
from typing import Any, TypeVar, cast, get_args

from innervoice.bridges.otel.call import Capture, Tracing, Vocabulary
from innervoice.bridges.otel.traced import TracedAsyncClient, TracedClient
from innervoice.errors import UsageError
from innervoice.show.policy import Policy, check_policy

__all__ = ["Capture", "Vocabulary", "instrument"]

ClientT = TypeVar("ClientT")

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_EMIT_EVENT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"


def instrument(
    client: ClientT,
    *,
    capture: Capture | None = None,
    show: Policy = "full",
    vocabulary: Vocabulary = "genai",
    tracer_provider: Any = None,
    logger_provider: Any = None,
    environ: Mapping[str, str] | None = None,
) -> ClientT:
    """A client with the same methods that traces its calls.

    `capture` overrides the environment variable, `show` decides how much reasoning the captured content includes.
    """
    check_policy(show)
    if vocabulary not in get_args(Vocabulary):
        vocabularies = ", ".join(get_args(Vocabulary))
        raise UsageError(f"vocabulary must be one of {vocabularies}, not {vocabulary!r}")
    environ = os.environ if environ is None else environ
    settings = Tracing(
        capture=_captured(capture or environ.get(_CAPTURE)),
        event=environ.get(_EMIT_EVENT),
        show=show,
        vocabulary=vocabulary,
        tracer_provider=tracer_provider,
        logger_provider=logger_provider,
    )
    traced = (
        TracedAsyncClient if iscoroutinefunction(getattr(client, "ask", None)) else TracedClient
    )
    # Not an instance of the client's class, but with its methods: type checkers see their arguments this way.
    return cast("ClientT", traced(client, settings))


def _captured(word: str | None) -> Capture:
    """The capture mode of a setting; "true" means spans, as in some other libraries."""
    setting = (word or "").strip().upper()
    for mode in get_args(Capture):
        if setting == mode:
            capture: Capture = mode
            return capture
    if setting in ("", "FALSE"):
        return "NO_CONTENT"
    if setting == "TRUE":
        return "SPAN_ONLY"
    raise UsageError(f"{_CAPTURE} must be one of {', '.join(get_args(Capture))}, not {word!r}")
