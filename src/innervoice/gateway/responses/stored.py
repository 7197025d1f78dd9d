"""Answers that clients may ask for again, or go on from: one item in the store for each.

    response       the object as the client got it, in the API of the client
    input          what the request had as `input`, as it came
    chain          the ids of all responses before it, the oldest first: a follow-up needs two round trips however long the chain is
    place          the account at the provider that stores it, too
    conversation   what the requests of its conversation have in common
    origin         the dialect, the provider, the model and the account that it came from
    turn           the turn as the provider gave it, where the object has no place for all of it
    settings       what the first request said for all of its conversation, where the API has that

A store that is slow or not there fails no answer: the response stays in memory then, and that is told.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.storage import from_json, to_json
from innervoice.canon.target import Target
from innervoice.decoding import decode
from innervoice.errors import InnervoiceError
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.errors import NO_STORE
from innervoice.gateway.limits import LIMITS
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.store import FoundItem, StoreError
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.serve import Query, StoredAnswers

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = [
    "ITEM",
    "OF_RESPONSES",
    "FoundResponses",
    "StoredResponse",
    "StoredResponses",
    "of_response",
    "packed",
]

KIND = "response"
ITEM = "item of a response"
"""A response is found by its id, and by the ids of its items."""
_DELETED = b'{"deleted":true}'
_PIECES = 64
"""Pieces of events that are deleted at once."""

Result = TypeVar("Result")


class StoredResponse:
    """One response out of the store."""

    def __init__(self, value: dict[str, Any], api: StoredAnswers) -> None:
        self._api = api
        self.body: dict[str, Any] = as_dict(value.get("response"))
        self.chain = tuple(map(str, as_list(value.get("chain"))))
        self.place = as_text(value.get("place"))
        self.conversation = bytes.fromhex(as_text(value.get("conversation")) or "")
        self.is_deleted = bool(value.get("deleted"))
        """It was here, and must not be found at the provider either."""
        self._origin = [as_text(word) for word in as_list(value.get("origin"))]
        self._input = value.get("input")
        self._turn = value.get("turn")
        self.settings: dict[str, Any] = as_dict(value.get("settings"))

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.body.get("id"))

    @property
    def status(self) -> str:
        """How it ended."""
        return str(self.body.get(self._api.status))

    @property
    def goes_on(self) -> bool:
        """Whether a conversation can go on from it."""
        return self.status in self._api.goes_on

    @property
    def input(self) -> list[Any]:
        """The items of the request, as they came."""
        return self._api.items_of(self._input)

    @property
    def output(self) -> list[Any]:
        """The items of the answer, as a later request has them."""
        if self._api.output_items is not None:
            return self._api.output_items(self.body)
        return as_list(self.body.get(self._api.output))

    @property
    def items(self) -> list[Any]:
        """Its input and its output."""
        return [*self.input, *self.output]

    def item(self, name: str) -> Any:
        """The item of the answer with this id; None if there is none."""
        return next((item for item in self.output if as_dict(item).get("id") == name), None)

    def turn(self) -> Message | None:
        """The turn as the provider gave it: with seals that the object has no place for, and the account that it came from."""
        try:
            if self._turn is not None:
                turn = from_json(dump_json(self._turn))
                return turn if isinstance(turn, Message) else None
            if not self._origin or self._origin[0] != self._api.dialect:
                return None  # the object has a place for all of it
            dialect, provider, model, scope = self._origin
            return decode(self.body, provider, model, dialect, scope=scope).message
        except (InnervoiceError, ValueError):
            return None


class FoundResponses(NamedTuple):
    """Ids -> what was found under them, and whether the store could be asked."""

    responses: dict[str, StoredResponse]
    is_whole: bool


def packed(
    response: dict[str, Any],
    input: bytes,  # noqa: A002 - as on the wire
    *,
    chain: Sequence[str],
    place: str | None,
    conversation: bytes,
    target: Target | None,
    turn: Message | None,
    settings: Mapping[str, bytes],
) -> bytes:
    """The data of an item; `input` and `settings` are JSON as it came, which is not read for this. Without a target nobody has answered yet."""
    origin = [target.dialect, target.provider, target.model, target.scope] if target else []
    members = {
        b"response": dump_json(response),
        b"input": input,
        b"chain": dump_json(list(chain)),
        b"place": dump_json(place),
        b"conversation": dump_json(conversation.hex()),
        b"origin": dump_json(origin),
        b"turn": b"null" if turn is None else to_json(turn),
    }
    if settings:
        members[b"settings"] = _object({name.encode(): data for name, data in settings.items()})
    return _object(members)


def _object(members: Mapping[bytes, bytes]) -> bytes:
    return b"{" + b",".join(b'"%b":%b' % member for member in members.items()) + b"}"


class StoredResponses:
    """Keeps responses in a store, and in memory those that must not or cannot go into it."""

    def __init__(
        self,
        sealed: SealedStore,
        memory: SealedStore | None = None,
        calls: StoreCalls | None = None,
    ) -> None:
        """Without `memory`, the store is memory already."""
        self._sealed = sealed
        self._memory = memory
        self._calls = calls or StoreCalls()

    async def put(
        self,
        api: StoredAnswers,
        tenant: str,
        name: str,
        data: bytes,
        items: Sequence[str] = (),
        *,
        durable: bool = True,
    ) -> bool:
        """Stores the data of a response under its id and those of its items; returns whether it is where it should be.

        Without `durable` that is memory.
        """
        names = [(api.noun, name), *((ITEM, item) for item in items)]
        keys = [self._keys(tenant, one, kind)[0] for kind, one in names]
        now = time.time()
        if self._memory is None:
            await self._sealed.put(tenant, KIND, data, keys, created=now)
            return True
        if durable and await self._within(lambda: self._save(tenant, data, keys, now)):
            return True
        await self._memory.put(tenant, KIND, data, keys, created=now)
        return not durable

    async def get(
        self, api: StoredAnswers, tenant: str, names: Sequence[str], kind: str | None = None
    ) -> FoundResponses:
        """The responses of a tenant with these ids, the newest of several.

        With `ITEM`, those with these items; some hosts count their ids, and of two responses with an item of one id none is meant.
        """
        kind = kind or api.noun
        by_key = {key: name for name in names for key in self._keys(tenant, name, kind)}
        keys = list(by_key)
        if not keys:
            return FoundResponses({}, is_whole=True)
        if self._memory is None:
            items = await self._sealed.get(tenant, KIND, keys)
            responses = _read(items, by_key, api, alone=kind == ITEM)
            return FoundResponses(responses, is_whole=True)
        here = await self._memory.get(tenant, KIND, keys)
        stored = await self._within(lambda: self._sealed.get(tenant, KIND, keys))
        items = sorted([*here, *(stored or ())], key=lambda item: item.created)
        responses = _read(items, by_key, api, alone=kind == ITEM)
        return FoundResponses(responses, is_whole=stored is not None)

    async def delete(self, api: StoredAnswers, tenant: str, name: str) -> bool:
        """Deletes a response; returns whether there was one. Raises `StoreError` if the store cannot be used.

        Of one that its provider has stored, too, a mark stays, so that nobody goes on from it there.
        """
        responses = await self.get(api, tenant, [name])
        response = responses.responses.get(name)
        if not responses.is_whole:
            raise StoreError("the store cannot be asked")
        if response is None or response.is_deleted:
            return False
        compacted = [
            str(item.get("id"))
            for item in map(as_dict, response.output)
            if item.get("type") == "compaction"
        ]
        # What a compaction in it stands for is deleted with it.
        keys = [key for one in (name, *compacted) for key in self._keys(tenant, one, api.noun)]
        if self._memory is not None:
            await self._memory.delete(tenant, keys)
        if await self._within(lambda: self._sealed.delete(tenant, keys)) is None:
            raise StoreError("the store cannot be asked")
        if response.place is not None:
            await self._within(lambda: self._save(tenant, _DELETED, keys[:1], time.time()))
        return True

    async def put_events(
        self, api: StoredAnswers, tenant: str, name: str, number: int, data: bytes, *, durable: bool
    ) -> bool:
        """Stores a piece of the events of a response; returns whether it is stored."""
        keys = self._event_keys(api, tenant, name, number)[:1]
        if self._memory is not None and not durable:
            await self._memory.put(tenant, KIND, data, keys, created=time.time())
            return True
        return bool(await self._within(lambda: self._save(tenant, data, keys, time.time())))

    async def get_events(
        self, api: StoredAnswers, tenant: str, name: str, numbers: range
    ) -> dict[int, bytes] | None:
        """The pieces of the events of a response with these numbers; None if the store cannot be asked."""
        by_key = {key: n for n in numbers for key in self._event_keys(api, tenant, name, n)}
        found = await self._within(lambda: self._sealed.get(tenant, KIND, list(by_key)))
        here = await self._memory.get(tenant, KIND, list(by_key)) if self._memory else []
        if found is None and not here:
            return None
        return {by_key[item.key]: item.data or b"" for item in (*here, *(found or ()))}

    async def delete_events(self, api: StoredAnswers, tenant: str, name: str) -> None:
        """Deletes all events of a response; raises `StoreError` if the store cannot be used."""
        for start in range(0, LIMITS.messages, _PIECES):
            numbers = range(start, start + _PIECES)
            keys = [key for n in numbers for key in self._event_keys(api, tenant, name, n)]
            count = await self._within(partial(self._sealed.delete, tenant, keys))
            if self._memory is not None:
                await self._memory.delete(tenant, keys)
            if count is None:
                raise StoreError("the store cannot be asked")
            if not count:
                return

    def _event_keys(self, api: StoredAnswers, tenant: str, name: str, number: int) -> list[bytes]:
        return self._sealed.keys(tenant, f"events of a {api.noun}", name, str(number))

    async def close(self) -> None:
        """Waits a moment for what is still on its way into the store."""
        await self._calls.close(LIMITS.store_seconds)

    def turn_keys(self, api: StoredAnswers, tenant: str, name: str) -> list[bytes]:
        """The keys of the turn that is in a response."""
        return self._sealed.keys(tenant, f"turn of a {api.noun}", str(name))

    def _keys(self, tenant: str, name: str, kind: str) -> list[bytes]:
        return self._sealed.keys(tenant, kind, name)

    async def _save(self, tenant: str, data: bytes, keys: list[bytes], now: float) -> bool:
        await self._sealed.put(tenant, KIND, data, keys, created=now)
        return True

    async def _within(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result | None:
        """The result of work in the store; None if it failed or takes longer, in which case it goes on behind."""
        try:
            return await self._calls.wait(work, LIMITS.store_seconds)
        except StoreError:
            return None


def _read(
    items: Sequence[FoundItem], by_key: dict[bytes, str], api: StoredAnswers, *, alone: bool
) -> dict[str, StoredResponse]:
    """Ids -> the last of the items under each; one that cannot be read, as of a newer version, is as good as not there."""
    responses: dict[str, StoredResponse] = {}
    unclear: set[str] = set()
    for item in items:
        try:
            response = StoredResponse(as_dict(load_json(item.data or b"null")), api)
        except ValueError:
            continue
        if response.body or response.is_deleted:
            name = by_key[item.key]
            if alone and name in responses and responses[name].id != response.id:
                unclear.add(name)
            responses[name] = response
    return {name: response for name, response in responses.items() if name not in unclear}


# ---- What clients ask of a stored response: the object, its events, its input items, to delete it, to cancel it.


OF_RESPONSES = ("stored", "delete", "cancel", "input_items")
"""The verbs that ask for it."""


async def of_response(
    gateway: Gateway, endpoint: Endpoint, query: str, tenant: str
) -> dict[str, Any] | AsyncGenerator[bytes, None]:
    """The reply, a body or the frames of a stream; raises `Refused` for a response that is not there, or another's."""
    api = dialect_named(endpoint.dialect).stored_answers
    assert api is not None, "only APIs that store answers have these paths"
    name = endpoint.id or ""
    parameters = parse_qs(query)
    if endpoint.verb == "delete":
        return await _deleted(gateway, api, name, tenant)
    response = await _stored_response(gateway, api, name, tenant)
    if endpoint.verb == "cancel":
        return await _cancelled(gateway, api, response, tenant)
    if endpoint.verb == "input_items" and api.listed:
        return api.listed(response.id, response.input, parameters)
    if parameters.get("stream", ["false"])[-1].lower() not in ("false", "0"):
        if api.background is None:
            text = f"a stored {api.noun} cannot be streamed; remove stream from the query"
            raise Refused(Refusal(text=text, param="stream"))
        return gateway.background.events(api, tenant, response, _after(parameters))
    body = await gateway.background.current(api, tenant, response)
    assert api.shown is not None, "an API with this path"
    return api.shown(body, response.input, parameters)


