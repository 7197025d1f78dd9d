import json

import pytest

import innervoice as iv
from inline.cases import CASES, Case
from inline.streams import check_events, cut, events_of
from shared import SHARED, needs_shared


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case):
    """Reasoning and answer are as the table says, in one piece and in pieces of one to five characters."""
    result = iv.split(case.text)

    assert (case.thinking, case.answer) == (result.thinking, result.text)
    for size in range(1, 6):
        events = events_of(cut(case.text, size))
        check_events(events)
        assert result.parts == iv.fold(events).parts


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_every_character_is_kept(case: Case):
    """The content string is rebuilt byte for byte from the parts, also after storage."""
    stored = iv.from_json(iv.to_json(iv.split(case.text)))

    assert case.text == iv.restore(stored.parts)


@pytest.mark.parametrize("id_", ["I", "J", "K"])
def test_no_stray_tag(id_: str):
    """Nested and doubled tags leave none of themselves in answer or reasoning."""
    case = next(case for case in CASES if case.id == id_)
    result = iv.split(case.text)

    assert "<" not in result.text + (result.thinking or "")


@needs_shared
def test_table_is_complete():
    """Every input of the catalogue has its row here."""
    catalogue = json.loads((SHARED / "facts" / "inline-cases.json").read_text("utf-8"))["cases"]

    assert {case["id"]: case["input"] for case in catalogue} == {
        case.id: case.text for case in CASES
    }
