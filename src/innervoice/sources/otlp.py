"""OTLP in JSON -> spans: one object, or one on each line, as collectors and exporters write them.

After the JSON encoding of opentelemetry-proto 1.9 (read 2026-11-16): `resourceSpans`, in them `scopeSpans`, in them `spans`; ids in hex, times in nanoseconds
as text, attributes as a list of `key` and a `value` that names its type. `scopeSpans` was `instrumentationLibrarySpans` before 2022.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.canon.jsontext import load_json
from innervoice.sources.json_lines import is_json_lines
from innervoice.sources.reader import Data, Trouble
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["Chunk", "Span", "chunks", "spans_in"]

_FAILED = (2, "STATUS_CODE_ERROR")


class Span(NamedTuple):
    """A span with its attributes as plain values."""

    id: str
    trace: str
    parent: str | None
    name: str
    start: float | None
    end: float | None
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    error: str | None
    """The error message of the status; "" if it says only that there was an error."""
    line: int | None


class Chunk(NamedTuple):
    """A piece of a file that is read separately."""

    start: int
    end: int | None
    line: int | None


def chunks(data: Data) -> Iterator[Chunk]:
    """The pieces of a file: its lines, or the whole file if it is one object."""
    if not is_json_lines(data):
        yield Chunk(0, None, None)
        return
    for number, (start, line) in enumerate(data.lines(), 1):
        if line.strip():
            yield Chunk(start, start + len(line), number)


def spans_in(data: Data, chunk: Chunk, troubles: list[Trouble]) -> Iterator[Span]:
    """The spans of a piece; anything that cannot be read is added to the troubles, once."""
    try:
        value = load_json(data.piece(chunk.start, chunk.end).removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        _add(troubles, chunk.line, f"expected spans in JSON: {error}")
        return
    for export in value if isinstance(value, list) else [value]:
        for resource in map(as_dict, as_list(as_dict(export).get("resourceSpans"))):
            scopes = resource.get("scopeSpans", resource.get("instrumentationLibrarySpans"))
            for scope in map(as_dict, as_list(scopes)):
                for span in map(as_dict, as_list(scope.get("spans"))):
                    if found := _span(span, chunk.line):
                        yield found
                    else:
                        _add(troubles, chunk.line, "a span has no id, or no trace")


def _add(troubles: list[Trouble], line: int | None, why: str) -> None:
    if (trouble := Trouble(line, why)) not in troubles:
        troubles.append(trouble)


def _span(span: dict[str, Any], line: int | None) -> Span | None:
    name, trace = as_text(span.get("spanId")), as_text(span.get("traceId"))
    if not name or not trace:
        return None
    status = as_dict(span.get("status"))
    failed = status.get("code") in _FAILED
    return Span(
        id=name,
        trace=trace,
        parent=as_text(span.get("parentSpanId")) or None,
        name=as_text(span.get("name")) or "",
        start=_seconds(span.get("startTimeUnixNano")),
        end=_seconds(span.get("endTimeUnixNano")),
        attributes=_attributes(span.get("attributes")),
        events=[
            (as_text(event.get("name")) or "", _attributes(event.get("attributes")))
            for event in map(as_dict, as_list(span.get("events")))
        ],
        error=(as_text(status.get("message")) or "") if failed else None,
        line=line,
    )


def _seconds(nanoseconds: Any) -> float | None:
    """A time; 0 means that it is unknown."""
    number = _integer(nanoseconds)
    return number / 1e9 if number and 0 < number < 2**63 else None


def _integer(value: Any) -> int | None:
    """A number of 64 bits, which is text in JSON."""
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _attributes(value: Any) -> dict[str, Any]:
    found = {}
    for attribute in map(as_dict, as_list(value)):
        name = as_text(attribute.get("key"))
        if name:
            found[name] = _value(attribute.get("value"))
    return found


def _value(value: Any) -> Any:
    match value:
        case {"stringValue": str(text)}:
            return text
        case {"intValue": number}:
            return _integer(number)
        case {"arrayValue": items}:
            return [_value(item) for item in as_list(as_dict(items).get("values"))]
        case {"kvlistValue": items}:
            return _attributes(as_dict(items).get("values"))
        case {"boolValue": plain} | {"doubleValue": plain} | {"bytesValue": plain}:
            return plain
        case _:
            return None
