"""The notebooks of docs/ run from the first cell to the last, and show what they say they show."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request, tmp_path_factory):
    """A notebook that was run."""
    read = nbformat.read(request.param, as_version=4)
    folder = str(tmp_path_factory.mktemp("notebook"))
    nbclient.NotebookClient(read, timeout=120, resources={"metadata": {"path": folder}}).execute()
    return read


def outputs(notebook):
    """The data of every output, by type."""
    return [
        output["data"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "data" in output
    ]


def test_runs_quietly(notebook):
    """No cell prints a warning."""
    said = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type in ("error", "stream")
    ]

    assert [] == said


def test_shows_tables_and_a_plot(notebook):
    made = outputs(notebook)
    tables = [data["text/html"] for data in made if "<table>" in data.get("text/html", "")]

    assert 3 == len(tables)
    assert sum("image/png" in data for data in made) == 1
    for provider in ("anthropic", "openai", "gemini", "deepseek", "mistral"):
        assert all(provider in table for table in tables)


def test_is_stored_without_outputs():
    """What a reader sees was made by their own run."""
    for path in NOTEBOOKS:
        stored = nbformat.read(path, as_version=4)
        assert all(not cell.get("outputs") for cell in stored.cells)
