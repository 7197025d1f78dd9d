"""`Live` chooses between a terminal and plain text."""

import io
import subprocess
import sys

import pytest

import innervoice as iv
from innervoice.show import Live


def test_follow_gives_the_response():
    response = iv.Response(parts=(iv.Text("345"),), ended=True)
    file = io.StringIO()

    assert response is Live(file=file).follow([iv.Finish(response)])
    assert "345\n" == file.getvalue()


def test_a_console_that_is_no_terminal_gets_plain_text():
    rich_console = pytest.importorskip("rich.console")
    file = io.StringIO()
    console = rich_console.Console(file=file)
    Live(console=console).follow([iv.Finish(iv.Response(parts=(iv.Text("[b]x[/b]"),)))])

    assert "[b]x[/b]\n" == file.getvalue()


def test_the_decoder_of_a_stream_can_be_followed():
    chunks = [
        b'data: {"choices": [{"index": 0, "delta": {"reasoning_content": "15 * 23"}}]}\n\n',
        b'data: {"choices": [{"index": 0, "delta": {"content": "345"}, "finish_reason": "stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
    file = io.StringIO()
    response = Live(file=file, clock=lambda: 0.0).follow(iv.decode_stream(chunks))

    assert "345" == response.text
    assert "> 15 * 23\n[thought · 7 characters]\n\n345\n" == file.getvalue()


@pytest.mark.parametrize("show", ["loud", None])
def test_an_unknown_policy_is_refused(show):
    with pytest.raises(iv.UsageError, match="show must be one of"):
        Live(show=show)


def test_events_out_of_order_are_refused():
    with pytest.raises(iv.UsageError, match="part 3"):
        Live(file=io.StringIO()).feed(iv.TextDelta(3, "x"))
    with pytest.raises(iv.UsageError, match="part 3"):
        Live(file=io.StringIO()).feed(iv.PartStart(3, "text"))


def test_rich_is_loaded_for_a_terminal_alone():
    script = "import innervoice.show, sys; sys.exit('rich' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", script], check=False).returncode
