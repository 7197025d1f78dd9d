"""One way to ask with either client, and to see that it left nothing behind."""

import asyncio
from dataclasses import dataclass, field

import innervoice as iv
from innervoice.client.over_httptools import OverHttptools

KEY = "sk-very-secret-0123456789"
KINDS = ["sync", "async", "async over httpx2"]


@dataclass
class Outcome:
    """What came of a call."""

    response: iv.Response | None = None
    error: iv.InnervoiceError | None = None
    events: list = field(default_factory=list)
    naps: list = field(default_factory=list)


def open_connections(client):
    """The connections of a client, those that wait for the next request included."""
    http = client._http
    if isinstance(http, OverHttptools):
        return list(http._open)
    return list(http._transport._pool.connections) if http else []


def no_busy_connections(client):
    """What is left in the pool waits for the next request, and nothing else is open."""
    http = client._http
    if isinstance(http, OverHttptools):
        assert len(http._open) == sum(map(len, http._idle.values()))
    else:
        assert all(connection.is_idle() for connection in open_connections(client))


def ask(kind, settings, model="deepseek/deepseek-v4", messages="What is 15 * 23?", **fields):
    """The outcome of `ask`."""
    outcome = Outcome()
    if kind == "sync":
        with iv.Client(**settings) as client:
            client._sleep = outcome.naps.append
            try:
                outcome.response = client.ask(model, messages, **fields)
            except iv.InnervoiceError as error:
                outcome.error = error
            no_busy_connections(client)
        return outcome

    async def main():
        async with iv.AsyncClient(**settings) as client:
            client._sleep = napping(outcome)
            try:
                outcome.response = await client.ask(model, messages, **fields)
            except iv.InnervoiceError as error:
                outcome.error = error
            no_busy_connections(client)
        assert asyncio.all_tasks() == {asyncio.current_task()}, asyncio.all_tasks()

    asyncio.run(main())
    return outcome


def stream(kind, settings, model="deepseek/deepseek-v4", messages="What is 15 * 23?", **fields):
    """The outcome of `stream`, read to its end."""
    outcome = Outcome()
    if kind == "sync":
        with iv.Client(**settings) as client:
            client._sleep = outcome.naps.append
            try:
                with client.stream(model, messages, **fields) as events:
                    for event in events:
                        outcome.events.append(event)
                    outcome.response = events.response
            except iv.InnervoiceError as error:
                outcome.error = error
            no_busy_connections(client)
        return outcome

    async def main():
        async with iv.AsyncClient(**settings) as client:
            client._sleep = napping(outcome)
            try:
                async with client.stream(model, messages, **fields) as events:
                    async for event in events:
                        outcome.events.append(event)
                    outcome.response = events.response
            except iv.InnervoiceError as error:
                outcome.error = error
            no_busy_connections(client)
        assert asyncio.all_tasks() == {asyncio.current_task()}, asyncio.all_tasks()

    asyncio.run(main())
    return outcome


VERBS = {"ask": ask, "stream": stream}


def napping(outcome):
    async def nap(seconds):
        outcome.naps.append(seconds)

    return nap
