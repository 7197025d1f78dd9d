"""Tallies -> one HTML page: no scripts, no external links, light and dark, all text escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from innervoice.bulk.report.tallies import (
    FLAGS,
    LENGTHS,
    SHARES,
    WORDS,
    Example,
    Histogram,
    Tallies,
    bucket_of,
    value_of,
)
from innervoice.canon.notes import SENTENCES
from innervoice.show.visible import visible

__all__ = [
    "GENERATOR",
    "PERCENTILES",
    "bars",
    "length_plot",
    "render_lines",
    "render_page",
    "share_plot",
]

GENERATOR = '<meta name="generator" content="innervoice bulk report">'
"""A line of every page, by which an older one is recognized."""

PERCENTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_MOST = 20

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #5f6670; --line: #d8dce1; --paper: #ffffff; --bar: #3b6fb6; --mark: #b3541e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --quiet: #9aa3ad; --line: #3a4048; --paper: #16181b; --bar: #7aa7e0; --mark: #e59a66; } }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 46rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; border-bottom: 1px solid var(--line); }
p, dd, summary { overflow-wrap: anywhere; } .quiet { color: var(--quiet); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: var(--quiet); }
.bar { fill: var(--bar); } .mark { stroke: var(--mark); stroke-width: 2; } .axis { stroke: var(--quiet); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { text-align: right; padding: .1rem .8rem .1rem 0; font-weight: normal; white-space: nowrap; } tbody th { text-align: left; }
.scroll { overflow-x: auto; } th { color: var(--quiet); } dt { font-family: ui-monospace, monospace; margin-top: .4rem; } dd { margin: 0 0 0 1.5rem; color: var(--quiet); }
details { margin: .4rem 0; } summary { cursor: pointer; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; margin: .4rem 0 .4rem .4rem; padding-left: .8rem; border-left: 3px solid var(--line); font: inherit; }
@media print { details { break-inside: avoid; } }
""".strip()  # fmt: skip


def render_page(tallies: Tallies, title: str = "Reasoning in a data set") -> str:
    """The page."""
    title = visible(title)
    body = "\n".join(_body(tallies, title))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{GENERATOR}\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(tallies: Tallies, title: str) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    share = f" ({tallies.reasoned / tallies.rows:.1%})" if tallies.rows else ""
    yield f"<p>{tallies.rows:,} rows, {tallies.reasoned:,} of them{share} with reasoning.</p>"
    for name, heading in WORDS.items():
        counter = tallies.words.get(name)
        # A column with the same value in all rows, or with none, needs no plot, except for the status.
        if counter and (name == "status" or counter.keys() != {"(none)"}):
            yield from _bars(heading, counter, tallies.rows)
        if name == "status":
            yield from _notes(tallies)
    yield from _lengths(tallies)
    yield from _shares(tallies)
    yield from _tokens(tallies)
    yield from _flags(tallies)
    yield from _costs(tallies)
    yield from _examples(tallies)


def _bars(heading: str, counter: Counter[str], total: int) -> Iterator[str]:
    yield f"<h2>{escape(heading)}</h2>"
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    yield bars(heading, ordered[:_MOST], total)
    if len(ordered) > _MOST:
        rest = sum(count for _, count in ordered[_MOST:])
        yield f'<p class="quiet">and {len(ordered) - _MOST:,} more, of {rest:,} rows</p>'


def _notes(tallies: Tallies) -> Iterator[str]:
    if not tallies.notes:
        return
    yield from _bars("Notes", tallies.notes, tallies.rows)
    meanings = ((code, SENTENCES[code]) for code in sorted(tallies.notes) if code in SENTENCES)
    listed = "".join(
        f"<dt>{escape(code)}</dt><dd>{escape(sentence)}</dd>" for code, sentence in meanings
    )
    yield f"<details><summary>What the notes mean</summary><dl>{listed}</dl></details>"


def _present_lengths(tallies: Tallies) -> dict[str, Histogram]:
    """The lengths that some row has, in the order of the report."""
    lengths = {name: tallies.lengths.get(name) for name in LENGTHS}
    return {name: histogram for name, histogram in lengths.items() if histogram and histogram.total}


