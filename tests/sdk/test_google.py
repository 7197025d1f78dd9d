from base64 import b64encode

import pytest

import innervoice as iv
from sdk.payloads import GEMINI, Call, Reading, Said, Thought, reading, reading_of
from sdk.server import JSON, SSE, pieces, serve

genai = pytest.importorskip("google.genai")

REQUEST = {"model": "gemini-3.1-pro-preview", "contents": "How is Köln?"}
PROVIDERS = pytest.mark.parametrize("provider", [None, "gemini", "vertex"])


def client(address):
    return genai.Client(api_key="dummy", http_options={"base_url": address})


def reading_of_responses(responses) -> Reading:
    """The parts of the SDK in order; unsigned text goes on from one response to the next."""
    blocks, open_kind = [], None
    for response in responses:
        for part in response.candidates[0].content.parts:
            signature = part.thought_signature
            seals = (b64encode(signature).decode(),) if signature else ()
            kind = None if part.text is None else Thought if part.thought else Said
            if kind is None:
                call = part.function_call
                blocks.append(Call(call.id, call.name, call.args, seals))
            elif kind is open_kind and not seals:
                blocks[-1] = kind(blocks[-1].text + part.text)
            else:
                blocks.append(kind(part.text, seals))
            open_kind = None if seals else kind
    return reading(blocks)


def whole_response():
    with serve(GEMINI.whole, JSON) as address, client(address) as sdk:
        return sdk.models.generate_content(**REQUEST)


def streamed_responses():
    with serve(GEMINI.stream, SSE) as address, client(address) as sdk:
        return list(sdk.models.generate_content_stream(**REQUEST))


def test_whole_response():
    """The SDK's response and ours have the same parts, signatures and calls."""
    expected = reading_of_responses([whole_response()])

    assert GEMINI.reading == expected
    assert expected == reading_of(iv.decode(GEMINI.whole))


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(size):
    """What the SDK's responses say is what we read from the bytes of the stream, cut anywhere."""
    expected = reading_of_responses(streamed_responses())
    events = iv.decode_stream(pieces(GEMINI.stream, size))

    assert GEMINI.reading == expected
    assert expected == reading_of(iv.fold(events))


@PROVIDERS
def test_response_object(provider):
    """The SDK's own response is read like its bytes, signatures as base64 again."""
    response = iv.decode(whole_response(), provider=provider)

    assert GEMINI.reading == reading_of(response)


@PROVIDERS
def test_streamed_objects(provider):
    """The SDK's streamed responses are read like their bytes."""
    response = iv.fold(iv.decode_stream(streamed_responses(), provider=provider))

    assert GEMINI.reading == reading_of(response)


@pytest.mark.parametrize(
    "options",
    [{}, {"exclude_none": True}, {"mode": "json"}, {"mode": "json", "exclude_none": True}],
)
def test_a_dump_of_the_response_reads_like_the_wire(options):
    """`model_dump()` has other names, enums and bytes; parts, seals, usage and the end are the same."""
    wire = iv.decode(GEMINI.whole, provider="gemini")
    dumped = iv.decode(whole_response().model_dump(**options), provider="gemini")

    assert reading_of(wire) == reading_of(dumped)
    assert (wire.status, wire.usage.reasoning_tokens) == (
        dumped.status,
        dumped.usage.reasoning_tokens,
    )
