"""Where the recordings and fact files lie, for the tests that look at them."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("INNERVOICE_SHARED") or Path(__file__).parents[2] / "shared")

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason=f"no folder {SHARED.name} beside the project; INNERVOICE_SHARED names it",
)
