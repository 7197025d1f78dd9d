"""Responses in the background: answered at once, polled, streamed, cancelled, by any process that shares the store."""

import asyncio
import json

import pytest

from gateway.harness import BEHIND, Served
from gateway.open_responses import events_of, problems_of_response, problems_of_stream
from gateway.test_request_log import conversations, served_with
from gateway.upstreams import Answer, Scripted, Wait
from gateway.witness import noted
from innervoice.gateway.callers import Caller, CallerKeys
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.gateway.limits import Limits
from innervoice.gateway.responses import background
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.stores.postgres import PostgresStore
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.redis import RedisStore
from innervoice.memory.stores.sqlite import SqliteStore
from innervoice.memory.stores.store import StoreError
from memory.stores.servers import postgres_server, redis_server  # noqa: F401 - fixtures

KEY = bytes(range(32))
CLAUDE, GPT = BEHIND["anthropic"], BEHIND["openai-responses"]
QUICK = ("openai-responses", "anthropic", "gemini", "openai-chat", "mistral")
SUM = "What is 15 * 23?"
SSE = {"content-type": "text/event-stream"}


@pytest.fixture(autouse=True)
def _quick_beats(monkeypatch):
    limits = Limits(beat_seconds=0.02, cancel_seconds=2.0, lost_seconds=0.2)
    monkeypatch.setattr(background, "LIMITS", limits)


def frame(kind, **members):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def slow_claude(*silences):
    """An answer of Claude's that begins, is silent, and ends."""
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [], "stop_reason": None, "usage": usage}  # fmt: skip
    return Answer(
        frame("message_start", message=message)
        + frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
        + frame("content_block_delta", index=0, delta={"type": "text_delta", "text": "Three "}),
        *silences,
        frame("content_block_delta", index=0, delta={"type": "text_delta", "text": "hundred."})
        + frame("content_block_stop", index=0)
        + frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 4})
        + frame("message_stop"),
        headers=SSE,
    )


async def begin(served, model=CLAUDE, **more):
    return await served.call("POST", "/v1/responses", {"model": model, "input": SUM, "background": True, **more})  # fmt: skip


async def get(served, name, query=""):
    return await served.call("GET", f"/v1/responses/{name}{query}")


async def polled(served, name, until=("completed", "incomplete", "failed", "cancelled")):
    """The response as soon as it has a status."""
    for _ in range(400):
        reply = await get(served, name)
        assert reply.status == 200, reply.body
        assert [] == problems_of_response(reply.json)
        if reply.json["status"] in until:
            return reply.json
        await asyncio.sleep(0.01)
    raise AssertionError(f"the response stays {reply.json['status']}")


async def reported(served):
    """The reports, as soon as there is one: a request in the background ends after its response is there."""
    for _ in range(400):
        if served.reports:
            break
        await asyncio.sleep(0.01)
    return served.reports


@pytest.mark.parametrize("behind", BEHIND)
def test_a_response_in_the_background(behind):
    """At once it is queued; later it is complete, and a conversation goes on from it, also at another model."""

    async def run():
        served = Served(store=RamStore())
        begun = await begin(served, BEHIND[behind], metadata={"run": "7"})
        assert (200, "queued", True) == (begun.status, begun.json["status"], begun.json["background"])  # fmt: skip
        assert [] == problems_of_response(begun.json)
        done = await polled(served, begun.json["id"])
        assert ("completed", {"run": "7"}) == (done["status"], done["metadata"])
        assert "345" in json.dumps(done["output"])
        assert "background" not in served.upstream.requests[-1]
        for model in (BEHIND[behind], CLAUDE):
            more = {"model": model, "input": "Times two?", "previous_response_id": done["id"]}
            reply = await served.call("POST", "/v1/responses", more)
            assert reply.status == 200, reply.body
            assert SUM in json.dumps(served.upstream.requests[-1])
        assert [200, 200, 200] == [report.status for report in await reported(served)]

    asyncio.run(run())