def _after(parameters: Query) -> int:
    """The number of the last event that the client has."""
    given = parameters.get("starting_after", ["-1"])[-1]
    if given != "-1" and not (given.isascii() and given.isdecimal() and len(given) < 10):
        text = "starting_after must be the sequence number of an event"
        raise Refused(Refusal(text=text, param="starting_after"))
    return int(given)


async def _cancelled(
    gateway: Gateway, api: StoredAnswers, response: StoredResponse, tenant: str
) -> dict[str, Any]:
    if not api.background or not response.body.get(api.background):
        raise Refused(Refusal(text=api.cannot_cancel))
    return await gateway.background.cancel(api, tenant, response)


async def _stored_response(
    gateway: Gateway, api: StoredAnswers, name: str, tenant: str
) -> StoredResponse:
    responses = await gateway.responses.get(api, tenant, [name])
    response = responses.responses.get(name)
    if response is None and not responses.is_whole:
        raise Refused(NO_STORE)
    if response is None or response.is_deleted:
        raise Refused(api.missing(name))
    return response


async def _deleted(gateway: Gateway, api: StoredAnswers, name: str, tenant: str) -> dict[str, Any]:
    try:
        await gateway.background.forget(api, tenant, name)
        was_there = await gateway.responses.delete(api, tenant, name)
        if was_there:
            gateway.appended.clear()  # it may have been sent with what is deleted
            await gateway.turns.delete(tenant, gateway.responses.turn_keys(api, tenant, name))
    except StoreError:
        raise Refused(NO_STORE) from None
    if not was_there:
        raise Refused(api.missing(name))
    assert api.deleted is not None, "an API with this path"
    return api.deleted(name)
