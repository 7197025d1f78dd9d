"""Ray and Spark give what the steps give on a batch. They need minutes, and Spark a JVM: `scripts/test engines` runs this."""

import importlib.util
import os
import shutil
import sys
import time

import pytest

from innervoice.bulk.loops import loops
from innervoice.bulk.maps import split

TEXTS = [
    "<think>R</think>A",
    "plain",
    None,
    "<think>" + "again " * 40,
    "thought first, then it ends here.</think>B",
]
STEPS = (split("text"), loops())


@pytest.fixture
def expected():
    batch = {"n": list(range(len(TEXTS))), "text": TEXTS}
    for step in STEPS:
        batch = step.run(batch)
    return batch


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is in .venv-engines: scripts/test engines"
)
@pytest.mark.filterwarnings("ignore")
def test_ray(expected, monkeypatch):
    import ray
    from ray._private import node

    from innervoice.bulk import on_ray

    # Ray gives itself 30 seconds to start, whatever it is told; on a busy machine it needs minutes.
    monkeypatch.setattr(node, "time", SlowClock())
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "240000")
    try:
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    except Exception as error:
        if "timed out during startup" not in str(error):
            raise
        ray.shutdown()
        pytest.skip(f"Ray did not start, the machine is too busy: {error}")
    try:
        rows = on_ray.mapped(
            ray.data.from_items([{"n": n, "text": text} for n, text in enumerate(TEXTS)]), *STEPS
        ).take_all()
    finally:
        ray.shutdown()
    rows.sort(key=lambda row: row["n"])

    assert expected == {name: [_plain(row[name]) for row in rows] for name in expected}


class SlowClock:
    """The module `time`, whose clock runs at an eighth of its speed."""

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        return time.monotonic() / 8


def _plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None,
    reason="Spark is in .venv-engines: scripts/test engines",
)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a JVM")
@pytest.mark.filterwarnings("ignore")
def test_spark(expected, monkeypatch):
    from pyspark.sql import SparkSession

    from innervoice.bulk import on_spark

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        frame = session.createDataFrame(
            [(n, text) for n, text in enumerate(TEXTS)], "n long, text string"
        )
        rows = [row.asDict() for row in on_spark.mapped(frame, *STEPS).collect()]
    finally:
        session.stop()
    rows.sort(key=lambda row: row["n"])

    assert expected == {name: [row[name] for row in rows] for name in expected}
