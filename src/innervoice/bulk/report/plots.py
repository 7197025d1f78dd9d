"""Counts -> SVG, drawn by hand: bars with labels, and histograms over a scale. Colors come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from innervoice.bulk.report.tallies import Histogram, bucket_of, value_of

__all__ = ["bars", "length_plot", "share_plot"]

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
