"""Fixtures: the bridge with an emulator in this process, and both modules with an emulator behind a socket."""

import os

import pytest

import innervoice.bridges.litellm as ours
from bridges.litellm.talk import Line, Served, real_litellm
from innervoice.bridges.litellm.arguments import MEMORY
from innervoice.client.embedded import embedded_async_http, embedded_http
from innervoice.emulator.app import EmulatorServer
from innervoice.emulator.routes import base_urls

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    """Removes proxies, forgets turns, and restores flags and the model registry."""
    for name in _PROXIES:
        monkeypatch.delenv(name, raising=False)
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_AUTH_TOKEN")):
            monkeypatch.delenv(name)
    known = {name: dict(facts) for name, facts in ours.model_cost.items()}
    flags = {name: getattr(ours, name) for name in ("drop_params", "api_key", "api_base")}
    MEMORY.clear()
    yield
    ours.model_cost.clear()
    ours.model_cost.update(known)
    for name, value in flags.items():
        setattr(ours, name, value)


@pytest.fixture
def line(monkeypatch):
    """The bridge, with its requests answered and recorded in this process."""
    emulator = Served()
    monkeypatch.setattr(ours, "client_session", embedded_http(emulator))
    monkeypatch.setattr(ours, "aclient_session", embedded_async_http(emulator))
    return Line(ours, emulator, base_urls("http://emulator"))


@pytest.fixture(scope="session")
def _server():
    emulator = Served()
    with EmulatorServer(emulator) as server:
        yield server, emulator


@pytest.fixture(params=["from litellm", "to litellm"])
def pair(request, _server):
    """Both modules with the same server, in either order."""
    server, emulator = _server
    lines = [Line(module, emulator, base_urls(server.url)) for module in (real_litellm(), ours)]
    return lines if request.param == "from litellm" else lines[::-1]


@pytest.fixture(params=["innervoice", "litellm"])
def both(request, _server):
    """The bridge and the real litellm, over a socket."""
    server, emulator = _server
    module = ours if request.param == "innervoice" else real_litellm()
    emulator.bodies.clear()
    yield Line(module, emulator, base_urls(server.url))
    if request.param == "innervoice":
        return
    module.drop_params = False
