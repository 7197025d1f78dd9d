"""Ids of conversations that are safe in a URL: SOURCE.CONVERSATION."""

from __future__ import annotations

import re
from hashlib import sha256

from innervoice.privacy.redactor import identifier
from innervoice.sources.reader import Entry

__all__ = ["entry_id", "full_id", "split_id"]

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,80}")


def full_id(source_id: str, entry: Entry) -> str:
    """The id of a conversation for the page."""
    return f"{source_id}.{entry_id(entry)}"


def entry_id(entry: Entry) -> str:
    """The second half: the source's own id if it is safe, otherwise a hash of it."""
    if _PLAIN.fullmatch(entry.id) and identifier(entry.id) == entry.id:
        return entry.id
    return "~" + sha256(entry.id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def split_id(id: str) -> tuple[str, str]:  # noqa: A002 - the plain word
    """The source and the conversation of an id; a conversation "" is the main one."""
    source_id, _, conversation = id.partition(".")
    return source_id, conversation