@pytest.mark.parametrize("behind", QUICK)
def test_a_stream_that_is_resumed(behind):
    """The stream of the request, the same later, and the rest behind any number: the same events."""

    async def run():
        served = Served(store=RamStore())
        reply = await begin(served, BEHIND[behind], stream=True)
        assert [] == problems_of_stream(reply.body)
        events, _ = events_of(reply.body)
        assert ["response.created", "response.queued", "response.in_progress"] == [event["type"] for event in events[:3]]  # fmt: skip
        name = events[0]["response"]["id"]
        for after in (-1, 0, 3, len(events) - 2):
            query = "?stream=true" if after < 0 else f"?stream=true&starting_after={after}"
            again = await get(served, name, query)
            assert events[after + 1 :] == events_of(again.body)[0]
        assert b"" == (await get(served, name, f"?stream=true&starting_after={len(events)}")).body
        assert 400 == (await get(served, name, "?stream=true&starting_after=x")).status
        assert events[-1]["response"] == (await get(served, name)).json

    asyncio.run(run())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behind", BEHIND)
def test_events_of_a_response_that_was_not_in_the_background(behind, stream):
    async def run():
        served = Served()
        body = {"model": BEHIND[behind], "input": SUM, "stream": stream}
        reply = await served.call("POST", "/v1/responses", body)
        whole = events_of(reply.body)[0][-1]["response"] if stream else reply.json
        replayed = await get(served, whole["id"], "?stream=true")
        assert [] == problems_of_stream(replayed.body)
        events = events_of(replayed.body)[0]
        assert whole == events[-1]["response"]
        rest = await get(served, whole["id"], "?stream=true&starting_after=4")
        assert events[5:] == events_of(rest.body)[0]

    asyncio.run(run())


def test_the_client_leaves_and_the_answer_goes_on():
    async def run():
        served = Served(http=Scripted(slow_claude(Wait(0.15))))
        leaves, names = asyncio.Event(), []

        async def reads(message):
            events, _ = events_of(message.get("body", b""))
            names.extend(event["response"]["id"] for event in events if "response" in event)
            if names:
                leaves.set()

        body = {"model": CLAUDE, "input": SUM, "background": True, "stream": True}
        await served.call("POST", "/v1/responses", body, leaves=leaves, reads=reads)
        assert not served.reports, "it is still running"
        done = await polled(served, names[0])
        await reported(served)
        assert "Three hundred." == done["output"][0]["content"][0]["text"]
        assert [(200, None, 4)] == [(report.status, report.error, report.usage.output_tokens) for report in served.reports]  # fmt: skip

    asyncio.run(run())


@pytest.fixture(params=["memory", "file", "redis", "postgres"])
def shared_store(request, tmp_path):
    """A function that opens one store again and again, as each process does: in memory, in a file, or at a real server."""
    if request.param == "memory":
        store = RamStore()
        return lambda: store
    if request.param == "file":
        return lambda: SqliteStore(tmp_path / "g.db")
    server = request.getfixturevalue(f"{request.param}_server")
    server.empty()
    kind = {"redis": RedisStore, "postgres": PostgresStore}[request.param]
    return lambda: kind(server.url)


def two_processes(http, opened=None):
    """Two gateways with one store."""
    memory = RamStore()
    stores = [opened() if opened else memory for _ in range(2)]
    first = Served(http=http, store=stores[0], key=KEY)
    second = Served(http=Scripted(), store=stores[1], key=KEY)
    return first, second


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "at another process"])
def test_a_response_is_cancelled(elsewhere, shared_store):
    """The upstream is left, the object and the stream say so, and so do later requests to cancel."""

    async def run():
        answer = slow_claude(Wait())
        first, second = two_processes(Scripted(answer), shared_store)
        name = (await begin(first)).json["id"]
        await asyncio.wait_for(answer.waits.wait(), 5)
        other = second if elsewhere else first
        assert "in_progress" == (await polled(other, name, ("in_progress",)))["status"]
        reply = await other.call("POST", f"/v1/responses/{name}/cancel")
        assert (200, "cancelled") == (reply.status, reply.json["status"])
        assert answer.is_closed, "the provider was left"
        for served in (first, second):
            assert "cancelled" == (await polled(served, name))["status"]
            again = await served.call("POST", f"/v1/responses/{name}/cancel")
            assert (200, "cancelled") == (again.status, again.json["status"])
            events = events_of((await get(served, name, "?stream=true")).body)[0]
            assert "cancelled" == events[-1]["response"]["status"]
            assert list(range(len(events))) == [event["sequence_number"] for event in events]
            more = {"model": CLAUDE, "input": "Go on.", "previous_response_id": name}
            assert 400 == (await served.call("POST", "/v1/responses", more)).status
        assert (await reported(first))[0].status == 499
        for served in (first, second):
            await served.gateway.store.close()

    asyncio.run(run())