def _lengths(tallies: Tallies) -> Iterator[str]:
    if not (present := _present_lengths(tallies)):
        return
    yield "<h2>Lengths</h2>"
    yield '<p class="quiet">Numbers are right within 5 percent; the lines in the plots are the median and the 95th percentile.</p>'
    heads = "".join(
        f'<th scope="col">{"largest" if share == 1 else f"p{share * 100:g}"}</th>'
        for share in PERCENTILES
    )
    rows = "".join(_percentiles(LENGTHS[name], histogram) for name, histogram in present.items())
    yield f'<div class="scroll"><table><thead><tr><th scope="col"></th><th scope="col">rows</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    for name, histogram in present.items():
        yield f"<h3>{escape(LENGTHS[name])}</h3>{length_plot(LENGTHS[name], histogram)}"


def _percentiles(heading: str, histogram: Histogram) -> str:
    cells = "".join(f"<td>{histogram.percentile(share):,}</td>" for share in PERCENTILES)
    return f'<tr><th scope="row">{escape(heading)}</th><td>{histogram.total:,}</td>{cells}</tr>'


def _shares(tallies: Tallies) -> Iterator[str]:
    for name, heading in SHARES.items():
        plot = share_plot(heading, tallies.shares.get(name, ()))
        if plot:
            yield f"<h2>{escape(heading)}</h2>{plot}"


def _tokens(tallies: Tallies) -> Iterator[str]:
    """The share of reasoning in all tokens, where estimates are apart."""
    if lines := tallies.token_lines():
        yield f"<p>Of all rows together: {escape('; '.join(lines))}.</p>"


def _flags(tallies: Tallies) -> Iterator[str]:
    if tallies.flagged:
        counts = Counter(
            {FLAGS[name]: tallies.flags[name] for name in FLAGS if name in tallies.flagged}
        )
        yield from _bars("Findings", counts, tallies.rows)


def _costs(tallies: Tallies) -> Iterator[str]:
    if "cost" in tallies.sums:
        reasoning = tallies.sums.get("reasoning_cost", 0.0)
        yield f"<h2>Cost</h2><p>${tallies.sums['cost']:,.2f}, ${reasoning:,.2f} of it for reasoning, where tokens and price are known.</p>"


def _examples(tallies: Tallies) -> Iterator[str]:
    if not tallies.examples:
        return
    yield "<h2>Examples</h2>"
    for reason in sorted(tallies.examples):
        yield f"<h3>{escape(reason)}</h3>"
        yield from map(_example, tallies.examples[reason])


def _example(example: Example) -> str:
    thought = (
        f'<p class="quiet">Reasoning</p><pre dir="auto">{escape(example.reasoning)}</pre>'
        if example.reasoning
        else '<p class="quiet">No reasoning</p>'
    )
    answer = (
        f'<p class="quiet">Answer</p><pre dir="auto">{escape(example.answer)}</pre>'
        if example.answer
        else '<p class="quiet">No answer</p>'
    )
    return f"<details><summary>{escape(example.id)}</summary>{thought}{answer}</details>"


# ---- Counts -> SVG, drawn by hand: bars with labels, and histograms over a scale. Colors come from the page's style sheet.


_WIDTH = 640
_LABEL = 220
_ROW = 24
_HEIGHT = 120
_BELOW = 28
_TICKS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def bars(title: str, counts: Sequence[tuple[str, int]], total: int) -> str:
    """A bar for each word, with its count and its share of the total."""
    most = max((count for _, count in counts), default=0) or 1
    room = _WIDTH - _LABEL - 130
    rows = []
    for index, (word, count) in enumerate(counts):
        y = index * _ROW
        width = max(round(room * count / most, 1), 1)
        share = f" ({count / total:.1%})" if total else ""
        rows.append(
            f'<text class="label" x="{_LABEL - 8}" y="{y + 16}" text-anchor="end">{escape(_cut(word))}<title>{escape(word)}</title></text>'
            f'<rect class="bar" x="{_LABEL}" y="{y + 4}" width="{width}" height="{_ROW - 8}"/>'
            f'<text class="count" x="{_LABEL + width + 6}" y="{y + 16}">{count:,}{share}</text>'
        )
    return _svg(title, max(len(counts), 1) * _ROW, rows)


