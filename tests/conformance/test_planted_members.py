"""Nothing in a request is lost in silence: a member that is planted anywhere is in the body of the target, or a note names it; at home it is where it was."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

import innervoice as iv
from conformance.planted import BODIES, FREE, ROWS, TARGETS, Row

UNKNOWN = "xunknown"


def objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all objects of a body, except those that belong to the caller."""
    if isinstance(value, dict):
        yield path
        for name, item in value.items():
            is_free = name in FREE and not (name == "format" and "type" in item and len(path) < 2)
            is_free = is_free or (name == "input" and isinstance(item, dict)) or name == "response"
            if not is_free or (name == "format" and path and path[0] in ("text", "output_config")):
                yield from objects(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from objects(item, (*path, number))


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if not isinstance(value, list) and (not isinstance(value, dict) or step not in value):
            return None
        value = value[step]
    return value


def planted(row: Row) -> dict[str, Any]:
    body = copy.deepcopy(BODIES[row.dialect])
    at(body, row.place)[row.member] = row.value
    return body


def encoded(row: Row, target: str) -> iv.Wire:
    request = iv.decode_request(json.dumps(planted(row)), row.dialect)
    return iv.encode(request.replace(model=TARGETS[target], dialect=target, stream=False))


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def ends(value: Any, end: tuple[str, ...]) -> Iterator[Any]:
    """All values at paths that end so."""
    if isinstance(value, dict):
        if (
            held := at(value, end) if all(isinstance(step, str) for step in end) else None
        ) is not None:
            yield held
        for item in value.values():
            yield from ends(item, end)
    elif isinstance(value, list):
        for item in value:
            yield from ends(item, end)


def is_named(row: Row, wire: iv.Wire) -> bool:
    """Whether a note names the member, or says that the block around it was left out."""
    value = row.value if isinstance(row.value, str) else row.member
    return any(
        note.code in ("opaque_dropped", "tool_dropped")
        or row.member in (note.detail or "")
        or value in (note.detail or "")
        for note in wire.notes
    )


def is_in(row: Row, wire: iv.Wire) -> bool:
    words = [leaf for leaf in leaves(row.value) if isinstance(leaf, str)]
    text = json.dumps(wire.body)
    return any("planted" in word or word == "cGxhbnRlZA==" for word in words) and all(
        word in text for word in words
    )


UNKNOWNS = [
    Row(dialect, place, UNKNOWN, "planted") for dialect, body in BODIES.items() for place in objects(body)
]  # fmt: skip


def name_of(row: Row) -> str:
    return f"{row.dialect}-{'.'.join(map(str, (*row.place, row.member)))}"


@pytest.mark.parametrize("dialect", BODIES)
def test_a_body_without_planted_members_goes_home_as_it_came(dialect):
    body = BODIES[dialect]
    request = iv.decode_request(json.dumps(body), dialect)
    wire = iv.encode(request.replace(model=TARGETS[dialect], dialect=dialect, stream=False))

    assert [] == [note for note in wire.notes if note.code != "unknown_model"]
    assert {name: item for name, item in body.items() if name != "model"} == {
        name: item for name, item in wire.body.items() if name in body and name != "model"
    }


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_at_home_a_planted_member_is_where_it_was(row):
    wire = encoded(row, row.dialect)

    if row.member == "async":  # the model has no tools whose results come later
        assert is_named(row, wire)
        return
    assert row.value == at(wire.body, (*row.place, row.member))


@pytest.mark.parametrize("row", UNKNOWNS, ids=name_of)
def test_at_home_an_unknown_member_is_where_it_was(row):
    """Also at a host without a row; one that is known to refuse unknown members may get fewer, and a note says so."""
    request = iv.decode_request(json.dumps(planted(row)), row.dialect)
    body = iv.encode(request.replace(model="somewhere/m", dialect=row.dialect)).body

    if row.place == ("tools", 0) and row.dialect == "gemini":
        # What is next to the functions of an entry is a tool of its own, and becomes the next entry.
        assert row.value == at(body, ("tools", 1, row.member))
    else:
        assert row.value == at(body, (*row.place, row.member))
    wire = encoded(row, row.dialect)
    assert is_in(row, wire) or is_named(row, wire)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [*ROWS, *UNKNOWNS], ids=name_of)
def test_elsewhere_a_planted_member_is_sent_or_noted(row, target):
    if target == row.dialect:
        return
    wire = encoded(row, target)

    if target in row.same:
        assert row.value in list(ends(wire.body, row.same[target]))
        assert not any(row.member in (note.detail or "") for note in wire.notes)
    else:
        assert is_in(row, wire) or is_named(row, wire), wire.notes
