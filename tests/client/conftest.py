"""Fixtures: either client, and the providers on this machine."""

import pytest

from client.harness import KINDS
from innervoice.emulator.app import EmulatorServer


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """Which client, and over what the asynchronous one sends."""
    if request.param.endswith("httpx2"):
        monkeypatch.setattr("innervoice.client.aio.find_spec", lambda _: None)
    return request.param


@pytest.fixture(scope="session")
def emulator():
    """All providers, on one port."""
    with EmulatorServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
