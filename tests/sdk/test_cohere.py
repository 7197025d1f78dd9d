import json

import pytest

import innervoice as iv
from sdk.payloads import COHERE, COHERE_PLAN, Call, Reading, Said, Thought, reading, reading_of
from sdk.server import JSON, SSE, pieces, serve

cohere = pytest.importorskip("cohere")

# The SDK itself reads its models in a deprecated way.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated")

REQUEST = {
    "model": "command-a-reasoning-08-2025",
    "messages": [{"role": "user", "content": "How is Köln?"}],
}
PAYLOADS = pytest.mark.parametrize("payload", [COHERE, COHERE_PLAN], ids=["thinking", "plan"])
PROVIDERS = pytest.mark.parametrize("provider", [None, "cohere"])


def client(address):
    return cohere.ClientV2(api_key="dummy", base_url=address)


def reading_of_response(response) -> Reading:
    message = response.message
    blocks = [
        Thought(block.thinking) if block.type == "thinking" else Said(block.text)
        for block in message.content or ()
    ]
    plan = [Thought(message.tool_plan)] if message.tool_plan else []
    calls = [
        Call(call.id, call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls
    ]
    return reading([*plan, *blocks, *calls])


def reading_of_events(events) -> Reading:
    """The deltas of the SDK, joined."""
    thinking, text, calls = "", "", {}
    for event in events:
        match event.type:
            case "content-delta":
                content = event.delta.message.content
                thinking += content.thinking or ""
                text += content.text or ""
            case "tool-plan-delta":
                thinking += event.delta.message.tool_plan
            case "tool-call-start":
                call = event.delta.message.tool_calls
                calls[event.index] = [call.id, call.function.name, call.function.arguments]
            case "tool-call-delta":
                calls[event.index][2] += event.delta.message.tool_calls.function.arguments
    found = [Call(given, name, json.loads(arguments)) for given, name, arguments in calls.values()]
    return reading([Thought(thinking), Said(text), *found])


def whole_response(payload):
    with serve(payload.whole, JSON) as address, client(address) as sdk:
        return sdk.chat(**REQUEST)


def stream_events(payload):
    with serve(payload.stream, SSE) as address, client(address) as sdk:
        return list(sdk.chat_stream(**REQUEST))


@PAYLOADS
def test_whole_response(payload):
    """The SDK's response and ours have the same thinking, text and calls."""
    expected = reading_of_response(whole_response(payload))

    assert payload.reading == expected
    assert expected == reading_of(iv.decode(payload.whole))


@PAYLOADS
@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(payload, size):
    """What the SDK's events say is what we read from their bytes, cut anywhere."""
    expected = reading_of_events(stream_events(payload))
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
def test_event_objects(payload, provider):
    """The SDK's own events are read like their bytes."""
    response = iv.fold(iv.decode_stream(stream_events(payload), provider=provider))

    assert payload.reading == reading_of(response)
