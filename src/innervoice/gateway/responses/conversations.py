"""Stored conversations: a log of entries for each, of which every process that shares the store reads and writes the same.

    entry 0        when the conversation was created
    entry 1, 2...  {"metadata": ...}, {"items": [...], "response": ID} or {"deleted": [ids]}

An entry never changes. Its number comes from a counter of the store, which all processes share, so two that add at once lose nothing. Items
are stored as they came, and get their ids when they are listed: a provider is never sent an id that it did not give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from hashlib import blake2b
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.gateway.endpoints import Endpoint
from innervoice.gateway.errors import NO_STORE
from innervoice.gateway.incoming import checked_body
from innervoice.gateway.limits import LIMITS
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.store import StoreError
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.responses.conversations import (
    checked_items,
    checked_metadata,
    conversation_body,
    deleted_conversation,
    no_conversation,
    no_item,
    page_of,
    with_id,
)

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = ["OF_CONVERSATIONS", "StoredConversation", "StoredConversations", "of_conversation"]

KIND = "conversation"
_AT_ONCE = 500
"""Entries that are read in one round trip."""

Result = TypeVar("Result")


class _Entry(NamedTuple):
    number: int
    value: dict[str, Any]


class StoredConversation:
    """A conversation out of the store."""

    def __init__(self, name: str, entries: list[_Entry], missing: int = 0) -> None:
        self.id = name
        self._created = int(entries[0].value.get("created") or 0)
        self._metadata: dict[str, Any] = {}
        self.missing = missing
        """How many entries the store no longer has, or a process announced and never wrote."""
        self.responses: list[str] = []
        """The ids of the responses whose output is in it."""
        items: list[tuple[dict[str, Any], Any]] = []
        for number, value in entries:
            if "metadata" in value:
                self._metadata = as_dict(value["metadata"])
            if response := as_text(value.get("response")):
                self.responses.append(response)
            for position, item in enumerate(as_list(value.get("items"))):
                suffix = f"{name.removeprefix('conv_')}_{number}_{position}"
                items.append((with_id(item, suffix), item))
            deleted = set(map(str, as_list(value.get("deleted"))))
            items = [pair for pair in items if pair[0]["id"] not in deleted]
        self.items = [listed for listed, _ in items]
        """Its items as the API lists them, the oldest first."""
        self.sent = [item for _, item in items]
        """The same as they came."""

    @property
    def body(self) -> dict[str, Any]:
        """The object of the API."""
        return conversation_body(self.id, self._created, self._metadata)

    def item(self, name: str) -> dict[str, Any]:
        """The item with this id; raises `Refused` if there is none."""
        for item in self.items:
            if item["id"] == name:
                return item
        raise Refused(no_item(name, self.id))


class StoredConversations:
    """Reads and writes conversations; every method raises `Refused` if the store cannot be used."""

    def __init__(self, store: Callable[[], SealedStore], calls: StoreCalls) -> None:
        """`store` gives the store that conversations belong in, by the configuration of the moment."""
        self._store = store
        self._calls = calls

    async def create(
        self, tenant: str, metadata: dict[str, Any], items: list[dict[str, Any]]
    ) -> StoredConversation:
        """A new conversation."""
        name = f"conv_{token_hex(24)}"
        value = {"created": int(time.time()), "metadata": metadata, "items": items}
        await self._put(tenant, name, 0, value)
        return StoredConversation(name, [_Entry(0, value)])

    async def get(self, tenant: str, name: str) -> StoredConversation | None:
        """A conversation of a tenant; None if there is none."""
        last = await self._count(tenant, name, 0)
        entries: list[_Entry] = []
        for start in range(0, last + 1, _AT_ONCE):
            entries += await self._read(tenant, name, range(start, min(last + 1, start + _AT_ONCE)))
        if not entries or entries[0].number != 0:
            return None
        return StoredConversation(name, entries, last + 1 - len(entries))

    async def add(self, tenant: str, name: str, value: dict[str, Any]) -> int:
        """Adds an entry; returns its number."""
        number = await self._count(tenant, name, 1)
        await self._put(tenant, name, number, value)
        return number

    async def delete(self, tenant: str, name: str) -> None:
        """Deletes a conversation with everything in it."""
        last = await self._count(tenant, name, 0)
        keys = [key for number in range(last + 1) for key in self._keys(tenant, name, number)]
        await self._within(lambda: self._store().delete(tenant, keys))

    async def _read(self, tenant: str, name: str, numbers: range) -> list[_Entry]:
        by_key = {key: number for number in numbers for key in self._keys(tenant, name, number)}
        found = await self._within(lambda: self._store().get(tenant, KIND, list(by_key)))
        entries: dict[int, _Entry] = {}
        for item in found:
            number = by_key[item.key]
            entries[number] = _Entry(number, as_dict(load_json(item.data or b"null")))
        return [entries[number] for number in sorted(entries)]

    async def _put(self, tenant: str, name: str, number: int, value: dict[str, Any]) -> None:
        data, keys = dump_json(value), self._keys(tenant, name, number)[:1]
        if len(data) > LIMITS.stored_bytes:
            text = f"the items have {len(data)} bytes; at most {LIMITS.stored_bytes} can be stored at once"
            raise Refused(Refusal(text=text, status=413, param="items"))
        await self._within(lambda: self._store().put(tenant, KIND, data, keys, created=time.time()))

    async def _count(self, tenant: str, name: str, more: int) -> int:
        """The number of the last entry, after adding to it."""
        digest = blake2b(f"{tenant}\0{name}".encode("utf-8", "surrogatepass"), digest_size=16)
        counter = f"conversation {digest.hexdigest()}"
        sums = await self._within(
            lambda: self._store().store.count({counter: more}, LIMITS.conversation_seconds)
        )
        return int(sums[counter])

    def _keys(self, tenant: str, name: str, number: int) -> list[bytes]:
        return self._store().keys(tenant, KIND, name, str(number))

    async def _within(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        try:
            return await self._calls.wait(work, LIMITS.store_seconds)
        except StoreError:
            raise Refused(NO_STORE) from None


# ---- What clients ask of conversations.


OF_CONVERSATIONS = (
    "create_conversation", "conversation", "update_conversation", "delete_conversation", "add_items", "list_items", "item", "delete_item",
)  # fmt: skip
"""The verbs that ask for it."""


async def of_conversation(
    gateway: Gateway, endpoint: Endpoint, query: str, body: bytes, tenant: str
) -> dict[str, Any]:
    """The reply; raises `Refused` for a conversation that is not there, or another's."""
    if gateway.config.server.remember == "off":
        text = "this gateway is not allowed to store conversations"
        raise Refused(Refusal(text=text, status=403))
    stored, verb = gateway.conversations, endpoint.verb
    value = checked_body(body, gateway.limits) if body.strip() else {}
    if verb == "create_conversation":
        metadata, items = checked_metadata(value.get("metadata")), checked_items(value.get("items"))
        return (await stored.create(tenant, metadata, items)).body
    name = endpoint.id or ""
    conversation = await stored.get(tenant, name)
    if conversation is None:
        raise Refused(no_conversation(name))
    if verb == "conversation":
        return conversation.body
    if verb == "delete_conversation":
        await stored.delete(tenant, name)
        return deleted_conversation(name)
    if verb == "list_items":
        return page_of(conversation.items, parse_qs(query))
    if verb == "item":
        return conversation.item(endpoint.item or "")
    return await _changed(stored, endpoint, value, conversation, tenant)


