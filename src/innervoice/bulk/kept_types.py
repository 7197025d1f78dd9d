"""The Arrow types of the columns that are passed on: those of the file, or for JSON types that fit the values of a sample."""

from __future__ import annotations

from typing import Any

from innervoice.bulk.arrow_files import schema_in
from innervoice.bulk.files import with_arrow
from innervoice.bulk.finding import Finding
from innervoice.bulk.options import SAMPLE_ROWS
from innervoice.bulk.reading import sample_of

__all__ = ["kept_types"]


def kept_types(finding: Finding) -> dict[str, Any]:
    """The type of each column that is passed on, by its new name.

    A JSON column with values of several types, or with objects, becomes a column of JSON text.
    """
    arrow = with_arrow("a file with a schema")
    schema = schema_in(finding.files[0])
    if schema is not None:
        return {
            new: schema.field(old).type for old, new in finding.kept.items() if old in schema.names
        }
    sample = sample_of(finding.files, SAMPLE_ROWS)
    values = {
        new: [row.get(old) for row in sample if row.get(old) is not None]
        for old, new in finding.kept.items()
    }
    return {name: _type(own, arrow) for name, own in values.items()}


def _type(values: list[Any], arrow: Any) -> Any:
    kinds = {type(value) for value in values}
    for fitting, name in ((({bool}), "bool"), ({int}, "int64"), ({int, float}, "double")):
        if kinds and kinds <= fitting:
            return arrow.type_for_alias(name)
    return arrow.string()
