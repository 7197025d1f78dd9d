"""Every client's API to every provider's: tool loops with thinking, whole and streamed, with programs that keep reasoning and that lose it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import innervoice as iv
from gateway.harness import BEHIND, HOMES, QUESTION, Client, Served
from innervoice.canon.parts import Thinking
from innervoice.conversation.turns import seals_of
from innervoice.wire.dialects import DIALECTS


def leaves(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list():
            for item in value:
                yield from leaves(item)
        case str():
            yield value


def thought(upstream, dialect) -> list[str]:
    """What the model thought in the turns before the last one: the seals, or the words where there are none."""
    found = []
    for body in upstream.raw_answers[:-1]:
        for part in iv.decode(body, dialect=dialect, model=HOMES[dialect]).parts:
            seals = list(seals_of(part))
            found += seals or ([part.text] if isinstance(part, Thinking) else [])
    return found


@pytest.mark.parametrize("loses", [False, True], ids=["keeps", "loses"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("behind", DIALECTS)
@pytest.mark.parametrize("front", DIALECTS)
def test_the_model_gets_back_what_it_thought(front, behind, stream, loses):
    served = Served()
    client = Client(served, front, BEHIND[behind], stream=stream, loses=loses)
    answer = asyncio.run(client.say(QUESTION))
    assert answer.text == "Lisbon: sunshine. Oslo: sunshine."
    assert [report.status for report in served.reports] == [200, 200, 200]
    assert set(served.upstream.statuses) == {200}, "nothing was refused on the way"
    known = thought(served.upstream, behind)
    sent = set(leaves(served.upstream.requests[-1]))
    assert known
    assert [item for item in known if item not in sent] == []
    last = served.reports[-1]
    assert (last.kept, last.omitted) == (len(known), 0)
    if loses:
        assert last.restored == last.kept
        assert client.replies[-1].headers["x-innervoice-reasoning"] == last.reasoning


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("front", DIALECTS)
def test_there_and_back_after_another_model(front, stream):
    """A conversation begins at Claude, goes on at Gemini, and comes back: all that Claude thought is there."""
    served = Served()
    client = Client(served, front, BEHIND["anthropic"], stream=stream, loses=True)

    async def talk():
        await client.say(QUESTION)
        client.model = BEHIND["gemini"]
        await client.say("What is the weather in Bergen?")
        client.model = BEHIND["anthropic"]
        await client.say("What is the weather in Porto?")

    asyncio.run(talk())
    assert set(served.upstream.statuses) == {200}
    at_claude = [
        body
        for path, body in zip(served.upstream.paths, served.upstream.raw_answers, strict=True)
        if "/anthropic/" in path
    ]
    known = [
        seal
        for body in at_claude[:-1]
        for part in iv.decode(body, dialect="anthropic", model=BEHIND["anthropic"]).parts
        for seal in seals_of(part)
    ]
    sent = set(leaves(served.upstream.requests[-1]))
    assert len(known) >= 4
    assert [seal for seal in known if seal not in sent] == []
    away = [report for report in served.reports if report.provider == "gemini"]
    assert all(report.omitted and report.rules for report in away), (
        "what Gemini cannot read stays here"
    )
