"""What needs no POSIX: the import of every module, one worker of the gateway, and output in an encoding of few characters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

pytest.importorskip("uvicorn", reason="the gateway needs uvicorn: .venv")

WITHOUT_POSIX = [sys.executable, str(Path(__file__).with_name("without_posix.py"))]
PACKAGES = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "src" / "innervoice").iterdir()
    if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem[0] != "_"
)
# Redirected output has this encoding on Windows.
AS_ON_WINDOWS = """
import sys
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(encoding="cp1252")
from innervoice.cli import main
main()
"""


@pytest.fixture(scope="module")
def imports():
    """What became of the import of each module."""
    done = subprocess.run(WITHOUT_POSIX, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_imported_without_posix(package, imports):
    def belongs(name):
        return f"{name}.".startswith(f"innervoice.{package}.")

    skipped = {name: why for name, why in imports["skipped"].items() if belongs(name)}

    assert any(map(belongs, imports["modules"]))
    assert {} == {name: why for name, why in imports["failed"].items() if belongs(name)}
    if skipped:
        pytest.skip(", ".join(f"{name} needs {why}" for name, why in skipped.items()))


def test_one_worker_serves_where_processes_cannot_share_a_port(tmp_path):
    arguments = ["serve", "--emulated", "--port", "0", "--workers", "3"]
    process = subprocess.Popen(
        [*WITHOUT_POSIX, *arguments], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        url = lines[1].split()[-1]
        answer = httpx2.get(f"{url}/v1/models", headers={"authorization": "Bearer any"})
    finally:
        process.terminate()
        process.communicate(timeout=30)

    assert "1 worker instead of 3" in lines[0]
    assert 200 == answer.status_code


@pytest.mark.parametrize("chosen", ["", "cp1252"])
def test_output_may_have_characters_that_its_encoding_lacks(chosen):
    """A file gets UTF-8, unless the user has chosen an encoding: then question marks stand for what it lacks."""
    environment = {**os.environ, "PYTHONIOENCODING": chosen}
    if not chosen:
        del environment["PYTHONIOENCODING"]
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS, "demo", "--fast"],
        env=environment,
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert ("??" if chosen else "──") in done.stdout.decode(chosen or "utf-8")
