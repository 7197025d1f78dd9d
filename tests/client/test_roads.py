"""aiohttp and our own HTTP/1.1 as the road: the same answers, the same errors. What is not installed is skipped."""

import asyncio
import re
import sys
from importlib.util import find_spec

import pytest

import innervoice as iv
from client.faulty import (
    CLOSE,
    COMMENT,
    FRAMES,
    SILENCE,
    THOUGHT,
    Faulty,
    chunk,
    free_port,
    head,
    stream,
    whole,
    zipped,
)
from client.harness import KEY
from innervoice.client.over_aiohttp import OverAiohttp
from innervoice.client.over_httptools import OverHttptools
from innervoice.installing import install_command

MODEL = "deepseek/deepseek-v4"
ONCE = {"provider": "deepseek", "api_key": KEY, "retries": 0, "idle_timeout": 5.0, "timeout": 10.0}
ROADS = [
    pytest.param(
        road,
        id=package,
        marks=pytest.mark.skipif(not find_spec(package), reason=f"{package} is not installed"),
    )
    for package, road in (("aiohttp", OverAiohttp), ("httptools", OverHttptools))
]
each_road = pytest.mark.parametrize("road", ROADS)


def asked(url, road=None, *, streamed=True, **settings):
    """What an `AsyncClient` gives, over a road or httpx2: the events, and the response or the error."""

    async def main():
        http = road() if road else None
        events, response, error = [], None, None
        async with iv.AsyncClient(**{**ONCE, "base_url": url, **settings}, http=http) as client:
            try:
                if streamed:
                    async with client.stream(MODEL, "hi") as answer:
                        events = [event async for event in answer]
                        response = answer.response
                else:
                    response = await client.ask(MODEL, "hi")
            except iv.InnervoiceError as problem:
                error = problem
        if http:
            await http.aclose()
        return events, response, error

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("package", "road", "extra"),
    [("aiohttp", OverAiohttp, "aiohttp"), ("httptools", OverHttptools, "gateway")],
)
def test_what_is_missing_is_said(monkeypatch, package, road, extra):
    """An error says what to install."""
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(iv.UsageError, match=re.escape(install_command(extra))):
        road()


@each_road
@pytest.mark.parametrize(
    "script", [stream(*FRAMES), stream(THOUGHT, COMMENT, *FRAMES[1:]), zipped(*FRAMES)]
)
def test_stream(script, road):
    """Events and response are those that httpx2 brings."""
    with Faulty(script) as server:
        expected = asked(server.url)
        given = asked(server.url, road)

    assert expected[1:] == given[1:]
    assert expected[0] == given[0]
    assert "Hmm." == given[1].thinking


@each_road
def test_ask(road):
    with Faulty(whole()) as server:
        _, response, error = asked(server.url, road, streamed=False)

    assert error is None
    assert ("Hmm.", "It is 345.") == (response.thinking, response.text)
    assert f"Bearer {KEY}" == server.requests[0][1]["authorization"]


@each_road
def test_silence(road):
    """The limit on a silence holds, though nobody but aiohttp watches it."""
    with Faulty([head(kind="text/event-stream"), chunk(THOUGHT), SILENCE]) as server:
        _, _, error = asked(server.url, road, idle_timeout=0.1)

    assert isinstance(error, iv.TimedOutError)
    assert "idle" == error.limit
    assert "Hmm." == error.response.thinking


@each_road
def test_total(road):
    """The limit on all waiting holds to the moment."""
    with Faulty([head(kind="text/event-stream"), chunk(THOUGHT), SILENCE]) as server:
        _, _, error = asked(server.url, road, idle_timeout=5.0, timeout=0.2)

    assert isinstance(error, iv.TimedOutError)
    assert "total" == error.limit


@each_road
def test_broken_off(road):
    with Faulty([head(kind="text/event-stream"), chunk(THOUGHT), CLOSE]) as server:
        _, _, error = asked(server.url, road)

    assert isinstance(error, iv.AnswerInterruptedError)
    assert "Hmm." == error.response.thinking


@each_road
def test_nobody_answers(road):
    _, _, error = asked(f"http://127.0.0.1:{free_port()}", road)

    assert isinstance(error, iv.ConnectionFailedError)


@each_road
def test_address_that_is_none(road):
    _, _, error = asked("nowhere", road)

    assert isinstance(error, iv.UsageError)


@each_road
def test_refusal(road):
    body = b'{"error": {"message": "no", "type": "invalid_request_error"}}'
    with Faulty([head(400, len(body)), body]) as server:
        _, _, error = asked(server.url, road)

    assert isinstance(error, iv.BadRequestError)


@each_road
def test_key_is_not_shown(road):
    request = road().build_request(
        "POST", "http://x", headers={"authorization": KEY}, content=b"", extensions={}
    )

    assert KEY not in repr(request)


