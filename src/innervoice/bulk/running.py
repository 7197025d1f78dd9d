"""Runs over files: every process reads pieces of them and writes a part file for each; parts that exist are not made again.

The pieces, and so the part files, depend only on the files and the options: with one process or eight, in one go or killed and restarted,
the result has the same bytes. A part is complete when `.parts` has its counts and its file has its final name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

from innervoice.bulk import manifest as records
from innervoice.bulk.detection import Detected, splitter_of
from innervoice.bulk.files import STANDARD_INPUT, InputFile, with_arrow
from innervoice.bulk.finding import Finding, find, sample_of
from innervoice.bulk.layouts import SAMPLE_ROWS, ReadOptions
from innervoice.bulk.manifest import Counts
from innervoice.bulk.output import Output, check_apart, unlock
from innervoice.bulk.processes import Progress, Reports, in_processes
from innervoice.bulk.reading import piece_bytes_of, pieces_of, schema_in, tables_of
from innervoice.bulk.rows import RowReader, schema_columns
from innervoice.bulk.sampling.surveys import Surveyed, judge, look_at
from innervoice.bulk.schema import COLUMNS, Batch, Column, Step
from innervoice.bulk.table import Piece
from innervoice.bulk.writing import PartFile, json_lines
from innervoice.errors import UsageError

__all__ = [
    "Form",
    "Job",
    "Result",
    "kept_types",
    "read",
    "run",
    "split_batch",
    "write_lines",
]


class Form(NamedTuple):
    """What is written instead of the rows of the schema, such as the messages of a trainer; it may leave out rows and join them."""

    name: str
    run: Callable[[Batch], Batch]
    columns: dict[str, Column]
    """All columns of the output."""


class Job(NamedTuple):
    """What every process does with a piece; all of it can be pickled."""

    finding: Finding
    options: ReadOptions
    steps: tuple[Step, ...]
    divide: Callable[[Batch], dict[str, Batch]] | None
    """Divides the rows among outputs: "" is the main one, another name such as `rejected` gets files of its own."""
    form: Form | None
    output: Output
    schema: Any = None
    """The Arrow schema of the files, where they have one."""
    surveyed: Surveyed | None = None
    """The columns of steps that looked at all rows first."""


class Result(NamedTuple):
    """A run that is complete."""

    manifest: dict[str, Any]
    path: Path
    """Where the manifest is."""
    reused: int
    """How many parts an earlier run had made."""


def run(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    steps: Sequence[Step] = (),
    divide: Callable[[Batch], dict[str, Batch]] | None = None,
    form: Form | None = None,
    format: str | None = None,  # noqa: A002 - as the option
    settings: dict[str, Any] | None = None,
    reads: Sequence[str | os.PathLike[str]] = (),
    processes: int = 1,
    overwrite: bool = False,
    piece_bytes: int | None = None,
    finding: Finding | None = None,
    progress: Progress | None = None,
) -> Result:
    """Reads files, splits reasoning, runs steps, and writes the rows to `output`: a folder of part files, or one file.

    `settings` are the parameters of steps, `divide` and `form`, for the manifest: a run with other settings does not continue the parts of this one.
    `reads` are files that they read, if any. Nothing that is read, and nothing that is not the result of such a run, is written over: that raises
    `UsageError`. With `overwrite` the result of another run is replaced when this one is complete.
    With more than one process, the calling script must have `if __name__ == "__main__":`, and all functions must be importable.
    """
    options = options or ReadOptions()
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    finding = finding or find(paths, options, processes)
    if any(file.path == STANDARD_INPUT for file in finding.files):
        processes = 1  # another process has another one
    place = Output.at(output, format, finding.files[0])._replace(is_divided=divide is not None)
    check_apart([*(file.path for file in finding.files), *paths, *reads], place.written)
    names = [step.name for step in steps]
    piece_bytes = piece_bytes or piece_bytes_of(finding.files)
    plan = _plan(
        finding,
        options,
        [*names, *([form.name] if form else [])],
        place,
        {**(settings or {}), "piece_bytes": piece_bytes, "reads": _versions(reads)},
    )
    digest = records.plan_digest(plan)
    place, complete = place.begin(digest, overwrite=overwrite)
    if complete is not None:
        return Result(complete, place.manifest, len(complete["parts"]))
    job = Job(finding, options, tuple(steps), divide, form, place)
    job = job._replace(schema=_schema(job) if place.has_schema else None)
    parts: dict[int, dict[str, Any]] = {}
    try:
        with _surveyed(job, piece_bytes, processes) as job:
            progress = progress or Progress(finding.size)
            work = _missing(pieces_of(finding.files, piece_bytes), place, parts, progress)
            for part in in_processes(run_piece, job, work, processes, progress):
                parts[part["number"]] = part
        reused = sum(part.pop("reused", False) for part in parts.values())
        _complete(place, {"plan": digest, **plan}, [parts[number] for number in sorted(parts)])
    finally:
        unlock(place.folder)
    return Result(records.load(place.manifest), place.manifest, reused)


@contextmanager
def _surveyed(job: Job, piece_bytes: int, processes: int) -> Iterator[Job]:
    """The job with the columns of steps that look at all rows first; they wait in a folder until it is done."""
    steps = [step for step in job.steps if step.survey]
    if not steps:
        yield job
        return
    if any(file.path == STANDARD_INPUT for file in job.finding.files):
        raise UsageError(
            f"the step {steps[0].name!r} reads all rows twice, and standard input can be read only once; write it to a file"
        )
    pieces = enumerate(pieces_of(job.finding.files, piece_bytes))
    progress = Progress(job.finding.size)
    with TemporaryDirectory(prefix="innervoice-") as folder:
        noticed = in_processes(survey_piece, job, pieces, processes, progress)
        yield job._replace(surveyed=judge(steps, noticed, folder))


def survey_piece(
    job: Job, number: int, piece: Piece, reports: Reports
) -> tuple[int, list[list[Any]]]:
    """Reads a piece; returns what the steps that look at all rows notice about it."""
    surveys = [step.survey for step in job.steps if step.survey]
    noticed = look_at(_batches(job, piece, reports), surveys)
    reports.finish(piece)
    return number, noticed


def _batches(job: Job, piece: Piece, reports: Reports) -> Iterator[Batch]:
    reader = RowReader(job.finding.layout, job.options, job.finding.detected)
    for table in tables_of(piece, _needed(job)):
        yield reader.batch(table)
        reports.add(len(table.numbers), table.size)


def _needed(job: Job) -> list[str] | None:
    """The columns of the files that are read; None for all."""
    layout = job.finding.layout
    if job.options.raw or layout.kind in ("answers", "sessions"):
        return None
    return [*layout.read, *job.finding.passed_on]


def _versions(paths: Iterable[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """The fingerprints of other files that the result depends on."""
    files = (InputFile(os.fspath(path), "jsonl") for path in paths if Path(path).is_file())
    return [records.fingerprint(file) for file in files]


def _complete(place: Output, plan: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Makes the result of all parts, with its manifest."""
    counts = Counts()
    for part in parts:
        counts.merge(part["counts"])
    files = place.finish([part["files"] for part in parts])
    counted = {"counts": counts.as_json(), "parts": files}
    place.seal({"versions": records.versions(), **plan, **counted})


