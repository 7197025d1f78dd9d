"""Batches <-> Arrow: one function, record batch to record batch, that every engine can call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from innervoice.bulk.detection import Detected, splitter_of
from innervoice.bulk.files import with_arrow
from innervoice.bulk.schema import COLUMNS, Batch, Column, Step
from innervoice.bulk.table import LazyColumn
from innervoice.canon.jsontext import dump_json

__all__ = ["arrow_type", "batch_of", "mapped", "record_batch_of", "schema_of", "split_arrow"]

_SPLIT = ("answer", "reasoning", "status", "notes", "markup")


@lru_cache(maxsize=64)
def arrow_type(words: str) -> Any:
    """The Arrow type of a column, from its notation: `list<struct<role: string>>`."""
    arrow = with_arrow("a column of Arrow")
    if inner := re.fullmatch(r"list<(.*)>", words):
        return arrow.list_(arrow_type(inner[1]))
    if inner := re.fullmatch(r"struct<(.*)>", words):
        fields = (field.split(": ", 1) for field in _fields(inner[1]))
        return arrow.struct([(name, arrow_type(kind)) for name, kind in fields])
    return arrow.type_for_alias(words)


def _fields(words: str) -> list[str]:
    """The fields of a struct, split at commas, except those inside other types."""
    depth, start, fields = 0, 0, []
    for index, character in enumerate(words):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            fields.append(words[start:index].strip())
            start = index + 1
    return [*fields, words[start:].strip()]


def schema_of(columns: Mapping[str, Column], others: Mapping[str, Any] | None = None) -> Any:
    """The Arrow schema of columns, and of others whose Arrow types are known."""
    arrow = with_arrow("a schema of Arrow")
    fields = [(name, arrow_type(column.type)) for name, column in columns.items()]
    return arrow.schema([*fields, *(others or {}).items()])


def record_batch_of(batch: Batch, schema: Any, lost: Counter[str] | None = None) -> Any:
    """The record batch of a batch; a value that does not fit its type becomes its JSON in a column of strings, or else null, which `lost` counts by column."""
    arrow = with_arrow("a record batch")
    lost = Counter() if lost is None else lost
    arrays = [_array(batch.get(field.name), field, _length(batch), lost) for field in schema]
    return arrow.RecordBatch.from_arrays(arrays, schema=schema)


def batch_of(record_batch: Any) -> Batch:
    """The batch of a record batch; columns become lists on first access."""
    return {name: LazyColumn(record_batch.column(name)) for name in record_batch.schema.names}  # type: ignore[misc]


def mapped(record_batch: Any, steps: Iterable[Step]) -> Any:
    """Runs steps over a record batch of our schema: adds their new columns, with the types that they declare."""
    batch = batch_of(record_batch)
    added: dict[str, Column] = {}
    for step in steps:
        batch = step.run(batch)
        added.update(step.adds)
    types = dict(zip(record_batch.schema.names, record_batch.schema.types, strict=True))
    others = {name: kind for name, kind in types.items() if name not in added and name in batch}
    columns = {name: added[name] for name in batch if name in added}
    names = [name for name in batch if name in others or name in columns]
    schema = schema_of(columns, others)
    ordered = with_arrow("a record batch").schema([schema.field(name) for name in names])
    return record_batch_of(batch, ordered)


def split_arrow(
    array: Any,
    model: str | None = None,
    prefix_open: bool | None = None,
    markup: Sequence[str] | None = None,
    detected: Detected | None = None,
) -> Any:
    """Splits an Arrow array of texts: a struct array of answer, reasoning, status, notes and markup; null stays null.

    Without `markup` and `detected` (the result of `detect`), the texts of this array decide what they have in common.

    `array` is anything with the Arrow PyCapsule interface, such as a column of polars, pandas or duckdb.
    """
    arrow = with_arrow("split_arrow")
    if not isinstance(array, (arrow.Array, arrow.ChunkedArray)):
        array = (
            arrow.chunked_array(array)
            if hasattr(array, "__arrow_c_stream__")
            else arrow.array(array)
        )
    if isinstance(array, arrow.ChunkedArray):
        array = array.combine_chunks()
    texts = array.to_pylist()
    splitter = splitter_of(texts, model, prefix_open, markup, detected)
    rows = [None if text is None else splitter.split(text) for text in texts]
    columns = (
        zip(*(row or (None,) * len(_SPLIT) for row in rows), strict=True)
        if rows
        else [()] * len(_SPLIT)
    )
    types = [arrow_type(COLUMNS[name].type) for name in _SPLIT]
    arrays = [arrow.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    mask = arrow.array([row is None for row in rows], arrow.bool_())
    return arrow.StructArray.from_arrays(arrays, names=list(_SPLIT), mask=mask)


def _length(batch: Batch) -> int:
    return len(next(iter(batch.values()), ()))


def _array(column: Any, field: Any, length: int, lost: Counter[str]) -> Any:
    arrow = with_arrow("a record batch")
    kind = field.type
    if column is None:
        return arrow.nulls(length, kind)
    if isinstance(column, LazyColumn):
        if column.array.type == kind:
            return column.array
        is_text = arrow.types.is_string(kind) or arrow.types.is_binary(kind)
        with suppress(arrow.ArrowException):
            # A number as text is its JSON, as for rows of JSON.
            if not is_text or "string" in str(column.array.type):
                return column.array.cast(kind)
        column = column.values
    try:
        return arrow.array(column, kind)
    except (arrow.ArrowException, TypeError, UnicodeEncodeError, OverflowError):
        fitted = [_fitted(value, kind, arrow) for value in column]
        missing = sum(
            one is None and value is not None for one, value in zip(fitted, column, strict=True)
        )
        if missing:
            lost[field.name] += missing
        return arrow.array(fitted, kind)


def _fitted(value: Any, kind: Any, arrow: Any) -> Any:
    """The value, or the nearest one in this type."""
    value = _encodable(value)
    if arrow.types.is_string(kind) and value is not None:
        return value if isinstance(value, str) else dump_json(value).decode()
    try:
        arrow.array([value], kind)
    except (arrow.ArrowException, TypeError, UnicodeEncodeError, OverflowError):
        return None
    return value


def _encodable(value: Any) -> Any:
    """The value with each lone surrogate, which Arrow does not allow, as U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {name: _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, (list, tuple)) else value