def length_plot(title: str, histogram: Histogram) -> str:
    """How often each length occurs, on a scale of powers of ten, with lines at the median and the 95th percentile."""
    buckets = histogram.buckets
    if not buckets:
        return ""
    last = max(*buckets, bucket_of(100))
    most = max(buckets.values())
    step = _WIDTH / (last + 1)
    drawn = [
        f'<rect class="bar" x="{_n(bucket * step)}" y="{_n(_HEIGHT - _HEIGHT * count / most)}" width="{_n(max(step - 0.5, 0.5))}" height="{_n(_HEIGHT * count / most)}">'
        f"<title>about {value_of(bucket):,}: {count:,}</title></rect>"
        for bucket, count in sorted(buckets.items())
    ]
    scale = [tick for tick in _TICKS if _at(tick, step) < _WIDTH]
    drawn += [_tick(_at(tick, step), f"{tick:,}") for tick in scale]
    for share, name in ((0.5, "p50"), (0.95, "p95")):
        number = histogram.percentile(share)
        if number is not None:
            x = _n(_at(number, step))
            drawn.append(
                f'<line class="mark" x1="{x}" x2="{x}" y1="0" y2="{_HEIGHT}"><title>{name}: about {number:,}</title></line>'
            )
    return _svg(title, _HEIGHT + _BELOW, drawn)


def share_plot(title: str, counts: Sequence[int]) -> str:
    """How often each share from 0 to 1 occurs."""
    most = max(counts, default=0)
    if not most:
        return ""
    step = _WIDTH / len(counts)
    drawn = [
        f'<rect class="bar" x="{_n(index * step)}" y="{_n(_HEIGHT - _HEIGHT * count / most)}" width="{_n(step - 1)}" height="{_n(_HEIGHT * count / most)}">'
        f"<title>{index / len(counts):.2f} to {(index + 1) / len(counts):.2f}: {count:,}</title></rect>"
        for index, count in enumerate(counts)
    ]
    drawn += [_tick(share * _WIDTH, f"{share:g}") for share in (0, 0.25, 0.5, 0.75)]
    return _svg(title, _HEIGHT + _BELOW, drawn)


def _at(number: int, step: float) -> float:
    """The position of a number on the scale of a histogram."""
    return (bucket_of(number) + 0.5) * step


def _tick(x: float, label: str) -> str:
    return f'<line class="axis" x1="{_n(x)}" x2="{_n(x)}" y1="{_HEIGHT}" y2="{_HEIGHT + 5}"/><text class="label" x="{_n(x)}" y="{_HEIGHT + 20}" text-anchor="{"start" if x < 20 else "middle"}">{label}</text>'


def _svg(title: str, height: float, drawn: Sequence[str]) -> str:
    return f'<svg role="img" viewBox="0 0 {_WIDTH} {_n(height)}" aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(drawn)}</svg>'


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _cut(word: str) -> str:
    return word if len(word) <= 32 else f"{word[:31]}…"


# ---- Tallies -> a report for a terminal or a log, in plain lines.


_MOST_LINES = 10
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
    yield from _length_lines(tallies)
    if lines := tallies.token_lines():
        yield from ("", "Share of reasoning in the output", *(f"  {line}" for line in lines))
    if "cost" in tallies.sums:
        yield ""
        yield f"Cost: ${tallies.sums['cost']:,.2f}, ${tallies.sums.get('reasoning_cost', 0.0):,.2f} of it for reasoning"


def _counts(heading: str, counter: Counter[str], total: int) -> Iterator[str]:
    yield ""
    yield heading
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    most = max(counter.values()) or 1
    for word, count in ordered[:_MOST_LINES]:
        bar = "█" * round(_BAR * count / most)
        share = f"{count / total:6.1%}" if total else ""
        yield f"  {visible(word)[:44]:44} {count:>10,} {share}  {bar}".rstrip()
    if len(ordered) > _MOST_LINES:
        yield f"  and {len(ordered) - _MOST_LINES:,} more"


def _length_lines(tallies: Tallies) -> Iterator[str]:
    if not (present := _present_lengths(tallies)):
        return
    yield ""
    heads = "".join(
        f"{'largest' if share == 1 else f'p{share * 100:g}':>9}" for share in PERCENTILES
    )
    yield f"{'Lengths, within 5 percent':44}{heads}"
    for name, histogram in present.items():
        cells = "".join(f"{histogram.percentile(share) or 0:>9,}" for share in PERCENTILES)
        yield f"  {LENGTHS[name]:42}{cells}"
