"""Recorded streams obey the grammar of their dialect, and so does every recorded answer that we write."""

from collections import Counter

import pytest

import innervoice as iv
from conformance.test_written_answers import body_of, events_of, exchanges
from innervoice.frames.sniff import AnyFraming
from innervoice.wire.dialects import DIALECTS, dialect_named
from shared import needs_shared

SEALS = {"sealed": lambda part: "c2VhbA==", "plain": None}


def frames_of(data):
    framing = AnyFraming()
    return [*framing.feed(data), *framing.finish()]


def complaints(dialect, frames, host=None):
    return [str(found) for found in dialect_named(dialect).grammar(host).check(frames)]


def recorded_streams():
    for name, exchange in exchanges():
        if "json" not in exchange["response"]:
            yield name, exchange


@needs_shared
def test_recorded_streams_are_legal(capsys):
    """A real API's stream is legal by definition; what other hosts do differently is listed beside the rules."""
    counts: Counter[str] = Counter()
    wrong = []
    for name, exchange in recorded_streams():
        host = exchange["provider"].split("/")[-1]
        found = complaints(exchange["dialect"], frames_of(body_of(exchange)), host)
        counts[exchange["dialect"]] += 1
        wrong += [(name, found[:3])] if found else []
    with capsys.disabled():
        print(f"\n{sum(counts.values())} recorded streams: {dict(counts)}")
    assert [] == wrong
    assert sum(counts.values()) > 120


# Measured with the real program, tests/llamacpp, of which there is no recording.
MEASURED = {("openai-chat", "created", "llamacpp")}


@needs_shared
def test_tolerances_are_needed():
    """A host that no longer needs a tolerance, or never did, does not get it."""
    needed = set()
    for _, exchange in recorded_streams():
        dialect, host = exchange["dialect"], exchange["provider"].split("/")[-1]
        grammar = dialect_named(dialect).grammar()
        broken = {found.rule for found in grammar.check(frames_of(body_of(exchange)))}
        needed |= {(dialect, rule, host) for rule in broken}
    listed = {
        (dialect, rule, host)
        for dialect in DIALECTS
        for rule, hosts in dialect_named(dialect).grammar.tolerates.items()
        for host in hosts
    }

    assert set() == listed - needed - MEASURED


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seal", SEALS)
@needs_shared
def test_written_answers_are_legal(dialect, seal):
    """Every recorded answer, written in every dialect, obeys all rules."""
    wrong = []
    for name, exchange in exchanges():
        encoder = iv.StreamEncoder(dialect, exchange["model"], seal=SEALS[seal])
        data = [encoder.feed(event) for event in events_of(exchange)]
        found = complaints(dialect, frames_of(b"".join([*data, encoder.finish()])))
        wrong += [(name, found[:3])] if found else []
    assert [] == wrong[:5], len(wrong)
