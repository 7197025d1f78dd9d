"""The official SDKs read every stream that we write: without an error, and with the same text, reasoning and calls."""

import pytest

import innervoice as iv
from conformance.test_written_answers import events_of, exchanges
from innervoice.wire.dialects import DIALECTS
from sdk.written import BROKEN_OFF, HARD, LISTENERS, Heard, heard_by_us
from shared import needs_shared

# The SDKs warn about their own models.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]
SEALS = {"sealed": lambda part: "c2VhbA==", "plain": None}


@pytest.fixture(scope="module", params=DIALECTS)
def listener(request):
    """The SDK of a dialect: takes events, gives what it hears of them and what was sent."""
    current = []
    with LISTENERS[request.param].listening(lambda: current[-1]) as hear:

        def listen(events, seal=None):
            encoder = iv.StreamEncoder(request.param, "m", seal=seal)
            data = [encoder.feed(event) for event in events]
            current.append(b"".join([*data, encoder.finish()]))
            return hear()

        yield request.param, listen


def in_pieces(response, size=5):
    """The events of a response, its texts in pieces."""
    for index, part in enumerate(response.parts):
        whole = part.complete
        begun = part
        match part:
            case iv.Text() | iv.Thinking():
                begun = part.replace(text="", complete=False)
                text, delta = (
                    part.text,
                    iv.TextDelta if isinstance(part, iv.Text) else iv.ThinkingDelta,
                )
            case iv.ToolCall():
                begun = part.replace(arguments="", complete=False)
                text, delta = part.arguments, iv.ToolCallDelta
            case _:
                text, delta = "", iv.TextDelta
        yield iv.PartStart(index, part.type, begun if whole or text else None)
        for start in range(0, len(text), size):
            yield delta(index, text[start : start + size])
        yield iv.PartEnd(index, part)
    yield iv.Finish(response)  # fmt: skip


def parallel(response):
    """The same, with all parts open at once and their pieces in turns."""
    each = [[event for event in in_pieces(response) if getattr(event, "index", None) == index] for index in range(len(response.parts))]  # fmt: skip
    yield from (events.pop(0) for events in each)
    while any(each):
        for events in filter(None, each):
            yield events.pop(0)
    yield iv.Finish(response)


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("seal", SEALS)
@pytest.mark.parametrize("order", [in_pieces, parallel])
def test_hard_answers(listener, name, seal, order):
    _, listen = listener
    expected, heard = heard_by_us(HARD[name]), listen(order(HARD[name]), SEALS[seal])
    if HARD[name].status == "truncated" and heard.calls:
        # SDKs differ in what they make of half an object.
        expected.calls, heard.calls = ([call[0] for call in each.calls] for each in (expected, heard))  # fmt: skip

    assert expected == heard


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_broken_answers_raise_the_error_of_the_sdk(listener, name):
    """An answer that broke off is an error of the server to the client, not one of the client's own code."""
    dialect, listen = listener

    with pytest.raises(LISTENERS[dialect].error_types()):
        listen(in_pieces(BROKEN_OFF[name]))


def selected():
    """Recorded answers that differ: one of each host, order of parts and end."""
    seen = set()
    for name, exchange in exchanges():
        events = events_of(exchange)
        response = events[-1].response
        kinds = [part.type for part in response.parts]
        shape = tuple(kind for number, kind in enumerate(kinds) if kinds[number - 1 : number] != [kind])  # fmt: skip
        key = (exchange["dialect"], exchange["provider"], shape, response.status, len(events) > 20)
        if key not in seen and response.status != "interrupted":
            seen.add(key)
            yield name, events


@needs_shared
def test_recorded_answers(listener):
    _, listen = listener
    wrong, count = [], 0
    for name, events in selected():
        response = events[-1].response
        count += 1
        for seal in SEALS.values():
            try:
                heard = listen(events, seal)
            except Exception as error:  # noqa: BLE001 - whatever an SDK raises is what we want to see
                wrong.append((name, type(error).__name__, str(error)[:200]))
                continue
            if heard != heard_by_us(response):
                wrong.append((name, heard, heard_by_us(response)))
    assert [] == wrong[:3], f"{len(wrong)} of {count}"
    assert count > 60


def test_signs_of_life_are_passed_over(listener):
    """Pings at the head, between and behind the pieces change nothing."""
    _, listen = listener
    response = HARD["parallel calls"]
    events = [pair for event in in_pieces(response) for pair in (iv.Heartbeat(), event)]

    assert heard_by_us(response) == listen(events) != Heard()
