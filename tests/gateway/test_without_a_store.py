"""What survives if each request meets a gateway that has seen nothing before: another machine, or a restart."""

import asyncio

import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, TOOLS, Client, Served, body_of, read
from gateway.witness import Witness, reasoning_is_back
from innervoice.memory.stores.ram import RamStore

KEY = b"k" * 32
CARRIERS = ("anthropic", "openai-responses", "gemini", "bedrock-converse")
"""Dialects with a place for an envelope in every piece of reasoning."""


class Elsewhere(RamStore):
    """The store of another machine."""

    async def get(self, tenant, keys, known=()):
        return []


@pytest.mark.parametrize("front", CARRIERS)
@pytest.mark.parametrize("behind", BEHIND)
def test_a_client_that_returns_its_blocks_needs_no_store(front, behind):
    """Gemini's thoughts and the signatures of its calls are counted apart."""
    served = Served(key=KEY, store=Elsewhere())
    asyncio.run(Client(served, front, BEHIND[behind]).say(QUESTION))

    last = served.reports[-1]
    assert (4 if behind == "gemini" else 2, 0, 0) == (last.kept, last.restored, last.omitted)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behind", BEHIND)
def test_codex_stores_nothing_and_meets_another_worker_in_every_turn(behind, stream):
    """`store: false` keeps turns in the memory of one process; the client carries everything that the next one needs."""
    upstream = Witness()
    workers = [Served(None, upstream, key=KEY, store=RamStore()) for _ in range(2)]
    client = Client(workers[0], "openai-responses", BEHIND[behind], stream=stream)
    client.history.append(iv.user(QUESTION))
    for number in range(3):
        path, body = body_of("openai-responses", client.model, client.history, stream=stream, tools=TOOLS, reasoning=iv.Reasoning("high", show="summary"))  # fmt: skip
        served = workers[number % 2]
        reply = served.ask("POST", path, {**body, "store": False})
        answer = read(reply, "openai-responses")
        client.history += [
            answer.message,
            *(iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls),
        ]

    assert "Sunshine" in answer.text
    assert {200} == set(upstream.statuses)
    assert reasoning_is_back(upstream) >= 2 or behind == "ollama"
    assert "signature_filled" not in {note.code for worker in workers for report in worker.reports for note in report.notes}  # fmt: skip


def test_a_store_that_is_given_is_used_though_it_is_empty():
    store = RamStore()
    served = Served(store=store)
    asyncio.run(Client(served, "anthropic", BEHIND["gemini"], loses=True).say(QUESTION))

    assert 3 == len(asyncio.run(store.items("local", "turn")))
    assert 4 == served.reports[-1].restored
