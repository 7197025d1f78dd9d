"""How state fails, one test for each way; most are where the thing itself is tested:

store slow, down                         tests/memory/test_turns.py, test_killed.py (a server killed under load)
store full, damaged, locked              tests/memory/stores/test_sqlite.py, and here through the gateway
process dies between block end and put   test_killed.py
next turn on another process at once     test_remembering.py (any process serves the next turn), test_killed.py (Redis, PostgreSQL)
key rotated mid-session                  test_remembering.py
edits, trims, merges, splits, reorders,  tests/memory/test_changed_turns.py (the table of manglings)
renames, re-serialises, other system
resumes after 20 days                    test_g29_g38.py
same prompt of two owners, or twice      test_isolation.py, test_g21_g28.py
forks, both branches go on               test_g21_g28.py
upstream refuses a restored seal         here
10,000 turns in one look-up              here
envelope of another owner, or replayed   test_isolation.py
envelope of an owner who was forgotten   here
clocks that differ                       tests/memory/stores/test_stores.py (an item from the future)
"""

import asyncio
import json

import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, Client, Served
from gateway.witness import Witness, reasoning_is_back
from innervoice.emulator.core import Emulator
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.memory.stores.store import StoreError


class Counted(RamStore):
    """A store that knows how often it was asked."""

    def __init__(self):
        super().__init__()
        self.gets: list[int] = []

    async def get(self, tenant, keys, known=()):
        self.gets.append(len(keys))
        return await super().get(tenant, keys, known)


def test_a_history_of_thousands_of_turns_is_looked_up_at_once():
    store = Counted()
    served = Served(None, Witness(), store=store)
    messages = []
    for number in range(4_000):
        messages += [{"role": "user", "content": f"Question {number}?"}, {"role": "assistant", "content": f"Answer {number}."}]  # fmt: skip
    messages.append({"role": "user", "content": "What is 2 + 2?"})
    body = {"model": BEHIND["openai-chat"], "max_tokens": 4000, "messages": messages}
    assert 200 == served.ask("POST", "/v1/messages", body).status
    (count,) = store.gets
    assert 4_000 < count < 20_000


class Full(SqliteStore):
    """A disk without room."""

    def put_soon(self, item, keys):
        future = asyncio.get_running_loop().create_future()
        future.set_exception(StoreError("database or disk is full"))
        return future

    async def put(self, item, keys):
        raise StoreError("database or disk is full")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_full_store_fails_no_request_and_is_told(tmp_path, stream):
    async def run():
        store = Full(tmp_path / "gateway.db")
        served = Served(None, Witness(), store=store)
        client = Client(served, "openai-chat", BEHIND["anthropic"], loses=True, stream=stream)
        await client.say(QUESTION)
        await served.gateway.close()
        return served

    served = asyncio.run(run())
    assert {200} == set(served.upstream.statuses)
    assert reasoning_is_back(served.upstream) == 3, "this process has the turns in memory"
    assert {"degraded"} == {report.store for report in served.reports}
    assert "turn_not_stored" in {note.code for note in served.reports[-1].notes}


def test_a_file_that_is_no_database_is_moved_aside(tmp_path):
    (tmp_path / "gateway.db").write_bytes(b"this is no database, but somebody's notes" * 100)

    async def run():
        served = Served(None, Witness(), store=SqliteStore(tmp_path / "gateway.db"))
        await Client(served, "openai-chat", BEHIND["anthropic"], loses=True).say(QUESTION)
        await served.gateway.close()
        return served

    served = asyncio.run(run())
    assert {200} == set(served.upstream.statuses)
    assert reasoning_is_back(served.upstream) == 3
    (moved,) = tmp_path.glob("gateway.db.damaged-*")
    assert moved.read_bytes().startswith(b"this is no database")


def test_a_restored_seal_that_is_refused_is_left_out_once_and_for_all():
    """The provider has lost its key: what it sealed before is refused, what it seals now is not."""
    served = Served(None, Witness())
    client = Client(served, "openai-chat", BEHIND["anthropic"], loses=True)
    asyncio.run(client.say(QUESTION))
    served.upstream.emulator = Emulator(b"another key")
    served.gateway.appended.clear()
    asyncio.run(client.say("What is 2 + 2?"))
    refused = served.upstream.statuses.count(400)
    assert refused >= 1
    assert 200 == served.upstream.statuses[-1]
    assert {200} == {reply.status for reply in client.replies}
    asyncio.run(client.say("What is 3 + 3?"))
    asyncio.run(client.say("What is 4 + 4?"))
    assert refused == served.upstream.statuses.count(400), "it is not sent there again"
    assert served.reports[-1].kept >= 1, "what is sealed since then is sent"


def test_what_a_client_carries_of_one_who_was_forgotten_is_its_own():
    """Deleting takes what is stored; an envelope is what the client itself holds, and opens for its owner."""
    store = RamStore()
    served = Served(None, Witness(), key=b"k" * 32, store=store)
    client = Client(served, "anthropic", BEHIND["openai-chat"])
    client.history.append(iv.user(QUESTION))
    answer = asyncio.run(client.turn())
    client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]
    asyncio.run(served.gateway.turns.forget())
    served.gateway.appended.clear()
    asyncio.run(client.turn())
    assert (1, 1, 0) == (served.reports[-1].kept, served.reports[-1].carried, served.reports[-1].restored)  # fmt: skip
    assert "Sunshine" in json.dumps(served.upstream.requests[-1])
