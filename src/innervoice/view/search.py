"""A query -> its matches, in one conversation, one source or all of them."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic

from innervoice.show.policy import counted
from innervoice.sources.conversation import Conversation
from innervoice.view.row_types import Hit, SearchResult
from innervoice.view.searching import hits_in
from innervoice.view.shelf import Shelf

__all__ = ["search"]

_MOST_HITS = 200
_PATIENCE = 10.0
"""Seconds that a search may take."""


def search(shelf: Shelf, query: str, within: str | None = None) -> SearchResult:
    """Searches one conversation after the other; `within` is the id of a conversation or of a source."""
    hits: list[Hit] = []
    if not query.strip():
        return SearchResult(hits=hits, is_cut=False, words="Nothing to search for.")
    deadline = monotonic() + _PATIENCE
    read = unread = 0
    is_cut = False
    conversations: Iterator[tuple[str, Conversation | Exception]]
    if within is not None and "." in within:
        conversations = iter([(within, shelf.conversation(within))])
    else:
        if within is not None:
            shelf.source(within)  # raises if there is none
        conversations = shelf.all_conversations(within)
    for id_, conversation in conversations:
        if isinstance(conversation, Exception):
            unread += 1
            continue
        read += 1
        for hit in hits_in(id_, conversation, query):
            if len(hits) == _MOST_HITS:
                is_cut = True
                break
            hits.append(hit)
        if is_cut or monotonic() > deadline:
            is_cut = True
            break
        del conversation  # before the next one is read
    return SearchResult(
        hits=hits, is_cut=is_cut, words=_words(len(hits), read, unread, is_cut=is_cut)
    )


def _words(hits: int, read: int, unread: int, *, is_cut: bool) -> str:
    found = f"{'the first ' if is_cut else ''}{counted(hits, 'hit')}" if hits else "No hit"
    rest = f"; {unread:,} could not be read" if unread else ""
    more = "; there may be more" if is_cut else ""
    return f"{found[:1].upper()}{found[1:]} in {counted(read, 'conversation')}{rest}{more}."
