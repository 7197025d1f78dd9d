"""Settings of all tests: in CI the drawn examples are the same every time, elsewhere new ones."""

import os
import tempfile

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest_plugins = ["innervoice.testing"]

# What a gateway keeps between starts is not that of who runs the tests.
_state = tempfile.TemporaryDirectory(prefix="innervoice-tests-")
os.environ["XDG_STATE_HOME"] = _state.name
