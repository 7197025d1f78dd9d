"""The emulator that the loops of all SDKs share."""

from collections.abc import Iterator

import pytest

from sdk.loops import Served, serve_emulator


@pytest.fixture(scope="session")
def _served() -> Iterator[Served]:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    with serve_emulator() as served:
        yield served


@pytest.fixture
def emulator(_served: Served) -> Served:
    """An emulator on the loopback that has counted nothing yet."""
    _served.taken()
    return _served