# ---- our own HTTP/1.1 --------------------------------------------------------------------------------

httptools = pytest.mark.skipif(not find_spec("httptools"), reason="httptools is not installed")


async def iterated(answer):
    return b"".join([piece async for piece in answer.aiter_bytes()])


async def poured(answer):
    pieces = []

    def sink(piece):
        pieces.append(piece)
        return True

    assert await answer.pour(sink)
    return b"".join(pieces)


async def poured_in_turns(answer):
    """A reader that is busy after every third piece; meanwhile nothing is given to it."""
    pieces, is_busy = [], False

    def sink(piece):
        nonlocal is_busy
        assert not is_busy
        pieces.append(piece)
        is_busy = len(pieces) % 3 == 0
        return not is_busy

    while not await answer.pour(sink):
        await asyncio.sleep(0.001)
        is_busy = False
    return b"".join(pieces)


each_reading = pytest.mark.parametrize("reading", [iterated, poured, poured_in_turns])


async def all_of(http, url, body=b"{}", reading=iterated, **timeouts):
    request = http.build_request(
        "POST", url, headers={}, content=body, extensions={"timeout": timeouts}
    )
    answer = await http.send(request)
    try:
        return answer.status_code, await reading(answer)
    finally:
        await answer.aclose()


class Raw:
    """A server that answers each request on its connections with the next of these bytes; None closes the connection instead.

    An answer may be several pieces, with pauses of so many seconds between them.
    """

    def __init__(self, *answers) -> None:
        self.answers, self.connections, self.requests = list(answers), 0, []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/x"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                self.requests.append(head + await reader.readexactly(length))
                answer = self.answers.pop(0)
                pieces = answer if isinstance(answer, tuple) else (answer,)
                for piece in pieces:
                    if isinstance(piece, bytes):
                        writer.write(piece)
                        await writer.drain()
                    await asyncio.sleep(piece if isinstance(piece, float) else 0)
                if pieces[-1] in (None, CLOSING):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CLOSING = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
FORMS = {
    "a length": (OK, b"ok"),
    "chunks": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"ok",
    ),
    "until the connection ends": (CLOSING, b"until the end"),
    "after 100 Continue": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok"),
    "a byte at a time": (tuple(bytes([byte]) for byte in OK), b"ok"),
    "nothing": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
}


@httptools
@each_reading
@pytest.mark.parametrize(("data", "body"), FORMS.values(), ids=FORMS.keys())
def test_forms_of_answers(data, body, reading):
    async def main():
        async with Raw(data, OK) as server, OverHttptools() as http:
            first = await asyncio.wait_for(all_of(http, server.url, reading=reading), 5)
            second = await asyncio.wait_for(all_of(http, server.url, reading=reading), 5)
            return first, second, server

    first, second, server = asyncio.run(main())
    assert body == first[1]
    assert (200, b"ok") == second
    assert (2 if data == CLOSING else 1) == server.connections, "connections are used again"


@httptools
def test_a_connection_that_was_closed_meanwhile():
    """The request had not been seen, so it is sent again, once."""

    async def main():
        async with Raw(OK, None, OK) as server, OverHttptools() as http:
            await all_of(http, server.url)
            return await asyncio.wait_for(all_of(http, server.url), 5), server.connections

    assert ((200, b"ok"), 2) == asyncio.run(main())


@httptools
@pytest.mark.parametrize(
    "data",
    [
        None,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ncontent-length: 3\r\n\r\nabc",
    ],
)
def test_what_is_no_answer(data):
    async def main():
        async with Raw(data, data) as server, OverHttptools() as http:
            with pytest.raises(OSError):
                await asyncio.wait_for(all_of(http, server.url), 5)
            return server.connections

    assert 1 == asyncio.run(main()), "it is not sent again: who knows what the server has done"


HEADS = {
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 60_000, "head of the answer"),
    "a long header": (b"HTTP/1.1 200 OK\r\nx-a: " + b"b" * 400_000, "head of the answer"),
    "another protocol": (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\na", "does not speak"),
}  # fmt: skip


@httptools
@pytest.mark.parametrize(("data", "said"), HEADS.values(), ids=HEADS.keys())
def test_a_head_that_cannot_be_taken(data, said):
    """A server must not fill the memory before its answer begins, nor write into the log of the program."""

    async def main():
        problems = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: problems.append(told))
        async with Raw((data, b"")) as server, OverHttptools() as http:
            with pytest.raises(ConnectionError, match=said):
                await asyncio.wait_for(all_of(http, server.url), 5)
        return problems

    assert [] == asyncio.run(main())


