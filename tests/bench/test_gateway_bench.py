"""The pieces of `bench/gateway`: the floor, the clients, the count of what was lost, and the part of the page."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvloop")
BENCH = Path(__file__).parents[2] / "bench"
PAGE = "# Performance\n\n## Long names\n\nnames\n\n## Method\n\n- by hand\n"


@pytest.fixture(autouse=True)
def _modules(monkeypatch):
    """The modules of the folder, by their names, as long as a test runs."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))
    yield
    for name in set(sys.modules) - before:
        if str(BENCH) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


async def through_floor(requests):
    """What comes back through the floor, on one connection, and what arrived behind it."""
    from gateway_floor import Endpoint, Pool
    from gateway_upstream import Upstream

    arrived = []

    class Recording(Upstream):
        def on_message_complete(self):
            arrived.append(b"".join(self._body))
            super().on_message_complete()

    loop = asyncio.get_running_loop()
    behind = await loop.create_server(Recording, "127.0.0.1", 0)
    pool = Pool(f"127.0.0.1:{behind.sockets[0].getsockname()[1]}")
    floor = await loop.create_server(lambda: Endpoint(pool), "127.0.0.1", 0)
    port = floor.sockets[0].getsockname()[1]
    answers = [await loop.run_in_executor(None, asked, port, requests)]
    floor.close()
    behind.close()
    for back in pool.idle:
        back.transport.abort()
    return answers[0], arrived


def asked(port, requests):
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", port)
    answers = []
    for path, body in requests:
        connection.request("POST", path, body, {"content-type": "application/json"})
        answers.append(connection.getresponse().read())
    connection.close()
    return answers


def test_floor():
    """The floor passes requests and answers on unchanged: small, large and streamed, one after the other on one connection."""
    from gateway_upstream import frames_of
    from payloads import payload

    small, large = b'{"a": 1}', b'{"a": "%b"}' % (b"x" * 400_000)
    streamed = b'{"stream": true}'
    requests = [
        ("/v1/messages", small),
        ("/v1/chat/completions", large),
        ("/v1/messages", streamed),
        ("/v1/chat/completions", small),
    ]

    answers, arrived = asyncio.run(through_floor(requests))

    assert [small, large, streamed, small] == arrived
    whole, chat = payload("anthropic").body, payload("chat").body
    assert [whole, chat, b"".join(frames_of("anthropic")), chat] == answers


@pytest.mark.parametrize("form", ["anthropic", "chat"])
def test_upstream_streams(form):
    """A stream has as many events as are counted."""
    from gateway_upstream import EVENTS, frames_of

    assert EVENTS == len(frames_of(form))


TURNS = {
    "messages": {
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "SEAL"},
            {"type": "text", "text": "Now."},
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}},
        ]
    },
    "chat": {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "Now.",
                    "reasoning_details": [{"type": "reasoning.text", "signature": "SEAL"}],
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "extra_content": "SEAL",
                            "function": {"name": "read_file", "arguments": '{"path": "a"}'},
                        }
                    ],
                }
            }
        ]
    },
}


@pytest.mark.parametrize("client", TURNS)
def test_clients(client):
    """One client returns the turn as it came, the other texts and calls alone; also one that forgets later."""
    from gateway_clients import CLIENTS

    keeping, dropping, forgetting = (
        CLIENTS[client]("m", "Read.", drops=drops) for drops in (False, True, False)
    )
    for one in (keeping, dropping, forgetting):
        assert one.take(TURNS[client])
    forgetting.without_reasoning()
    kept, dropped = json.dumps(keeping.body()), json.dumps(dropping.body())

    assert "SEAL" in kept
    assert "SEAL" not in dropped
    assert "Now." in dropped
    assert dropped.count("c1") == 2
    assert dropped == json.dumps(forgetting.body())


STRICT = {
    "messages": ("claude-opus-5-5", "/anthropic/v1/messages", [200, 200]),
    "chat": ("deepseek-v4-pro", "/deepseek/chat/completions", [200, 400]),
}


@pytest.mark.parametrize("name", STRICT)
def test_seals_are_counted(name):
    """Seals that do not come back are counted; Claude then answers all the same, DeepSeek refuses."""
    from gateway_clients import CLIENTS, WEATHER
    from gateway_emulator import StrictEmulator

    model, path, statuses = STRICT[name]

    def talk(*, drops):
        strict.clear()
        client = CLIENTS[name](model, "Weather in Lisbon?", tool=WEATHER, drops=drops)
        found = []
        for _ in range(2):
            headers = {"x-api-key": "k", "authorization": "Bearer k"}
            reply = strict.reply("POST", path, headers, json.dumps(client.body()).encode())
            found.append(reply.status)
            if reply.status == 200:
                client.take(json.loads(reply.body), lambda _: "sunshine")
        return found, strict.due, strict.lost

    with StrictEmulator() as strict:
        assert ([200, 200], 1, 0) == talk(drops=False)
        assert (statuses, 1, 1) == talk(drops=True)


