"""Each planted deviation of a server is found by `innervoice probe`, alone and with another one."""

import os
import random

import pytest

from innervoice.canon.rows import Card, Host, ModelRow
from innervoice.emulator import Emulator
from innervoice.emulator.deviations import Manners
from probe.planted import COLUMNS_NOT_SEEN, MASKED, PLANTED, WORDS, pairs
from probe.probing import emulator_server, probe

ALL = bool(os.environ.get("INNERVOICE_ALL_PROBES"))
"""Set by `scripts/test probe`: every pair, and every model."""
_SAMPLE = 50


@pytest.fixture(scope="module")
def at():
    with emulator_server() as both:
        yield both


def test_there_are_enough():
    assert len(PLANTED) >= 40
    assert len({planted.name for planted in PLANTED}) == len(PLANTED)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_one_deviation(at, planted):
    server, answering = at
    answering.emulator = Emulator(deviations=[planted.row()])
    probed = probe(server, planted.model, *planted.arguments)

    assert probed.differing & set(planted.facts), probed.facts
    assert probed.status == 1


@pytest.mark.parametrize("planted", WORDS, ids=lambda planted: planted.name)
def test_other_words(at, planted):
    """A refusal in other words is no other fact, and is shown."""
    server, answering = at
    answering.emulator = Emulator(deviations=[planted.row()])
    probed = probe(server, planted.model)

    assert set(planted.facts) <= probed.with_status("differs in words", "differs")
    assert probed.differing <= {"error-shape"}


def _pairs():
    every = pairs()
    return every if ALL else random.Random(37).sample(every, _SAMPLE)


@pytest.mark.parametrize(
    ("one", "other"), _pairs(), ids=lambda planted: planted.name.partition("_")[2]
)
def test_two_deviations(at, one, other):
    """Both are found; where one makes the other invisible, that is said, and the fact is not called right."""
    server, answering = at
    answering.emulator = Emulator(deviations=[one.row(), other.row()])
    probed = probe(server, one.model, *one.arguments)

    for planted, second in ((one, other), (other, one)):
        if (planted.name, second.name) in MASKED:
            assert set(planted.facts) <= probed.with_status("settled", "not measured")
        else:
            assert probed.differing & set(planted.facts), (planted.name, probed.facts)


def test_every_column_is_planted_or_cannot_be_seen():
    """A column of the catalog that probe does not measure is named, with the reason."""
    planted = {(one.table, column) for one in PLANTED for column in one.columns}
    columns = {
        (table, column)
        for table, kind in (("model", ModelRow), ("host", Host), ("markup", Card), ("server", Manners))
        for column in kind.columns()
    }  # fmt: skip

    assert columns - planted == set(COLUMNS_NOT_SEEN)
    assert all(COLUMNS_NOT_SEEN.values())