@httptools
@each_reading
@pytest.mark.parametrize("piece", [b"", b"abc"])
def test_limit_on_silence(reading, piece):
    async def main():
        begun = (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", piece)
        async with Raw(begun) as server, OverHttptools() as http:
            with pytest.raises(TimeoutError, match="no data for"):
                await asyncio.wait_for(all_of(http, server.url, reading=reading, read=0.1), 5)

    asyncio.run(main())


@httptools
def test_limit_on_connecting(monkeypatch):
    async def main():
        async def connects_never(*_, **__):
            await asyncio.Event().wait()

        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", connects_never)
        with pytest.raises(TimeoutError) as caught:
            await asyncio.wait_for(all_of(OverHttptools(), "http://127.0.0.1:9/", connect=0.1), 5)
        assert "ConnectTimeout" == type(caught.value).__name__, (
            "errors are told apart by httpx's names"
        )

    asyncio.run(main())


@httptools
@each_reading
def test_each_piece_begins_the_limit_anew(reading):
    async def main():
        begun = (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", *[0.2, b"a"] * 5)
        async with Raw(begun) as server, OverHttptools() as http:
            return await asyncio.wait_for(all_of(http, server.url, reading=reading, read=0.6), 5)

    assert (200, b"aaaaa") == asyncio.run(main())


@httptools
@each_reading
def test_a_connection_that_breaks_off(reading):
    """What came before it is read first."""
    pieces = []

    async def collected(answer):
        taken = answer._taken
        answer._taken = lambda: pieces.append(taken()) or pieces[-1]
        return await reading(answer)

    async def main():
        begun = (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", b"abc", b"def")
        async with Raw((*begun, None)) as server, OverHttptools() as http:
            with pytest.raises(OSError, match="closed"):
                await asyncio.wait_for(all_of(http, server.url, reading=collected), 5)

    asyncio.run(main())
    assert b"abcdef" == b"".join(pieces)


@httptools
def test_whoever_waits_hears_of_a_sink_that_fails():
    """The step of the event loop that reads the socket has nobody else to tell."""
    said = RuntimeError("the sink is full")

    async def failing(answer):
        def sink(piece):
            if piece == b"b":
                raise said
            return True

        await answer.pour(sink)

    async def main():
        begun = (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n", b"a", 0.02, b"b")
        async with Raw(begun, OK) as server, OverHttptools() as http:
            with pytest.raises(RuntimeError) as caught:
                await asyncio.wait_for(all_of(http, server.url, reading=failing), 5)
            assert said is caught.value
            return await asyncio.wait_for(all_of(http, server.url), 5)

    assert (200, b"ok") == asyncio.run(main())


@httptools
def test_bytes_are_poured_in_the_step_in_which_they_arrive():
    """No task is woken between the socket and the sink, but for the end."""
    tasks = []

    async def poured_by_whom(answer):
        return await answer.pour(lambda piece: tasks.append(asyncio.current_task()) or True)

    async def main():
        begun = (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", 0.02, b"a", 0.02, b"b")
        async with Raw(begun) as server, OverHttptools() as http:
            return await asyncio.wait_for(all_of(http, server.url, reading=poured_by_whom), 5)

    assert (200, True) == asyncio.run(main())
    assert [True, False] == [task is None for task in tasks]


@httptools
@each_reading
def test_a_slow_reader_slows_the_server(reading):
    size, sent = 40_000_000, []

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 100_000):
            writer.write(b"x" * 100_000)
            await writer.drain()
            sent.append(100_000)
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server, OverHttptools() as http:
            request = http.build_request("POST", url, headers={}, content=b"", extensions={})
            answer = await http.send(request)
            await asyncio.sleep(0.2)
            before = sum(sent)
            body = await reading(answer)
            await answer.aclose()
            return before, len(body)

    before, read = asyncio.run(main())
    assert read == size
    assert before < size / 2, "the rest waits in the server"


@httptools
def test_line_breaks_do_not_make_headers():
    with pytest.raises(OSError, match="line break"):
        OverHttptools().build_request(
            "POST", "http://x/", headers={"a": "b\r\nc: d"}, content=b"", extensions={}
        )


@httptools
def test_leaving_an_answer_closes_its_connection():
    async def main():
        endless = (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", b"some")
        async with Raw(endless, OK) as server, OverHttptools() as http:
            request = http.build_request("POST", server.url, headers={}, content=b"", extensions={})
            answer = await http.send(request)
            assert b"some" == await anext(answer.stream)
            await answer.aclose()
            return await asyncio.wait_for(all_of(http, server.url), 5), server.connections

    assert ((200, b"ok"), 2) == asyncio.run(main())


@each_road
def test_many_at_once(road):
    """Connections go from one request to the next while others wait."""

    async def main():
        async with Raw(*[OK] * 200) as server, road() as http:

            async def ask():
                return [await all_of(http, server.url) for _ in range(20)]

            answers = await asyncio.wait_for(asyncio.gather(*(ask() for _ in range(10))), 20)
            return [answer for each in answers for answer in each], server.connections

    answers, connections = asyncio.run(main())
    assert [(200, b"ok")] * 200 == answers
    assert connections <= 10
