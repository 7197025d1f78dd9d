"""A part of a file that is read independently."""

from __future__ import annotations

from typing import NamedTuple

from innervoice.bulk.files import InputFile

__all__ = ["TABLE_BYTES", "Piece"]

TABLE_BYTES = 4_000_000
"""About how much is in memory at a time."""


class Piece(NamedTuple):
    """A part of a file that is read independently."""

    file: InputFile
    start: int = 0
    end: int | None = None
    """A range of bytes, row groups or record batches; None for the rest of the file."""
    first: int = 0
    """How many lines or rows are before it in the file."""
    size: int = 0
    """In bytes of the file, for the progress."""
