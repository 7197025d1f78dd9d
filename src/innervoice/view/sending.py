"""Which turns of a conversation a request contains: not abandoned turns, errors that were only shown, or turns that were summarised.

The numbers of turns are those of the conversation, so that findings about a request can be shown on its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.catalog.targets import split_id
from innervoice.sources.conversation import UNSENT, Conversation
from innervoice.wire.serve import ReceivedMembers

__all__ = ["Sent", "last_answered", "model_of", "next_sent", "request_for", "sent_before"]


class Sent(NamedTuple):
    """The turns of a request, by their numbers, and their messages."""

    numbers: Sequence[int]
    messages: tuple[Message, ...]


def next_sent(conversation: Conversation) -> Sent:
    """What the next request would contain, if the conversation continued."""
    return sent_before(conversation, len(conversation.turns))


def sent_before(conversation: Conversation, turn: int) -> Sent:
    """What the request before a turn contained."""
    turns = conversation.turns[:turn]
    # The turns of a branch that was abandoned later were sent at that time.
    branch = turn
    while branch < len(conversation.turns) and branch and _is_abandoned(conversation, branch):
        branch -= 1
    numbers: list[int] = []
    for number, item in enumerate(turns):
        if "compaction" in item.marks:
            numbers = [one for one in numbers if turns[one].message.role == "system"]
        if {"api_error", "repeated"} & {*item.marks} or (
            "abandoned" in item.marks and number < branch
        ):
            continue
        numbers.append(number)
    return Sent(numbers, tuple(turns[number].message for number in numbers))


def _is_abandoned(conversation: Conversation, turn: int) -> bool:
    return "abandoned" in conversation.turns[turn].marks


def last_answered(conversation: Conversation) -> int | None:
    """The number of the last turn of the model, on a branch that was not abandoned."""
    numbers = (
        number
        for number in range(len(conversation.turns) - 1, -1, -1)
        if conversation.turns[number].message.role == "assistant"
        and not UNSENT & {*conversation.turns[number].marks}
    )
    return next(numbers, None)


def model_of(conversation: Conversation, turn: int) -> str | None:
    """The model that wrote a turn, as provider/model; None if it is unknown."""
    item = conversation.turns[turn]
    if item.answer and item.answer.model:
        return _joined(item.answer.provider, item.answer.model)
    for part in item.message.parts:
        if part.origin and part.origin.model:
            return _joined(part.origin.provider, part.origin.model)
    return None


def _joined(provider: str | None, model: str) -> str:
    return f"{provider}/{model}" if provider else model


def request_for(
    conversation: Conversation,
    messages: Sequence[Message],
    model: str,
    *,
    dialect: str | None = None,
    scope: str | None = None,
) -> Request:
    """A request with the settings of the conversation; raises `UsageError` for settings that no request can have."""
    request_before = conversation.request
    if request_before is None:
        return Request(model, tuple(messages), dialect=dialect, scope=scope)
    provider_before, other = split_id(request_before.model), split_id(model)
    is_same_host = (
        provider_before is not None
        and other is not None
        and provider_before.provider == other.provider
    )
    # Members written for one host, and its account, are not for another; members that were read are fitted to any.
    keeps_extra = is_same_host or isinstance(request_before.extra, ReceivedMembers)
    return request_before.replace(
        model=model,
        messages=tuple(messages),
        dialect=dialect or (request_before.dialect if is_same_host else None),
        scope=scope or (request_before.scope if is_same_host else None),
        extra=request_before.extra if keeps_extra else {},
        mode="clamp",
        base_url=None,
    )
