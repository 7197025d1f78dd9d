"""The shape of the code: a module holds one idea, a package has few modules, a function fits on a screen."""

import ast
import re
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


def test_one_module_of_the_gateway_opens_connections():
    """It follows no redirect, reads no ~/.netrc, and knows the proxies; a second one would have to know that as well."""
    clients = ("aiohttp", "httpx2", "urllib.request", "http.client", "OverAiohttp", "OverHttptools")
    others = [path for path in MODULES if path.is_relative_to(SOURCE / "gateway") and path.name != "outgoing.py"]  # fmt: skip
    found = {
        (path.name, name)
        for path in others
        for name in clients
        if f'import_module("{name}' in (text := path.read_text("utf-8"))
        or re.search(rf"^\s*(?:from|import) .*\b{re.escape(name)}\b", text, re.MULTILINE)
    }

    assert set() == found
