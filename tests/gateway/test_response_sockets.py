"""The Responses API over a WebSocket, with a real client against a real server: answers, lanes, state on the connection, steers."""

import asyncio
import json
import threading
from dataclasses import replace

import aiohttp
import httpx2
import pytest

from gateway.harness import BEHIND, TOOLS, Served, Upstream
from innervoice.emulator.core import Emulator
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.gateway.limits import LIMITS

CLAUDE, GPT = BEHIND["anthropic"], BEHIND["openai-responses"]
TOOL = [{"type": "function", **TOOLS[0]}]
LAST = ("response.completed", "response.incomplete", "response.failed", "error")


class Model:
    """Answers with the last words of the user, and calls a tool for the weather."""

    def __init__(self):
        self.heard = []

    def __call__(self, messages, tools):
        last = next(message for message in reversed(messages) if message.role == "user")
        said = "\n".join(message.text for message in messages if message.role == "user")
        self.heard.append(said)
        if tools and last.text.startswith("Weather") and not any(message.role == "tool" for message in messages):  # fmt: skip
            return {"call": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
        return {"think": "Hm.", "answer": f"You said {last.text}"}


class Client:
    """A program with one connection."""

    def __init__(self, socket):
        self.socket = socket

    async def send(self, **event):
        await self.socket.send_str(json.dumps(event))

    async def next(self, *kinds, lane=None):
        """The next event of one of these kinds; of any without them."""
        while True:
            message = await self.socket.receive(timeout=10)
            assert message.type == aiohttp.WSMsgType.TEXT, message
            event = json.loads(message.data)
            if (not kinds or event["type"] in kinds) and (lane is None or event.get("stream_id") == lane):  # fmt: skip
                return event

    async def create(self, given, model=CLAUDE, **members):
        await self.send(type="response.create", model=model, input=given, **members)

    async def answer(self, given, model=CLAUDE, **members):
        await self.create(given, model, **members)
        return await self.next(*LAST)


def played(play, *, headers=None, upstream=None):
    """What a program does with its connection to a gateway."""
    model = Model()
    served = Served(upstream=upstream or Upstream(Emulator(script=model)))

    async def connected(url):
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{url}/v1/responses", headers=headers or {}) as socket,
        ):
            return await play(Client(socket))

    with GatewayInThread(served.app) as server:
        return asyncio.run(connected(server.url)), served, model


def text_of(event):
    parts = [part for item in event["response"]["output"] for part in item.get("content", ())]
    return "".join(part.get("text", "") for part in parts)


