"""Reasoning that a host refused is not sent there again, and what the model thinks from then on is not lost with it."""

import asyncio

import innervoice as iv
from gateway.harness import BEHIND
from gateway.witness import ask, loop, noted, reasoning_is_back, watched
from innervoice.conversation.digest import TurnKeys
from innervoice.gateway.rewritten import RefusedSeals

CLAUDE = BEHIND["anthropic"]
WEATHER = "What is the weather in Bergen, then the weather in Porto?"


def compacted(served):
    """A client that keeps a summary and its last turn, whose signature is bound to what it forgot; and its whole history."""
    client = loop(served, "anthropic", CLAUDE)
    before = list(client.history)
    client.history = [iv.user("So far: sunshine in Lisbon and Oslo."), before[-1]]
    return client, before


def test_one_request_is_refused_and_what_is_thought_then_is_kept():
    served = watched()
    client, _ = compacted(served)
    start = len(served.upstream.statuses)
    asyncio.run(client.say(WEATHER))

    assert [400, 200, 200, 200] == served.upstream.statuses[start:]
    assert [1, 1, 1] == [report.omitted for report in served.reports[-3:]]
    assert [0, 1, 2] == [report.kept for report in served.reports[-3:]]
    assert 1 + 2 == reasoning_is_back(served.upstream, since=start + 1)
    last = served.reports[-1]
    assert ("refused_before" in noted(last), last.rules) == (True, ("H8",))


def test_in_its_own_conversation_it_is_still_sent():
    """Programs can go back to where a session was before."""
    served = watched()
    client, before = compacted(served)
    ask(client)
    client.history = before
    ask(client)

    assert (200, 0) == (served.upstream.statuses[-1], served.reports[-1].omitted)
    assert 3 == served.reports[-1].kept


def test_only_the_upstream_that_refused_does_without():
    keys = TurnKeys(b"place", b"follows")
    block = {"type": "thinking", "thinking": "", "signature": "s"}
    origin = iv.Origin(dialect="anthropic", block=block, seals=("signature",))
    turn = iv.Message("assistant", (iv.Thinking("", origin=origin),))
    refused = RefusedSeals()
    refused.add(b"one", {0: keys}, [turn], frozenset({"s", "t"}))

    assert {"s"} == refused.among(b"one", {3: keys})
    assert not refused.among(b"two", {3: keys})
    assert not refused.among(b"one", {3: TurnKeys(b"another place", b"follows")})


def test_it_is_bounded():
    refused = RefusedSeals()
    block = {"type": "thinking", "thinking": "", "signature": "s"}
    origin = iv.Origin(dialect="anthropic", block=block, seals=("signature",))
    turn = iv.Message("assistant", (iv.Thinking("", origin=origin),))
    for number in range(20_100):
        keys = TurnKeys(str(number).encode(), b"")
        refused.add(b"", {0: keys}, [turn], frozenset({"s"}))

    assert 20_000 == len(refused._seals)
    assert refused.among(b"", {0: keys})
