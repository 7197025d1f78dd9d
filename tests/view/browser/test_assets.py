"""The files of the page, without a browser: small, plain, and with no way to turn text into markup."""

import re

import pytest

from view.browser.stand_in import ASSETS

USAGE = sorted((ASSETS.parent / "usage_assets").iterdir())
RUNS = sorted((ASSETS.parent / "runs_assets").iterdir())
FILES = [*sorted(ASSETS.iterdir()), *USAGE, *RUNS]
MODULES = [path for path in FILES if path.suffix == ".js"]
NAMES = [path.name for path in FILES]


def test_size():
    """All of it is at most 100 kB, as it lies in the wheel: with the window, the outline and blocks of text that came later; what the page about usage adds, which no export has, is at most 20 kB."""
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) <= 100_000
    assert sum(path.stat().st_size for path in USAGE) <= 20_000
    assert sum(path.stat().st_size for path in RUNS) <= 10_000


def test_only_text():
    """No font, no icon, no picture, nothing built."""
    assert {path.suffix for path in FILES} == {".html", ".css", ".js"}


FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|createContextualFragment|srcdoc|"
    r"\beval\b|new Function|setTimeout\(\s*[\"'`]|javascript:|\.style\b|cssText|https?://|@import|url\(",
)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_way_from_text_to_markup(path):
    text = path.read_text("utf-8")

    assert FORBIDDEN.findall(text) == []
    assert not re.search(r"<[^>]*\s(style|on\w+)\s*=", text) or path.suffix != ".html"


IMPORT = re.compile(r'import (?:\{ [\w, ]+ \} from )?"\./(\w+)\.js";')


@pytest.mark.parametrize("path", MODULES, ids=[path.name for path in MODULES])
def test_modules_have_the_form_that_an_export_can_bundle(path):
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("import"):
            assert IMPORT.fullmatch(line), line
        if line.startswith("export"):
            assert re.match(r"export (async )?(function|const) \w+", line), line


@pytest.mark.parametrize("path", MODULES, ids=[path.name for path in MODULES])
def test_every_module_says_what_it_is(path):
    assert path.read_text("utf-8").startswith("// ")