async def _changed(
    stored: StoredConversations,
    endpoint: Endpoint,
    value: dict[str, Any],
    conversation: StoredConversation,
    tenant: str,
) -> dict[str, Any]:
    """The reply to a request that changes a conversation."""
    name = conversation.id
    if endpoint.verb == "delete_item":
        conversation.item(endpoint.item or "")
        await stored.add(tenant, name, {"deleted": [endpoint.item]})
        return conversation.body
    if endpoint.verb == "add_items":
        return await _added(stored, value, conversation, tenant)
    metadata = checked_metadata(value.get("metadata"))
    await stored.add(tenant, name, {"metadata": metadata})
    return {**conversation.body, "metadata": metadata}


async def _added(
    stored: StoredConversations,
    value: dict[str, Any],
    conversation: StoredConversation,
    tenant: str,
) -> dict[str, Any]:
    """The page of the items that were added."""
    items = checked_items(value.get("items"))
    if not items:
        raise Refused(Refusal(text="items must be a list with at least one item", param="items"))
    count = len(conversation.items) + len(items)
    if count > LIMITS.messages:
        text = f"the conversation would have {count} items; at most {LIMITS.messages} are stored: start a new one"
        raise Refused(Refusal(text=text, status=413, param="items"))
    names = {item["id"] for item in conversation.items}
    for item in items:
        if item.get("id") in names:
            text = f"Duplicate item found with id {item['id']}. Remove duplicate items from your input and try again."
            raise Refused(Refusal(text=text, param="items"))
    number = await stored.add(tenant, conversation.id, {"items": items})
    suffix = f"{conversation.id.removeprefix('conv_')}_{number}"
    listed = [with_id(item, f"{suffix}_{position}") for position, item in enumerate(items)]
    return page_of(listed, {"order": ["asc"], "limit": ["100"]})
