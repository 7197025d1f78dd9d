"""Settings of all tests: in CI the drawn examples are the same every time, elsewhere new ones."""

import importlib.util
import os
import tempfile

from hypothesis import HealthCheck, settings

from patterns import refuse_possessive_patterns

# How fast the machine is says nothing about the code: no example has a deadline, and none is too slow to make.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, **_PATIENT)
settings.register_profile("here", **_PATIENT)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Whatever a test makes innervoice compile must be read alike by every Python that it supports.
refuse_possessive_patterns()

# The environments of data sets have no server, and their tests need none.
pytest_plugins = ["innervoice.testing"] if importlib.util.find_spec("uvicorn") else []

# What a gateway keeps between starts is not that of who runs the tests.
_state = tempfile.TemporaryDirectory(prefix="innervoice-tests-")
os.environ["XDG_STATE_HOME"] = _state.name
# Nor is the catalog.
os.environ["INNERVOICE_CATALOG"] = ""
