"""A stream's life: entered, read, left at any moment; and a client's: made, shared, closed."""

import asyncio
import gc
import inspect
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx2
import pytest

import innervoice as iv
from client.faulty import FRAMES, SILENCE, THOUGHT, WORDS, Faulty, chunk, head, stream, whole
from client.harness import KEY, no_busy_connections, open_connections
from innervoice.client.aio import AsyncEvents
from innervoice.client.settings import RequestFields
from innervoice.client.sync import Events

MODEL = "deepseek/deepseek-v4"
OPEN = [head(kind="text/event-stream") + chunk(THOUGHT) + chunk(WORDS), SILENCE]
"""A stream that goes on until the other side leaves; `Faulty` checks that it does."""


def known(server, **more):
    return {"provider": "deepseek", "api_key": KEY, "base_url": server.url, **more}


# ---- both clients ----------------------------------------------------------------------------------


def surface(kind):
    """Public names with their parameters."""
    return {
        name: [
            (parameter.name, parameter.kind, parameter.default)
            for parameter in inspect.signature(value).parameters.values()
        ]
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and (not name.startswith("_") or name == "__init__")
    }


@pytest.mark.parametrize(("one", "other"), [(iv.Client, iv.AsyncClient), (Events, AsyncEvents)])
def test_parity(one, other):
    """The same verbs with the same arguments."""
    mine, theirs = surface(one), surface(other)
    del mine["__init__"], theirs["__init__"]

    assert mine == theirs
    assert inspect.signature(iv.Client) == inspect.signature(iv.AsyncClient)
    properties = [
        {name for name, value in vars(kind).items() if isinstance(value, property)}
        for kind in (one, other)
    ]
    assert properties[0] == properties[1]


def test_fields_are_those_of_a_request():
    assert {"model", "messages", *RequestFields.__annotations__} == set(
        iv.Request.__struct_fields__
    )


@pytest.mark.parametrize("way", ["at once", "after an event", "by an error"])
def test_leaving_closes_the_connection(way, kind):
    """Also if nothing was read, and if the reader fails."""
    with Faulty(OPEN) as server:
        if kind == "sync":
            with iv.Client(**known(server)) as client:
                with suppress(ZeroDivisionError), client.stream(MODEL, "Hi") as events:
                    if way == "after an event":
                        next(events)
                    if way == "by an error":
                        raise ZeroDivisionError
                no_busy_connections(client)
                assert not open_connections(client)
            return

        async def main():
            async with iv.AsyncClient(**known(server)) as client:
                with suppress(ZeroDivisionError):
                    async with client.stream(MODEL, "Hi") as events:
                        if way == "after an event":
                            await anext(events)
                        if way == "by an error":
                            raise ZeroDivisionError
                assert not open_connections(client)
                assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main())


def test_response_before_the_end_is_what_came():
    with Faulty(OPEN) as server, iv.Client(**known(server)) as client:
        with client.stream(MODEL, "Hi") as events:
            pieces = events.text()
            assert next(pieces) == "It is "
            assert events.response.text == "It is "
            assert events.response.status == "interrupted"
            assert events.response.provider == "deepseek"
        with pytest.raises(iv.UsageError, match="with block"):
            next(pieces)
        with pytest.raises(iv.UsageError, match="with block"):
            list(events)
        assert events.response.thinking == "Hmm."


def test_stream_is_entered_once():
    with Faulty(stream(*FRAMES)) as server, iv.Client(**known(server)) as client:
        events = client.stream(MODEL, "Hi")
        with pytest.raises(iv.UsageError, match="with block"):
            next(events)
        with events:
            list(events)
        with pytest.raises(iv.UsageError, match="can be entered once"), events:
            pass


def test_error_is_raised_again():
    """Who caught it once and goes on reading is not told that all is well."""
    cut = stream(THOUGHT, WORDS)
    with (
        Faulty(cut) as server,
        iv.Client(**known(server)) as client,
        client.stream(MODEL, "Hi") as events,
    ):
        for _ in range(2):
            with pytest.raises(iv.AnswerInterruptedError):
                list(events)
        with pytest.raises(iv.AnswerInterruptedError):
            list(events.text())
        assert events.response.text == "It is "


def test_closed_client(kind):
    if kind == "sync":
        client = iv.Client(keys={"deepseek": KEY})
        client.close()
        with pytest.raises(iv.UsageError, match="closed"):
            client.ask(MODEL, "Hi")
        return

    async def main():
        client = iv.AsyncClient(keys={"deepseek": KEY})
        await client.close()
        with pytest.raises(iv.UsageError, match="closed"):
            await client.ask(MODEL, "Hi")

    asyncio.run(main())


def test_own_http_client_is_used_and_not_closed(kind):
    """Any that has the methods of httpx does."""
    seen = []

    def handle(request):
        seen.append(request)
        return httpx2.Response(200, content=whole()[0].partition(b"\r\n\r\n")[2])

    transport = httpx2.MockTransport(handle)
    if kind == "sync":
        http = httpx2.Client(transport=transport, headers={"x-mine": "yes"})
        with iv.Client(http=http, keys={"deepseek": KEY}) as client:
            response = client.ask(MODEL, "Hi")
        assert not http.is_closed
        http.close()
    else:

        async def main():
            async with httpx2.AsyncClient(transport=transport, headers={"x-mine": "yes"}) as http:
                async with iv.AsyncClient(http=http, keys={"deepseek": KEY}) as client:
                    response = await client.ask(MODEL, "Hi")
                assert not http.is_closed
            return response

        response = asyncio.run(main())
    assert response.text == "It is 345."
    assert seen[0].headers["x-mine"] == "yes"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert str(seen[0].url) == "https://api.deepseek.com/chat/completions"


