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


@pytest.mark.parametrize(
    "page", ["README.md", "docs/reading.md", "docs/asking.md", "docs/histories.md"]
)
def test_examples_run(page):
    """The Python of a page runs from top to bottom, and its assertions hold."""
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)
