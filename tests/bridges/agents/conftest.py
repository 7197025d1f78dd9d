"""An emulator for the SDKs."""

import os
from unittest.mock import patch

import pytest


@pytest.fixture(scope="session")
def emulator(innervoice_emulator):
    # A proxy of the surroundings is not for the loopback.
    with patch.dict(os.environ, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}):
        yield innervoice_emulator
