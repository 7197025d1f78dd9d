import json
from base64 import b64encode

import pytest

import innervoice as iv
from sdk.payloads import CONVERSE, Call, Reading, Said, Thought, reading, reading_of
from sdk.server import EVENT_STREAM, JSON, pieces, serve

boto3 = pytest.importorskip("boto3")

REQUEST = {
    "modelId": "anthropic.claude-opus-5-5",
    "messages": [{"role": "user", "content": [{"text": "How is Köln?"}]}],
}
PROVIDERS = pytest.mark.parametrize("provider", [None, "bedrock"])


def client(address):
    session = boto3.session.Session(
        aws_access_key_id="dummy", aws_secret_access_key="dummy", region_name="us-east-1"
    )
    return session.client("bedrock-runtime", endpoint_url=address)


def reading_of_content(content) -> Reading:
    """The blocks of boto3, which gives blobs as bytes."""
    blocks = []
    for block in content:
        match block:
            case {"reasoningContent": {"redactedContent": data}}:
                blocks.append(Thought("", (b64encode(data).decode(),)))
            case {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}:
                blocks.append(Thought(text, (signature,)))
            case {"text": text}:
                blocks.append(Said(text))
            case {"toolUse": {"toolUseId": given, "name": name, "input": arguments}}:
                blocks.append(Call(given, name, arguments))
    return reading(blocks)


def content_of_events(events) -> list:
    """The blocks that the events of boto3 make."""
    blocks = {}
    for event in events:
        match event:
            case {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": use}}}:
                blocks[index] = {"toolUse": {**use, "input": ""}}
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": text}}}:
                blocks.setdefault(index, {"text": ""})["text"] += text
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": use}}}:
                blocks[index]["toolUse"]["input"] += use["input"]
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}:
                reasoning = delta["reasoningContent"]
                if "redactedContent" in reasoning:
                    blocks[index] = {"reasoningContent": reasoning}
                    continue
                empty = {"reasoningContent": {"reasoningText": {"text": ""}}}
                block = blocks.setdefault(index, empty)["reasoningContent"]["reasoningText"]
                for member, value in reasoning.items():
                    block[member] = block.get(member, "") + value
    for block in blocks.values():
        if use := block.get("toolUse"):
            use["input"] = json.loads(use["input"])
    return [blocks[index] for index in sorted(blocks)]


@pytest.fixture(scope="module")
def whole_response():
    with serve(CONVERSE.whole, JSON) as address:
        sdk = client(address)
        yield sdk.converse(**REQUEST)
        sdk.close()


@pytest.fixture(scope="module")
def stream_events():
    with serve(CONVERSE.stream, EVENT_STREAM) as address:
        sdk = client(address)
        yield list(sdk.converse_stream(**REQUEST)["stream"])
        sdk.close()


def test_whole_response(whole_response):
    """What boto3 reads from a response and what we read have the same blocks, seals and calls."""
    expected = reading_of_content(whole_response["output"]["message"]["content"])

    assert CONVERSE.reading == expected
    assert expected == reading_of(iv.decode(CONVERSE.whole))


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_stream(stream_events, size):
    """What the events of boto3 say is what we read from the bytes of the stream, cut anywhere."""
    expected = reading_of_content(content_of_events(stream_events))
    events = iv.decode_stream(pieces(CONVERSE.stream, size))

    assert CONVERSE.reading == expected
    assert expected == reading_of(iv.fold(events))


@PROVIDERS
def test_response_object(whole_response, provider):
    """The dict of boto3 is read like its bytes, blobs as base64 again."""
    assert CONVERSE.reading == reading_of(iv.decode(whole_response, provider=provider))


@PROVIDERS
def test_event_objects(stream_events, provider):
    """The events of boto3 are read like their bytes."""
    response = iv.fold(iv.decode_stream(stream_events, provider=provider))

    assert CONVERSE.reading == reading_of(response)
