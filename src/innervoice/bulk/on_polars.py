"""Importing this module adds a namespace to polars: `pl.col("text").iv.split()`, and `frame.iv.map(loops())` on data frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from innervoice.bulk.arrow import arrow_type, split_arrow
from innervoice.bulk.detection import Detected
from innervoice.bulk.schema import COLUMNS, Step, prepared
from innervoice.bulk.tables import mapped_schema, mapped_table, sampled

__all__ = ["Expressions", "Frames", "LazyFrames"]

_SPLIT = ("answer", "reasoning", "status", "notes", "markup")


@pl.api.register_expr_namespace("iv")
class Expressions:
    """`expression.iv`."""

    def __init__(self, expression: pl.Expr) -> None:
        self._expression = expression

    def split(
        self,
        model: str | None = None,
        prefix_open: bool | None = None,
        markup: Iterable[str] | None = None,
        detected: Detected | None = None,
    ) -> pl.Expr:
        """Splits texts: a struct of answer, reasoning, status, notes and markup; the hints are those of `innervoice.bulk.maps.split`."""
        hints: dict[str, Any] = {
            "model": model,
            "prefix_open": prefix_open,
            "markup": None if markup is None else tuple(markup),
            "detected": detected,
        }
        # What the texts have in common is known only to the whole column.
        is_elementwise = markup is not None or detected is not None
        kind = pl.Struct({name: _polars_type(COLUMNS[name].type) for name in _SPLIT})

        def run(series: pl.Series) -> pl.Series:
            return pl.Series(series.name, split_arrow(series.to_arrow(), **hints), dtype=kind)

        return self._expression.map_batches(run, return_dtype=kind, is_elementwise=is_elementwise)


@pl.api.register_dataframe_namespace("iv")
class Frames:
    """`frame.iv`."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def map(self, *steps: Step) -> pl.DataFrame:
        """The frame with the columns that the steps add."""
        return _mapped(self._frame, steps)


@pl.api.register_lazyframe_namespace("iv")
class LazyFrames:
    """`lazy_frame.iv`."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def map(self, *steps: Step) -> pl.LazyFrame:
        """The frame with the columns that the steps add, batch by batch where polars streams."""
        steps = prepared(steps, self._sample)
        empty = pl.DataFrame(schema=self._frame.collect_schema()).to_arrow()
        schema = pl.from_arrow(mapped_schema(empty.schema, steps).empty_table()).schema
        return self._frame.map_batches(
            lambda frame: _mapped(frame, steps), schema=schema, streamable=True
        )

    def _sample(self, name: str) -> list[Any]:
        values: Any = self._frame.select(name).collect().to_arrow().column(name)
        return sampled(values)


def _mapped(frame: pl.DataFrame, steps: tuple[Step, ...]) -> pl.DataFrame:
    result: Any = pl.from_arrow(mapped_table(frame.to_arrow(), steps))
    return result


def _polars_type(words: str) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - polars works without it, steps do not

    return pl.from_arrow(pa.array([], arrow_type(words))).dtype
