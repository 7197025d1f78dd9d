"""How an API stores answers: what a request says to go on from one, and what its servers reply to questions about one.

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
    """The member of a request that names the answer to go on from."""
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
    """Members that an answer repeats of its request, beside `previous`."""
    only_there: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Members that only a provider itself can obey -> the error for a request that needs another."""
    lost: tuple[str, ...]
    """What a provider says, in lower case, of an answer that it no longer has."""
    items_of: Callable[[Any], list[Any]]
    """The items of a request's input."""
    missing: Callable[[str], Refusal]
    """The refusal of a question about an answer that is not there."""
    no_previous: Callable[[str], Refusal]
    """The refusal of a request that goes on from an answer that is not there."""
    no_item: Callable[[str], Refusal] | None = None
    """The refusal of a reference to an item that is not there."""
    cannot_cancel: str
    """Why an answer that was not made in the background cannot be cancelled."""
    deleted: Callable[[str], dict[str, Any]]
    """The reply to the deletion of an answer."""
    shown: Callable[[dict[str, Any], list[Any], Query], dict[str, Any]]
    """The reply to a question for an answer: (answer, items of its input, query) -> body."""
    listed: Callable[[str, list[Any], Query], dict[str, Any]] | None = None
    """A page of the input of an answer: (id, items, query) -> body."""
