"""The HTTP client of the gateway: our own, or aiohttp where the environment names a proxy, which ours does not support."""

from __future__ import annotations

from typing import Any
from urllib.request import getproxies

from innervoice.client.over_aiohttp import OverAiohttp
from innervoice.client.over_httptools import OverHttptools

__all__ = ["new_http"]


def new_http() -> Any:
    """An HTTP client for one process."""
    return OverAiohttp() if getproxies().keys() & {"http", "https", "all"} else OverHttptools()
