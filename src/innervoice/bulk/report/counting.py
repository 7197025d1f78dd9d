"""Files -> tallies: rows of any layout are read and split, rows that were already split are counted as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from innervoice.bulk.finding import Finding, find
from innervoice.bulk.options import ReadOptions
from innervoice.bulk.report.tallies import Tallies
from innervoice.bulk.schema import Step
from innervoice.bulk.streaming import read

__all__ = ["tally"]


def tally(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    steps: Sequence[Step] = (),
    finding: Finding | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tallies:
    """The tallies of files; the columns of steps are counted as well, and added where they are missing."""
    options = options or ReadOptions()
    finding = finding or find(paths, options)
    present = set(finding.kept.values())
    wanted = [step for step in steps if not present >= step.adds.keys()]
    tallies = Tallies()
    for batch in read(paths, options, finding=finding):
        for step in wanted:
            batch = step.run(batch)  # noqa: PLW2901 - each step gets what the one before it gave
        tallies.add(batch)
        if progress is not None:
            progress(tallies.rows)
    return tallies
