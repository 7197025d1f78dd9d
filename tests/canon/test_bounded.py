"""A map that never holds more than its limit."""

from hypothesis import given
from hypothesis import strategies as st

from innervoice.canon.bounded import Bounded


@given(st.lists(st.tuples(st.sampled_from(["set", "used", "get"]), st.integers(0, 5))))
def test_what_was_used_last_stays(steps):
    """As a list of keys in the order of their use says, which forgets its first."""
    bounded, order = Bounded(3), []
    for verb, key in steps:
        if verb == "set":
            bounded[key] = str(key)
        elif verb == "used":
            assert (str(key) if key in order else None) == bounded.used(key)
        else:
            assert (str(key) if key in order else None) == bounded.get(key)
        if verb == "set" or (verb == "used" and key in order):
            order = [*(other for other in order if other != key), key][-3:]

    assert order == list(bounded)
