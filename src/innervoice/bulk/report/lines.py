"""Tallies -> a report for a terminal or a log, in plain lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from innervoice.bulk.report.page import PERCENTILES
from innervoice.bulk.report.tallies import FLAGS, LENGTHS, WORDS, Tallies
from innervoice.show.visible import visible

__all__ = ["render_lines"]

_MOST = 10
_BAR = 24


def render_lines(tallies: Tallies) -> str:
    """The report, line by line, with line ends."""
    return "".join(f"{line}\n" for line in _lines(tallies))


def _lines(tallies: Tallies) -> Iterator[str]:
    yield f"{tallies.rows:,} rows, {tallies.reasoned:,} with reasoning"
    for name, heading in WORDS.items():
        counter = tallies.words.get(name)
        if counter and (name == "status" or counter.keys() != {"(none)"}):
            yield from _counts(heading, counter, tallies.rows)
        if name == "status" and tallies.notes:
            yield from _counts("Notes", tallies.notes, tallies.rows)
    if tallies.flagged:
        counts = Counter(
            {FLAGS[name]: tallies.flags[name] for name in FLAGS if name in tallies.flagged}
        )
        yield from _counts("Findings", counts, tallies.rows)
    yield from _lengths(tallies)
    if "cost" in tallies.sums:
        yield ""
        yield f"Cost: ${tallies.sums['cost']:,.2f}, ${tallies.sums.get('reasoning_cost', 0.0):,.2f} of it for reasoning"


def _counts(heading: str, counter: Counter[str], total: int) -> Iterator[str]:
    yield ""
    yield heading
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    most = max(counter.values()) or 1
    for word, count in ordered[:_MOST]:
        bar = "█" * round(_BAR * count / most)
        share = f"{count / total:6.1%}" if total else ""
        yield f"  {visible(word)[:44]:44} {count:>10,} {share}  {bar}".rstrip()
    if len(ordered) > _MOST:
        yield f"  and {len(ordered) - _MOST:,} more"


def _lengths(tallies: Tallies) -> Iterator[str]:
    present = {
        name: tallies.lengths[name]
        for name in LENGTHS
        if name in tallies.lengths and tallies.lengths[name].total
    }
    if not present:
        return
    yield ""
    heads = "".join(
        f"{'largest' if share == 1 else f'p{share * 100:g}':>9}" for share in PERCENTILES
    )
    yield f"{'Lengths, within 5 percent':44}{heads}"
    for name, histogram in present.items():
        cells = "".join(f"{histogram.percentile(share) or 0:>9,}" for share in PERCENTILES)
        yield f"  {LENGTHS[name]:42}{cells}"
