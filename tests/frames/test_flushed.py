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
    b"event: " + b"n" * 65 + b"\ndata: j\n\n",
    b"event: o\ndata: k\n\nevent: p\ndata: l\n\nevent: q\nda",
    b"xdata: m\n\n",
    b"\xef\xbb\xbfdata: n\n\n",
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


@given(st.lists(st.sampled_from(LINES), max_size=8))
def test_no_event_waits_for_the_next(pieces):
    """What is complete is there at once, however much comes at a time. Seen failing: an event that ends in CRs waited."""
    whole = b"".join(pieces)
    at_once, by_bytes = ServerSentEvents(), ServerSentEvents()

    assert at_once.feed(whole) == [one for byte in whole for one in by_bytes.feed(bytes([byte]))]


@given(st.lists(st.sampled_from(LINES), max_size=8))
def test_as_the_standard_says(pieces):
    """Line by line, after the standard: of the usual fields, which take a shorter way in groups."""
    lines = (
        b"".join(pieces).removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    )
    expected, data, name = [], [], None
    for line in [*lines.split(b"\n"), b""]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event" and b":" in line:
            name = value.strip().decode()
        elif not line:
            expected += [(b"\n".join(data), name)] if data else []
            data, name = [], None
    found = [(one.data, one.name) for one in frames(pieces) if one.data not in (None, b"{}")]

    assert found == expected


def test_behind_the_half_of_a_line():
    """What looks whole is not, if the line before it has not ended."""
    assert [b"1", b"xdata: 2"] == [
        frame.data for frame in frames([b"data: 1\n\n", b"data: x", b"data: 2\n\n"])
    ]
