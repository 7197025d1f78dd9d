"""Puts back what a program lost of earlier turns: a request goes in, the keys of its turns come out, and with what a store found under
them the request whose turns are whole again.

A stored turn is used only if its words and calls are those that the program sent: who edits a turn means the edit. If the program sent
reasoning with a seal that the stored turn does not have, the program's turn stays. If several stored turns fit, none is used.

What a program carried for us in an envelope (`envelopes.py`) needs no store. An envelope that does not open is dropped: a provider could
not read it either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import is_not
from secrets import token_hex
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Opaque, Part, Thinking, ToolResult
from innervoice.canon.request import Request
from innervoice.memory.envelopes import is_envelope
from innervoice.memory.records import FoundTurns, TurnRecord, now, only
from innervoice.memory.turn_keys import (
    ConversationDigest,
    TurnKeys,
    keys_of_turns,
    shown_calls,
    shown_text,
)
from innervoice.wire.gemini.replay import SKIP

__all__ = ["RestoredRequest", "TurnRestorer", "is_shown", "record_of", "seals_of"]


class RestoredRequest(NamedTuple):
    """A request whose turns are whole again."""

    request: Request
    places: frozenset[tuple[int, int]]
    """The number of the message and of the part, for each piece of reasoning and each sealed part that was put back."""


class TurnRestorer:
    """Restores the turns of one request, and stores the answer to it.

    `wanted` are the keys to look up; `restored` takes what was found; `record` makes the record of the answer and its keys.
    `opened` takes a part out of its envelope.
    """

    def __init__(
        self,
        request: Request,
        tenant: str,
        secret: bytes,
        opened: Callable[[str], Part | None] = lambda _: None,
    ) -> None:
        self.notebook = Notebook()
        self._opened = opened
        messages = tuple(map(self._unpacked, request.messages))
        is_changed = any(map(is_not, messages, request.messages))
        self._request = request.replace(messages=messages) if is_changed else request
        self._tenant = tenant
        self._digest = ConversationDigest(tenant, secret, request.system)
        self._keys = keys_of_turns(request.messages, self._digest)

    @property
    def wanted(self) -> list[bytes]:
        """The keys of all turns of the request."""
        return [key for keys in self._keys if keys for key in keys.all]

    def restored(self, found: FoundTurns) -> RestoredRequest:
        """The request with the stored turns in place of those that lost something."""
        messages: list[Message] = []
        places: set[tuple[int, int]] = set()
        ids: dict[str, str] = {}
        for number, (message, keys) in enumerate(
            zip(self._request.messages, self._keys, strict=True)
        ):
            known = _match(message, keys, found) if keys else None
            if known is None:
                messages.append(_with_ids(message, ids) if ids else message)
                continue
            had = {seal for part in message.parts for seal in seals_of(part)}
            said = {part.text for part in message.parts if isinstance(part, Thinking)}
            for position, part in enumerate(known.parts):
                if _is_lost(part, had, said):
                    places.add((number, position))
            for given, own in zip(message.tool_calls, known.tool_calls, strict=True):
                if given.id != own.id:
                    ids[given.id] = own.id
            messages.append(known)
        if places:
            self.notebook.add("thinking_restored", count=len(places))
        if not places and messages == list(self._request.messages):
            return RestoredRequest(self._request, frozenset())
        return RestoredRequest(self._request.replace(messages=tuple(messages)), frozenset(places))

    def _unpacked(self, message: Message) -> Message:
        """A turn with the parts that it carries in envelopes."""
        if message.role != "assistant" or not any(map(_carries, message.parts)):
            return message
        parts: list[Part] = []
        for part in message.parts:
            if not _carries(part):
                parts.append(part)
            elif carried := self._opened(next(seals_of(part))):
                parts.append(carried)
            else:
                self.notebook.add("envelope_unreadable", part.type)
        return message.replace(parts=tuple(parts))

    @property
    def digest(self) -> ConversationDigest:
        """The conversation, up to the end of the request."""
        return self._digest

    def record(self, message: Message) -> tuple[TurnRecord, Sequence[bytes]] | None:
        """The record of the answer, and its keys; None if every program keeps all of it."""
        return record_of(message, self._tenant, self._digest)


def record_of(
    message: Message, tenant: str, digest: ConversationDigest
) -> tuple[TurnRecord, Sequence[bytes]] | None:
    """The record of a turn behind a conversation, and its keys; None if every program keeps all of it."""
    if not any(map(_says_more, message.parts)):
        return None
    record = TurnRecord(id=token_hex(16), tenant=tenant, message=message, created=now())
    return record, digest.keys(message).all


def seals_of(part: Part) -> Iterator[str]:
    """The seals in the wire block of a part; what Gemini CLI writes in place of a lost one is none.

    The id of an item counts only where nothing else is sealed: some programs leave it out, and the host does without it.
    """
    origin = part.origin
    paths = origin.seals if origin else ()
    for path in paths if len(paths) == 1 else (one for one in paths if one != "id"):
        value: Any = origin.block if origin else None
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str) and value and value != SKIP:
            yield value


def _carries(part: Part) -> bool:
    return any(map(is_envelope, seals_of(part)))


def _match(message: Message, keys: TurnKeys, found: FoundTurns) -> Message | None:
    """The stored turn that a message shows: the only one under the most exact key that has any."""
    had = {seal for part in message.parts for seal in seals_of(part)}
    for key in keys.all:
        record = only(one for one in found.get(key, ()) if is_shown(message, one.message))
        if record is not None:
            own = {seal for part in record.message.parts for seal in seals_of(part)}
            # A seal that was cut short is a damaged one of ours, not another.
            unknown = [seal for seal in had if not any(one.startswith(seal) for one in own)]
            return None if unknown else record.message
    return None


def is_shown(message: Message, known: Message) -> bool:
    """Whether the words and calls of a message are those of a stored turn."""
    return shown_calls(message) == shown_calls(known) and shown_text(message) == shown_text(known)


def _is_lost(part: Part, had: set[str], said: set[str]) -> bool:
    """Whether a piece of reasoning did not come back: neither its seal nor, where it has none, its text."""
    if seals := set(seals_of(part)):
        # An id seals nothing where the item itself came back: some programs leave the ids out.
        named = {part.origin.item} if part.origin and seals & had else set()
        return not seals - named <= had
    return isinstance(part, Thinking) and part.text not in said


def _says_more(part: Part) -> bool:
    """Whether a part is more than the text or the call that every program keeps."""
    return isinstance(part, (Thinking, Opaque)) or bool(part.origin and part.origin.seals)


def _with_ids(message: Message, ids: dict[str, str]) -> Message:
    """A message whose results refer to calls by the ids that their host gave them."""
    if not any(isinstance(part, ToolResult) and part.call_id in ids for part in message.parts):
        return message
    parts = tuple(
        part.replace(call_id=ids.get(part.call_id, part.call_id))
        if isinstance(part, ToolResult)
        else part
        for part in message.parts
    )
    return message.replace(parts=parts)
