from dataclasses import replace

import pytest

import innervoice as iv
from sdk.payloads import OLLAMA, Call, Reading, Said, Thought, reading, reading_of
from sdk.server import JSON, LINES, pieces, serve

ollama = pytest.importorskip("ollama")

REQUEST = {"model": "qwen3", "messages": [{"role": "user", "content": "How is Köln?"}]}
PROVIDERS = pytest.mark.parametrize("provider", [None, "ollama"])


def without_ids(read: Reading) -> Reading:
    """The reading as the client has it, which drops the ids of calls."""
    return reading(
        replace(block, id=None) if isinstance(block, Call) else block for block in read.blocks
    )


def reading_of_responses(responses) -> Reading:
    messages = [response.message for response in responses]
    calls = [call.function for message in messages for call in message.tool_calls or ()]
    return reading(
        [
            Thought("".join(message.thinking or "" for message in messages)),
            Said("".join(message.content or "" for message in messages)),
            *(Call(None, call.name, dict(call.arguments)) for call in calls),
        ]
    )


def whole_response():
    with serve(OLLAMA.whole, JSON) as address, ollama.Client(host=address) as sdk:
        return sdk.chat(**REQUEST)


def streamed_responses():
    with serve(OLLAMA.stream, LINES) as address, ollama.Client(host=address) as sdk:
        return list(sdk.chat(**REQUEST, stream=True))


def test_whole_response():
    """The client's response and ours have the same thinking, text and calls; we keep their ids."""
    expected = reading_of_responses([whole_response()])
    actual = reading_of(iv.decode(OLLAMA.whole))

    assert OLLAMA.reading == actual
    assert expected == without_ids(actual)


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(size):
    """What the client's responses say is what we read from their bytes, cut anywhere."""
    expected = reading_of_responses(streamed_responses())
    actual = reading_of(iv.fold(iv.decode_stream(pieces(OLLAMA.stream, size))))

    assert OLLAMA.reading == actual
    assert expected == without_ids(actual)


@PROVIDERS
def test_response_object(provider):
    """The client's own response is read like its bytes, but for the ids that it drops."""
    response = iv.decode(whole_response(), provider=provider)

    assert without_ids(OLLAMA.reading) == reading_of(response)


@PROVIDERS
def test_streamed_objects(provider):
    """The client's streamed responses are read like their bytes, but for the ids."""
    response = iv.fold(iv.decode_stream(streamed_responses(), provider=provider))

    assert without_ids(OLLAMA.reading) == reading_of(response)


def test_calls_without_ids_get_different_ones():
    """The ids that we invent for the calls of one response tell them apart."""
    calls = iv.decode(whole_response()).tool_calls

    assert 2 == len({call.id for call in calls})
