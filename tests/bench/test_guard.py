"""Speed that no clock can tell: how many lines of Python one delta, one body and one call take, and what a delta leaves behind.

Counted, so a busy machine changes nothing. A number that goes up is a loss of speed that somebody must want; one that goes down by a
tenth is a gain, and is written down. `bench/run` measures what it means in time.
"""

import gc
import importlib.util
import sys
import tracemalloc
from pathlib import Path

import httpx2
import pytest

import innervoice as iv

ROOT = Path(__file__).parents[2]
SOURCE = str(ROOT / "src" / "innervoice")
PROVIDERS = {
    "chat": "deepseek/deepseek-reasoner",
    "tags": "sglang/qwen3-32b",
    "anthropic": "anthropic/claude-opus-5-5",
    "gemini": "gemini/gemini-3.5-flash",
    "responses": "openai/gpt-5.6",
}

# Lines of innervoice, with Python 3.11: for one delta, read without and with a client; for a whole body; for a call with it.
LINES = {
    "chat": (72, 102, 341, 1099),
    "tags": (80, 110, 442, 1202),
    # Their calls also ask for a summary of the reasoning, which costs about 80 lines.
    "anthropic": (49, 79, 320, 1194),
    "gemini": (76, 108, 337, 1207),
    "responses": (58, 88, 436, 1292),
}
# Lines for one delta of Anthropic's that is read and written in each of these dialects; reading it takes 49 of them.
WRITTEN = {
    "anthropic": 108,
    "openai-chat": 114,
    "openai-responses": 109,
    "gemini": 113,
    "bedrock-converse": 154,
    "mistral": 115,
    "cohere": 106,
    "ollama": 108,
}
# Bytes that are still held for each delta of a long stream, read by a client; its text is five of them.
KEPT = 20


def payloads():
    """The answers that `bench/run` measures with."""
    specification = importlib.util.spec_from_file_location(
        "payloads", ROOT / "bench" / "payloads.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


PAYLOADS = payloads()


def lines_of(work):
    """How many lines of innervoice some work runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


class Frames(httpx2.SyncByteStream):
    """A stream that comes as it was flushed: one frame at a time."""

    def __init__(self, frames):
        self.frames = frames

    def __iter__(self):
        yield from self.frames


def client_of(name, **answer):
    """A client that gets this answer."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, **answer))
    keys = {PROVIDERS[name].split("/")[0]: "k"}
    return iv.Client(
        base_url="http://x", keys=keys, http=httpx2.Client(transport=transport, trust_env=False)
    )


def decode_stream(name, frames):
    decoder = iv.StreamDecoder(provider=PROVIDERS[name].split("/")[0])
    for frame in frames:
        decoder.feed(frame)


def ask_stream(name, frames):
    client = client_of(name, stream=Frames(frames))
    with client.stream(PROVIDERS[name], "hi") as events:
        for _ in events:
            pass


def per_delta(name, read):
    """Lines for one delta in mid-stream: what 400 of them take more than 200."""
    counts = []
    for deltas in (100, 300):
        frames = PAYLOADS.payload(f"{name}.{deltas}.{deltas}").frames
        read(name, frames)  # loads what it needs
        counts.append(lines_of(lambda frames=frames: read(name, frames)))
    return (counts[1] - counts[0]) / 400


def counts_of(name):
    body = PAYLOADS.payload(name).body
    provider, model = PROVIDERS[name].split("/")
    client = client_of(name, content=body)
    client.ask(PROVIDERS[name], "hi")  # loads what it needs, as the next line does
    iv.decode(body, provider=provider, model=model)
    return (
        round(per_delta(name, decode_stream)),
        round(per_delta(name, ask_stream)),
        lines_of(lambda: iv.decode(body, provider=provider, model=model)),
        lines_of(lambda: client.ask(PROVIDERS[name], "hi")),
    )


@pytest.mark.parametrize("name", LINES)
def test_lines(name):
    """None of the four counts is over what is written here, nor far under it."""
    # Later versions of Python count the lines of comprehensions otherwise.
    slack = 0 if sys.version_info[:2] == (3, 11) else 0.15
    counts = counts_of(name)

    for written, count in zip(LINES[name], counts, strict=True):
        assert count <= written * (1 + slack), f"{counts} lines instead of {LINES[name]}"
        assert count >= written * (0.9 - slack), f"faster: {counts} instead of {LINES[name]}"


def write_stream(dialect):
    def read_and_write(name, frames):
        decoder = iv.StreamDecoder(provider=PROVIDERS[name].split("/")[0])
        encoder = iv.StreamEncoder(dialect)
        for frame in frames:
            for event in decoder.feed(frame):
                encoder.feed(event, decoder.settled)

    return read_and_write


@pytest.mark.parametrize("dialect", WRITTEN)
def test_lines_of_writing(dialect):
    """A piece of a text goes out by the short way: what its frame shares with the others is encoded once."""
    slack = 0 if sys.version_info[:2] == (3, 11) else 0.15
    count = round(per_delta("anthropic", write_stream(dialect)))

    assert count <= WRITTEN[dialect] * (1 + slack)
    assert count >= WRITTEN[dialect] * (0.9 - slack)


def many_items(count):
    reasoning = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "t"}] * count,
    }
    message = {"type": "message", "content": [{"type": "output_text", "text": "a"}] * count}
    calls = [
        {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"}
        for number in range(count)
    ]
    output = [reasoning, message, *calls]
    return {"id": "r", "object": "response", "status": "completed", "output": output}


def many_blocks(count):
    blocks = [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "text", "text": "b"},
        {"type": "tool_use", "id": None, "name": "f", "input": {}},
    ]
    return {"id": "m", "type": "message", "role": "assistant", "content": blocks * count}


