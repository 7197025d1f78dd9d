"""The fuzz target itself works, and holds on bytes of our own."""

import importlib.util
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

PATH = Path(__file__).parents[1] / "fuzz" / "fuzz_splitter.py"
specification = importlib.util.spec_from_file_location("fuzz_splitter", PATH)
target = importlib.util.module_from_spec(specification)
specification.loader.exec_module(target)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_target(data):
    target.check(data)


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=4, max_size=4), st.lists(st.integers(1, len(target.WORDS)), max_size=20))
def test_target_on_markers(head, words):
    target.check(head + bytes(words))
