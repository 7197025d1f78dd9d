"""Which Pythons the scripts find and accept."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHONS = ROOT / "scripts" / "pythons"


def run(*command, home=None):
    environment = {**os.environ, **({"HOME": str(home)} if home else {})}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def put(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


@pytest.fixture
def home(tmp_path):
    """Version managers with Pythons of their own, two of which do not run."""
    put(tmp_path / ".pyenv/versions/3.13.10/bin/python3", "echo 3.13.10 $0")
    put(tmp_path / ".pyenv/versions/3.13.9/bin/python3", "echo 3.13.9 $0")
    put(tmp_path / ".pyenv/versions/3.11.0/bin/python3", "echo 'command not found' >&2; exit 127")
    put(tmp_path / ".local/share/uv/python/cpython-3.98.1-linux/bin/python3", "echo 3.98.1 $0")
    put(tmp_path / ".asdf/installs/python/2.7.18/bin/python3", "exit 0")
    return tmp_path


def test_pythons_are_found_where_version_managers_put_them(home):
    lines = run(PYTHONS, home=home).stdout.splitlines()
    managed = [line.split()[0] for line in lines if str(home) in line]

    assert ["3.13.9", "3.13.10", "3.98.1"] == managed
    assert lines == sorted(lines, key=lambda line: [int(n) for n in line.split()[0].split(".")])


def test_the_oldest_of_a_version_is_chosen(home):
    assert run(PYTHONS, "3.98", home=home).stdout.strip().endswith("3.98.1-linux/bin/python3")
    assert (1, "") == ((done := run(PYTHONS, "3.99", home=home)).returncode, done.stdout)


def test_what_is_not_a_python_is_refused(tmp_path):
    put(tmp_path / "bin" / "python3.12", "echo 'command not found' >&2; exit 127")
    done = run(ROOT / "scripts" / "setup", "--python", tmp_path / "bin" / "python3.12", "dev")

    assert 1 == done.returncode
    assert done.stderr.startswith("expected Python 3.11 or later, and ")