def cost(best, floor=10.0):
    return {"best": best, "ratio": best / floor, "spread": 0.05, "size": 1500}


def wait(*values):
    names = ("first p50", "first p99", "gap p50", "gap p99")
    return dict(zip(names, map(float, values), strict=True))


def results():
    bodies = {
        "small": {
            "floor": cost(10.0),
            "bare ASGI": cost(10.0),
            "innervoice": cost(40.0),
            "innervoice without a store": cost(30.0),
            "litellm": cost(2500.0),
        },
        "stream": {"floor": cost(10.0), "bare ASGI": cost(10.0), "innervoice": cost(25.0)},
    }
    loop = {"turns": 1, "refused": 1, "due": 2, "lost": 2}
    return {
        "costs": dict.fromkeys(("chat chat", "messages anthropic"), bodies),
        "loops": {"litellm": {"chat anthropic": loop}},
        "memory": {"floor": {"before": 10e6, "open": 35.6e6, "streams": 1000}},
        "agents": {
            "chat anthropic": {"floor": {"seconds": 0.1}, "innervoice": {"seconds": 0.5}},
            "messages anthropic": {"floor": {"seconds": 0.1}},
        },
        "waits": {
            way: {"no gateway": wait(1, 2, 5, 6), "innervoice": wait(1.5, 4, 5, 7.25)}
            for way in ("messages anthropic", "chat anthropic")
        },
        "skipped": {"another": "it is | not there"},
        "machine": {
            "date": "2026-11-16",
            "python": "3.11",
            "system": "Linux",
            "cores": 2,
            "processor": "one",
            "load": 0.1,
            "rounds": 3,
        },
        "versions": {"floor": "uvloop"},
        "minutes": 8.2,
    }


def test_section():
    """The part has every number once, with goals met and missed, and what was not measured."""
    import gateway_page

    made = gateway_page.section(results())

    for line in (
        "| a request of 1.5 kB, passed on | a bare ASGI application | <= 5x | 4.00x | met |",
        "| an event, passed on | a bare ASGI application | <= 1.3x | 2.50x | missed |",
        "| an event, translated | a bare ASGI application | <= 2x |  | not measured |",
        "| the store's share of them | the whole request | <= 0.25x | 0.25x | met |",
        "| first token, p50 | no gateway | <= 1.5 ms more | 0.50 ms more | met |",
        "| litellm's proxy, a request of 1.5 kB | innervoice | >= 30x | 62.5x | met |",
        "| floor | 10 µs | 10 µs |",
        "| innervoice | 4.00x (40 µs) | 2.50x (25 µs) |",
        "| litellm | 250x (2.5 ms) |  |",
        "| litellm |  |  | **refused in turn 2**, 2 of 2 seals lost |  |",
        "| floor | 10 MB | 36 MB | 26 MB |",
        "| innervoice | 5.00x (500 ms) |",
        "| no gateway | 1.00 ms | 2.00 ms | 5.00 ms | 6.00 ms |",
        "| innervoice | +0.50 ms | +2.00 ms | +0.00 ms | +1.25 ms |",
        "| another | not measured: it is / not there |",
    ):
        assert line in made


def test_plot():
    """Bars are multiples of the floor, or what is added; a gateway that loses reasoning is hatched."""
    from xml.etree import ElementTree as ET

    import gateway_plot

    made = gateway_plot.drawn(results())

    ET.fromstring(made)
    for text in (">4.0x<", ">250x<", ">5.0x<", ">2.0 ms<"):
        assert text in made
    assert "url(#lost)" in made
    assert (
        "url(#lost)" not in gateway_plot.drawn({**results(), "loops": {}}).partition("</defs>")[2]
    )


def test_waits_are_measured():
    """The clients tell when each answer began, and how long they waited between its pieces."""
    from gateway_load import Load
    from gateway_upstream import EVENTS, PAUSE, Upstream

    async def run():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Upstream, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        order = {"port": port, "path": "/v1/messages", "body": '{"stream": true}', "waits": True}
        load = Load({**order, "count": 2, "crowd": 2})
        answer = await load.run()
        load.close()
        server.close()
        return answer

    answer = asyncio.run(run())

    assert 2 == len(answer["firsts"])
    assert 2 * (EVENTS - 1) >= len(answer["gaps"]) > EVENTS // 2
    assert PAUSE / 2 < sorted(answer["gaps"])[len(answer["gaps"]) // 2]


def test_page():
    """The part goes before the last section, later into its own place, and the rest of the page stays as it is."""
    import gateway_page

    once = gateway_page.put_into(PAGE, results())
    made = gateway_page.section(results())

    assert PAGE == once.replace(made + "\n\n", "")
    assert once.index("## Gateways") < once.index("## Method")
    assert once == gateway_page.put_into(once, results())
    other = {**results(), "memory": {}}
    assert "Memory of open streams" not in gateway_page.put_into(once, other)
