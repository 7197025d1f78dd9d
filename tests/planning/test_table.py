"""One request compiles for every row, or fails here by a rule it names (I7)."""

import re
from pathlib import Path

import pytest

import innervoice as iv
from innervoice.catalog.lookup import all_model_rows, host_of, model_row_of
from innervoice.wire.controls import CONTROLS
from planning.table import SETTINGS, cases, compiled, lines, refused

SNAPSHOT = Path(__file__).with_name("table.txt")
CASES = list(cases())


def test_every_row_is_reached():
    """Each row is the row of some name at some host; no other row stands before it."""
    reached = [row for row, *_ in CASES]

    # By value: other tests load the rows anew.
    assert [] == [row.match for row in all_model_rows() if row not in reached]


def test_rows_are_whole():
    for row in all_model_rows():
        assert row.control in CONTROLS
        assert re.search(r"20\d\d-\d\d", row.source), row.source
        assert all(host == "*" or host_of(host) for host in row.hosts)
        assert not row.budget or row.budget[0] <= row.budget[1]


@pytest.mark.parametrize("setting", SETTINGS, ids=list(SETTINGS))
def test_what_is_sent_is_accepted(setting):
    """In mode clamp every body passes the rules of its API, or a local error names the rule."""
    refusals = set()
    for row, host, dialect, model in CASES:
        try:
            wire = compiled(host, dialect, model, SETTINGS[setting])
        except iv.RuleError as error:
            refusals.add(error.rule)
            continue
        assert [] == refused(wire, row, host, model), (host, dialect, model)
    assert refusals <= {"reasoning_off_for_tools"}


@pytest.mark.parametrize("setting", ["none", "high", "budget 8000", "forced tool", "temperature", "nothing"])  # fmt: skip
def test_what_is_sent_is_accepted_at_every_host(setting):
    """The same at the other hosts of each row, whose envelopes differ."""
    refusals = set()
    for row, first, dialect, model in CASES:
        for host in row.hosts:
            if host in (first, "*") or model_row_of(model, host, dialect) is not row:
                continue
            try:
                wire = compiled(host, dialect, model, SETTINGS[setting])
            except iv.RuleError as error:
                refusals.add(error.rule)
                continue
            assert [] == refused(wire, row, host, model), (host, dialect, model)
    assert refusals <= {"reasoning_off_for_tools"}


@pytest.mark.parametrize("setting", SETTINGS, ids=list(SETTINGS))
def test_strict_changes_nothing(setting):
    """In mode strict a request is sent as asked, or refused; what clamp changed, strict refuses."""
    bent = {"effort_clamped", "effort_as_budget", "effort_as_switch", "budget_clamped", "budget_as_effort", "budget_lowered", "max_tokens_raised", "off_impossible", "reasoning_impossible", "show_unavailable", "parameter_removed", "tool_choice_relaxed", "reasoning_off_for_tools", "reasoning_off_unstreamed"}  # fmt: skip
    for _, host, dialect, model in CASES:
        try:
            loose = compiled(host, dialect, model, SETTINGS[setting])
        except iv.RuleError:
            continue
        codes = {note.code for note in loose.notes} & bent
        if codes:
            with pytest.raises(iv.RuleError) as raised:
                compiled(host, dialect, model, SETTINGS[setting], mode="strict")
            assert raised.value.rule in codes
        else:
            assert (
                loose.body == compiled(host, dialect, model, SETTINGS[setting], mode="strict").body
            )


def test_snapshot():
    """The whole table, so that a change of a row is seen; `python tests/planning/test_table.py` writes it anew."""
    assert "\n".join(lines()) + "\n" == SNAPSHOT.read_text("utf-8")


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(lines()) + "\n", "utf-8")
