"""The numbers of a run -> an SVG with bars on a logarithmic scale, written by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from peers import FLOOR, OURS, PEERS, VARIANTS

_WIDTH, _PANEL, _GAP = 960, 460, 40
_LABEL, _ROW, _TOP = 170, 20, 44
_OURS, _PEER, _LOST = "#1a7f5a", "#7d8ca3", "url(#lost)"
_TICKS = (0.1, 1, 3, 10, 30, 100, 300, 1000)


class Bar(NamedTuple):
    """One library in one work."""

    label: str
    ratio: float
    ours: bool
    kept: bool


class Panel(NamedTuple):
    """Bars with a title; a tick is marked with its unit."""

    title: str
    bars: list[Bar]
    unit: str = "x"


def drawn(results: dict[str, Any]) -> str:
    """The picture of the libraries."""
    panels = [
        Panel("one call, multiples of bare httpx2", _bars(results, "call")),
        Panel("one streamed delta, multiples of bare httpx2", _bars(results, "stream")),
        Panel("64 streams at a time, multiples of bare httpx2", _bars(results, "streams")),
        Panel("from an import to the first answer, multiples of bare httpx2", _firsts(results)),
    ]
    return picture(
        panels,
        "green: innervoice; grey: keeps the reasoning; hatched: loses it or leaves it in the text",
    )


def picture(panels: list[Panel], legend: str) -> str:
    """Panels, two in a row, and a line below them."""
    panels = [panel for panel in panels if panel.bars]
    heights = [_TOP + _ROW * len(panel.bars) + 30 for panel in panels]
    rows = [max(heights[number : number + 2]) for number in range(0, len(heights), 2)]
    height = sum(rows) + 40
    body = [
        line
        for number, panel in enumerate(panels)
        for line in _panel(panel, number % 2 * (_PANEL + _GAP), sum(rows[: number // 2]))
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
            (
                '<defs><pattern id="lost" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
                '<rect width="6" height="6" fill="#e7eaef"/><rect width="2" height="6" fill="#b0483a"/></pattern></defs>'
            ),
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            *body,
            f'<text x="20" y="{height - 14}">{escape(legend)}</text>',
            "</svg>\n",
        ]
    )


def _bars(results: dict[str, Any], work: str) -> list[Bar]:
    """Each library in its own dialect, and innervoice in each of these."""
    payloads = results.get("contest", {}).get(work, {})
    bars = [
        Bar(f"innervoice, {name}", timings[OURS.title]["ratio"], ours=True, kept=True)
        for name, timings in payloads.items()
        if name in {peer.payload for peer in PEERS}
    ]
    for name, timings in payloads.items():
        if name == OURS.payload:
            bars += [
                Bar(peer.title, timings[peer.title]["ratio"], ours=True, kept=True)
                for peer in VARIANTS
                if peer.title in timings
            ]
    for peer in PEERS:
        timing = payloads.get(peer.payload, {}).get(peer.title)
        if timing:
            kept = timing["verdict"] == "kept"
            bars.append(Bar(peer.title, timing["ratio"], ours=False, kept=kept))
    return sorted(bars, key=lambda bar: bar.ratio)


def _firsts(results: dict[str, Any]) -> list[Bar]:
    bars = [
        Bar(title, made["first"]["ratio"], ours=title == OURS.title, kept=True)
        for title, made in results.get("import", {}).items()
        if title != FLOOR.title
    ]
    return sorted(bars, key=lambda bar: bar.ratio)


def _panel(panel: Panel, left: int, top: int) -> Iterator[str]:
    title, bars, unit = panel
    most = max(bar.ratio for bar in bars) * 1.6
    least = min(0.5, min(bar.ratio for bar in bars) * 0.8)
    across = _PANEL - _LABEL - 50

    def place(ratio: float) -> float:
        share = (math.log(ratio) - math.log(least)) / (math.log(most) - math.log(least))
        return left + _LABEL + share * across

    bottom = top + _TOP + _ROW * len(bars)
    yield f'<text x="{left + 20}" y="{top + 24}" font-weight="bold">{escape(title)}</text>'
    for tick in _TICKS:
        if least <= tick <= most:
            x = place(tick)
            strong = "#555555" if tick == 1 else "#dddddd"
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + _TOP - 6}" y2="{bottom}" stroke="{strong}"/>'
            yield f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" fill="#555555">{tick:g}{unit if unit == "x" else ""}</text>'
    for number, bar in enumerate(bars):
        y = top + _TOP + number * _ROW
        fill = _OURS if bar.ours else _PEER if bar.kept else _LOST
        end = place(bar.ratio)
        start = left + _LABEL
        yield f'<text x="{start - 8}" y="{y + 12}" text-anchor="end">{escape(bar.label)}</text>'
        yield f'<rect x="{start}" y="{y}" width="{max(1.0, end - start):.1f}" height="{_ROW - 6}" fill="{fill}"/>'
        yield f'<text x="{end + 5:.1f}" y="{y + 12}">{_shown(bar.ratio)}{unit}</text>'


def _shown(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