def test_events_are_live_at_another_process(shared_store):
    async def run():
        first, second = two_processes(Scripted(slow_claude(Wait(0.2))), shared_store)
        name = (await begin(first)).json["id"]
        live = await get(second, name, "?stream=true")
        assert [] == problems_of_stream(live.body)
        assert len(live.pieces) > 3, "as they came"
        assert live.body.count(b"event:") == (await get(first, name, "?stream=true")).body.count(b"event:")  # fmt: skip
        for served in (first, second):
            await served.gateway.store.close()

    asyncio.run(run())


def test_a_store_that_loses_pieces_loses_no_events():
    """Every second piece of events is not stored, or only after it was given up: the next one has it."""

    class Forgetful(RamStore):
        count_of_pieces = 0

        async def put(self, item, keys):
            self.count_of_pieces += 1
            if self.count_of_pieces > 1 and self.count_of_pieces % 2:
                raise StoreError("full")
            await super().put(item, keys)

    async def run():
        store = Forgetful()
        silences = [Wait(0.05)] * 3
        first = Served(http=Scripted(slow_claude(*silences)), store=store, key=KEY)
        second = Served(http=Scripted(), store=store, key=KEY)
        name = (await begin(first)).json["id"]
        live = await get(second, name, "?stream=true")
        assert [] == problems_of_stream(live.body)

    asyncio.run(run())


def test_a_gateway_that_stops_says_so():
    async def run():
        answer = slow_claude(Wait())
        first, second = two_processes(Scripted(answer))
        name = (await begin(first)).json["id"]
        await asyncio.wait_for(answer.waits.wait(), 5)
        await first.gateway.background.close()
        done = await polled(second, name)
        assert ("failed", "server_error") == (done["status"], done["error"]["code"])
        assert "stopped" in done["error"]["message"]
        assert "Three " == done["output"][0]["content"][0]["text"], "what there was of it stays"
        assert "failed" == events_of((await get(second, name, "?stream=true")).body)[0][-1]["response"]["status"]  # fmt: skip
        assert [503] == [report.status for report in await reported(first)]

    asyncio.run(run())


def test_a_process_that_dies_leaves_nothing_in_progress():
    """Nobody beats for it: after a moment it is reported as failed, with the events that it had."""
    store = RamStore()

    async def die():
        served = Served(http=Scripted(slow_claude(Wait())), store=store, key=KEY)
        name = (await begin(served)).json["id"]
        await asyncio.sleep(0.1)
        return name, [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    loop = asyncio.new_event_loop()
    name, tasks = loop.run_until_complete(die())

    async def look():
        served = Served(http=Scripted(), store=store, key=KEY)
        done = await polled(served, name)
        assert ("failed", "server_error") == (done["status"], done["error"]["code"])
        assert [] == problems_of_stream((await get(served, name, "?stream=true")).body)
        reply = await served.call("POST", f"/v1/responses/{name}/cancel")
        assert "failed" == reply.json["status"]

    try:
        asyncio.run(look())
    finally:
        # Only now does the dead process go, so that nothing of it ran in between.
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


def test_a_provider_that_refuses():
    """The request was accepted here; what the provider says of it is in the response."""

    async def run():
        error = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}).encode()  # fmt: skip
        served = Served(http=Scripted(Answer(error, status=400)))
        reply = await begin(served)
        done = await polled(served, reply.json["id"])
        assert ("failed", "too long") == (done["status"], done["error"]["message"])
        assert [] == problems_of_stream((await get(served, done["id"], "?stream=true")).body)
        assert [400] == [report.status for report in await reported(served)]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("more", "status", "param"),
    [
        ({"store": False}, 400, "background"),
        ({"previous_response_id": "resp_1"}, 400, "previous_response_id"),
        ({"model": "anthropic/unknown-1"}, 200, None),
        ({"model": "nobody/x"}, 404, None),
        ({"input": 7}, 400, None),
    ],
)
def test_what_is_refused_at_once(more, status, param):
    async def run():
        served = Served()
        reply = await begin(served, **{"model": CLAUDE, **more})
        assert status == reply.status or (status == 404 and reply.status == 400), reply.body
        if reply.status != 200:
            assert param in (None, reply.json["error"]["param"])
            assert [reply.status] == [report.status for report in served.reports]
        await served.gateway.background.close()

    asyncio.run(run())


