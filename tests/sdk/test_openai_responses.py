import json
import warnings

import pytest

import innervoice as iv
from sdk.payloads import (
    RAW_RESPONSES,
    RESPONSES,
    Call,
    Reading,
    Said,
    Thought,
    reading,
    reading_of,
)
from sdk.server import JSON, SSE, pieces, serve

openai = pytest.importorskip("openai")

REQUEST = {"model": "gpt-5.6-sol", "input": "How is Köln?"}
PAYLOADS = pytest.mark.parametrize("payload", [RESPONSES, RAW_RESPONSES], ids=["hosted", "open"])
PROVIDERS = pytest.mark.parametrize("provider", [None, "openai"])


def client(address):
    return openai.OpenAI(api_key="dummy", base_url=address, max_retries=0)


def reading_of_response(response) -> Reading:
    blocks = []
    for item in response.output:
        match item.type:
            case "reasoning":
                # What seals an item is told once, with its first text.
                seals = tuple(filter(None, (item.id, item.encrypted_content)))
                first, *others = [*item.summary, *(item.content or ())] or [None]
                blocks.append(Thought(first.text if first else "", seals))
                blocks += [Thought(entry.text) for entry in others]
            case "message":
                blocks += [Said(entry.text) for entry in item.content]
            case "function_call":
                blocks.append(Call(item.call_id, item.name, json.loads(item.arguments)))
    return reading(blocks)


def whole_response(payload):
    with serve(payload.whole, JSON) as address, client(address) as sdk:
        return sdk.responses.create(**REQUEST)


def final_response(payload):
    with (
        serve(payload.stream, SSE) as address,
        client(address) as sdk,
        sdk.responses.stream(**REQUEST) as stream,
    ):
        return stream.get_final_response()


def helper_events(payload):
    with (
        serve(payload.stream, SSE) as address,
        client(address) as sdk,
        sdk.responses.stream(**REQUEST) as stream,
    ):
        return list(stream)


@PAYLOADS
def test_whole_response(payload):
    """The SDK's response and ours have the same items, seals and calls."""
    response = whole_response(payload)
    expected = reading_of_response(response)

    assert payload.reading == expected
    assert expected == reading_of(iv.decode(payload.whole))
    assert response.output_text == iv.decode(payload.whole).text


@PAYLOADS
@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(payload, size):
    """The SDK's final response is what we read from the bytes of the stream, cut anywhere."""
    expected = reading_of_response(final_response(payload))
    events = iv.decode_stream(pieces(payload.stream, size))

    assert payload.reading == expected
    assert expected == reading_of(iv.fold(events))


@PAYLOADS
@PROVIDERS
def test_response_object(payload, provider):
    """The SDK's own response is read like its bytes."""
    response = iv.decode(whole_response(payload), provider=provider)

    assert payload.reading == reading_of(response)


@PAYLOADS
@PROVIDERS
def test_final_response_object(payload, provider):
    """The response that the SDK's helper gives at the end is read like the bytes of the stream."""
    response = iv.decode(final_response(payload), provider=provider)

    assert payload.reading == reading_of(response)


@PAYLOADS
@PROVIDERS
def test_raw_event_objects(payload, provider):
    """The SDK's raw events are read like their bytes."""
    with (
        serve(payload.stream, SSE) as address,
        client(address) as sdk,
        sdk.responses.create(**REQUEST, stream=True) as stream,
    ):
        response = iv.fold(iv.decode_stream(stream, provider=provider))

    assert payload.reading == reading_of(response)


@PAYLOADS
@PROVIDERS
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_helper_event_objects(payload, provider):
    """The events of the SDK's helper, with their snapshots, say nothing twice."""
    response = iv.fold(iv.decode_stream(helper_events(payload), provider=provider))

    assert payload.reading == reading_of(response)


def test_helper_event_objects_are_read_without_warnings():
    """Whoever feeds the events of the SDK's helper is not warned about the SDK's own types."""
    events = helper_events(RESPONSES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        iv.fold(iv.decode_stream(events))

    assert [] == [warning.category for warning in caught]
