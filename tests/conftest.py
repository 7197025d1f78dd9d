"""Settings of all tests: in CI the drawn examples are the same every time, elsewhere new ones."""

import importlib.util
import os
import tempfile

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# The environments of data sets have no server, and their tests need none.
pytest_plugins = ["innervoice.testing"] if importlib.util.find_spec("uvicorn") else []

# What a gateway keeps between starts is not that of who runs the tests.
_state = tempfile.TemporaryDirectory(prefix="innervoice-tests-")
os.environ["XDG_STATE_HOME"] = _state.name
