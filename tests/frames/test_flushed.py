"""Events that come one at a time take a shorter way, and are the same events."""

from hypothesis import given
from hypothesis import strategies as st

from innervoice.frames.sse import ServerSentEvents

LINES = [
    b"data: a\n\n",
    b"data:b\n\n",
    b"data: \n\n",
    b"data: c\r\n\r\n",
    b"data: d\r\r",
    b"data: e\ndata: f\n\n",
    b"event: n\ndata: g\n\n",
    b"event: \ndata: h\n\n",
    b"event: n\n\n",
    b"event: n\n",
    b": comment\n\n",
    b"data: i",
    b"data: \xc3\xa4\n\n",
    b"id: 1\n\n",
    b"{}\n\n",
    b"\n",
    b"\r",
    b"x",
]


def frames(pieces):
    framing = ServerSentEvents()
    return [frame for piece in pieces for frame in framing.feed(piece)] + framing.finish()


@given(st.lists(st.sampled_from(LINES), max_size=8))
def test_any_flushing(pieces):
    """However the bytes are flushed, the events are those of the whole."""
    whole = b"".join(pieces)

    assert frames([whole]) == frames(pieces)
    assert frames([whole]) == frames([bytes([byte]) for byte in whole])


def test_behind_the_half_of_a_line():
    """What looks whole is not, if the line before it has not ended."""
    assert [b"1", b"xdata: 2"] == [
        frame.data for frame in frames([b"data: 1\n\n", b"data: x", b"data: 2\n\n"])
    ]
