"""A model's name -> its card.

The last segment of the name is compared, in lower case, with the patterns of every row: `*` stands
for anything, and a pattern may begin after a separator of the name (`kimi-k2*` is found in
`moonshot.kimi-k2-thinking`). The most specific pattern wins, which is the one with most characters that
are not `*`; a longer name never falls to a shorter family unless that family's pattern says `*`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import msgspec

from innervoice.canon.cards import Card

__all__ = ["all_cards", "card_of"]


@lru_cache(maxsize=256)
def card_of(model: str) -> Card | None:
    """The card of a model, or None for one that nobody has heard of."""
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    best: tuple[int, Card] | None = None
    for weight, pattern, card in _patterns():
        if (best is None or weight > best[0]) and pattern.search(name):
            best = (weight, card)
    return best[1] if best else None


@lru_cache(maxsize=1)
def all_cards() -> tuple[Card, ...]:
    """Every row of cards.toml."""
    import tomllib  # noqa: PLC0415 - only who names a model needs it

    rows = tomllib.loads(Path(__file__).with_name("cards.toml").read_text("utf-8"))
    return tuple(msgspec.convert(row, Card) for row in rows["card"])


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[int, re.Pattern[str], Card], ...]:
    return tuple(
        (len(match.replace("*", "")), _compile(match), card)
        for card in all_cards()
        for match in card.match
    )


def _compile(match: str) -> re.Pattern[str]:
    body = ".*".join(re.escape(piece) for piece in match.split("*"))
    return re.compile(rf"(?:^|[^a-z0-9]){body}$")
