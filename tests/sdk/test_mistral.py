import json

import pytest

import innervoice as iv
from sdk.payloads import MISTRAL, Call, Reading, Said, Thought, reading, reading_of
from sdk.server import JSON, SSE, pieces, serve

mistral = pytest.importorskip("mistralai.client")

REQUEST = {
    "model": "mistral-medium-latest",
    "messages": [{"role": "user", "content": "How is Köln?"}],
}
PROVIDERS = pytest.mark.parametrize("provider", [None, "mistral"])


def client(address):
    return mistral.Mistral(api_key="dummy", server_url=address)


def reading_of_messages(messages) -> Reading:
    """The chunks of the SDK in order; a chunk goes on with the one before if both are of a kind."""
    thinking, signature, text, calls = "", None, "", []
    for message in messages:
        content = message.content or ()
        if isinstance(content, str):
            text, content = text + content, ()
        for chunk in content:
            if chunk.type == "thinking":
                thinking += "".join(inner.text for inner in chunk.thinking)
                signature = chunk.signature or signature
            else:
                text += chunk.text
        calls += [
            Call(call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]
    return reading([Thought(thinking, (signature,)), Said(text), *calls])


def completion():
    with serve(MISTRAL.whole, JSON) as address, client(address) as sdk:
        return sdk.chat.complete(**REQUEST)


def stream_events():
    with (
        serve(MISTRAL.stream, SSE) as address,
        client(address) as sdk,
        sdk.chat.stream(**REQUEST) as stream,
    ):
        return list(stream)


def test_whole_completion():
    """The SDK's completion and ours have the same thinking, signature, text and calls."""
    expected = reading_of_messages([completion().choices[0].message])

    assert MISTRAL.reading == expected
    assert expected == reading_of(iv.decode(MISTRAL.whole, provider="mistral"))
    assert expected == reading_of(iv.decode(MISTRAL.whole))


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(size):
    """What the SDK's deltas say is what we read from their bytes, cut anywhere."""
    choices = [choice for event in stream_events() for choice in event.data.choices]
    expected = reading_of_messages([choice.delta for choice in choices])
    cut = pieces(MISTRAL.stream, size)

    assert MISTRAL.reading == expected
    assert expected == reading_of(iv.fold(iv.decode_stream(cut, provider="mistral")))
    assert expected == reading_of(iv.fold(iv.decode_stream(cut)))


@PROVIDERS
def test_completion_object(provider):
    """The SDK's own completion is read like its bytes."""
    assert MISTRAL.reading == reading_of(iv.decode(completion(), provider=provider))


@PROVIDERS
def test_event_objects(provider):
    """The events that the SDK's stream gives are read like their bytes."""
    response = iv.fold(iv.decode_stream(stream_events(), provider=provider))

    assert MISTRAL.reading == reading_of(response)


@PROVIDERS
def test_chunk_objects(provider):
    """The chunks inside the SDK's events are read like their bytes."""
    chunks = [event.data for event in stream_events()]
    response = iv.fold(iv.decode_stream(chunks, provider=provider))

    assert MISTRAL.reading == reading_of(response)
