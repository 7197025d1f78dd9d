"""Makes the clients available to the tests of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from front_ends import chains, clients, programs  # noqa: F401
