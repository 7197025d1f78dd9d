"""Programs as people write them, checked as strictly as their type checkers can: what they get back has a type, and never `Any`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("programs")
PYRIGHT = ROOT / ".npm-types" / "node_modules" / "pyright" / "index.js"
BROKEN = """import innervoice as iv

iv.decode(b"{}").text.no_such_method()
iv.Request("openai/gpt-5.6", [iv.user("x")], reasonin="high")
[part.form for part in iv.decode(b"{}").parts]
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Both runs of mypy read the package once."""
    return tmp_path_factory.mktemp("mypy")


def by_mypy(*places, cache):
    options = ["--strict", "--disallow-any-expr", "--config-file", "/dev/null"]
    return run([sys.executable, "-m", "mypy", *options, "--cache-dir", str(cache), *places])


def by_pyright(folder):
    # It looks for packages in the environment of this interpreter.
    return run(["node", PYRIGHT, "--project", folder, "--pythonpath", sys.executable])


def run(command):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_mypy(cache):
    """Errors of the package itself are left to its own check, which is less strict about `Any`."""
    pytest.importorskip("mypy")
    _, said = by_mypy(PROGRAMS, cache=cache)

    assert [] == [line for line in said.splitlines() if "programs/" in line and ": error:" in line]
    assert "Success" in said or "Found" in said


@pytest.mark.skipif(not PYRIGHT.is_file(), reason="pyright is not installed: scripts/types")
def test_pyright():
    code, said = by_pyright(PROGRAMS.parent)

    assert code == 0, said


def test_mistakes_are_found(tmp_path, cache):
    """A wrong method, a misspelled argument, and a member that only some parts have."""
    pytest.importorskip("mypy")
    program = tmp_path / "broken.py"
    program.write_text(BROKEN, "utf-8")
    _, said = by_mypy(program, cache=cache)

    for line in (3, 4, 5):
        assert f"broken.py:{line}: error:" in said
