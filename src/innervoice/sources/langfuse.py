"""Exports of Langfuse -> conversations: a trace with its observations (*Download JSON*), or observations as JSON or JSON lines (*Export*, and its API).

A generation has `input` and `output`, as values or as JSON in a text, `model`, `usageDetails` or `usage`, `startTime` and `endTime`
(https://langfuse.com/docs/api-and-data-platform/features/export-from-ui and the schema of its API, read 2026-11-17).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.usage import Usage
from innervoice.sources.conversation import seconds_of
from innervoice.sources.observed_calls import ObservedCall, opened_calls, records_of
from innervoice.sources.reader import Data, Opened, Reader, Trouble, first_values
from innervoice.wire.json_access import as_count, as_dict, as_list, as_number, as_text, parsed

__all__ = ["READER"]

_OBSERVED = {"traceId", "startTime", "type"}
_TRACE = {"observations"}
_KINDS = ("SPAN", "EVENT", "GENERATION", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")  # fmt: skip


def _recognizes(_: Data, beginning: bytes) -> bool:
    first = next(iter(first_values(beginning)), None)
    if isinstance(first, dict) and isinstance(first.get("data"), list):
        first = first["data"]
    if isinstance(first, list):
        first = first[0] if first else None
    return _is_observation(first) or _is_trace(first)


def _is_observation(value: Any) -> bool:
    record = as_dict(value)
    return record.keys() >= _OBSERVED and record["type"] in _KINDS


def _is_trace(value: Any) -> bool:
    record = as_dict(value)
    inner = as_list(record.get("observations"))
    return record.keys() >= _TRACE and all(map(_is_observation, inner[:3])) and bool(inner or "traceId" in record)  # fmt: skip


def _open(data: Data) -> Opened:
    troubles: list[Trouble] = []
    calls: list[ObservedCall] = []
    for record in records_of(data, troubles):
        observed = [record.value] if _is_observation(record.value) else as_list(record.value.get("observations"))  # fmt: skip
        line = record.number if record.end else None
        calls += _calls(observed, line)
    return opened_calls(calls, troubles)


def _calls(observed: list[Any], line: int | None) -> Iterator[ObservedCall]:
    for record in map(as_dict, observed):
        if record.get("type") != "GENERATION":
            continue
        metadata = as_dict(_value(record.get("metadata")))
        level = as_text(record.get("level"))
        yield ObservedCall(
            id=as_text(record.get("id")) or "",
            trace=as_text(record.get("traceId")) or "",
            name=as_text(record.get("name")) or "generation",
            request=_value(record.get("input")),
            answer=_value(record.get("output")),
            model=as_text(record.get("model")) or as_text(record.get("providedModelName")),
            provider=as_text(metadata.get("ls_provider")),
            start=seconds_of(record.get("startTime")),
            end=seconds_of(record.get("endTime")),
            usage=_usage(record),
            cost=as_number(record.get("calculatedTotalCost"))
            or as_number(as_dict(_value(record.get("costDetails"))).get("total"))
            or None,
            error=as_text(record.get("statusMessage")) if level == "ERROR" else None,
            line=line,
        )


def _value(value: Any) -> Any:
    """The value, or the JSON in a text: tables store texts."""
    return parsed(value) if isinstance(value, str) and value[:1] in ("{", "[") else value


def _usage(record: dict[str, Any]) -> Usage | None:
    counts = as_dict(_value(record.get("usageDetails"))) or as_dict(_value(record.get("usage")))

    def count(*words: str) -> int | None:
        return next((number for name in words if (number := as_count(counts.get(name))) is not None), None)  # fmt: skip

    if not counts:
        return None
    cached = count("input_cached_tokens", "cache_read_input_tokens", "input_cache_read")
    reasoning = count("output_reasoning_tokens", "output_reasoning", "reasoning_tokens")
    # Details are left out of the counts that they belong to: https://langfuse.com/docs/model-usage-and-cost
    fresh, said = count("input", "input_tokens", "promptTokens"), count("output", "output_tokens", "completionTokens")  # fmt: skip
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0),
        output_tokens=None if said is None else said + (reasoning or 0),
        reasoning_tokens=reasoning,
        cached_input_tokens=cached,
        raw=counts,
    )


READER = Reader(
    kind="langfuse",
    name="an export of Langfuse",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "Seals and the order of thoughts, where the integration did not record them.",
        "Which model wrote answers that appear only in a later request.",
    ),
)