def test_hook_that_reads_the_answer(kind):
    """Who logs every answer has read it before us, and bytes come once; it is there all the same."""

    async def frames():
        for frame in FRAMES:
            yield frame

    def handle(_):
        return httpx2.Response(200, content=iter(FRAMES) if kind == "sync" else frames())

    transport = httpx2.MockTransport(handle)
    if kind == "sync":
        hooks = {"response": [httpx2.Response.read]}
        with httpx2.Client(transport=transport, event_hooks=hooks) as http:
            response = iv.Client(http=http, keys={"deepseek": KEY}).ask(MODEL, "Hi", stream=True)
    else:

        async def main():
            hooks = {"response": [httpx2.Response.aread]}
            async with httpx2.AsyncClient(transport=transport, event_hooks=hooks) as http:
                client = iv.AsyncClient(http=http, keys={"deepseek": KEY})
                return await client.ask(MODEL, "Hi", stream=True)

        response = asyncio.run(main())
    assert response.text == "It is 345."


def test_the_wrong_kind_of_http_client_is_told_at_once():
    with httpx2.Client() as http, pytest.raises(iv.UsageError, match="an asynchronous client"):
        iv.AsyncClient(http=http)
    with pytest.raises(iv.UsageError, match="a synchronous client"):
        iv.Client(http=httpx2.AsyncClient())


def test_proxy_of_the_environment(monkeypatch):
    with Faulty(whole()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        settings = known(proxy) | {"base_url": "http://somewhere.invalid/v1"}
        with iv.Client(**settings) as client:
            assert client.ask(MODEL, "Hi").text == "It is 345."

    assert proxy.requests[0][0].startswith("POST http://somewhere.invalid/v1/chat/completions ")


def test_threads_share_a_client():
    with Faulty(whole()) as server, iv.Client(**known(server)) as client:
        barrier = threading.Barrier(8)

        def ask(_):
            barrier.wait()
            return client.ask(MODEL, "Hi").text

        with ThreadPoolExecutor(8) as pool:
            assert {"It is 345."} == set(pool.map(ask, range(8)))
        no_busy_connections(client)


def test_import_is_late():
    import subprocess
    import sys

    code = "import innervoice, sys; innervoice.Client(keys={}); print('httpx2' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"


# ---- cancellation ----------------------------------------------------------------------------------


async def cancelled(client, verb, after):
    """Starts a call, cancels it, and looks at what is left."""
    task = asyncio.create_task(verb(client))
    await after()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not open_connections(client)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    # The client is as good as new.
    assert (await client.ask(MODEL, "Hi")).text == "It is 345."


@pytest.mark.parametrize(
    "script",
    [[SILENCE], OPEN, [head(429, 900) + b"{", SILENCE]],
    ids=["opening", "reading", "refused"],
)
def test_cancelled_stream(script):
    async def main(server):
        reached = asyncio.Event()

        async def read(client):
            async with client.stream(MODEL, "Hi") as events:
                async for _ in events:
                    reached.set()

        async def after():
            if script is OPEN:
                await reached.wait()
            await asyncio.to_thread(server.asked.wait, 5)
            await asyncio.sleep(0.01)

        async with iv.AsyncClient(**known(server)) as client:
            await cancelled(client, read, after)

    with Faulty(script, whole()) as server:
        asyncio.run(main(server))


def test_cancelled_while_waiting_for_the_next_try():
    async def main(server):
        asleep = asyncio.Event()

        async def nap(seconds):
            asleep.set()
            await asyncio.sleep(10)

        async with iv.AsyncClient(**known(server)) as client:
            client._sleep = nap
            task = asyncio.create_task(client.ask(MODEL, "Hi"))
            await asleep.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            no_busy_connections(client)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with Faulty(whole(b"{}", 500)) as server:
        asyncio.run(main(server))


async def late(events):
    async with asyncio.timeout(0.2), events:
        async for _ in events:
            pass


def test_cancelled_by_a_timeout_of_the_caller():
    async def main(server):
        async with iv.AsyncClient(**known(server)) as client:
            events = client.stream(MODEL, "Hi")
            with pytest.raises(TimeoutError):
                await late(events)
            assert not open_connections(client)
            assert events.response.text == "It is "

    with Faulty(OPEN) as server:
        asyncio.run(main(server))


def test_abandoned_view_leaves_nothing_behind():
    async def main(server):
        async with iv.AsyncClient(**known(server)) as client:
            async with client.stream(MODEL, "Hi") as events:
                async for piece in events.text():
                    assert piece == "It is "
                    break
            assert not open_connections(client)

    with Faulty(OPEN) as server:
        asyncio.run(main(server))


# ---- other processes and event loops --------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_child_opens_its_own_connections():
    with Faulty(whole()) as server, iv.Client(**known(server)) as client:
        client.ask(MODEL, "Hi")
        assert server.connections == 1
        child = os.fork()
        if not child:
            code = 1
            with suppress(BaseException):
                code = 0 if client.ask(MODEL, "Hi").text == "It is 345." else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert server.connections == 2
        client.ask(MODEL, "Hi")
        assert server.connections == 2


# The first loop ends with connections open, which asyncio says when they are freed.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_second_event_loop():
    async def main(client):
        for _ in range(2):
            assert (await client.ask(MODEL, "Hi")).text == "It is 345."

    with Faulty(whole()) as server:
        client = iv.AsyncClient(**known(server))
        for count in (1, 2):
            asyncio.run(main(client))
            assert server.connections == count
        asyncio.run(client.close())
        del client
        gc.collect()
        gc.collect()  # the loops that held them go first
