"""Where the text of an answer is searched for reasoning, and for which markup (rule S10).

The whole text is searched where it may contain reasoning: the caller says so, the host passes on the model's raw output, or the model's
card names the host among those where it leaks. Elsewhere only blocks before the first character of the answer are searched.

Turns that another program stored are searched in the same way: `split_turn`. The markup stays in the origin of the parts, so writers
rebuild the text as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from innervoice.canon.events import Event, PartEnd, PartStart, TextDelta, ThinkingDelta
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, is_inline
from innervoice.canon.rows import Card, Host
from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of, host_of
from innervoice.catalog.targets import names_of
from innervoice.inline.formats import DEFAULT_TAGS
from innervoice.inline.head import HeadStage
from innervoice.inline.search import TextSearch
from innervoice.inline.stage import InlineStage
from innervoice.inline.vocabulary import vocabulary
from innervoice.wire.dialects import DEFAULT, DIALECTS, dialect_named
from innervoice.wire.protocol import Reader

__all__ = ["is_searched", "split_turn", "stage_for"]

_DEFAULT_CARD = Card(family="unknown", match=(), source="defaults")


def stage_for(reader: Reader, model: str, host: Host | None, inline: str | None) -> InlineStage:
    """The stage after a reader; `inline` is "on", "all", or None to decide by host and model."""
    card = card_of(model)
    if not _searches_all(reader.dialect, card, host, inline):
        return HeadStage(reader.origin, reader.notebook)
    search = _search_for(model, inline == "all", _separates(card, host))
    return InlineStage(search, reader.origin, reader.notebook)


def split_turn(message: Message, model: str | None = None) -> Message:
    """A turn of the model as another program stored it, with reasoning split out of its text as `decode` does; the same object if there is none.

    `model` is the model of the conversation, for turns that do not name their own.
    """
    parts = message.parts
    if message.role != "assistant" or any(map(is_inline, parts)):
        return message
    if not any(type(part) is Text and part.text for part in parts):
        return message
    stored = next((part.origin for part in parts if part.origin), message.origin) or Origin()
    provider, name = names_of(stored.provider, stored.model or model)
    author = Origin(provider=stored.provider, model=stored.model, dialect=stored.dialect or DEFAULT)
    host, card = host_of(provider) if provider else None, card_of(name or "")
    stage: InlineStage = HeadStage(lambda: author, Notebook())
    dialect = (
        author.dialect if author.dialect in DIALECTS else DEFAULT
    )  # a stored file may say anything
    if _searches_all(dialect, card, host, None):
        search = _search_for(name or "", False, _separates(card, host))
        stage = InlineStage(search, lambda: author, Notebook())
    stage.finish_reason = "stop"
    stage.feed([event for number, part in enumerate(parts) for event in _events(number, part)])
    if stage.untouched:
        return message
    stage.finish(list(parts))
    return message.replace(parts=stage.parts) if any(map(is_inline, stage.parts)) else message


def _events(number: int, part: Part) -> Iterator[Event]:
    """The events of a part that arrives whole."""
    begun = Text("", complete=False, origin=part.origin) if type(part) is Text else None
    yield PartStart(number, part.type, begun)
    if isinstance(part, (Text, Thinking)) and part.text:
        yield (TextDelta if type(part) is Text else ThinkingDelta)(number, part.text)
    yield PartEnd(number, part)


def _separates(card: Card | None, host: Host | None) -> bool:
    """Whether the host separates reasoning, except for leaks: it would not pass on a text that starts inside it."""
    return host is not None and card is not None and host.id in card.leaks


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
