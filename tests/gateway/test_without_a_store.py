"""What survives if each request meets a gateway that has seen nothing before: another machine, or a restart."""

import asyncio

import pytest

from gateway.harness import BEHIND, QUESTION, Client, Served
from innervoice.memory.stores.ram import RamStore

KEY = b"k" * 32
CARRIERS = ("anthropic", "openai-responses", "gemini", "bedrock-converse")
"""Dialects with a place for an envelope in every piece of reasoning."""


class Elsewhere(RamStore):
    """The store of another machine."""

    async def get(self, tenant, keys, known=()):
        return []


@pytest.mark.parametrize("front", CARRIERS)
@pytest.mark.parametrize("behind", [dialect for dialect in BEHIND if dialect != "gemini"])
def test_a_client_that_returns_its_blocks_needs_no_store(front, behind):
    served = Served(key=KEY, store=Elsewhere())
    asyncio.run(Client(served, front, BEHIND[behind]).say(QUESTION))

    last = served.reports[-1]
    assert (2, 0, 0) == (last.kept, last.restored, last.omitted)


def test_a_store_that_is_given_is_used_though_it_is_empty():
    store = RamStore()
    served = Served(store=store)
    asyncio.run(Client(served, "anthropic", BEHIND["gemini"], loses=True).say(QUESTION))

    assert 3 == len(asyncio.run(store.items("local", "turn")))
    assert 4 == served.reports[-1].restored
