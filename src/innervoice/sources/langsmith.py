"""Exports of LangSmith -> conversations: runs as JSON or JSON lines, one by one, as a list, or as a tree with `child_runs`.

A run of type llm has `inputs.messages` and `outputs.generations` (LangChain), or messages and an answer as the SDK of a provider has them, the model in
`extra.metadata.ls_model_name`, and tokens (https://docs.langchain.com/langsmith/run-data-format, read 2026-11-17).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.usage import Usage
from innervoice.sources.conversation import seconds_of
from innervoice.sources.observed_calls import ObservedCall, opened_calls, records_of
from innervoice.sources.reader import Data, Opened, Reader, Trouble, first_values
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["READER"]

_SIGNS = {"run_type", "inputs"}
_DEEPEST = 30


def _recognizes(_: Data, beginning: bytes) -> bool:
    first = next(iter(first_values(beginning)), None)
    if isinstance(first, dict) and isinstance(first.get("runs"), list):
        first = first["runs"]
    if isinstance(first, list):
        first = first[0] if first else None
    return as_dict(first).keys() >= _SIGNS


def _open(data: Data) -> Opened:
    troubles: list[Trouble] = []
    calls: list[ObservedCall] = []
    for record in records_of(data, troubles):
        calls += _calls(record.value, record.number if record.end else None)
    return opened_calls(calls, troubles)


def _calls(run: dict[str, Any], line: int | None, depth: int = 0) -> Iterator[ObservedCall]:
    if run.get("run_type") == "llm":
        yield _call(run, line)
    if depth < _DEEPEST:
        for child in as_list(run.get("child_runs")):
            yield from _calls(as_dict(child), line, depth + 1)


def _call(run: dict[str, Any], line: int | None) -> ObservedCall:
    extra = as_dict(run.get("extra"))
    metadata = as_dict(extra.get("metadata"))
    settings = as_dict(extra.get("invocation_params"))
    inputs = as_dict(run.get("inputs"))
    cost = run.get("total_cost")
    return ObservedCall(
        id=as_text(run.get("id")) or "",
        trace=as_text(run.get("trace_id")) or as_text(run.get("id")) or "",
        name=as_text(run.get("name")) or "llm",
        request=inputs if "messages" in inputs else next(iter(inputs.values()), None),
        answer=run.get("outputs"),
        model=as_text(metadata.get("ls_model_name"))
        or as_text(settings.get("model"))
        or as_text(settings.get("model_name")),
        provider=as_text(metadata.get("ls_provider")),
        start=seconds_of(run.get("start_time")),
        end=seconds_of(run.get("end_time")),
        usage=_usage(run),
        cost=float(cost) if isinstance(cost, (int, float, str)) and _is_number(cost) else None,
        error=as_text(run.get("error")),
        line=line,
    )


def _is_number(value: Any) -> bool:
    try:
        return float(value) > 0
    except (ValueError, OverflowError):
        return False


def _usage(run: dict[str, Any]) -> Usage | None:
    """The tokens: of the run, or of the message that it gave."""
    outputs = as_dict(run.get("outputs"))
    counts = as_dict(outputs.get("usage_metadata")) or run
    details = as_dict(counts.get("output_token_details"))
    cached = as_dict(counts.get("input_token_details")).get("cache_read")
    usage = Usage(
        input_tokens=as_count(counts.get("input_tokens", run.get("prompt_tokens"))),
        output_tokens=as_count(counts.get("output_tokens", run.get("completion_tokens"))),
        reasoning_tokens=as_count(details.get("reasoning")),
        cached_input_tokens=as_count(cached),
    )
    return None if usage == Usage() else usage


READER = Reader(
    kind="langsmith",
    name="an export of LangSmith",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "Seals, where the integration did not record them.",
        "Which model wrote answers that appear only in a later request.",
    ),
)
