"""innervoice with its own HTTP client, for concurrent streams."""

from __future__ import annotations

from contenders import Jobs
from contenders.innervoice_aiohttp import streams
from innervoice.client.over_httptools import OverHttptools


def jobs(base: str) -> Jobs:
    """Streams alone."""
    return streams(base, OverHttptools)
