import asyncio

import pytest

import innervoice as iv
from sdk.payloads import ANTHROPIC, Call, Reading, Said, Thought, reading, reading_of
from sdk.server import JSON, SSE, pieces, serve

anthropic = pytest.importorskip("anthropic")

REQUEST = {
    "model": "claude-opus-5-5",
    "max_tokens": 16_000,
    "messages": [{"role": "user", "content": "How is Köln?"}],
}
PROVIDERS = pytest.mark.parametrize("provider", [None, "anthropic"])


def client(address):
    return anthropic.Anthropic(api_key="dummy", base_url=address, max_retries=0)


def reading_of_message(message) -> Reading:
    blocks = []
    for block in message.content:
        match block.type:
            case "thinking":
                blocks.append(Thought(block.thinking, (block.signature,)))
            case "redacted_thinking":
                blocks.append(Thought("", (block.data,)))
            case "text":
                blocks.append(Said(block.text))
            case "tool_use":
                blocks.append(Call(block.id, block.name, block.input))
    return reading(blocks)


def whole_message():
    with serve(ANTHROPIC.whole, JSON) as address, client(address) as sdk:
        return sdk.messages.create(**REQUEST)


def final_message():
    with (
        serve(ANTHROPIC.stream, SSE) as address,
        client(address) as sdk,
        sdk.messages.stream(**REQUEST) as stream,
    ):
        return stream.get_final_message()


def test_whole_message():
    """The SDK's message and ours have the same blocks, seals and calls."""
    expected = reading_of_message(whole_message())

    assert ANTHROPIC.reading == expected
    assert expected == reading_of(iv.decode(ANTHROPIC.whole))


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(size):
    """What the SDK accumulates from a stream is what we read from its bytes, cut anywhere."""
    expected = reading_of_message(final_message())
    events = iv.decode_stream(pieces(ANTHROPIC.stream, size))

    assert ANTHROPIC.reading == expected
    assert expected == reading_of(iv.fold(events))


@PROVIDERS
def test_message_object(provider):
    """The SDK's own message is read like its bytes."""
    response = iv.decode(whole_message(), provider=provider)

    assert ANTHROPIC.reading == reading_of(response)


@PROVIDERS
def test_final_message_object(provider):
    """The message that the SDK accumulates is read like the bytes of the stream."""
    response = iv.decode(final_message(), provider=provider)

    assert ANTHROPIC.reading == reading_of(response)


@PROVIDERS
def test_raw_event_objects(provider):
    """The SDK's raw events are read like their bytes."""
    with (
        serve(ANTHROPIC.stream, SSE) as address,
        client(address) as sdk,
        sdk.messages.create(**REQUEST, stream=True) as stream,
    ):
        response = iv.fold(iv.decode_stream(stream, provider=provider))

    assert ANTHROPIC.reading == reading_of(response)


@PROVIDERS
def test_helper_event_objects(provider):
    """The events that the SDK's helper adds to the raw ones say nothing twice."""
    with (
        serve(ANTHROPIC.stream, SSE) as address,
        client(address) as sdk,
        sdk.messages.stream(**REQUEST) as stream,
    ):
        response = iv.fold(iv.decode_stream(stream, provider=provider))

    assert ANTHROPIC.reading == reading_of(response)


def test_async_event_objects():
    """The events of the asynchronous client are read like their bytes."""

    async def read(address):
        async with anthropic.AsyncAnthropic(
            api_key="dummy", base_url=address, max_retries=0
        ) as sdk:
            stream = await sdk.messages.create(**REQUEST, stream=True)
            async with stream:
                return [event async for event in iv.decode_stream(stream)]

    with serve(ANTHROPIC.stream, SSE) as address:
        events = asyncio.run(read(address))

    assert ANTHROPIC.reading == reading_of(iv.fold(events))
