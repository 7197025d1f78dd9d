"""Clients that talk to an emulator in this process: no port, no key, no network."""

from __future__ import annotations

from typing import Any

from innervoice.client.aio import AsyncClient
from innervoice.client.embedded import embedded_async_http, embedded_http
from innervoice.client.sync import Client
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls

__all__ = ["emulated_async_client", "emulated_client"]

_URLS = base_urls("http://emulator")


def emulated_client(emulator: Emulator | None = None, **settings: Any) -> Client:
    """A `Client` whose providers are emulated.

    :param emulator: What answers; None: a new one.
    :param settings: The fields of `ClientOptions`.
    """
    http = embedded_http(emulator or Emulator())
    return Client(**{"api_key": "emulator", "retries": 0, **settings}, http=http, base_urls=_URLS)


def emulated_async_client(emulator: Emulator | None = None, **settings: Any) -> AsyncClient:
    """An `AsyncClient` whose providers are emulated.

    :param emulator: What answers; None: a new one.
    :param settings: The fields of `ClientOptions`.
    """
    http = embedded_async_http(emulator or Emulator())
    options = {"api_key": "emulator", "retries": 0, **settings}
    return AsyncClient(**options, http=http, base_urls=_URLS)
