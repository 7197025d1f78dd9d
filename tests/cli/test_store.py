"""`innervoice store`: what a gateway keeps, and how it is deleted."""

import asyncio
import json
import time

import pytest

from cli.runs import run
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.operations.state import open_state
from innervoice.memory.stores.store import StoredItem

pytest.importorskip("cryptography")


@pytest.fixture
def state(tmp_path):
    """A store with two owners, and the variables that lead to it."""
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    opened = open_state(GatewayConfig(), environment)

    async def fill():
        store = opened.open_store()
        now = time.time()
        for number in range(5):
            tenant = "alice" if number < 3 else "bob"
            data = b"some words of %d " % number * 100
            item = StoredItem(f"{number:032x}", tenant, "turn", data, now)
            await store.put(item, [b"%d" % number])
        old = StoredItem("f" * 32, "alice", "turn", b"old", now - 100 * 86_400)
        await store.put(old, [b"old"])
        await store.put(StoredItem("e" * 32, "/callers", "caller", b"k", now, kept=True), [b"k"])
        await store.close()

    asyncio.run(fill())
    return environment


def test_stats_tell_what_each_owner_has(state, tmp_path):
    done = run("store", "stats", **state)
    assert 0 == done.returncode
    assert f"Store: sqlite:{tmp_path}/innervoice/gateway.db\n" == done.stderr.decode()
    alice, bob = done.stdout.decode().splitlines()
    assert alice.startswith("alice")
    assert "2 items" in bob
    assert "3.2 kB" in bob


def test_stats_as_json(state):
    lines = run("store", "stats", "--json", **state).stdout.splitlines()
    found = {one["tenant"]: one for one in map(json.loads, lines)}
    assert {"alice", "bob"} == set(found)
    assert (2, 3200) == (found["bob"]["items"], found["bob"]["size"])


def test_one_owner_is_forgotten_and_nothing_of_it_is_left(state, tmp_path):
    file = tmp_path / "innervoice" / "gateway.db"
    assert b"some words of 1" in _bytes(file)
    done = run("store", "forget", "alice", **state)
    assert b"Deleted 4 items of 'alice'.\n" == done.stdout
    assert b"some words of 1" not in _bytes(file)
    assert b"some words of 4" in _bytes(file)
    assert 1 == len(run("store", "stats", **state).stdout.splitlines())


def _bytes(file):
    return b"".join(one.read_bytes() for one in file.parent.glob(f"{file.name}*"))


def test_everybody_is_forgotten_only_if_it_is_meant(state):
    assert 2 == run("store", "forget", "--all", **state).returncode
    assert 2 == run("store", "forget", **state).returncode
    assert 2 == run("store", "forget", "alice", "--all", **state).returncode
    done = run("store", "forget", "--all", "--yes", **state)
    assert b"Deleted 6 items of everybody.\n" == done.stdout
    assert b"The store is empty." in run("store", "stats", **state).stderr


def test_a_vacuum_deletes_what_is_too_old(state):
    assert b"Deleted 1 items that were too old" in run("store", "vacuum", **state).stdout


@pytest.mark.parametrize("verb", ["stats", "vacuum"])
def test_a_gateway_that_keeps_nothing_has_no_store(verb, tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[server]\nremember = "ram"\n')
    done = run("store", verb, "--config", str(file), XDG_STATE_HOME=str(tmp_path))
    assert 1 == done.returncode
    assert b"keeps nothing that outlives it" in done.stderr


def test_a_store_that_is_not_there_is_said(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[server]\nstore = "redis://127.0.0.1:1/0"\nkey = "env:K"\n')
    done = run("store", "stats", "--config", str(file), K="k" * 32)
    assert 1 == done.returncode
    assert b"the store cannot be used" in done.stderr
