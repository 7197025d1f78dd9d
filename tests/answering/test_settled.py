"""Nothing is unsaid: what could still be recast is held back, and goes out once, as what it is."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from inline.test_chunking import texts
from innervoice.canon.views import BLANKS
from innervoice.wire.dialects import DIALECTS


def chunk(delta, reason=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def squeezed(text):
    """A text without what a reader does not see."""
    return "".join(letter for letter in text or "" if letter not in BLANKS)


ORPHAN = ["I am ", "thinking about it ", "long enough.", "</think>", "The ", "answer ", "is 4."]
FIELD = [{"reasoning_content": "Hm. "}, {"reasoning_content": "Four."}, {"content": "It "}, {"content": "is 4."}]  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_before_an_orphan_closer_is_held_back(dialect):
    """Seen failing: without the place that is settled, the reasoning goes out as text."""
    chunks = [*(chunk({"content": word}) for word in ORPHAN), chunk({}, "stop")]
    pieces = list(
        iv.encode_stream(iv.decode_stream(chunks, provider="vllm"), dialect=dialect, model="m")
    )
    read = iv.fold(iv.decode_stream([b"".join(pieces)], dialect=dialect, inline="off"))

    assert "I am thinking about it long enough." == read.thinking
    assert "The answer is 4." == read.text
    # Behind the closer every word goes out as it comes.
    assert len([piece for piece in pieces if b"answer " in piece or b"is 4." in piece]) >= 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_reasoning_in_a_field_goes_out_at_once(dialect):
    """Each event of a host that separates reasoning makes bytes at once."""
    encoder = iv.StreamEncoder(dialect)
    events = iv.decode_stream([*map(chunk, FIELD), chunk({}, "stop")], provider="deepseek")
    written = [encoder.feed(event, events.settled) for event in events]
    deltas = [data for data in written if b"Hm." in data or b"Four." in data or b"is 4." in data]

    assert len(deltas) >= 3


@settings(max_examples=150, deadline=None)
@given(
    st.data(),
    texts,
    st.sampled_from([None, "qwq-32b", "gpt-oss-20b", "deepseek-reasoner"]),
    st.sampled_from(DIALECTS),
)
def test_any_text_in_any_pieces(data, text, model, dialect):
    """What is folded from the stream is what the response says."""
    ends = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    deltas = [{"content": text[start:end]} for start, end in pairwise(ends)]
    chunks = [*map(chunk, deltas), chunk({}, "stop")]
    events = iv.decode_stream(chunks, provider="sglang", model=model, inline="all")
    stream = b"".join(iv.encode_stream(events, dialect=dialect))
    expected = iv.fold(iv.decode_stream(chunks, provider="sglang", model=model, inline="all"))
    read = iv.fold(iv.decode_stream([stream], dialect=dialect, inline="off"))

    assert squeezed(expected.thinking) == squeezed(read.thinking)
    assert squeezed(expected.text) == squeezed(read.text)


def test_async_events_say_it_too():
    async def source():
        for word in ORPHAN:
            yield chunk({"content": word})
        yield chunk({}, "stop")

    async def written():
        events = iv.decode_stream(source(), provider="vllm")
        return b"".join([data async for data in iv.encode_stream(events, dialect="anthropic")])

    read = iv.fold(iv.decode_stream([asyncio.run(written())]))
    assert ("I am thinking about it long enough.", "The answer is 4.") == (read.thinking, read.text)


def test_a_list_is_looked_through_first():
    chunks = [*(chunk({"content": word}) for word in ORPHAN), chunk({}, "stop")]
    events = list(iv.decode_stream(chunks, provider="vllm"))
    stream = b"".join(iv.encode_stream(events, dialect="gemini"))
    read = iv.fold(iv.decode_stream([stream], dialect="gemini"))

    assert ("I am thinking about it long enough.", "The answer is 4.") == (read.thinking, read.text)


def test_what_was_sent_before_is_not_sent_again():
    """Whoever feeds events without saying what is settled gets no word twice, and a note."""
    chunks = [*(chunk({"content": word}) for word in ORPHAN), chunk({}, "stop")]
    encoder = iv.StreamEncoder("anthropic")
    stream = b"".join(encoder.feed(event) for event in iv.decode_stream(chunks, provider="vllm"))
    read = iv.fold(iv.decode_stream([stream]))

    assert 1 == (read.text + (read.thinking or "")).count("thinking about it")
    assert "sent_before_recast" in {note.code for note in encoder.notes}
