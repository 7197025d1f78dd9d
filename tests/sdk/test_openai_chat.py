import asyncio
import json

import pytest

import innervoice as iv
from sdk.payloads import (
    DEEPSEEK,
    GEMINI_COMPATIBLE,
    OPENROUTER,
    Call,
    Reading,
    Said,
    Thought,
    reading,
    reading_of,
)
from sdk.server import JSON, SSE, pieces, serve

openai = pytest.importorskip("openai")

REQUEST = {"model": "any", "messages": [{"role": "user", "content": "How is Köln?"}]}
HOSTS = pytest.mark.parametrize(
    ("payload", "host"),
    [(DEEPSEEK, "deepseek"), (OPENROUTER, "openrouter"), (GEMINI_COMPATIBLE, "gemini")],
    ids=["deepseek", "openrouter", "gemini"],
)
NAMED = pytest.mark.parametrize("named", [False, True])


def client(address):
    return openai.OpenAI(api_key="dummy", base_url=address, max_retries=0)


def reading_of_fields(extra, text, calls) -> Reading:
    """The reading of a message: what the SDK has no fields for is in its extra members."""
    thoughts = [
        Thought(entry.get("text", ""), tuple(filter(None, map(entry.get, ("signature", "data")))))
        for entry in extra.get("reasoning_details", ())
    ]
    if not thoughts and extra.get("reasoning_content"):
        thoughts = [Thought(extra["reasoning_content"])]
    return reading([*thoughts, Said(text), *calls])


def call_of(given, name, arguments, extra) -> Call:
    google = (extra.get("extra_content") or {}).get("google") or {}
    seals = tuple(google.values())
    return Call(given, name, json.loads(arguments), seals)


def reading_of_completion(completion) -> Reading:
    message = completion.choices[0].message
    calls = [
        call_of(call.id, call.function.name, call.function.arguments, call.model_extra)
        for call in message.tool_calls
    ]
    return reading_of_fields(message.model_extra, message.content, calls)


def reading_of_chunks(chunks) -> Reading:
    """The deltas of the SDK, joined."""
    text, reasoning, details, calls = "", "", {}, {}
    for delta in (choice.delta for chunk in chunks for choice in chunk.choices):
        text += delta.content or ""
        reasoning += delta.model_extra.get("reasoning_content") or ""
        for entry in delta.model_extra.get("reasoning_details") or ():
            known = details.setdefault((entry["type"], entry["index"]), {"text": ""})
            known.update({**entry, "text": known["text"] + entry.get("text", "")})
        for call in delta.tool_calls or ():
            if call.id:
                calls[call.index] = [call.id, call.function.name, "", call.model_extra]
            calls[call.index][2] += call.function.arguments
    extra = {"reasoning_content": reasoning, "reasoning_details": list(details.values())}
    return reading_of_fields(extra, text, [call_of(*call) for call in calls.values()])


def completion(payload):
    with serve(payload.whole, JSON) as address, client(address) as sdk:
        return sdk.chat.completions.create(**REQUEST)


def chunks(payload):
    with (
        serve(payload.stream, SSE) as address,
        client(address) as sdk,
        sdk.chat.completions.create(**REQUEST, stream=True) as stream,
    ):
        return list(stream)


@HOSTS
def test_whole_completion(payload, host):
    """The SDK's completion and ours have the same reasoning, text and calls."""
    expected = reading_of_completion(completion(payload))

    assert payload.reading == expected
    assert expected == reading_of(iv.decode(payload.whole, provider=host))
    assert expected == reading_of(iv.decode(payload.whole))


@HOSTS
@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(payload, host, size):
    """What the SDK's deltas say is what we read from their bytes, cut anywhere."""
    expected = reading_of_chunks(chunks(payload))
    cut = pieces(payload.stream, size)

    assert payload.reading == expected
    assert expected == reading_of(iv.fold(iv.decode_stream(cut, provider=host)))
    assert expected == reading_of(iv.fold(iv.decode_stream(cut)))


@HOSTS
def test_final_completion_object(payload, host):
    """What the SDK's helper accumulates is what we read from the same bytes, and from it."""
    with (
        serve(payload.stream, SSE) as address,
        client(address) as sdk,
        sdk.chat.completions.stream(**REQUEST) as stream,
    ):
        final = stream.get_final_completion()
    expected = reading_of_completion(final)

    assert expected == reading_of(iv.fold(iv.decode_stream([payload.stream], provider=host)))
    assert expected == reading_of(iv.decode(final, provider=host))
    assert expected == reading_of(iv.decode(final))


@HOSTS
@NAMED
def test_completion_object(payload, host, named):
    """The SDK's own completion is read like its bytes."""
    response = iv.decode(completion(payload), provider=host if named else None)

    assert payload.reading == reading_of(response)


@HOSTS
@NAMED
def test_chunk_objects(payload, host, named):
    """The SDK's own chunks are read like their bytes."""
    events = iv.decode_stream(chunks(payload), provider=host if named else None)

    assert payload.reading == reading_of(iv.fold(events))


@HOSTS
def test_async_chunk_objects(payload, host):
    """The chunks of the asynchronous client are read like their bytes."""

    async def read(address):
        async with openai.AsyncOpenAI(api_key="dummy", base_url=address, max_retries=0) as sdk:
            stream = await sdk.chat.completions.create(**REQUEST, stream=True)
            async with stream:
                return [event async for event in iv.decode_stream(stream, provider=host)]

    with serve(payload.stream, SSE) as address:
        events = asyncio.run(read(address))

    assert payload.reading == reading_of(iv.fold(events))
