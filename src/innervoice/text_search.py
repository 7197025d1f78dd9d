"""Where the text of an answer is searched for reasoning, and for which markup (rule S10).

The whole text is searched where reasoning may stand in it: the caller says so, the host passes on what the model writes, or the model's
card names the host among those it leaks at. Elsewhere only blocks before the first character of the answer are looked for.
"""

from __future__ import annotations

from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.rows import Card, Host
from innervoice.catalog.lookup import card_of
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.head import HeadStage
from innervoice.inline.machine import SplitMachine
from innervoice.inline.stage import InlineStage
from innervoice.inline.vocabulary import vocabulary
from innervoice.wire.dialects import dialect_named
from innervoice.wire.protocol import Reader

__all__ = ["stage_for"]

_DEFAULT_CARD = Card(family="unknown", match=(), source="defaults")


def stage_for(
    reader: Reader, model: str, host: Host | None, *, inline: str | None, notebook: Notebook
) -> InlineStage:
    """The stage behind a reader; `inline` is "on", "all", or None to decide by host and model."""
    card = card_of(model)
    if not _searches_all(reader.dialect, card, host, inline):
        return HeadStage(lambda number: _origin_of(reader, number), notebook)
    own = card.writes if card else ()
    card = card or _DEFAULT_CARD
    tags = DEFAULT_TAGS if inline == "all" else card.tags
    words = vocabulary(tags, card.markup, card.ends, own)
    # A host that separates reasoning, but for leaks, would not pass on a text that starts inside of it.
    starts_inside = card.prefix_open and not (host and host.id in card.leaks)

    def make(number: int, goes_on: bool) -> SplitMachine:
        return SplitMachine(
            words,
            prefix="card" if starts_inside and not goes_on else "no",
            stutter=card.stutter,
            goes_on=goes_on,
            origin=_origin_of(reader, number),
        )

    return InlineStage(make, notebook)


def _searches_all(dialect: str, card: Card | None, host: Host | None, inline: str | None) -> bool:
    if inline is not None:
        return True
    if host is None:
        return dialect_named(dialect).inline_reasoning
    return host.inline or bool(card and host.id in card.leaks)


def _origin_of(reader: Reader, number: int) -> Origin:
    """The origin of what is found in the text with this number."""
    return reader.origin().replace(item=f"text_{number}")
