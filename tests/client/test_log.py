"""Long streams: pieces that were read are joined, and whoever begins late sees all of them."""

import gc
import tracemalloc
from itertools import islice

import httpx2
import pytest

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


SIGNS = 100_000


@pytest.mark.parametrize(
    ("sign", "reader"),
    [
        (b": still thinking\n\n", "events"),
        (b": still thinking\n\n", "text"),
        (b"event: ping\ndata: {}\n\n", "ask"),
        (b"\n\n", "ask"),
        (delta(), "events"),
    ],
)
def test_signs_of_life_are_not_kept(sign, reader):
    """Nor does anything else grow with them, whoever reads: a position at the first event holds nothing back."""

    class Thinking(httpx2.SyncByteStream):
        def __iter__(self):
            yield delta(content="a")
            for number in range(SIGNS // 100):
                if number == 50:  # all is loaded that is needed
                    gc.collect()
                    tracemalloc.start()
                yield sign * 100
            self.kept, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            yield from (delta(content="b"), STOP, DONE)

    body = Thinking()
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=body))
    http = httpx2.Client(transport=transport, trust_env=False)
    client = iv.Client(keys={"deepseek": "k"}, http=http)
    if reader == "ask":
        response = client.ask("deepseek/deepseek-v4", "hi", stream=True)
    else:
        with client.stream("deepseek/deepseek-v4", "hi") as events:
            for _ in events if reader == "events" else events.text():
                pass
            response = events.response

    assert response.text == "ab"
    assert body.kept / SIGNS < 5, body.kept
