"""`kill -9` of the gateway at every step of a loop, and of the store under load: nothing is refused, and no thought is lost of an answer
that the client had seen whole."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, TOOLS, Client, Served, body_of
from gateway.killed_gateway import STEPS
from gateway.witness import Witness, proofs, reasoning_is_back
from innervoice.memory.stores.postgres import PostgresStore
from innervoice.memory.stores.redis import RedisStore
from memory.stores.servers import postgres_server, redis_server  # noqa: F401 - fixtures

TESTS = Path(__file__).parents[1]


class Process:
    """A gateway in a process; `step` is when it kills itself."""

    def __init__(self, folder, step):
        self._folder = folder
        (folder / "port").unlink(missing_ok=True)
        paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gateway.killed_gateway", str(folder), step],
            env={**os.environ, "PYTHONPATH": paths},
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 30
        while not (folder / "port").exists():
            assert time.monotonic() < end, "the gateway does not start"
            assert self._process.poll() is None, "the gateway ended"
            time.sleep(0.02)
        self.url = (folder / "port").read_text()

    def is_dead(self):
        return self._process.poll() is not None

    def stop(self):
        self._process.kill()
        self._process.wait()


def asked(url, history, model, *, stream):
    """One request of a chat client; returns the answer if the client saw its end."""
    path, body = body_of("openai-chat", model, history, stream=stream, tools=TOOLS, reasoning=iv.Reasoning("high", show="summary"), max_tokens=8000)  # fmt: skip
    try:
        with httpx2.stream("POST", url + path, json=body, timeout=20) as reply:
            data = b"".join(reply.iter_bytes())
    except httpx2.TransportError:
        return None
    assert reply.status_code == 200, data[:300]
    if stream and b"[DONE]" not in data:
        return None
    return iv.decode(data, dialect="openai-chat", model=model)


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("step", STEPS[1:])
def test_a_gateway_that_is_killed(tmp_path, step, turn):
    model = BEHIND["anthropic" if turn else "openai-chat"]
    process, seen = Process(tmp_path, "never"), []
    history, deaths = [iv.user(QUESTION)], 0
    try:
        while True:
            if len(seen) == turn and not deaths:
                process.stop()
                process = Process(tmp_path, step)
            answer = asked(process.url, history, model, stream=True)
            for _ in range(100):
                if answer is not None and not deaths and len(seen) == turn and not process.is_dead():  # fmt: skip
                    time.sleep(0.02)  # its end was sent just before its death
            if process.is_dead():
                deaths += 1
                process.stop()
                process = Process(tmp_path, "never")
            if answer is None:
                continue
            seen.append(answer)
            calls = [iv.ToolCall(call.id, call.name, call.arguments) for call in answer.tool_calls]
            history.append(iv.assistant([*([iv.Text(answer.text)] if answer.text else []), *calls]))
            if not calls:
                break
            history += [iv.tool_result(call.id, "Sunshine") for call in calls]
    finally:
        process.stop()
    assert deaths == 1
    lines = [json.loads(line) for line in (tmp_path / "upstream.jsonl").read_text().splitlines()]
    assert {200} == {line["status"] for line in lines}
    last = json.dumps(lines[-1]["request"], ensure_ascii=False)
    for answer in seen[:-1]:
        # The emulator gives the same answer to the same request.
        own = [proofs(one.message) for one in map(_answer, lines) if _ids(one) == _ids(answer)]
        assert own[0]
        assert all(json.dumps(proof, ensure_ascii=False) in last for proof in own[-1])


def _answer(line):
    dialect = "anthropic" if "/messages" in line["path"] else "openai-chat"
    return iv.decode(base64.b64decode(line["answer"]), dialect=dialect)


def _ids(answer):
    return [call.id for call in answer.tool_calls]


@pytest.mark.parametrize(("sort", "kind"), [("redis", RedisStore), ("postgres", PostgresStore)])
def test_a_store_that_is_killed_under_load(sort, kind, request):
    """Requests are served meanwhile, and it is said; what was answered then is in the store afterwards."""
    server = request.getfixturevalue(f"{sort}_server")
    server.empty()
    key = b"k" * 32

    async def run():
        store = kind(server.url)
        served = Served(None, Witness(), key=key, store=store)
        clients = [Client(served, "openai-chat", BEHIND["openai-chat"], loses=True) for _ in range(4)]  # fmt: skip
        for number, client in enumerate(clients):
            client.history.append(iv.user(f"What is the weather in Lisbon{number}, then the weather in Oslo?"))  # fmt: skip
        for number in range(3):
            if number == 1:
                server.stop()
            await asyncio.gather(*map(turn, clients))
            if number == 1:
                assert {"degraded"} == {report.store for report in served.reports[-4:]}
                server.start()  # here: it ends with the thread that started it
        end = time.monotonic() + 20
        while served.reports[-1].store != "ok" and time.monotonic() < end:
            await asyncio.sleep(0.1)
            await Client(served, "openai-chat", BEHIND["openai-chat"], loses=True).say("What is 2 + 2?")  # fmt: skip
        assert "ok" == served.reports[-1].store
        await served.gateway.turns.close()
        await store.close()
        return served

    assert {200} == set(asyncio.run(run()).upstream.statuses)


async def turn(client):
    answer = await client.turn()
    client.history += [iv.tool_result(call.id, "Sunshine") for call in answer.tool_calls]


@pytest.mark.parametrize("sort", ["redis", "postgres"])
def test_another_machine_serves_the_next_turn(sort, request):
    """Three gateways, each with its own connections to one server."""
    server = request.getfixturevalue(f"{sort}_server")
    server.empty()
    kind = {"redis": RedisStore, "postgres": PostgresStore}[sort]

    async def run():
        upstream = Witness()
        machines = [Served(None, upstream, key=b"k" * 32, store=kind(server.url)) for _ in range(3)]
        client = Client(machines[0], "openai-chat", BEHIND["anthropic"], loses=True)
        client.history.append(iv.user(QUESTION))
        for machine in machines:
            client.served = machine
            await turn(client)
        client.history.append(iv.user("What is 2 + 2?"))
        await turn(client)
        for machine in machines:
            await machine.gateway.close()
        return upstream

    upstream = asyncio.run(run())
    assert reasoning_is_back(upstream, summaries=False) == 6
