"""Bytes that belong to no event cost time and memory once, however they come."""

import json
import tracemalloc

import pytest

import innervoice as iv
from wire.streams import sse

BEGUN = {"choices": [{"index": 0, "delta": {"content": "So "}}]}
END = {"choices": [{"index": 0, "delta": {"content": "on"}, "finish_reason": "stop"}]}


def parsed_bytes(monkeypatch, chunks):
    """How many characters the slow JSON parser is given; it is asked about every text that is not JSON."""
    size = 0
    loads = json.loads

    def counting(text, **options):
        nonlocal size
        size += len(text)
        return loads(text, **options)

    with monkeypatch.context() as patch:
        patch.setattr(json, "loads", counting)
        response = iv.fold(iv.decode_stream(chunks))
    assert "So on" == response.text
    return size


@pytest.mark.parametrize("line", [b',{"a": 1}', b'{"a": 1}, [1]', b"]]]]{{{{}", b'"}", {}'])
@pytest.mark.parametrize("start", [b"", b"[\n"])
def test_stray_lines(monkeypatch, line, start):
    """Seen failing: with each line, all lines before it were parsed again."""
    stray = [start, *([line + b"\n"] * 300), b"\n"]
    sizes = [
        parsed_bytes(monkeypatch, [sse(BEGUN), *stray[: count + 1], sse(END)])
        for count in (30, 300)
    ]

    assert sizes[1] <= max(12 * sizes[0], 12 * len(start + line) * 300)


@pytest.mark.parametrize("blank", [b"\n", b" ", b"\r\n"])
def test_leading_blanks(blank):
    """Seen failing: every blank was kept, and looked at again with the next one."""
    decoder = iv.StreamDecoder()
    decoder.feed(blank)
    tracemalloc.start()
    try:
        for _ in range(20_000):
            decoder.feed(blank)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    decoder.feed(sse(BEGUN, END))
    decoder.finish()

    assert most < 10_000
    assert "So on" == decoder.response.text


@pytest.mark.parametrize("lead", [b"", b"\n\n ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n\t"])
@pytest.mark.parametrize(
    "data",
    [sse(BEGUN, END), json.dumps(END, indent=1).encode(), json.dumps(END).encode()],
    ids=["events", "pretty", "body"],
)
def test_what_stands_before_an_answer_changes_nothing(lead, data):
    whole = iv.fold(iv.decode_stream([data]))
    lead_and_data = lead + data
    single = [lead_and_data[at : at + 1] for at in range(len(lead_and_data))]

    assert whole == iv.fold(iv.decode_stream(single)) == iv.fold(iv.decode_stream([lead_and_data]))


def test_stray_json_that_never_ends_has_a_limit():
    decoder = iv.StreamDecoder(limit=1000)
    decoder.feed(sse(BEGUN))
    for _ in range(100):
        decoder.feed(b'[{"a": "' + b"x" * 20 + b'"}\n\n')
    decoder.finish()

    assert "1000 bytes" in decoder.response.error.message
