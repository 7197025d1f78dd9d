"""The same conversation again and again, as evals, retries and comparisons of models have it: each run gets its own reasoning back."""

import asyncio
import re
from dataclasses import replace

import pytest

from gateway.harness import BEHIND, QUESTION, Client, Served, Upstream
from gateway.witness import FRONTS, Witness
from innervoice.memory.stores.ram import RamStore

QUESTIONS = ("What is 15 * 23?", "What is 2 + 2?", "What is 3 + 4?")
KEY = b"k" * 32


async def run(served, front, model, questions=QUESTIONS):
    """A client that loses reasoning; returns its reports."""
    before, client = len(served.reports), Client(served, front, model, loses=True)
    for question in questions:
        await client.say(question)
    return served.reports[before:]


def counts(reports):
    return [(report.kept, report.restored, report.omitted) for report in reports]


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("front", FRONTS)
def test_every_run_gets_as_much_as_the_first(front, behind):
    served = Served(None, Witness())
    first, *others = (asyncio.run(run(served, front, BEHIND[behind])) for _ in range(4))

    assert [counts(first)] * 3 == list(map(counts, others))
    assert first[-1].restored or behind == "ollama"
    assert {200} == set(served.upstream.statuses)


@pytest.mark.parametrize("questions", [QUESTIONS, (QUESTION,)], ids=["answers", "calls"])
@pytest.mark.parametrize("front", FRONTS)
def test_the_same_question_to_five_models(front, questions):
    """What another model thought is no rival: the target cannot read it."""
    alone = {
        name: counts(asyncio.run(run(Served(None, Witness()), front, BEHIND[name], questions)))
        for name in FRONTS
    }
    served = Served(None, Witness())
    for name in (*FRONTS, *reversed(FRONTS)):
        assert alone[name] == counts(asyncio.run(run(served, front, BEHIND[name], questions)))

    assert {200} == set(served.upstream.statuses)


def on_two_machines(model, count):
    """The last reports of clients whose every turn meets the other of two machines with one store, all at once."""
    store, upstream = RamStore(), Witness()
    machines = [Served(None, upstream, key=KEY, store=store) for _ in range(2)]
    clients = [Client(machines[0], "openai-chat", model, loses=True) for _ in range(count)]

    async def all_at_once():
        for number, question in enumerate(QUESTIONS):
            for place, client in enumerate(clients):
                client.served = machines[(place + number) % 2]
            await asyncio.gather(*(client.say(question) for client in clients))

    asyncio.run(all_at_once())
    assert {200} == set(upstream.statuses)
    reports = sorted(
        (one for served in machines for one in served.reports), key=lambda one: one.begun
    )
    return reports[-count:]


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("model", ["openai-chat", "anthropic", "gemini"])
def test_at_once_and_on_two_machines(model, count):
    """The reasoning of both earlier turns is there; a store has Gemini's seals without the summaries, a machine may still have both."""
    for report in on_two_machines(BEHIND[model], count):
        assert report.kept == report.restored >= 2
        assert not report.omitted


class Nameless(Upstream):
    """A server that gives its calls no ids."""

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        data = re.sub(rb'"id": ?"call_[^"]*", ?', b"", self.raw_answers[-1])
        assert b'"id"' not in data
        return replace(reply, pieces=iter([data]))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("front", ["anthropic", "openai-chat", "openai-responses"])
def test_calls_of_a_model_without_ids_get_their_own(front, stream):
    """Clients keep the results of several turns apart by the ids of their calls; `call_0` in each turn would mix them up."""
    served = Served(None, Nameless())
    clients = [Client(served, front, BEHIND["ollama"], stream=stream) for _ in range(2)]
    for client in clients:
        asyncio.run(client.say(QUESTION))

    ids = [call.id for one in clients for answer in one.answers for call in answer.tool_calls]
    assert 4 == len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"call_[A-Za-z0-9_-]{22}", call_id) for call_id in ids)
    assert {200} == set(served.upstream.statuses)
