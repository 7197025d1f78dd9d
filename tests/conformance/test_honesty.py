"""The emulator's rules against the recordings: what was accepted passes, what was refused is refused."""

from collections import Counter

from conformance.requests import accepted, refused
from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.catalog.lookup import host_of, model_row_of
from innervoice.wire.dialects import rules_of
from shared import SHARED, needs_shared

UNKNOWN = ModelRow(match=("*",), control="none", off="never", source="nothing is known")


def said(exchange) -> list[str]:
    host = host_of(exchange["provider"].split("/")[-1])
    dialect, model = exchange["dialect"], exchange["model"]
    row = model_row_of(model, host.id if host else None, dialect) or UNKNOWN
    provider = host.id if host else None
    target = Target(provider=provider, model=model, row=row, host=host, dialect=dialect)
    return [refusal.text for refusal in rules_of(dialect)(exchange["request_body"], target)]


@needs_shared
def test_what_was_accepted_passes(capsys):
    wrong = []
    counts: Counter[str] = Counter()
    for name, exchange in accepted(SHARED / "corpus"):
        counts[exchange["dialect"]] += 1
        wrong += [(name, text) for text in said(exchange)]
    with capsys.disabled():
        print(f"\n{sum(counts.values())} accepted requests pass the rules: {dict(counts)}")
    assert [] == wrong
    assert sum(counts.values()) > 480


@needs_shared
def test_what_was_refused_is_refused(capsys):
    found = list(refused(SHARED / "corpus"))
    for name, exchange in found:
        words = exchange["response"]["json"]["error"]["message"]
        assert words in said(exchange), name
    with capsys.disabled():
        print(f"\n{len(found)} recorded refusals are refused in the same words")
    assert len(found) >= 2
