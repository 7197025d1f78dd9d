"""The pages tell the truth."""

import importlib.util
import re
from pathlib import Path

import pytest

import innervoice
from innervoice.canon.notes import SENTENCES
from innervoice.catalog.lookup import all_cards, all_hosts, all_model_rows
from innervoice.inline.formats import ROWS

ROOT = Path(__file__).parents[1]


def generator(name):
    """A module of docs/ that makes a page."""
    specification = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_table_of_formats_is_up_to_date():
    """`scripts/formats` writes it."""
    formats = generator("formats")

    assert formats.page() == (ROOT / "docs" / "inline.md").read_text("utf-8")
    assert len(ROWS) > 15


def test_table_of_limits_is_up_to_date():
    """`scripts/formats` writes it from the docstrings of the limits."""
    limits = generator("limits")

    assert limits.page() == (ROOT / "docs" / "gateway-reference.md").read_text("utf-8")
    assert limits.table().count("\n") > 40


def test_page_of_the_field_is_up_to_date():
    """`scripts/formats` writes it from the docstrings of tests/field."""
    assert generator("field").page() == (ROOT / "docs" / "field.md").read_text("utf-8")


def test_every_failure_of_the_field_has_a_test():
    field = generator("field")
    tested = {case.number for case in field.cases()}

    assert set(range(1, 65)) - set(field.OPEN) == tested
    assert all(case.seen_failing for case in field.cases())


def test_reference_has_every_public_name_once():
    """Errors have a page of their own, made from their tree."""
    reference = generator("reference")
    named = [name for group in reference.GROUPS.values() for name in group.names]
    errors = {name for name in innervoice.__all__ if name.endswith("Error")}

    assert len(named) == len(set(named))
    assert set(innervoice.__all__) == {*named, *errors, "__version__"}
    page = dict(reference.pages())["errors"]
    assert all(f"innervoice.{name}" in page for name in errors)


def test_reference_has_every_row():
    """The tables are made from the rows, and hold all of them."""
    pages = dict(generator("reference").pages())

    assert all(f"| `{host.id}` |" in pages["hosts"] for host in all_hosts())
    assert pages["models"].count("\n| ") == len(all_model_rows()) + len(all_cards()) + 4
    assert all(f"| `{code}` |" in pages["notes"] for code in SENTENCES)


def test_site_has_every_page():
    """A page that nothing leads to is not found."""
    listed = re.findall(r"^[\w/-]+$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE)
    found = [
        path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")
    ]
    written = {str(path) for path in found if path.parts[0] not in ("build", "reference")} - {
        "index"
    }

    assert written == {name for name in listed if not name.startswith("reference/")}
    made = {f"reference/{name}" for name, _ in generator("reference").pages()}
    assert made == {name for name in listed if name.startswith("reference/")}


LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/field.md",
        "docs/gateway.md",
        "docs/gateway-reference.md",
        "docs/gateway-operations.md",
        "docs/guides/arriving-pipeline.md",
        "docs/guides/deploying.md",
        "docs/viewer.md",
    ],
)
def test_links_lead_somewhere(page):
    for path, anchor in set(LINK.findall((ROOT / page).read_text("utf-8"))):
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.is_file(), path
        if not anchor:
            continue
        titles = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
        assert anchor in anchors, (path, anchor)


def test_every_note_code_is_used():
    source = "".join(
        path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py") if path.name != "notes.py"
    )

    for code in SENTENCES:
        assert f'"{code}"' in source, code


PATH = re.compile(r"`([\w<>./*]+(?:/|\.py|\.pyi|\.toml|\.md))`|`(bench/run)`")


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_exist(page):
    """Every file and folder that a page names exists, in the package or in the project."""
    text = (ROOT / page).read_text("utf-8")
    for path in {first or second for first, second in PATH.findall(text) if "/" in first + second}:
        pattern = path.replace("<dialect>", "*")
        found = [*ROOT.glob(pattern), *(ROOT / "src" / "innervoice").glob(pattern)]
        assert found, path


EXAMPLES = generator("examples")
PAGES = EXAMPLES.pages()


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page):
    """The Python of a page runs from top to bottom; `scripts/formats` writes what it prints."""
    assert (ROOT / page).read_text("utf-8") == EXAMPLES.page(page)


def test_output_of_another_value_is_seen(tmp_path, monkeypatch):
    """A page with another value than the one printed is not the page that is made."""
    monkeypatch.setattr(EXAMPLES, "ROOT", tmp_path)
    written = "```python\nprint(1)  # -> 2\nfor n in (3, 4):\n    print(n)\n# -> 3\n```\n"
    (tmp_path / "page.md").write_text(written, "utf-8")

    expected = "```python\nprint(1)  # -> 1\nfor n in (3, 4):\n    print(n)\n# -> 3\n# -> 4\n```\n"
    assert expected == EXAMPLES.page("page.md")


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_values(page):
    """An assertion is for tests: a reader wants to see what comes out. Examples of tests have them."""
    for block in EXAMPLES.PYTHON.finditer((ROOT / page).read_text("utf-8")):
        if "def test_" not in block["code"]:
            assert not re.findall(r"^ *assert .*", block["code"], re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_first_program_shows_a_thought_and_the_answer(page):
    """What makes the library worth a look is seen without running anything."""
    first = EXAMPLES.PYTHON.search((ROOT / page).read_text("utf-8"))["code"]

    assert re.search(r"\.thinking\)\s+# -> .*15 \* 23", first)
    assert re.search(r"\.text\)\s+# -> .*345", first)
