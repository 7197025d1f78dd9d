"""Recordings of real APIs, as captured answers and as a HAR of their conversations."""

import json
from collections import defaultdict

import innervoice as iv
from conformance.test_written_answers import body_of
from innervoice.errors import DecodeError, ProviderError
from innervoice.sources.opening import open_source
from innervoice.wire.dialects import DIALECTS
from shared import SHARED, needs_shared
from sources.samples import har_of, post


def recordings():
    for path in sorted((SHARED / "corpus").glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        if exchange["dialect"] in DIALECTS:  # others are not HTTP
            yield exchange


@needs_shared
def test_every_recorded_answer_is_opened():
    """What `decode` reads is opened without a hint, and is the same; what it refuses is an error or has a failure."""
    for exchange in recordings():
        body = body_of(exchange)
        try:
            expected = iv.decode(body)
        except (DecodeError, ProviderError):
            with_failure(body)
            continue
        (turn,) = open_source(body).conversation().turns
        assert expected == turn.answer, exchange["id"]


def with_failure(body):
    try:
        (turn,) = open_source(body).conversation().turns
    except DecodeError:
        return
    assert turn.answer.error is not None


@needs_shared
def test_recorded_conversations():
    """In a HAR, every exchange is found, and most that go on from each other are one conversation."""
    groups = defaultdict(list)
    for exchange in filter(lambda exchange: exchange["request"], recordings()):
        groups[exchange["conversation"]["id"]].append(exchange)
    several = joined = 0
    for exchanges in groups.values():
        exchanges.sort(key=lambda exchange: exchange["conversation"]["order"])
        posts = [post(exchange["request"]["body"], body_of(exchange), url="https://x.example" + exchange["request"]["path"], encoded=True, status=exchange["status"]) for exchange in exchanges]  # fmt: skip
        found = list(open_source(har_of(*posts)).conversations())
        answers = [turn.answer for one in found for turn in one.turns if turn.answer]
        assert len(exchanges) == len(answers)
        for exchange in exchanges if len(exchanges) == 1 else ():
            try:
                expected = iv.decode(body_of(exchange))
            except (DecodeError, ProviderError):
                continue
            assert expected.text == answers[0].text
        several += len(exchanges) > 1
        joined += len(found) < len(exchanges)

    assert several / 2 < joined, (several, joined)