def test_a_gateway_that_stores_nothing_runs_nothing_in_the_background():
    served = Served(GatewayConfig(server=ServerSettings(remember="off")))
    reply = asyncio.run(begin(served))
    assert (400, "background") == (reply.status, reply.json["error"]["param"])


@pytest.mark.parametrize(("header", "status"), [("off", 400), ("ram", 200)])
def test_what_the_client_allows_to_store(header, status):
    """In memory it can be polled here, and nothing of it is in the store."""

    async def run():
        store = RamStore()
        served = Served(store=store, key=KEY)
        body = {"model": CLAUDE, "input": SUM, "background": True}
        reply = await served.call("POST", "/v1/responses", body, {"x-innervoice-store": header})
        assert status == reply.status, reply.body
        if status == 200:
            assert "completed" == (await polled(served, reply.json["id"]))["status"]
            replayed = await get(served, reply.json["id"], "?stream=true")
            assert [] == problems_of_stream(replayed.body)
        assert [] == await store.usage()

    asyncio.run(run())


def test_the_request_log_has_it(tmp_path):
    async def run():
        served = served_with(tmp_path, "full")
        await polled(served, (await begin(served)).json["id"])
        await reported(served)
        return served

    (conversation,) = conversations(asyncio.run(run()))
    assert SUM == conversation.turns[0].message.text
    assert "345" in conversation.turns[-1].message.text


def test_it_counts_for_the_limits_of_its_caller():
    """Two streams at once are allowed; the third is refused while they run, whether or not their clients wait."""

    async def run():
        store = RamStore()
        http = Scripted(slow_claude(Wait()), slow_claude(Wait()))
        served = Served(GatewayConfig(server=ServerSettings(streams_per_key=2)), http=http, store=store, key=KEY)  # fmt: skip
        key = (await CallerKeys(SealedStore(store, KEY), KEY).add(Caller(name="alice"))).key
        headers = {"authorization": f"Bearer {key}"}
        body = {"model": CLAUDE, "input": SUM, "background": True}
        replies = [await served.call("POST", "/v1/responses", body, headers) for _ in range(3)]
        assert [200, 200, 429] == [reply.status for reply in replies]
        name = replies[0].json["id"]
        await served.call("POST", f"/v1/responses/{name}/cancel", None, headers)
        await served.gateway.background.close()

    asyncio.run(run())


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "at another process"])
def test_a_response_that_is_deleted_while_it_runs(elsewhere):
    """It is ended, and nothing of it comes back or stays."""

    async def run():
        answer = slow_claude(Wait())
        first, second = two_processes(Scripted(answer))
        name = (await begin(first)).json["id"]
        await asyncio.wait_for(answer.waits.wait(), 5)
        other = second if elsewhere else first
        assert 200 == (await other.call("DELETE", f"/v1/responses/{name}")).status
        assert answer.is_closed
        await reported(first)
        for served in (first, second):
            for query in ("", "?stream=true"):
                assert 404 == (await get(served, name, query)).status
        assert [] == await first.gateway.store.usage()

    asyncio.run(run())


def test_metrics_and_explanations():
    async def run():
        served = Served()
        reply = await begin(served)
        await polled(served, reply.json["id"])
        await reported(served)
        explained = await served.call("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}")
        assert 200 == explained.json["status"]
        page = (await served.call("GET", "/metrics")).body
        assert b'provider="anthropic"' in page
        assert "response_not_stored" not in noted(served.reports[-1])

    asyncio.run(run())
