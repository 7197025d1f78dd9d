"""Part files -> one file, in their order: lines one after the other, row groups copied batch by batch."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from innervoice.bulk.writing import PartFile, Written, hashed_copy

__all__ = ["join_parts"]


def join_parts(sources: list[Path], target: Path, ending: str) -> Written:
    """Joins parts under the name of the target, completely or not at all."""
    if ending.startswith(".jsonl"):
        # Concatenated compressed files are a compressed file.
        return hashed_copy(sources, target)
    return _join_tables(sources, target, ending)


def _join_tables(sources: list[Path], target: Path, ending: str) -> Written:
    from innervoice.bulk.arrow import batch_of  # noqa: PLC0415 - only for files of Arrow

    schema = (
        _opened(sources[0], ending).schema_arrow
        if ending == ".parquet"
        else _opened(sources[0], ending).schema
    )
    with PartFile(target, ending, schema) as file:
        for source in sources:
            opened = _opened(source, ending)
            batches: Any = (
                opened.iter_batches(batch_size=512, use_threads=False)
                if ending == ".parquet"
                else map(opened.get_batch, range(opened.num_record_batches))
            )
            for batch in batches:
                file.write(batch_of(batch))
        written = file.finish()
        file.publish()
    return written


def _opened(path: Path, ending: str) -> Any:
    if ending == ".parquet":
        return import_module("pyarrow.parquet").ParquetFile(path, pre_buffer=False)
    return import_module("pyarrow.ipc").open_file(path)