def _plan(
    finding: Finding,
    options: ReadOptions,
    steps: list[str],
    place: Output,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Everything that the bytes of the result depend on."""
    return {
        "inputs": [records.fingerprint(file) for file in finding.files],
        # Without the option about bad files: a run that one of them stopped continues with it.
        "options": {
            name: getattr(options, name)
            for name in options.__struct_fields__
            if name != "skip_bad_files"
        },
        "layout": {
            name: getattr(finding.layout, name) for name in finding.layout.__struct_fields__
        },
        "markup": list(finding.markup.rows),
        "begins_inside": finding.begins_inside,
        "steps": steps,
        "settings": settings,
        "format": place.ending,
    }


def _schema(job: Job) -> Any:
    from innervoice.bulk.arrow import schema_of  # noqa: PLC0415 - only for files with a schema

    if job.form:
        return schema_of(job.form.columns)
    columns = {name: COLUMNS[name] for name in schema_columns(job.options)}
    types = kept_types(job.finding)
    for step in job.steps:
        columns.update(step.adds)
    return schema_of(columns, {name: kind for name, kind in types.items() if name not in columns})


def _missing(
    pieces: Iterator[Piece], place: Output, parts: dict[int, dict[str, Any]], progress: Progress
) -> Iterator[tuple[int, Piece]]:
    """The pieces without a part; existing parts are added to `parts`."""
    for number, piece in enumerate(pieces):
        written_piece = place.finished_part(number)
        if written_piece is None:
            yield number, piece
        else:
            parts[number] = {**written_piece, "reused": True}
            progress.skip(piece.size)


def run_piece(job: Job, number: int, piece: Piece, reports: Reports) -> dict[str, Any]:
    """Reads a piece and writes its part; returns the files and the counts."""
    reader = RowReader(job.finding.layout, job.options, job.finding.detected)
    found = job.surveyed.of_piece(number) if job.surveyed else None
    counts = Counts()
    files: dict[str, PartFile] = {"": _open(job, "", number)}
    try:
        for table in tables_of(piece, _needed(job)):
            batch = reader.batch(table)
            if found is not None:
                batch = found.added_to(batch)
            for step in job.steps:
                batch = batch if step.survey else step.run(batch)
            counts.add(batch, reader.take_troubles(), reader.take_unsplit())
            divided = job.divide(batch) if job.divide else {"": batch}
            for name, rows in divided.items():
                if name not in files:
                    files[name] = _open(job, name, number)
                written = job.form.run(rows) if job.form and not name else rows
                files[name].write(written)
            reports.add(len(table.numbers), table.size)
        finished = {name: file.finish() for name, file in files.items()}
    except BaseException:
        for file in files.values():
            file.discard()
        raise
    for file in files.values():
        counts.columns["lost"].update(file.lost)
    listed = {
        name: {"name": job.output.part_path(name, number).name, **written._asdict()}
        for name, written in finished.items()
    }
    part = {"number": number, "files": listed, "counts": counts.as_json()}
    # First the names, then the files: what a killed process leaves behind is known to be of this run.
    records.save(job.output.state_path(number), part)
    for file in files.values():
        file.publish()
    reports.finish(piece)
    return part


def _open(job: Job, name: str, number: int) -> PartFile:
    schema = job.schema
    if name and schema is not None:
        # Rows of another output are rows of the schema, with a column of its name that gives the reason.
        from innervoice.bulk.arrow import schema_of  # noqa: PLC0415 - only for files with a schema

        schema = _schema(job._replace(form=None))
        schema = schema.append(schema_of({name: Column("string", "")}).field(name))
    return PartFile(job.output.part_path(name, number), job.output.ending, schema)


# The Arrow types of the columns that are passed on: those of the file, or for JSON types that fit the values of a
# sample.


def kept_types(finding: Finding) -> dict[str, Any]:
    """The type of each column that is passed on, by its new name.

    A column with values of several types, in JSON or in different files, or with objects in JSON, becomes a column of JSON text.
    """
    arrow = with_arrow("a file with a schema")
    schemas = [schema_in(file) for file in finding.files if file.format in ("parquet", "arrow")]
    schemas = [schema for schema in schemas if schema is not None]
    if all(file.format in ("parquet", "arrow") for file in finding.files) and schemas:
        types = {
            new: [schema.field(old).type for schema in schemas if old in schema.names]
            for old, new in finding.passed_on.items()
        }
        return {name: _widened(kinds, arrow) for name, kinds in types.items() if kinds}
    sample = sample_of(finding.files, SAMPLE_ROWS)
    values = {
        new: [row.get(old) for row in sample if row.get(old) is not None]
        for old, new in finding.passed_on.items()
    }
    return {name: _type(samples, arrow) for name, samples in values.items()}


def _widened(kinds: list[Any], arrow: Any) -> Any:
    """A type for the values of all these types."""
    kinds = [kind for kind in dict.fromkeys(kinds) if not arrow.types.is_null(kind)] or kinds[:1]
    if len(kinds) == 1:
        return kinds[0]
    if all(map(arrow.types.is_signed_integer, kinds)):
        return arrow.int64()
    return arrow.float64() if all(map(arrow.types.is_floating, kinds)) else arrow.string()


def _type(values: list[Any], arrow: Any) -> Any:
    if any(type(value) is int and abs(value) >= _LARGE for value in values):
        return arrow.string()
    kinds = {type(value) for value in values}
    for fitting, name in ((({bool}), "bool"), ({int}, "int64"), ({int, float}, "double")):
        if kinds and kinds <= fitting:
            return arrow.type_for_alias(name)
    return arrow.string()


_LARGE = 1 << 53
"""From here on, a whole number may not be exact as a double."""


# ---- Files -> batches of the schema, one after the other, in one process.


def read(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    finding: Finding | None = None,
) -> Iterator[Batch]:
    """The rows of files, split, in batches of the schema; `finding` is the result of `find`, if it was already called."""
    options = options or ReadOptions()
    finding = finding or find(paths, options)
    reader = RowReader(finding.layout, options, finding.detected)
    for piece in pieces_of(finding.files):
        for table in tables_of(piece):
            yield reader.batch(table)


def write_lines(batches: Iterable[Batch], stream: BinaryIO, steps: Sequence[Step] = ()) -> Counts:
    """Writes batches as JSON lines to an open stream; returns the counts."""
    counts = Counts()
    for batch in batches:
        for step in steps:
            batch = step.run(batch)  # noqa: PLW2901 - one batch, step by step
        counts.add(batch, ())
        stream.write(json_lines(batch))
    stream.flush()
    return counts


def split_batch(
    batch: Batch,
    text: str = "text",
    model: str | None = None,
    prefix_open: bool | None = None,
    markup: Sequence[str] | None = None,
    detected: Detected | None = None,
) -> Batch:
    """A batch of any columns with the column `text` split: adds answer, reasoning, status, notes and markup; null stays null.

    Without `markup` and `detected`, the texts of this batch decide what they have in common.
    """
    values = batch[text]
    splitter = splitter_of(values, model, prefix_open, markup, detected)
    split = [None if value is None else splitter.split(value) for value in values]
    return {
        **batch,
        "answer": [one and one.answer for one in split],
        "reasoning": [one and one.reasoning for one in split],
        "status": [one and one.status for one in split],
        "notes": [one and list(one.notes) for one in split],
        "markup": [one and one.markup for one in split],
    }
