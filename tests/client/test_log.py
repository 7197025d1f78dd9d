"""Long streams: pieces that were read are joined, and whoever begins late sees all of them."""

from itertools import islice

import httpx2

import innervoice as iv
from client.faulty import DONE, STOP, delta
from innervoice.canon.events import PartStart, TextDelta, ThinkingDelta
from innervoice.client.log import Log

DELTAS = 10_000


class Frames(httpx2.SyncByteStream):
    def __iter__(self):
        for number in range(DELTAS):
            yield delta(reasoning_content=f"{number} ")
        for number in range(DELTAS):
            yield delta(content=f"{number} ")
        yield from (STOP, DONE)


def asked():
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Frames()))
    client = iv.Client(
        keys={"deepseek": "k"}, http=httpx2.Client(transport=transport, trust_env=False)
    )
    return client.stream("deepseek/deepseek-v4", "hi")


WORDS = "".join(f"{number} " for number in range(DELTAS))


def test_a_reader_that_begins_late():
    """The pieces are larger then; their text is the same, and so is the order of all events."""
    with asked() as events:
        seen = list(islice(events, 15_000))
        thinking = "".join(events.thinking())
        text = "".join(events.text())
        seen += list(events)

    assert (WORDS, WORDS) == (thinking, text)
    assert events.response == iv.fold(seen)
    assert WORDS == "".join(event.text for event in seen if isinstance(event, ThinkingDelta))
    assert WORDS == "".join(event.text for event in seen if isinstance(event, TextDelta))
    assert len(events._exchange.events) < DELTAS


def test_a_reader_that_stopped_keeps_its_place():
    """Nothing is joined behind the back of who still has to read it."""
    with asked() as events:
        pieces = events.thinking()
        first = next(pieces)
        for _ in events:
            pass
        rest = list(pieces)

    assert "0 " == first
    assert WORDS == first + "".join(rest)


def test_what_came_so_far():
    """A stream that was read in part tells what came, pieces joined or not."""
    with asked() as events:
        seen = list(islice(events, 9_000))
        so_far = events.response

    assert iv.fold(seen).thinking == so_far.thinking
    assert "deepseek" == so_far.provider


def test_only_neighbours_of_one_part_are_joined():
    log = Log()
    position = log.new_position()
    given = [PartStart(0, "text"), TextDelta(0, "a"), TextDelta(0, "b"), TextDelta(1, "c")]
    given += [ThinkingDelta(1, "d"), TextDelta(0, "e")]
    for _ in range(1000):
        log.add(given)
        position.index = len(log)

    assert 5 * 1000 <= len(log) < 6 * 1000
    assert [PartStart(0, "text"), TextDelta(0, "ab"), TextDelta(1, "c")] == log[:3]
    assert position.index == len(log)