@pytest.mark.parametrize("model", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("store", [False, True])
def test_a_conversation_with_every_upstream(model, store):
    async def play(client):
        first = await client.answer("One", model, store=store)
        name = first["response"]["id"]
        second = await client.answer("Two", model, store=store, previous_response_id=name)
        return first, second

    (first, second), served, heard = played(play)
    assert ("response.completed", "response.completed") == (first["type"], second["type"]), second
    assert "You said Two" in text_of(second)
    assert "OneTwo" == heard.heard[-1].replace("\n", "")
    assert [200, 200] == [report.status for report in served.reports]


def test_the_events_are_those_of_the_stream():
    async def play(client):
        await client.create("One", store=False)
        events = []
        while not events or events[-1]["type"] not in LAST:
            events.append(await client.next())
        return events

    events, _, _ = played(play)
    served = Served(upstream=Upstream(Emulator(script=Model())))
    body = {"model": CLAUDE, "input": "One", "store": False, "stream": True}
    reply = served.ask("POST", "/v1/responses", body)
    lines = [json.loads(line[6:]) for line in reply.body.decode().splitlines() if line.startswith("data: {")]  # fmt: skip
    assert [one["type"] for one in lines] == [one["type"] for one in events]
    assert list(range(len(events))) == [one["sequence_number"] for one in events]


def test_a_prewarmed_response_is_there_at_once_and_can_be_continued():
    async def play(client):
        warm = await client.answer("One", generate=False, store=False)
        second = await client.answer("Two", store=False, previous_response_id=warm["response"]["id"])  # fmt: skip
        return warm, second

    (warm, _), served, model = played(play)
    assert ("completed", []) == (warm["response"]["status"], warm["response"]["output"])
    assert {"id", "object", "model", "created_at"} <= warm["response"].keys()
    assert ["OneTwo"] == [said.replace("\n", "") for said in model.heard]
    assert 1 == len(served.reports)


def test_errors_are_messages_and_the_connection_goes_on():
    async def play(client):
        errors = [
            await client.answer("One", "nobody/knows"),
            await client.answer("One", previous_response_id="resp_missing"),
        ]
        await client.send(type="response.append")
        errors.append(await client.next("error"))
        await client.socket.send_str("no JSON")
        errors.append(await client.next("error"))
        await client.send(type="response.create", model=CLAUDE, input="x", stream_id=7)
        errors.append(await client.next("error"))
        return errors, await client.answer("Two", store=False)

    (errors, last), _, _ = played(play)
    assert ["error"] * 5 == [error["type"] for error in errors]
    assert [400] * 5 == [error["status"] for error in errors]
    assert "previous_response_not_found" == errors[1]["error"]["code"]
    assert "response.append" in errors[2]["error"]["message"]
    assert "response.completed" == last["type"]


def test_lanes_are_independent_and_each_is_in_order():
    async def play(client):
        for number in range(3):
            await client.create(f"a{number}", store=False, stream_id="a")
        await client.create("b0", store=False, stream_id="b")
        done = []
        while len(done) < 4:
            event = await client.next("response.completed")
            done.append((event["stream_id"], text_of(event)))
        return done

    done, _, _ = played(play)
    assert [f"You said a{number}" for number in range(3)] == [text for lane, text in done if lane == "a"]  # fmt: skip
    assert ("b", "You said b0") in done


class Held(Upstream):
    """Sends an answer without its end, and the end once it may."""

    def __init__(self, model):
        super().__init__(Emulator(script=model))
        self.may_end = threading.Event()

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        whole = self.raw_answers[-1]

        def pieces():
            cut = max(whole.rfind(b"\n\n", 0, -2), len(whole) // 2)
            yield whole[:cut]
            while not self.may_end.is_set():
                yield b""
            yield whole[cut:]

        return replace(reply, pieces=pieces(), pause=0.001)


def steered(model, words, *, given="One", tools=(), then=None, **members):
    """The events of an answer that is steered while it is written, and what the model heard."""
    heard = Model()
    upstream = Held(heard)

    async def play(client):
        await client.create(given, model, tools=list(tools), **members)
        name = (await client.next("response.created"))["response"]["id"]
        for text in words:
            await client.send(type="response.steer", previous_response_id=name, input=text)
        seen = [await client.next("response.steer.pending", "response.steer.failed") for _ in words]
        upstream.may_end.set()
        seen.append(await client.next(*LAST))
        while then is None and len([one for one in seen if one["type"] in LAST]) < 2:
            seen.append(await client.next())
        if then is not None:
            seen.append(await client.next("response.steer.pending"))
            await then(client, name)
            seen.append(await client.next(*LAST))
        return name, seen

    (name, seen), _, _ = played(play, upstream=upstream)
    return name, seen, heard.heard


MESSAGE = [{"role": "user", "content": [{"type": "input_text", "text": "Be brief."}]}]


@pytest.mark.parametrize("model", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("words", ["Be brief.", MESSAGE])
def test_a_steer_waits_for_the_end_and_is_answered_by_a_successor(model, store, words):
    name, seen, heard = steered(model, [words], store=store)

    assert ("response.steer.pending", "waiting_for_response_end") == (seen[0]["type"], seen[0]["reason"])  # fmt: skip
    assert name == seen[0]["steer"]["previous_response_id"]
    assert name == seen[1]["response"]["id"]
    successor = next(one for one in seen if one["type"] == "response.created")
    assert name != successor["response"]["id"]
    assert "You said Be brief." in text_of(seen[-1])
    assert "OneBe brief." == heard[-1].replace("\n", "")


def test_several_steers_are_answered_at_once():
    _, seen, heard = steered(CLAUDE, ["Be brief.", "In French."], store=False)

    assert 2 == len({one["steer"]["id"] for one in seen[:2]})
    assert heard[-1].startswith("One")
    assert heard[-1].endswith("In French.")
    assert "Be brief." in heard[-1]
    assert 2 == len(heard)


@pytest.mark.parametrize("model", [CLAUDE, GPT, BEHIND["gemini"], BEHIND["openai-chat"]])
def test_after_a_call_the_words_go_with_its_result(model):
    async def results(client, name):
        output = {"type": "function_call_output", "call_id": "", "output": "rain"}
        output["call_id"] = pending["call_id"]
        await client.create([output], model, tools=TOOL, store=False, previous_response_id=name)

    pending = {}

    async def then(client, name):
        pending.update(waiting[-1]["required_input"][0])
        await results(client, name)

    waiting = []
    original = Client.next

    async def noted(self, *kinds, lane=None):
        event = await original(self, *kinds, lane=lane)
        if event["type"] == "response.steer.pending":
            waiting.append(event)
        return event

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "next", noted)
        _, seen, heard = steered(model, ["Be brief."], given="Weather in Oslo?", tools=TOOL, then=then, store=False)  # fmt: skip
    assert "waiting_for_required_input" == waiting[-1]["reason"]
    assert ("function_call_output", "get_weather") == (pending["type"], pending["name"])
    assert "response.completed" == seen[-1]["type"], seen[-1]
    assert "Be brief." in heard[-1]


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"previous_response_id": "resp_none", "input": "x"}, "response_not_found"),
        ({"previous_response_id": "LAST", "input": "x"}, "response_already_completed"),
        ({"previous_response_id": "LAST", "input": ""}, "invalid_input"),
        ({"previous_response_id": "LAST", "input": [{"role": "system", "content": "x"}]}, "invalid_input"),
        ({"previous_response_id": "LAST", "input": "x", "model": "m"}, "invalid_input"),
    ],
)  # fmt: skip
def test_a_steer_that_cannot_be_taken_says_why(event, code):
    async def play(client):
        last = await client.answer("One", store=False)
        name = event["previous_response_id"].replace("LAST", last["response"]["id"])
        await client.send(type="response.steer", **{**event, "previous_response_id": name})
        return await client.next("response.steer.failed")

    failed, _, _ = played(play)
    assert code == failed["error"]["code"]
    assert event["input"] == failed["steer"]["input"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
def test_other_apis_have_no_sockets(path):
    served = Served()

    async def play(url):
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(f"{url}{path}")
            return caught.value.status

    with GatewayInThread(served.app) as server:
        assert 426 == asyncio.run(play(server.url))


def test_a_page_of_another_site_cannot_connect():
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        played(None, headers={"origin": "https://evil.example"})
    assert 403 == caught.value.status


class Hanging(httpx2.AsyncBaseTransport):
    """A provider that never answers."""

    async def handle_async_request(self, request):
        await asyncio.Event().wait()


@pytest.mark.parametrize("sockets", [1, 3])
def test_what_stays_with_a_connection_is_bounded_by_bytes(monkeypatch, sockets):
    """A request that only prepares the next one costs nothing, and is kept; a caller may open many connections."""
    limits = replace(LIMITS, sockets_queued_bytes=6_500_000)
    monkeypatch.setattr("innervoice.gateway.responses.sockets.LIMITS", limits)
    served = Served()

    async def connected(url):
        async with aiohttp.ClientSession() as session:
            clients = [Client(await session.ws_connect(f"{url}/v1/responses")) for _ in range(sockets)]  # fmt: skip
            kinds = []
            for number in range(9):
                client = clients[number % sockets]
                await client.create("x" * 1_000_000, generate=False)
                event = await client.next("response.completed", "error")
                kinds.append(event.get("status", 200))
            taken = sum(served.gateway.socket_bytes.values())
            for client in clients:
                await client.socket.close()
            return kinds, taken

    with GatewayInThread(served.app) as server:
        kinds, taken = asyncio.run(connected(server.url))
    assert [200] * 6 + [429] * 3 == kinds
    assert 6_000_000 < taken < 6_500_000
    assert {} == dict(served.gateway.socket_bytes)


@pytest.mark.parametrize(("connections", "most"), [(1, 8), (6, 30)], ids=["one connection", "of one caller"])  # fmt: skip
def test_what_waits_is_bounded_by_bytes(monkeypatch, connections, most):
    """Each message may be large, and many may wait."""
    limits = replace(LIMITS, socket_queued_bytes=8_500_000, sockets_queued_bytes=30_500_000)
    monkeypatch.setattr("innervoice.gateway.responses.sockets.LIMITS", limits)
    served = Served(http=httpx2.AsyncClient(transport=Hanging()))

    async def fill(client):
        """How many requests of a megabyte are accepted before one is refused."""
        for number in range(100):
            await client.create("x" * 1_000_000, stream_id=str(number % 4))
        refused = [await client.next("error") for _ in range(100 - 8)] if connections == 1 else []
        return [event["status"] for event in refused]

    async def connected(url):
        async with aiohttp.ClientSession() as session:
            sockets = [await session.ws_connect(f"{url}/v1/responses") for _ in range(connections)]
            statuses = [await fill(Client(socket)) for socket in sockets[:1]]
            for socket in sockets[1:]:
                for number in range(8):
                    await Client(socket).create("x" * 1_000_000, stream_id=str(number % 4))
            waiting = served.gateway.socket_bytes
            for socket in sockets[1:]:
                # Its answer says that everything before it was read.
                await Client(socket).send(type="unknown")
                while (
                    "unknown type" not in (await Client(socket).next("error"))["error"]["message"]
                ):
                    pass
            taken = dict(waiting)
            for socket in sockets:
                await socket.close()
            return statuses, taken

    with GatewayInThread(served.app) as server:
        statuses, taken = asyncio.run(connected(server.url))
        assert {429} == {status for each in statuses for status in each} or connections > 1
        ((_, size),) = taken.items()
        assert most * 1_000_000 <= size < (most + 0.5) * 1_000_000
    assert {} == dict(served.gateway.socket_bytes)
