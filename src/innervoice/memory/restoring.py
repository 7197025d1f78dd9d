"""Restores what a program lost of earlier turns: a request goes in, the keys of its turns come out, and with the turns that a store has
under them the request with complete turns.

A stored turn is used only if its text and calls are those that the program sent: an edit of a turn is respected. Turns that were split,
merged or appended to are by_key as well (`changed_turns.py`). If the program sent reasoning with a seal that the stored turn does not
have, the program's turn stays.

Several stored turns may match. If everything before them and what they show is equal, each of them is right: one that the target can read,
with the seals that the program sent, of the run whose earlier turn was chosen, else the newest. Where less is equal, none is used.

Parts that a program carried in an envelope (`envelopes.py`) need no store, unless a part is too large and the envelope has only its key.
An envelope that cannot be opened is dropped: a provider could not read it either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.request import Request
from innervoice.canon.target import Target
from innervoice.catalog.home import is_home
from innervoice.conversation.digest import CROWD, ConversationDigest, TurnKeys, keys_of_turns
from innervoice.conversation.stable import is_billed_otherwise
from innervoice.conversation.turns import RenamedCalls, call_ids, seals_of, shown_turn
from innervoice.memory.changed_turns import RecalledTurns, changed_turns
from innervoice.memory.envelopes import Handle, is_envelope, part_of
from innervoice.memory.records import TurnRecord, TurnsByKey, new_run, now
from innervoice.memory.retention import says_more

__all__ = ["Opened", "RestoredRequest", "TurnRestorer", "lost_parts", "record_of", "with_turns"]


Opened: TypeAlias = Callable[[str, str], Part | Handle | None]
"""A seal, and the kind of part that has it -> the content of the envelope."""


def _opens_nothing(_text: str, _slot: str) -> None:
    return None


_FAILURES = 100
"""How many failed searches for changed turns are allowed; a program that exceeds it has changed everything."""


class RestoredRequest(NamedTuple):
    """A request with complete turns."""

    request: Request
    places: frozenset[tuple[int, int]]
    """The numbers of the message and of the part, for each piece of reasoning and each sealed part that was restored."""


class TurnRestorer:
    """Restores the turns of one request, and stores the answer to it.

    `wanted` are the keys to look up; `restored` uses the turns that were by_key; `record` creates the record of the answer and its keys.
    `opened` takes a part out of the envelope in a kind of part. `older` secrets find turns from before a rotation; the keys of version 0.2.1, where they
    differ, find turns from before an update. With `edited_words` a turn
    is also by_key by its calls if its text is different; a caller that sets it keeps the text that was sent, and uses
    `recalled`.
    """

    def __init__(
        self,
        request: Request,
        tenant: str,
        secret: bytes,
        opened: Opened = _opens_nothing,
        *,
        older: Sequence[bytes] = (),
        edited_words: bool = False,
    ) -> None:
        self.notebook = Notebook()
        self._unpacked = Notebook()
        """What happened to envelopes."""
        self.carried: list[Part] = []
        """The parts that the program carried in envelopes, once they are restored."""
        self._edited_words = edited_words
        self._request = request
        self._tenant = tenant
        self._envelopes = {
            (number, position): opened(next(seals_of(part)), part.type)
            for number, message in enumerate(request.messages)
            if message.role == "assistant"
            for position, part in enumerate(message.parts)
            if _carries(part)
        }
        self._digest = ConversationDigest(tenant, secret, request.system)
        self._keys = keys_of_turns(request.messages, self._digest)
        self._older = [
            keys_of_turns(request.messages, ConversationDigest(tenant, one, request.system))
            for one in older
        ]
        if is_billed_otherwise(request):
            self._older += [
                keys_of_turns(
                    request.messages,
                    ConversationDigest(tenant, one, request.system, as_before=True),
                )
                for one in (secret, *older)
            ]

    @property
    def turns(self) -> dict[int, TurnKeys]:
        """The keys of each turn, by the number of its message."""
        return {number: keys for number, keys in enumerate(self._keys) if keys}

    @property
    def wanted(self) -> list[bytes]:
        """The keys of all turns of the request."""
        walks = (self._keys, *self._older)
        turns = [key for walk in walks for keys in walk if keys for key in keys.all]
        large = [content.key for content in self._envelopes.values() if isinstance(content, Handle)]
        return list(dict.fromkeys((*turns, *large)))

    def restored(self, by_key: TurnsByKey, target: Target | None = None) -> RestoredRequest:
        """The request with the stored turns in place of those that lost something; of several, those that the target can read."""
        self._unpack(by_key)
        self.notebook = Notebook()
        self.notebook.take(self._unpacked)
        sent = self._request.messages
        messages: list[Message] = []
        places: set[tuple[int, int]] = set()
        ids = RenamedCalls()
        end = rejoined = 0
        for turn in self.recalled(by_key, target):
            messages += _with_ids(sent[end : turn.start], ids)
            replaced = sent[turn.start : turn.end]
            if _has_more_words(replaced, turn.turns):
                self.notebook.add("words_replaced")
            for number, stored in enumerate(turn.turns, len(messages)):
                places.update((number, position) for position in lost_parts(stored, replaced))
            ids.add(call_ids(replaced), call_ids(turn.turns))
            messages += turn.turns
            messages += _with_ids([sent[number] for number in turn.results], ids)
            end = turn.end
            rejoined += len(replaced) != len(turn.turns)
        messages += _with_ids(sent[end:], ids)
        if places:
            self.notebook.add("thinking_restored", count=len(places))
        if rejoined:
            self.notebook.add("turn_rejoined", count=rejoined)
        if not places and messages == list(sent):
            return RestoredRequest(self._request, frozenset())
        return RestoredRequest(self._request.replace(messages=tuple(messages)), frozenset(places))

    def recalled(self, by_key: TurnsByKey, target: Target | None = None) -> Iterator[RecalledTurns]:
        """The messages of the request that show stored turns, in order."""
        messages, end, failed = self._request.messages, 0, 0
        stored = _StoredTurns(self._renamed(by_key), target)
        by_key = stored.by_key
        items = _items_of(messages) if by_key else set()
        for number, keys in enumerate(self._keys):
            if keys is None or number < end or by_key.keys().isdisjoint(keys):
                continue
            message = messages[number]
            match = stored.match(message, keys, self.notebook)
            if match is not None:
                turn: RecalledTurns | None = RecalledTurns(number, number + 1, (match.message,))
            else:
                turn = self._changed(number, keys, stored) if failed < _FAILURES else None
                failed += turn is None
            if turn is not None:
                turn = _without_items(turn, items - _items_of(messages[number : turn.end]))
            if turn is not None and not _has_other_seals(messages[number : turn.end], turn.turns):
                stored.run = match.run if match else stored.run
                yield turn
                end = turn.end
        self._digest.run = stored.run

    def _changed(self, number: int, keys: TurnKeys, stored: _StoredTurns) -> RecalledTurns | None:
        """The stored turns that a program changed."""
        by_call = [
            turn
            for key in (keys.calls, keys.question)
            if key is not None
            for turn in stored.turns(key)
        ]
        messages, is_edited = self._request.messages, self._edited_words
        turns = stored.turns(keys.follows)
        return changed_turns(messages, number, turns, by_call, edited_words=is_edited)

    def _renamed(self, by_key: TurnsByKey) -> TurnsByKey:
        """Turns that are stored under older keys, under the current keys."""
        if not self._older:
            return by_key
        renamed = {key: list(records) for key, records in by_key.items()}
        for walk in self._older:
            for keys, older in zip(self._keys, walk, strict=True):
                for key, before in zip(keys or (), older or (), strict=True):
                    if key is not None and before is not None and before in by_key:
                        renamed.setdefault(key, []).extend(by_key[before])
        return renamed

    def _unpack(self, by_key: TurnsByKey) -> None:
        """Puts the parts from envelopes into the request."""
        if not self._envelopes:
            return
        messages = list(self._request.messages)
        for number in {number for number, _ in self._envelopes}:
            parts: list[Part] = []
            carried: list[Part] = []
            loose: list[ToolCall | Text] = []
            for position, part in enumerate(messages[number].parts):
                if (number, position) not in self._envelopes:
                    parts.append(part)
                    continue
                part_before = self._opened_part(self._envelopes[number, position], by_key)
                if isinstance(part, Thinking) and isinstance(part_before, (ToolCall, Text)):
                    if isinstance(part_before, Text) and not part_before.text.strip():
                        parts.append(
                            part_before
                        )  # it shows nothing, so the client does not have it
                    else:
                        loose.append(part_before)
                    continue
                if part_before is not None and _says_the_same(part, part_before):
                    _add_opened(part_before, parts, carried)
                    continue
                code = "envelope_unreadable" if part_before is None else "envelope_outdated"
                self._unpacked.add(code, part.type)
                if not isinstance(part, Thinking):
                    parts.append(_without_block(part))
            self.carried += carried
            self._unpack_loose(parts, loose)
            messages[number] = messages[number].replace(parts=tuple(parts))
        self._request = self._request.replace(messages=tuple(messages))
        self._envelopes = {}

    def _unpack_loose(self, parts: list[Part], loose: Sequence[ToolCall | Text]) -> None:
        """Puts calls and texts with their seals in the place of the same ones without."""
        for sealed in loose:
            for number, part in enumerate(parts):
                if _is_bare(part, sealed) and _says_the_same(part, sealed):
                    parts[number] = sealed
                    self.carried.append(sealed)
                    break
            else:
                self._unpacked.add("envelope_outdated", sealed.type)

    def _opened_part(self, content: Part | Handle | None, by_key: TurnsByKey) -> Part | None:
        if not isinstance(content, Handle):
            return content
        for record in by_key.get(content.key, ()):
            if part := part_of(record.message, content, self._tenant):
                return part
        return None

    @property
    def digest(self) -> ConversationDigest:
        """The conversation, up to the end of the request."""
        return self._digest

    def record(self, message: Message) -> tuple[TurnRecord, Sequence[bytes]] | None:
        """The record of the answer, and its keys; None if every program keeps all of it."""
        return record_of(message, self._tenant, self._digest)


def with_turns(request: Request, turns: Sequence[Message]) -> Request:
    """The request with these turns in place of the messages that show them, each once; of several alike, the first one first.

    The items of a stored response are what the client saw: Gemini's seals of calls have no place in them, and they do not say which account
    sealed them. What its provider sent takes the place of what its items say, and no search by content is needed.
    """
    if not turns:
        return request
    remaining = list(turns)
    messages: list[Message] = []
    for message in request.messages:
        alike = (
            turn for turn in remaining if message.role == "assistant" and _is_same(turn, message)
        )
        turn = next(alike, None)
        if turn is not None:
            remaining.remove(turn)
        messages.append(turn or message)
    return request.replace(messages=tuple(messages))


def _is_same(turn: Message, other: Message) -> bool:
    """Whether two turns show the same; ids of calls count, for the results of the request name them."""
    return shown_turn(turn)[:2] == shown_turn(other)[:2] and call_ids((turn,)) == call_ids((other,))


def record_of(
    message: Message, tenant: str, digest: ConversationDigest, *, keeps_all: bool = False
) -> tuple[TurnRecord, Sequence[bytes]] | None:
    """The record of a turn after a conversation, and its keys; None if every program keeps all of it, unless `keeps_all`."""
    if not any(map(says_more, message.parts)) and not keeps_all:
        return None
    digest.run = digest.run or new_run()
    name = f"{digest.run}{os.urandom(8).hex()}"
    record = TurnRecord(id=name, tenant=tenant, message=message, created=now())
    return record, digest.keys_to_store(message)


def _carries(part: Part) -> bool:
    return any(map(is_envelope, seals_of(part)))


class _StoredTurns:
    """The turns that a store has under the keys of a request, for one target."""

    def __init__(self, by_key: TurnsByKey, target: Target | None) -> None:
        self.by_key = by_key
        self._target = target
        self.run: str | None = None
        """The run of the last turn that was chosen."""

    def match(self, message: Message, keys: TurnKeys, notebook: Notebook) -> TurnRecord | None:
        """The stored turn that a message shows, under the most exact key that has one."""
        # Its place covers everything that the message shows, except the ids of its calls.
        records = self._distinct(keys.place, newest=True)
        if len(records) == 1:
            return records[0]
        if record := self._only(message, keys.calls):
            return record
        if records:
            return self._chosen(message, records, notebook)
        return self._only(message, keys.follows) or self._only(message, keys.question)

    def _only(self, message: Message, key: bytes | None) -> TurnRecord | None:
        """The only turn under a key that shows what a message shows."""
        records = self._distinct(key) if key is not None else ()
        if not records:
            return None
        visible = shown_turn(message).data
        fit = [record for record in records if shown_turn(record.message).data == visible]
        return fit[0] if len(fit) == 1 else None

    def turns(self, key: bytes) -> list[Message]:
        """The turns under a key; none if there are too many."""
        return [record.message for record in self._distinct(key)]

    def _chosen(
        self, message: Message, records: list[TurnRecord], notebook: Notebook
    ) -> TurnRecord:
        """One of several turns that are equal in everything that the program sent."""
        if len(records) > 1 and (seals := _seals_of((message,))):
            same = [record for record in records if seals <= _seals_of((record.message,))]
            records = same or records
        if len(records) > 1 and self.run is not None:
            records = [record for record in records if record.run == self.run] or records
        if len(records) > 1:
            notebook.add("several_turns_match")
        return records[-1]

    def _distinct(self, key: bytes, *, newest: bool = False) -> list[TurnRecord]:
        """The turns under a key, the oldest first, with equal turns as one, and only those that the target can read if there are any.

        If there are too many, none, or the newest.
        """
        records = sorted(self.by_key.get(key, ()), key=_CREATED)
        if len(records) > CROWD:
            records = records[-CROWD:] if newest else []
        distinct: list[TurnRecord] = []
        for record in reversed(records):
            if all(record.message != other.message for other in distinct):
                distinct.insert(0, record)
        if len(distinct) < 2:
            return distinct
        return [record for record in distinct if self._is_readable(record)] or distinct

    def _is_readable(self, record: TurnRecord) -> bool:
        target = self._target
        return target is None or any(
            is_home(part.origin, target) for part in record.message.parts if says_more(part)
        )


_CREATED = attrgetter("created")


def _seals_of(messages: Sequence[Message]) -> set[str]:
    return {seal for message in messages for part in message.parts for seal in seals_of(part)}


def _has_other_seals(sent: Sequence[Message], turns: Sequence[Message]) -> bool:
    """Whether a program sent a seal that the stored turns do not have."""
    had = _seals_of(sent)
    if not had:
        return False
    own_seals = _seals_of(turns)
    # A truncated seal is a damaged one of ours, not another.
    return any(not any(one.startswith(seal) for one in own_seals) for seal in had - own_seals)


def _has_more_words(sent: Sequence[Message], turns: Sequence[Message]) -> bool:
    """Whether a program returned readable reasoning of turns that are stored without it."""
    thoughts = "".join(turn.thinking or "" for turn in turns)
    return not thoughts and any(message.thinking for message in sent)


def lost_parts(turn: Message, sent: Sequence[Message]) -> list[int]:
    """The numbers of the parts of a turn that are missing in the messages that a program sent for it."""
    had = _seals_of(sent)
    thoughts = {one.text for message in sent for one in message.parts if isinstance(one, Thinking)}
    return [number for number, part in enumerate(turn.parts) if _is_lost(part, had, thoughts)]


def _is_lost(part: Part, had: set[str], thoughts: set[str]) -> bool:
    """Whether a piece of reasoning is missing: its seal or, where it has none, its text."""
    if seals := set(seals_of(part)):
        # An id seals nothing where the item itself came back: some programs leave the ids out.
        items = {part.origin.item} if part.origin and seals & had else set()
        return not seals - items <= had
    return isinstance(part, Thinking) and part.text not in thoughts


def _without_items(turn: RecalledTurns, items: set[str]) -> RecalledTurns:
    """Stored turns without these items: the request has them elsewhere, or refers to them, and a host refuses an item that comes twice."""
    if not items or items.isdisjoint(_items_of(turn.turns)):
        return turn
    turns = (
        one.replace(parts=tuple(part for part in one.parts if _item_of(part) not in items))
        for one in turn.turns
    )
    return turn._replace(turns=tuple(turns))


def _items_of(messages: Sequence[Message]) -> set[str]:
    """The ids of all items in messages, of APIs that have items."""
    names = (_item_of(part) for message in messages for part in message.parts)
    return {name for name in names if name}


def _item_of(part: Part) -> str | None:
    """The id of the item that a part came in, or that it refers to."""
    if isinstance(part, Opaque):
        name = part.value.get("id") if isinstance(part.value, dict) else None
        return name if isinstance(name, str) else None
    return part.origin.item if part.origin else None


def _without_block(part: Part) -> Part:
    """A text or a call without its wire block, which has an envelope that no provider can read."""
    origin = part.origin
    return part.replace(origin=origin.replace(block=None, seals=())) if origin else part


def _add_opened(part: Part, parts: list[Part], opened: list[Part]) -> None:
    """Adds a part from an envelope; reasoning that was carried in pieces, as far as it had come, is replaced by all of it, with its seal."""
    pieces = [one for one in opened if isinstance(one, Thinking)]
    if isinstance(part, Thinking) and part.text:
        while pieces and not part.text.startswith(pieces[0].text):
            pieces.pop(0)
        if part.text == "".join(piece.text for piece in pieces) and all(
            _came_with(piece, part) for piece in pieces
        ):
            place = next(number for number, one in enumerate(parts) if one is pieces[0])
            parts[:] = [one for one in parts if all(one is not piece for piece in pieces)]
            opened[:] = [one for one in opened if all(one is not piece for piece in pieces)]
            parts.insert(place, part)
            opened.append(part)
            return
    parts.append(part)
    opened.append(part)


def _came_with(piece: Thinking, whole: Thinking) -> bool:
    """Whether a piece of reasoning may be one of this reasoning: nothing says that it came from elsewhere."""
    if piece.origin is None or whole.origin is None:
        return piece.origin is None
    return not piece.origin.seals and (piece.origin.provider, piece.origin.model) == (
        whole.origin.provider,
        whole.origin.model,
    )


def _is_bare(part: Part, sealed: ToolCall | Text) -> bool:
    """Whether a part may be the one of which this is the sealed form."""
    if isinstance(part, ToolCall) and isinstance(sealed, ToolCall):
        return part.id == sealed.id
    return isinstance(part, Text) and isinstance(sealed, Text) and not any(seals_of(part))


def _says_the_same(part: Part, other: Part) -> bool:
    """Whether a part shows the same content as its envelope; an edit of a text or a call is respected."""
    if isinstance(part, Thinking):
        return True
    return (
        shown_turn(Message("assistant", (part,))).data
        == shown_turn(Message("assistant", (other,))).data
    )


def _with_ids(messages: Sequence[Message], ids: RenamedCalls) -> Iterable[Message]:
    return map(ids.with_host_ids, messages) if ids else messages
