"""Bytes that are not UTF-8, in requests and in answers."""

import asyncio
import json
from dataclasses import replace

import pytest

import innervoice as iv
from gateway.harness import BEHIND, PATHS, TOOLS, Served, Upstream, body_of
from innervoice.frames.eventstream import EventStream, event_bytes
from innervoice.gateway.config import GatewayConfig, ServerSettings

BAD = {
    "a lone byte": b"\xff",
    "a cut character": b"\xe2\x82",
    "overlong": b"\xc0\xaf",
    "a surrogate": b"\xed\xa0\x80",
}
PLACES = ("TEXT", "SYSTEM", "TOOL")


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("front", PATHS)
def test_a_request_is_refused_before_anything_is_sent(front, place, bad):
    """Also where the same settings, and the same conversation, were sent before."""
    served = Served()
    for behind in (front, "anthropic" if front != "anthropic" else "gemini"):
        tools = [{**TOOLS[0], "description": "TOOL"}]
        path, body = body_of(front, BEHIND[behind], [iv.user("TEXT")], system="SYSTEM", tools=tools)
        data = json.dumps(body).encode()
        for value in (data, data):
            assert 200 == asyncio.run(served.call("POST", path, value)).status
        count = len(served.upstream.requests)
        broken = data.replace(place.encode(), place.encode() + BAD[bad])
        assert broken != data
        reply = asyncio.run(served.call("POST", path, broken))
        at = broken.index(BAD[bad])
        assert (400, count) == (reply.status, len(served.upstream.requests)), reply.body
        assert f"byte {at} is not UTF-8" in reply.body.decode()


class Broken(Upstream):
    """An upstream whose words have a byte that is not UTF-8."""

    def __init__(self, bad):
        super().__init__()
        self.bad = bad

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        data, mark = self.raw_answers[-1], b"15 "
        assert mark in data
        if reply.media.endswith("eventstream"):
            frames = EventStream().feed(data)
            mended = [frame.replace(data=frame.data.replace(mark, mark + self.bad)) for frame in frames]  # fmt: skip
            return replace(reply, pieces=iter([b"".join(map(event_bytes, mended))]))
        return replace(reply, pieces=iter([data.replace(mark, mark + self.bad)]))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("is_own", [True, False], ids=["as it came", "translated"])
def test_an_answer_says_what_was_replaced(behind, bad, stream, is_own):
    """Half a character of UTF-16 is a text that JSON can express, as an escape; everything else is replaced."""
    front = behind if is_own else "anthropic" if behind != "anthropic" else "openai-chat"
    served = Served(GatewayConfig(server=ServerSettings(retries=0)), Broken(BAD[bad]))
    path, body = body_of(front, BEHIND[behind], [iv.user("What is 15 * 23?")], stream=stream)
    reply = asyncio.run(served.call("POST", path, body))
    assert 200 == reply.status, reply.body
    frames = [reply.body]
    if stream and front == "bedrock-converse":
        frames = [frame.data for frame in EventStream().feed(reply.body)]
    text = b"".join(frames).decode()
    assert ("\\ud800" if bad == "a surrogate" else "\ufffd") in text
    (report,) = served.reports
    noted = "invalid_utf8" in [note.code for note in report.notes]
    assert noted or bad == "a surrogate"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_character_may_arrive_in_pieces(size):
    """In one JSON array, which is no stream of frames, an answer can be cut anywhere."""

    class Pieces(Upstream):
        def reply(self, method, path, headers, body):
            reply = super().reply(method, path, headers, body)
            data = self.raw_answers[-1].replace(b"15 ", "15 \u00e9\u20ac\U0001f600".encode())
            return replace(reply, pieces=iter([data[at : at + size] for at in range(0, len(data), size)]))  # fmt: skip

    served = Served(upstream=Pieces())
    path, body = body_of("gemini", BEHIND["gemini"], [iv.user("What is 15 * 23?")], stream=True)
    reply = asyncio.run(served.call("POST", path.partition("?")[0], body))
    assert "15 \u00e9\u20ac\U0001f600" in reply.body.decode()
    assert "\ufffd" not in reply.body.decode()
