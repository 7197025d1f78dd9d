"""Stored responses of one request: the one it continues from, and what is stored of its answer (`wire/serve.py` has the APIs).

A request that continues from a response (`previous_response_id`, `previous_interaction_id`, `thread`) is forwarded unchanged to the account that
stored that response. For any other candidate, the whole conversation is written into `input`, as a client without stored responses
sends it. So every model can continue from every response; the choice is made for each candidate. The same holds for single items
that a request only refers to (`item_reference`), as Vercel's SDK sends earlier turns.

A request in a stored conversation (`conversations.py`) gets the items of the conversation before its own, at every candidate, and its
input and output are added to it. One that runs in the background (`background.py`) is sent without saying so.

Instructions are not inherited: each request has only its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Note
from innervoice.canon.response import Response
from innervoice.canon.target import Target
from innervoice.errors import InnervoiceError, ProviderError
from innervoice.gateway.errors import NO_STORE
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import Report
from innervoice.gateway.responses.compactions import since_compaction
from innervoice.gateway.responses.conversations import StoredConversation
from innervoice.gateway.responses.stored import (
    ITEM,
    FoundResponses,
    StoredResponse,
    packed,
)
from innervoice.gateway.rewritten import Attempt
from innervoice.memory.retention import says_more
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.responses.compactions import asks_for_compaction
from innervoice.wire.responses.conversations import EXCLUSIVE, no_conversation
from innervoice.wire.serve import StoredAnswers

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway
    from innervoice.gateway.routes import Candidate


__all__ = ["ResponseState", "WholeInput"]

_ABSENT = (None, "", False)


class WholeInput(NamedTuple):
    """A conversation as it is sent to a candidate that has not stored it."""

    items: list[Any]
    turns: list[Message]
    """The turns in it as their providers gave them."""
    without: tuple[str, ...] = ()
    """Members of the request that are not sent."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """What its first request said for all of it."""


class ResponseState:
    """The state that one request goes on from, and leaves behind. `member` gives a member of the body as JSON; None if there is none."""

    def __init__(
        self,
        gateway: Gateway,
        api: StoredAnswers,
        report: Report,
        member: Callable[[str], bytes | None],
    ) -> None:
        """Raises `Refused` if the request says something impossible of it."""
        self._gateway, self._report, self._member = gateway, report, member
        self._api = api
        if api.check is not None and (refusal := api.check(self._members())):
            raise Refused(refusal)
        self.previous: str | None = api.previous_in(self._read(api.previous)) or None
        if self.previous is not None and not isinstance(self.previous, str):
            text = f"{api.previous} must be a string, the id of a stored {api.noun}"
            raise Refused(Refusal(text=text, param=api.previous))
        self._asked = [name for name in api.only_there if self._read(name) not in _ABSENT]
        self._remember = gateway.keeps(report)
        self.is_stored = self._read("store") is not False and self._remember != "off"
        """Whether the answer is stored here."""
        self.is_background = api.background is not None and bool(self._read(api.background))
        """Whether the answer is made in the background."""
        self.kept: dict[str, Any] | None = None
        """The answer, once it is stored."""
        self._conversation_id = self._named_conversation()
        self._conversation: StoredConversation | None = None
        self._check_members()
        self._head: StoredResponse | None = None
        self._is_loaded = self._is_refused = self._has_items = False
        self._is_whole = True
        self._chain: list[StoredResponse] | None = None
        reference = f'"{api.reference}"'.encode() if api.reference else None
        self._refers = reference is not None and reference in (member(api.input) or b"")

    def _members(self) -> dict[str, Any]:
        """The members of the request that concern stored answers."""
        names = (self._api.previous, *self._api.settings)
        return {name: self._read(name) for name in names if self._member(name) is not None}

    def _read(self, name: str) -> Any:
        data = self._member(name)
        return None if data is None else load_json(data)

    def _named_conversation(self) -> str | None:
        """The id of the conversation that the request belongs to: a string, or an object with an `id`."""
        value = self._read(self._api.conversation) if self._api.conversation else None
        name = value.get("id") if isinstance(value, dict) else value
        if name is not None and not isinstance(name, str):
            text = f"{self._api.conversation} must be the id of a conversation, or an object with it as `id`"
            raise Refused(Refusal(text=text, param=self._api.conversation))
        return name or None

    def _check_members(self) -> None:
        """Raises `Refused` for members that do not go together."""
        if self.previous is not None and self._conversation_id is not None:
            raise Refused(EXCLUSIVE)
        if self.is_background and not self.is_stored:
            text = "a response in the background must be stored: remove `store: false`"
            if self._remember == "off":
                text = "this gateway is not allowed to store responses, so none can be made in the background; remove `background`"
            raise Refused(Refusal(text=text, param=self._api.background))
        if self._conversation_id is not None and self._gateway.config.server.remember == "off":
            text = "this gateway is not allowed to store conversations; send all items in `input`"
            raise Refused(Refusal(text=text, param=self._api.conversation))

    @property
    def is_plain(self) -> bool:
        """Whether the request says nothing of state, so that nothing of it needs a decision."""
        is_alone = self.previous is None and self._conversation_id is None
        has_state = self._asked or self._refers or self.is_background or self._api.is_asked_for
        return is_alone and not has_state

    @property
    def takes_answer(self) -> bool:
        """Whether the answer is stored, or added to a conversation."""
        return self.is_stored or self._conversation is not None

    @property
    def is_stored_there(self) -> bool:
        """Whether the provider keeps the answer, if it stores answers."""
        return self._read("store") is not False

    @property
    def is_translated(self) -> bool:
        """Whether the answer must be written here: it has an id or members that the provider does not know."""
        return self.is_background or self._conversation is not None

    @property
    def echo(self) -> dict[str, Any]:
        """What the answer repeats of the request."""
        if self._api.is_asked_for:
            return {}
        members = {name: self._read(name) for name in self._api.echoed}
        if "store" in members:
            members["store"] = self.is_stored
        echo = self._api.echo(members)
        if self._conversation is not None:
            echo["conversation"] = {"id": self._conversation.id}
        return echo

    # ---- going on ------------------------------------------------------------------------------

    async def load(self) -> bytes | None:
        """Looks the response up that the request goes on from; returns what the requests of its conversation have in common.

        Raises `Refused` if nobody can go on from it.
        """
        if self._conversation_id is not None:
            return await self._load_conversation(self._conversation_id)
        if self.previous is None or self._is_loaded:
            return None
        self._is_loaded = True
        if self._remember == "off":
            return None
        responses = await self._gateway.responses.get(
            self._api, self._report.tenant, [self.previous]
        )
        self._head, self._is_whole = responses.responses.get(self.previous), responses.is_whole
        head = self._head
        if not responses.is_whole:
            self._report.store = "degraded"
        if head is None:
            return None
        if head.is_deleted or not head.body.get(self._api.status):  # or a compaction alone
            raise Refused(self._api.no_previous(self.previous))
        if not head.goes_on:
            statuses = " or ".join(self._api.goes_on)
            text = f"the {self._api.noun} {self.previous} has the status {head.status!r}; only a {statuses} one can be continued"
            raise Refused(Refusal(text=text, param=self._api.previous))
        return head.conversation

    async def _load_conversation(self, name: str) -> bytes:
        """Looks the conversation up; returns what its requests have in common."""
        if not self._is_loaded:
            self._is_loaded = True
            self._conversation = await self._gateway.conversations.get(self._report.tenant, name)
        return blake2b(f"{self._report.tenant}\0{name}".encode(), digest_size=16).digest()

    async def whole(self, candidate: Candidate, *, always: bool = False) -> WholeInput | None:
        """What a candidate is sent as `input`; None if the request goes on as it came. With `always`, also what the candidate has itself.

        Raises `Refused` if the candidate cannot go on from the response.
        """
        chain = await self._chain_for(candidate, always=always or self.is_background)
        new = self._api.items_of(self._read(self._api.input))
        conversation = self._conversation
        if conversation is not None:
            before = since_compaction([*conversation.sent])
        else:
            before = since_compaction([item for one in chain or () for item in one.items])
        referred = await self._referred([*before, *new], candidate)
        is_read = chain is not None or conversation is not None
        if not is_read and not referred and not self.is_background:
            return None
        self._check_items(before, new)
        responses = {one.id: one for one in (*(chain or ()), *referred.values())}
        if conversation is not None:
            responses |= await self._of_conversation(conversation)
        turns = [turn for one in responses.values() if (turn := one.turn())]
        members = {
            self._api.previous: chain is not None or bool(referred),
            self._api.conversation: conversation is not None,
            self._api.background: self.is_background,
        }
        without = tuple(name for name, is_left_out in members.items() if name and is_left_out)
        settings = chain[0].settings if chain else {}
        return WholeInput(self._resolved([*before, *new], referred), turns, without, settings)

    async def _of_conversation(self, conversation: StoredConversation) -> dict[str, StoredResponse]:
        """The stored responses whose output is in a conversation."""
        found = await self._gateway.responses.get(
            self._api, self._report.tenant, conversation.responses
        )
        return {name: one for name, one in found.responses.items() if not one.is_deleted}

    async def _chain_for(
        self, candidate: Candidate, *, always: bool
    ) -> list[StoredResponse] | None:
        """The responses to send to a candidate before the new input, the oldest first; None if there are none or, unless `always`, it has them."""
        await self.load()
        if self._conversation_id is not None and self._conversation is None:
            if candidate.target.dialect != self._api.dialect or self.is_background:
                raise Refused(no_conversation(self._conversation_id))
            await self._check_owner(self._conversation_id, no_conversation)
            return None  # it may be known there
        can_store = self._can_store(candidate)
        if self.previous is None:
            # A conversation that begins here: nothing was before it.
            return [] if self._api.is_asked_for and not can_store else None
        if self._head is None:
            if can_store:
                await self._check_owner(self.previous, self._api.no_previous)
                return None  # it may be known there
            raise Refused(self._api.no_previous(self.previous) if self._is_whole else NO_STORE)
        is_there = self._head.place == _place(candidate) and not self._is_refused
        if is_there and not always:
            return None
        if self._chain is None:
            self._chain = [*await self._before(self._head), self._head]
        return self._chain

    def _can_store(self, candidate: Candidate) -> bool:
        """Whether a candidate may have stored answers itself."""
        target, flag = candidate.target, self._api.flag
        if target.dialect != self._api.dialect or (self._api.is_asked_for and self._is_refused):
            return False
        known = target.host.betas if target.host else ()
        return flag is None or flag in known or "*" in known

    async def _before(self, head: StoredResponse) -> list[StoredResponse]:
        """The responses before one, the oldest first."""
        chain: list[StoredResponse] = []
        names = head.chain
        # One look-up, unless the store could not be asked when a response of the chain was stored: its ids begin with that one then.
        while names and len(chain) < self._gateway.limits.messages:
            responses = await self._gateway.responses.get(self._api, self._report.tenant, names)
            for name in names:
                response = responses.responses.get(name)
                if response is None and not responses.is_whole:
                    raise Refused(NO_STORE)
                if response is None or response.is_deleted:
                    raise Refused(self._api.no_previous(name))
            chain = [*(responses.responses[name] for name in names), *chain]
            names = chain[0].chain
        return chain

    async def _referred(self, items: list[Any], candidate: Candidate) -> dict[str, StoredResponse]:
        """The responses whose items a candidate must be sent in place of references to them."""
        names = [str(item.get("id")) for item in items if self._is_reference(item)]
        if not names or self._api.no_item is None:
            return {}
        responses = FoundResponses({}, is_whole=True)
        speaks = candidate.target.dialect == self._api.dialect
        if self._remember != "off":
            responses = await self._gateway.responses.get(
                self._api, self._report.tenant, names, ITEM
            )
        referred: dict[str, StoredResponse] = {}
        for name in names:
            response = responses.responses.get(name)
            if response is None and not speaks:
                raise Refused(self._api.no_item(name) if responses.is_whole else NO_STORE)
            if response is None:
                await self._check_owner(name, self._api.no_item)
            self._has_items = self._has_items or response is not None
            if response and (response.place != _place(candidate) or self._is_refused):
                referred[name] = response
        return referred

    async def _check_owner(self, name: str, refusal: Callable[[str], Refusal]) -> None:
        """Raises `Refused` for an id that only the provider knows, where several owners share its account and another one may have got it."""
        await self._gateway.owned_ids.check_one(self._report, name, refusal)

    def refused(self, error: InnervoiceError) -> bool:
        """Whether the provider no longer has what is known here, so that the request can be sent with all of it."""
        begins = self._api.is_asked_for and self.previous is None
        is_known = begins or self._head is not None or self._has_items
        if not is_known or self._is_refused or not isinstance(error, ProviderError):
            return False
        text = f"{error.code} {error.message}".lower().replace("_", " ")
        is_told = any(words in text for words in self._api.lost)
        self._is_refused = error.status in (400, 404) and is_told
        return self._is_refused

    def _check_items(self, before: list[Any], new: list[Any]) -> None:
        """Raises `Refused` for a conversation that is too long, or has an item twice."""
        most = self._gateway.limits.messages
        if (count := len(before) + len(new)) > most:
            text = f"the conversation behind {self._api.previous} has {count} items; at most {most} are accepted: start a new one"
            raise Refused(Refusal(text=text, status=413, param=self._api.previous))
        ids = set(map(_id_of, before)) - {None}
        for name in map(_id_of, new):
            if name in ids:
                text = f"Duplicate item found with id {name}. Remove duplicate items from your input and try again."
                raise Refused(Refusal(text=text, param="input"))

    def expanded(self, value: Mapping[str, Any], whole: WholeInput) -> tuple[bytes, dict[str, Any]]:
        """The body with the whole conversation in it, written and read; raises `Refused` for one that is too large."""
        rest = {name: item for name, item in value.items() if name not in whole.without}
        expanded = {**rest, **whole.settings, self._api.input: whole.items}
        if self.is_background:
            expanded["stream"] = True  # its events are stored as they come
        body = dump_json(expanded)
        most = self._gateway.limits.body_bytes
        if len(body) > most:
            text = f"the conversation behind {self._api.previous} has {len(body)} bytes; at most {most} are accepted: start a new one"
            raise Refused(Refusal(text=text, status=413, param=self._api.previous))
        return body, expanded

    def check(self, attempt: Attempt) -> None:
        """Raises `Refused` for what only a provider itself can obey, if the request does not go on as it came."""
        api = self._api
        if api.unstored and not self.is_stored and api.previous not in attempt.wire.body:
            raise Refused(api.unstored)
        for name in self._asked:
            if not attempt.is_bytes:
                raise Refused(Refusal(text=self._api.only_there[name], param=name))
        if (
            self._conversation_id is not None
            and self._conversation is None
            and not attempt.is_bytes
        ):
            raise Refused(no_conversation(self._conversation_id))

    def _is_reference(self, item: Any) -> bool:
        return self._api.reference is not None and as_dict(item).get("type") == self._api.reference

    def _resolved(self, items: list[Any], referred: Mapping[str, StoredResponse]) -> list[Any]:
        """The items, with those that are referred to in place of references; a reference to an item that is there adds nothing."""
        names = {_id_of(item) for item in items if not self._is_reference(item)}
        resolved: list[Any] = []
        for item in items:
            name = _id_of(item) if self._is_reference(item) else None
            if name is None or name not in referred:
                resolved.append(item)
            elif name not in names:
                names.add(name)
                resolved.append(referred[name].item(name))
        return resolved

    # ---- what is left behind -------------------------------------------------------------------

    def turn_keys(self, body: Mapping[str, Any] | None) -> list[bytes]:
        """The keys by which the turn of an answer is deleted together with its response."""
        name = (body or {}).get("id")
        if not name:
            return []
        return self._gateway.responses.turn_keys(self._api, self._report.tenant, name)[:1]

    async def keep(
        self,
        attempt: Attempt,
        answer: Response,
        body: dict[str, Any] | None,
        conversation: bytes | None,
    ) -> None:
        """Stores the answer; `body` is what the client got, None if that is no response. Adds it to its conversation."""
        if body is None or body.get(self._api.status) not in self._api.ended:
            return
        await self.load()
        if self._conversation is not None and body[self._api.status] in self._api.goes_on:
            await self._add_to(self._conversation, body)
        if not self.is_stored:
            return
        is_there = attempt.is_bytes and self._is_confirmed(body)
        place = _place(attempt.candidate) if is_there else None
        turn = self._lost(attempt, answer)
        await self.put(body, conversation, place, attempt.candidate.target, turn)

    async def put(
        self,
        body: dict[str, Any],
        conversation: bytes | None = None,
        place: str | None = None,
        target: Target | None = None,
        turn: Message | None = None,
    ) -> None:
        """Stores a response as it is now; of several versions the last one counts."""
        name = body.get("id")
        if not isinstance(name, str) or not name:
            return
        self.kept = body
        data = packed(
            body,
            self._member(self._api.input) or b"null",
            chain=self._chain_of_ids(),
            place=place,
            conversation=conversation or b"",
            target=target,
            turn=turn,
            settings={} if self.previous else self._settings(),
        )
        if len(data) > LIMITS.stored_bytes:
            self._report.notes.append(Note("response_not_stored", f"{len(data)} bytes"))
            return
        items = [item for item in map(_id_of, as_list(body.get(self._api.output))) if item]
        tenant, durable = self._report.tenant, self._remember != "ram"
        if not await self._gateway.responses.put(
            self._api, tenant, name, data, items if self._api.reference else (), durable=durable
        ):
            self._report.store = "degraded"
            self._report.notes.append(Note("response_not_stored"))

    async def keep_covered(self, attempt: Attempt, compaction: dict[str, Any]) -> None:
        """Stores the items that a compaction stands for, under its id; in memory for a client that wants nothing stored."""
        if self._remember == "off" or attempt.rewritten is None:
            return
        name = compaction["id"]
        body = {"id": name, "object": "response.compaction", self._api.output: [compaction]}
        data = packed(
            body,
            dump_json(
                [item for item in attempt.rewritten.items if not asks_for_compaction([item])]
            ),
            chain=[],
            place=None,
            conversation=b"",
            target=None,
            turn=None,
            settings={},
        )
        is_durable = self._remember != "ram"
        is_kept = len(data) <= LIMITS.stored_bytes and await self._gateway.responses.put(
            self._api, self._report.tenant, name, data, durable=is_durable
        )
        if not is_kept:
            self._report.notes.append(Note("compacted_not_stored"))

    def _settings(self) -> dict[str, bytes]:
        """What the request says for all of its conversation."""
        members = ((name, self._member(name)) for name in self._api.settings)
        return {name: data for name, data in members if data is not None}

    async def _add_to(self, conversation: StoredConversation, body: Mapping[str, Any]) -> None:
        """Adds the input and the output of an answer to a conversation."""
        items = [
            *self._api.items_of(self._read(self._api.input)),
            *as_list(body.get(self._api.output)),
        ]
        if conversation.missing:
            self._report.notes.append(Note("conversation_incomplete", count=conversation.missing))
        try:
            await self._gateway.conversations.add(
                self._report.tenant, conversation.id, {"items": items, "response": body.get("id")}
            )
        except Refused:
            self._report.store = "degraded"
            self._report.notes.append(Note("conversation_not_extended"))

    def _is_confirmed(self, body: Mapping[str, Any]) -> bool:
        """Whether the provider has stored the answer, too."""
        return self._api.confirmed_by is None or bool(body.get(self._api.confirmed_by))

    def _lost(self, attempt: Attempt, answer: Response) -> Message | None:
        """The turn of an answer in another dialect, whose seals may have no place in the response."""
        turn = answer.message
        is_foreign = attempt.candidate.target.dialect != self._api.dialect
        return turn if is_foreign and any(map(says_more, turn.parts)) else None

    def _chain_of_ids(self) -> list[str]:
        """The ids of the responses before the answer; a conversation of the provider's stands for those that are unknown here."""
        if self.previous is None:
            return [self._conversation_id] if self._conversation_id else []
        return [*(self._head.chain if self._head else ()), self.previous]


def _id_of(item: Any) -> str | None:
    return as_text(as_dict(item).get("id"))


def _place(candidate: Candidate) -> str:
    """Where a provider keeps what it stores: an account at an address."""
    facts = f"{candidate.base_url}\0{candidate.account.name}\0{candidate.target.dialect}"
    return blake2b(facts.encode(), digest_size=16).hexdigest()
