"""No possessive quantifiers and no atomic groups: early releases of Python 3.11 match them wrongly.

Every string of the source is looked at, and in all tests (`conftest.py`) every pattern that innervoice compiles.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import innervoice as iv
from innervoice.inline.formats import ROWS
from innervoice.inline.vocabulary import vocabulary
from patterns import is_possessive

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "bench", "docs", "fuzz", "scripts", "tests", "vectors")
PLUS = "+"  # the examples below must not be found in this file


def texts_in(source: str):
    """The strings of a module, f-strings with a digit for each value; not docstrings, which are prose."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    pieces = set()  # of f-strings
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = [getattr(piece, "value", None) for piece in node.values]
            pieces |= {id(piece) for piece in node.values}
            yield "".join(value if isinstance(value, str) else "1" for value in values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, (str, bytes))
            and id(node) not in prose | pieces
        ):
            yield node.value


def texts_of(value):
    """The strings of a TOML table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_of(item)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_possessive_pattern_in_the_source(folder):
    modules = sorted((ROOT / folder).rglob("*.py"))

    assert modules
    assert [] == [
        (str(path.relative_to(ROOT)), text)
        for path in modules
        for text in texts_in(path.read_text("utf-8"))
        if is_possessive(text)
    ]


def test_no_possessive_pattern_in_a_table():
    tables = sorted((ROOT / "src").rglob("*.toml"))

    assert tables
    assert [] == [
        (path.name, text)
        for path in tables
        for text in texts_of(tomllib.loads(path.read_text("utf-8")))
        if is_possessive(text)
    ]


def test_no_possessive_pattern_is_compiled_for_any_markup():
    """Patterns that are put together: the observer of `conftest.py` refuses them."""
    vocabulary.cache_clear()
    re.purge()

    assert vocabulary(rows=tuple(ROWS), stops=("<tool_call>",)).search.search("<think>")
    assert "plan" == iv.split("<think>plan</think>").thinking


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"re.compile(r'a{PLUS}{PLUS}')", True),
        (f"re.compile(b'(?:a|b)*{PLUS}c')", True),
        (f"pattern = rf'[a-z]{{{{1,{{LONGEST}}}}}}{PLUS}:'", True),
        (f"pattern = rf'{{BODY}}{{{{12,}}}}{PLUS}'", True),
        (f"re.search('(?i:x(?{'>'}ab|c)y)', text)", True),
        (f"re.search('(?=a?{PLUS})', text)", True),
        (f"'''About C{PLUS}{PLUS}.'''", False),
        (f"re.compile(r'[a*{PLUS}]+')", False),
    ],
)
def test_such_patterns_are_seen(source, expected):
    assert expected == any(map(is_possessive, texts_in(source)))


def test_a_pattern_that_is_put_together_is_seen():
    pattern = iv.inline.pattern.marker("<x>").full + PLUS + PLUS
    compile_as_ours = compile("import re; re.compile(pattern)", iv.__file__, "exec")

    with pytest.raises(AssertionError, match="possessive"):
        exec(compile_as_ours, {"pattern": pattern})
