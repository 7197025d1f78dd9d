"""A package of others adds a store, a source, a step and a client, and the commands use them."""

import json
import os

import pytest

from cli.runs import run

POINTS = """
[innervoice.stores]
shelf = innervoice_shelf:open_shelf
[innervoice.sources]
shelf = innervoice_shelf:READER
[innervoice.bulk_steps]
shout = innervoice_shelf:shout
[innervoice.clients]
shelf = innervoice_shelf:CLIENTS
"""
MODULE = """
import innervoice as iv
from innervoice.bulk.schema import COLUMNS, Step
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.sources.conversation import Conversation, Turn
from innervoice.sources.reader import Entry, Opened, Reader


def open_shelf(url, retention):
    return SqliteStore(url.removeprefix("shelf:"), retention)


def _open(data):
    def read(entry):
        _, thought, text = data.piece().decode().split("|")
        message = iv.Message("assistant", (iv.Thinking(thought), iv.Text(text)))
        return Conversation(id=entry.id, title=entry.title, turns=(Turn(message=message),))

    return Opened([Entry("main", "from the shelf")], read)


READER = Reader(
    kind="shelf",
    name="a log of the shelf",
    recognizes=lambda data, beginning: beginning.startswith(b"SHELF|"),
    open=_open,
)


def _shouted(batch):
    return {**batch, "loud": [(answer or "").upper() for answer in batch["answer"]]}


def shout():
    return Step("shout", _shouted, {"loud": COLUMNS["answer"]})


CLIENTS = [
    {"id": "shelf-agent", "name": "Shelf Agent", "program": "shelf-agent", "install": "pip install shelf-agent", "source": "the test"}
]
"""


@pytest.fixture
def path(tmp_path):
    """What PYTHONPATH needs for the package."""
    site = tmp_path / "site"
    about = site / "innervoice_shelf-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "innervoice_shelf.py").write_text(MODULE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: innervoice-shelf\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    return os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))


def test_a_store(tmp_path, path):
    """Callers' keys are kept in it, and listed from it."""
    config = tmp_path / "gateway.toml"
    (tmp_path / "key").write_text("k" * 40)
    config.write_text(
        f'[server]\nkey = "file:{tmp_path / "key"}"\nstore = "shelf:{tmp_path / "shelf.db"}"\n'
    )

    added = run("keys", "add", "alice", "--config", str(config), PYTHONPATH=path)
    listed = run("keys", "list", "--json", "--config", str(config), PYTHONPATH=path)

    assert 0 == added.returncode, added.stderr
    assert "alice" == json.loads(listed.stdout)["name"]
    assert (tmp_path / "shelf.db").exists()
    missing = run("keys", "list", "--config", str(config))
    assert missing.returncode
    assert b"server.store: expected 'ram', 'sqlite:FILE'" in missing.stderr


def test_a_source(tmp_path, path):
    file = tmp_path / "log.txt"
    file.write_text("SHELF|hm|It is 345.")

    shown = run("view", str(file), "--export", str(tmp_path / "out.md"), PYTHONPATH=path)

    assert 0 == shown.returncode, shown.stderr
    text = (tmp_path / "out.md").read_text("utf-8")
    assert "It is 345." in text
    assert "> hm" in text


def test_a_step(tmp_path, path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"response": "<think>a</think>b"}\n')
    out = tmp_path / "out.jsonl"

    done = run("bulk", "map", "--map", "shout", str(rows), "-o", str(out), PYTHONPATH=path)

    assert 0 == done.returncode, done.stderr
    assert "B" == json.loads(out.read_text("utf-8"))["loud"]


def test_a_client(path):
    listed = run("run", "--list", PYTHONPATH=path)

    assert 0 == listed.returncode, listed.stderr
    assert b"Shelf Agent" in listed.stdout


def test_one_that_is_broken_is_named(tmp_path, path):
    site = tmp_path / "site"
    (site / "innervoice_shelf.py").write_text("raise RuntimeError('no shelf today')\n")

    done = run("run", "--list", PYTHONPATH=path)

    assert done.returncode
    assert b"'shelf' of the package innervoice-shelf cannot be loaded" in done.stderr
    assert b"no shelf today" in done.stderr
    assert b"Traceback" not in done.stderr
