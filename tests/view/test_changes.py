"""Rows before and after -> events that lead from the first to the second."""

from hypothesis import given
from hypothesis import strategies as st

from innervoice.view.live import Snapshot, changes, sketch_of
from view.listener import Listener, plain

texts = st.text(alphabet="ab 🎉\nü", max_size=12)
rows = st.fixed_dictionaries(
    {
        "turn": st.integers(0, 2),
        "part": st.none() | st.integers(0, 2),
        "kind": st.sampled_from(["turn", "thinking", "text"]),
        "role": st.just("assistant"),
        "title": st.sampled_from(["Thinking", "Text"]),
        "text": texts,
        "facts": st.lists(st.fixed_dictionaries({"label": st.sampled_from("xy")}), max_size=1),
        "seals": st.just([]),
        "notes": st.just([]),
    },
    optional={
        "first": texts,
        "opening": texts,
        "cut": st.integers(1, 3),
        "is_open": st.booleans(),
        "empty": st.just({"word": "none", "why": "w"}),
    },
)


def between(old, new):
    return changes([sketch_of(row) for row in numbered(old)], numbered(new))


def numbered(timeline):
    return [{"n": n, **row} for n, row in enumerate(timeline)]


@given(st.lists(rows, max_size=4), st.lists(rows, max_size=4))
def test_events_lead_from_any_rows_to_any_others(old, new):
    listener = Listener(Snapshot({}, numbered(old), "x-0"))
    for change in between(old, new):
        listener.apply(change.name, plain(change.data))
    assert numbered(new) == listener.ordered


@given(st.lists(rows, min_size=1, max_size=4), texts, st.data())
def test_text_that_is_appended_is_sent_alone(old, more, data):
    place = data.draw(st.integers(0, len(old) - 1))
    new = [*old]
    new[place] = old[place] | {"text": old[place]["text"] + more}
    happened = [*between(old, new)]
    assert [("grow", more)] * bool(more) == [(name, event["text"]) for name, event in happened]
    listener = Listener(Snapshot({}, numbered(old), "x-0"))
    for name, event in happened:
        listener.apply(name, plain(event))
    assert numbered(new) == listener.ordered


@given(st.lists(rows, max_size=4))
def test_nothing_happens_to_the_same_rows(old):
    assert [] == [*between(old, old)]


@given(rows, rows)
def test_a_row_that_became_another_kind_is_taken_away_first(before, after):
    names = [name for name, _ in between([before], [after])]
    if before["kind"] != after["kind"]:
        assert ["gone", "row"] == names
