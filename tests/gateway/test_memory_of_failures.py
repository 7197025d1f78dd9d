"""Nothing of a request outlives its answer but what is stored on purpose: measured without the garbage collector, which hides what waits for it."""

import asyncio
import gc
import json
import tracemalloc

import httpx2
import pytest

import innervoice as iv
from gateway.harness import BEHIND, Served, Upstream, body_of
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.core import Reply
from innervoice.gateway.config import GatewayConfig, NamedModel, ServerSettings

SIZE = 1_000_000
TIMES = 4
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "busy", "code": "x"}}


def said(status, body=ERROR, **headers):
    """An upstream that answers everything alike."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: Reply(status, "application/json", iter([data]), headers=headers)


def cut(answer):
    """The beginning of the emulator's answer, and then an error of the network."""
    data, media = answer()

    def pieces():
        yield data[: len(data) // 2]
        raise httpx2.ReadError("cut")

    return Reply(200, media, pieces())


def unreachable(_):
    raise httpx2.ConnectError("no")


def large(_):
    return Reply(200, "application/json", iter([b'{"a": "' + b"x" * 3_000_000]))


# What goes wrong -> what the upstream answers. All of them end in an error for the client.
FAILURES = {
    "400": said(400),
    "401": said(401),
    "404": said(404, b"<html>"),
    "413": said(413),
    "429": said(429, **{"retry-after": "9999"}),
    "500": said(500),
    "redirect": said(302, location="http://127.0.0.1:9"),
    "no JSON": said(200, b"<html>"),
    "empty": said(200, b""),
    "large": large,
    "cut": cut,
    "unreachable": unreachable,
}
WAYS = [("anthropic", "anthropic"), ("openai-chat", "anthropic"), ("anthropic", "gemini"), ("openai-responses", "openai-responses")]  # fmt: skip


class Failing(Upstream):
    def __init__(self, failure):
        super().__init__()
        self.failure = failure
        self.answer = None

    def reply(self, method, path, headers, body):
        return self.failure(lambda: self.answered(method, path, headers, body))

    def answered(self, *request):
        """What the emulator says to the first request; it remembers prompts, as a provider's cache does."""
        if self.answer is None:
            reply = self.emulator.reply(*request)
            self.answer = reply.body, reply.media
        return self.answer


def kept(ask):
    """How many bytes of memory each of several requests leaves behind."""
    ask()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(TIMES):
            ask()
        return (tracemalloc.get_traced_memory()[0] - before) / TIMES
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("front", "behind"), WAYS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_request_leaves_nothing(failure, front, behind, stream):
    upstream = Failing(FAILURES[failure])
    models = (NamedModel(name="two", to=(BEHIND[behind], BEHIND[behind])),)
    config = GatewayConfig(server=ServerSettings(retries=0), models=models)
    served = Served(config, upstream, http=embedded_async_http(upstream))
    for model in (BEHIND[behind], "two"):
        path, body = body_of(front, model, [iv.user("x" * SIZE)], stream=stream)

        def ask(path=path, body=body):
            served.reports.clear()
            asyncio.run(served.call("POST", path, body))

        assert kept(ask) < SIZE / 10, model


BAD = {
    "not JSON": b'{"model": "anthropic/claude-opus-5-5", "messages": [{"role": "user", "content": "%b"}]' % (b"x" * SIZE),
    "not UTF-8": b'{"model": "anthropic/claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "%b\xff"}]}' % (b"x" * SIZE),
    "unknown model": b'{"model": "nope/nope", "max_tokens": 9, "messages": [{"role": "user", "content": "%b"}]}' % (b"x" * SIZE),
    "too large": b'{"model": "%b"}' % (b"x" * 2 * SIZE),
    "wrong type": b'{"model": "anthropic/claude-opus-5-5", "max_tokens": 9, "messages": "%b"}' % (b"x" * SIZE),
}  # fmt: skip


@pytest.mark.parametrize("body", BAD)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/messages/count_tokens"])  # fmt: skip
def test_a_refused_request_leaves_nothing(path, body):
    served = Served(GatewayConfig(server=ServerSettings(body_bytes=int(1.5 * SIZE))))

    def ask():
        served.reports.clear()
        asyncio.run(served.call("POST", path, BAD[body]))

    assert kept(ask) < SIZE / 10


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_client_that_leaves_leaves_nothing_behind(stream):
    left = asyncio.Event()

    def slow(answer):
        left.set()
        data, media = answer()
        return Reply(200, media, iter([data]))

    upstream = Failing(slow)
    served = Served(upstream=upstream, http=embedded_async_http(upstream))
    path, body = body_of("anthropic", BEHIND["anthropic"], [iv.user("x" * SIZE)], stream=stream)

    def ask():
        served.reports.clear()
        left.clear()
        asyncio.run(served.call("POST", path, body, leaves=left))

    assert kept(ask) < SIZE / 10
