"""The shape of the code: a module holds one idea, a package has few modules, a function fits on a screen."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "innervoice"
MODULES = sorted(SOURCE.rglob("*.py"))
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(SOURCE)) for path in MODULES])
def test_size(path):
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]

    assert len(source.splitlines()) <= 600
    for function in functions:
        assert function.end_lineno - function.lineno < 60, function.name


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(SOURCE)) for path in MODULES])
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_a_package_has_few_modules():
    """Who looks for a thing in a folder of more than 32 modules guesses too often."""
    counts = Counter(str(path.parent.relative_to(SOURCE)) for path in MODULES)

    assert {} == {package: count for package, count in counts.items() if count > 32}


def test_no_junk_drawers():
    assert not {"utils", "util", "helpers", "common", "misc"} & {path.stem for path in MODULES}
