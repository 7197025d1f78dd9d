"""The public vectors are what the splitter gives, whole and in pieces."""

import importlib.util
import json
from pathlib import Path

import pytest

import innervoice as iv
from inline.streams import cut

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS = json.loads((FOLDER / "inline.json").read_text("utf-8"))


def test_they_are_up_to_date():
    """`python vectors/make.py` writes them."""
    specification = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    make = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make)
    assert make.page() == (FOLDER / "inline.json").read_text("utf-8")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['rule']}-{vector['why'][:40]}")  # fmt: skip
@pytest.mark.parametrize("size", [1, 3])
def test_in_pieces(vector, size):
    hints = {key: value for key, value in vector["hints"].items() if key != "finish_reason"}
    if vector["hints"].get("finish_reason"):
        hints["finish_reason"] = vector["hints"]["finish_reason"]
    splitter = iv.Splitter(**hints)
    for piece in cut(vector["input"], size):
        splitter.feed(piece)
    splitter.finish()
    response = splitter.response
    assert (vector["thinking"], vector["text"]) == (response.thinking, response.text)
