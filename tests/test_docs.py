"""The pages tell the truth."""

import importlib.util
import re
from pathlib import Path

import pytest

from innervoice.canon.notes import SENTENCES
from innervoice.inline.rows import ROWS

ROOT = Path(__file__).parents[1]


def test_table_of_formats_is_up_to_date():
    """`scripts/formats` writes it."""
    specification = importlib.util.spec_from_file_location("formats", ROOT / "docs" / "formats.py")
    formats = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(formats)

    assert formats.page() == (ROOT / "docs" / "inline.md").read_text("utf-8")
    assert len(ROWS) > 15


def test_every_note_code_is_used():
    source = "".join(
        path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py") if path.name != "notes.py"
    )

    for code in SENTENCES:
        assert f'"{code}"' in source, code


PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    "README.md",
    *(
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if PYTHON.search(path.read_text("utf-8"))
    ),
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page):
    """The Python of a page runs from top to bottom, and its assertions hold."""
    blocks = PYTHON.findall((ROOT / page).read_text("utf-8"))
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)