def many_details(count):
    details = [
        {"type": "reasoning.text", "text": "a", "signature": "s", "index": number}
        for number in range(count)
    ]
    message = {"role": "assistant", "content": "x", "reasoning_details": details}
    return {"id": "c", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def many_calls(count):
    """The ids of the first calls are the numbers that those without an id would get."""
    ids = [*(f"call_{count + number}" for number in range(count)), *[None] * count]
    blocks = [{"type": "tool_use", "id": call_id, "name": "f", "input": {}} for call_id in ids]
    return {"id": "m", "type": "message", "role": "assistant", "content": blocks}


@pytest.mark.parametrize("body", [many_items, many_blocks, many_details, many_calls])
def test_growth(body):
    """Twice as many parts take twice as many lines, and no more.

    Seen failing: the items of a response looked through all others for the reasoning before them; each call without an id
    tried the ids of all others.
    """
    small, large = body(150), body(300)
    iv.decode(small)

    factor = lines_of(lambda: iv.decode(large)) / lines_of(lambda: iv.decode(small))

    assert 1.8 < factor < 2.1


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("how", ["body", "stream", "call", "call and stream"])
def test_garbage(name, how):
    """An answer is freed when it is let go of: nothing of ours holds itself, so no collector has to look for it.

    Seen failing: a reader of chat whose helpers kept the reader took half as long again for a body.
    """
    made = PAYLOADS.payload(name)
    provider, _ = PROVIDERS[name].split("/")
    client = client_of(name, content=made.body)
    works = {
        "body": lambda: iv.decode(made.body, provider=provider),
        "stream": lambda: decode_stream(name, made.frames),
        "call": lambda: client.ask(PROVIDERS[name], "hi"),
        "call and stream": lambda: ask_stream(name, made.frames),
    }
    works[how]()  # loads what it needs
    gc.collect()
    gc.disable()
    try:
        works[how]()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(found).__qualname__ for found in gc.garbage if is_ours(found)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

    assert not left


def is_ours(found):
    return type(found).__module__.startswith("innervoice")


@pytest.mark.parametrize("name", ["chat", "gemini"])
def test_memory(name):
    """A long stream leaves its text behind, and not an object for each delta; nor for each count of tokens that comes with one.

    Seen failing: counts that stood between the pieces of Gemini kept them from being joined.
    """
    deltas = 80_000
    made = PAYLOADS.payload(f"{name}.1.101").frames
    pieces = made[2:102]
    frames = [*made[:2], *(pieces[number % 100] for number in range(deltas)), *made[102:]]
    client = client_of(name, stream=Frames(frames))
    with client.stream(PROVIDERS[name], "hi") as events:
        next(events)
        gc.collect()
        tracemalloc.start()
        for _ in events:
            pass
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert 4 * deltas < len(events.response.text)
    assert kept / deltas < KEPT, kept / deltas
