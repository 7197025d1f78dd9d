"""A pytest fixture: emulated providers on this machine, without a key.

Put `pytest_plugins = ["innervoice.testing"]` into conftest.py and use `innervoice_emulator`:

    def test_my_agent(innervoice_emulator):
        client = anthropic.Anthropic(base_url=innervoice_emulator.base_url("anthropic"), api_key="any")
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from innervoice.emulator.app import EmulatorServer

__all__ = ["EmulatorServer", "innervoice_emulator"]


@pytest.fixture(scope="session")
def innervoice_emulator() -> Iterator[EmulatorServer]:
    """An emulator of all providers, on a free port, for the whole test session."""
    with EmulatorServer() as server:
        yield server
