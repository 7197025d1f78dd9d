"""The results of all batches of a file -> rows of `innervoice.bulk`, with the prompts of their requests and what they cost."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from innervoice.batch.requests import stored_requests
from innervoice.batch.submission import Submission
from innervoice.bulk.layouts import ReadOptions
from innervoice.bulk.requests import requests as join_requests
from innervoice.bulk.running import Result, run
from innervoice.bulk.stats import cost
from innervoice.canon.jsontext import dump_json, load_json

__all__ = ["FACTOR", "write_rows"]

FACTOR = 0.5
"""What a batch costs of the price of single requests; the same at all three providers (2026-11)."""


def write_rows(
    submission: Submission,
    output: str,
    *,
    format: str | None = None,  # noqa: A002 - as the option
    overwrite: bool = False,
) -> Result:
    """Writes a row for each request, in the order of the file; a request without an answer is a row that says why."""
    folder = submission.folder
    _write_answers(submission)
    steps = [join_requests(str(folder.requests))]
    if find_spec("genai_prices"):
        steps.append(cost(factor=FACTOR))
    return run(
        [folder.answers],
        output,
        ReadOptions(parts=True, id="custom_id"),
        steps=steps,
        format=format,
        settings={"factor": FACTOR},
        reads=[folder.requests],
        overwrite=overwrite,
    )


def _write_answers(submission: Submission) -> None:
    """Writes the last result of each request, under the id that it has in the user's file."""
    folder = submission.folder
    places: dict[int, tuple[int, int]] = {}
    for number, part in enumerate(submission.state.parts):
        if part.step not in ("ended", "failed"):
            continue
        position = 0
        with folder.results(number).open("rb") as stream:
            for stored in stream:
                places[load_json(stored)["number"]] = (number, position)
                position += len(stored)
    temporary = folder.answers.with_suffix(".tmp")
    streams: dict[int, Any] = {}
    try:
        with temporary.open("wb") as output:
            for request in stored_requests(folder.requests):
                line: dict[str, Any] = {"error": {"message": "there is no result yet"}}
                if request.number in places:
                    part_number, position = places[request.number]
                    if part_number not in streams:
                        streams[part_number] = folder.results(part_number).open("rb")
                    streams[part_number].seek(position)
                    line = load_json(streams[part_number].readline())["line"]
                others = {
                    name: value
                    for name, value in line.items()
                    if name not in ("custom_id", "metadata", "id")
                }
                output.write(dump_json({"custom_id": request.id, **others}) + b"\n")
    finally:
        for stream in streams.values():
            stream.close()
    temporary.replace(folder.answers)
