"""Where the text of an answer is searched for reasoning, and for which markup (rule S10).

The whole text is searched where it may contain reasoning: the caller says so, the host passes on the model's raw output, or the model's
card names the host among those where it leaks. Elsewhere only blocks before the first character of the answer are searched.
"""

from __future__ import annotations

from functools import lru_cache

from innervoice.canon.rows import Card, Host
from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.head import HeadStage
from innervoice.inline.search import TextSearch
from innervoice.inline.stage import InlineStage
from innervoice.inline.vocabulary import vocabulary
from innervoice.wire.dialects import dialect_named
from innervoice.wire.protocol import Reader

__all__ = ["is_searched", "stage_for"]

_DEFAULT_CARD = Card(family="unknown", match=(), source="defaults")


def stage_for(reader: Reader, model: str, host: Host | None, inline: str | None) -> InlineStage:
    """The stage after a reader; `inline` is "on", "all", or None to decide by host and model."""
    card = card_of(model)
    if not _searches_all(reader.dialect, card, host, inline):
        return HeadStage(reader.origin, reader.notebook)
    # A host that separates reasoning, except for leaks, would not pass on a text that starts inside it.
    separates = host is not None and card is not None and host.id in card.leaks
    search = _search_for(model, inline == "all", separates)
    return InlineStage(search, reader.origin, reader.notebook)


def is_searched(target: Target) -> bool:
    """Whether the text of this model's answers may contain reasoning."""
    return _searches_all(target.dialect, card_of(target.model), target.host, None)


@lru_cache(maxsize=256)
def _search_for(model: str, every_tag: bool, separates: bool) -> TextSearch:
    card = card_of(model)
    own = card.writes if card else ()
    card = card or _DEFAULT_CARD
    words = vocabulary(DEFAULT_TAGS if every_tag else card.tags, card.markup, card.ends, own)
    starts_inside = card.prefix_open and not separates
    return TextSearch(words, prefix="card" if starts_inside else "no", stutter=card.stutter)


def _searches_all(dialect: str, card: Card | None, host: Host | None, inline: str | None) -> bool:
    if inline is not None:
        return True
    if host is None:
        return dialect_named(dialect).inline_reasoning
    return host.inline or bool(card and host.id in card.leaks)
