"""Prints the tests of what changed since a commit (by default where this branch left main): changed tests, and tests that name a changed module.

A module's tests are those that import it, in the folder with the name of its package; without any, that whole folder.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SOURCE, TESTS = Path("src/innervoice"), Path("tests")
ALWAYS = ("tests/test_shape.py", "tests/test_public_names.py", "tests/test_docs.py")


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)  # noqa: S603, S607
    return done.stdout.split("\n")


def changed(since: str) -> set[Path]:
    names = [*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard")]
    return {Path(name) for name in names if name}


def tests_of(module: Path) -> set[Path]:
    """The tests of a module of the package."""
    inside = module.relative_to(SOURCE).with_suffix("")
    dotted = ".".join(("innervoice", *inside.parts)).removesuffix(".__init__")
    package, _, name = dotted.rpartition(".")
    wanted = re.compile(rf"{re.escape(dotted)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
    folder = TESTS / inside.parts[0]
    if len(inside.parts) == 1:
        return {path for path in TESTS.glob("test_*.py") if wanted.search(path.read_text("utf-8"))}
    if not folder.is_dir():
        return set()
    naming = {path for path in folder.rglob("test_*.py") if wanted.search(path.read_text("utf-8"))}
    return naming or {folder}


def main() -> None:
    since = sys.argv[1] if len(sys.argv) > 1 else git("merge-base", "HEAD", "main")[0]
    found = {Path(name) for name in ALWAYS}
    for path in changed(since):
        if path.suffix != ".py" or not path.is_file():
            continue
        if path.is_relative_to(SOURCE):
            found |= tests_of(path)
        elif path.is_relative_to(TESTS) and path.name.startswith("test_"):
            found.add(path)
    print(*sorted(map(str, found)))  # noqa: T201


if __name__ == "__main__":
    main()
