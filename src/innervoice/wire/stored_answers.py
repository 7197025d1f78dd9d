"""How an API stores answers: how a request continues from one, and how its servers answer requests for one.

Two APIs have that: OpenAI's Responses and Google's Interactions. Each has its row in `stored.py` of its folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from innervoice.canon.value import Value
from innervoice.wire.refusals import Refusal

__all__ = ["Query", "StoredAnswers"]

Query: TypeAlias = dict[str, list[str]]
"""The query of a request: name -> values."""


class StoredAnswers(Value, frozen=True, kw_only=True):
    """The facts of one API."""

    dialect: str
    noun: str
    """What the API calls an answer; the last event of a stream has it under this name."""
    previous: str
    """The member of a request with the id of the answer to continue from."""
    output: str
    """The member of an answer with the model's items."""
    goes_on: tuple[str, ...]
    """The statuses of answers that can be continued."""
    ended: tuple[str, ...]
    """The statuses of answers that are stored."""
    confirmed_by: str | None = None
    """The member with which the provider confirms that it stored an answer; None: it stores every answer unless the request forbids it."""
    reference: str | None = None
    """The type of items that only name an earlier one; None: there are none."""
    conversation: str | None = None
    """The member that names a conversation which only the provider has."""
    echoed: tuple[str, ...] = ()
    """Members of its request that an answer repeats, in addition to `previous`."""
    only_there: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members that only a provider itself can obey -> the error for a request that needs another."""
    lost: tuple[str, ...]
    """Words, in lower case, of the error for an answer that the provider no longer has."""
    items_of: Callable[[Any], list[Any]]
    """The items of a request's input."""
    missing: Callable[[str], Refusal]
    """The error for a request for an answer that does not exist."""
    no_previous: Callable[[str], Refusal]
    """The error for a request that continues from an answer that does not exist."""
    no_item: Callable[[str], Refusal] | None = None
    """The error for a reference to an item that does not exist."""
    cannot_cancel: str
    """Why an answer that was not made in the background cannot be cancelled."""
    deleted: Callable[[str], dict[str, Any]]
    """The response to the deletion of an answer."""
    shown: Callable[[dict[str, Any], list[Any], Query], dict[str, Any]]
    """The response to a request for an answer: (answer, items of its input, query) -> body."""
    listed: Callable[[str, list[Any], Query], dict[str, Any]] | None = None
    """A page of the input of an answer: (id, items, query) -> body."""
