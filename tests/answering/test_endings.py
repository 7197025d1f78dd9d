"""How an answer ended: every finish reason, written for every dialect and read back, is the same, or a note says what became of it."""

from typing import get_args

import pytest

import innervoice as iv
from innervoice.canon.response import FinishReason
from innervoice.wire.dialects import DIALECTS

PARTS = {
    "text": (iv.Text("I cannot help with that."),),
    "thinking and text": (iv.Thinking("Hm."), iv.Text("Some"), iv.Text(" words.")),
    "nothing": (),
    "a call": (iv.ToolCall("call00001", "f", '{"a":1}'),),
}
REASONS = get_args(FinishReason)
# Which reasons an API has a member for, so that no note is needed: as far as the texts allow.
EXACT = {
    "anthropic": {"stop", "length", "tool_calls", "refusal", "pause"},
    "openai-chat": {"stop", "length", "tool_calls", "content_filter", "refusal", "error"},
    "openai-responses": {"stop", "length", "tool_calls", "content_filter", "refusal", "pause"},
    "gemini": {"stop", "length", "tool_calls", "content_filter", "pause", "error"},
    "gemini-interactions": {"stop", "length", "tool_calls", "pause"},
    "bedrock-converse": {"stop", "length", "tool_calls", "content_filter", "refusal", "error"},
    "mistral": {"stop", "length", "tool_calls", "error"},
    "cohere": {"stop", "length", "tool_calls", "content_filter", "error"},
    "ollama": {"stop", "length", "tool_calls"},
}


def response(parts, reason):
    return iv.Response(parts=PARTS[parts], finish_reason=reason, ended=True, model="m")


def events_of(answer):
    """The events of an answer that comes in pieces."""
    for number, part in enumerate(answer.parts):
        yield iv.PartStart(number, part.type)
        match part:
            case iv.Text():
                yield iv.TextDelta(number, part.text)
            case iv.Thinking():
                yield iv.ThinkingDelta(number, part.text)
        yield iv.PartEnd(number, part)
    yield iv.Finish(answer)


def changed(notes):
    return [note.detail for note in notes if note.code == "finish_reason_changed"]


def check(answer, read, notes, dialect):
    assert answer.text == read.text
    if changed(notes):
        became = f"{answer.finish_reason} became {read.finish_reason}"
        assert [became] == changed(notes)
        assert read.finish_reason != answer.finish_reason
    else:
        calls = bool(answer.tool_calls) and answer.finish_reason == "stop"
        assert ("tool_calls" if calls else answer.finish_reason) == read.finish_reason
        # An API that fails says so in place of an answer.
        failed = answer.finish_reason == "error" and read.status == "interrupted"
        assert answer.status == read.status or (failed and not answer.text)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("parts", PARTS)
def test_a_whole_answer_ends_as_it_did(parts, reason, dialect):
    if reason == "tool_calls" and parts != "a call":
        return
    answer = response(parts, reason)
    written = iv.written(answer, dialect)
    read = iv.decode(written.body, dialect=dialect)

    check(answer, read, written.notes, dialect)
    if parts == "text":
        assert (reason not in EXACT[dialect]) == bool(changed(written.notes))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("parts", PARTS)
def test_a_streamed_answer_ends_as_it_did(parts, reason, dialect):
    """As it comes, and as a list, of which the end is known in advance."""
    if reason == "tool_calls" and parts != "a call":
        return
    answer = response(parts, reason)
    encoder = iv.StreamEncoder(dialect, "m")
    data = b"".join([encoder.feed(event) for event in events_of(answer)])
    check(answer, iv.decode(data, dialect=dialect), encoder.notes, dialect)

    listed = b"".join(iv.encode_stream(list(events_of(answer)), dialect, "m"))
    whole = iv.decode(iv.written(answer, dialect).body, dialect=dialect)
    read = iv.decode(listed, dialect=dialect)
    assert (whole.finish_reason, whole.status) == (read.finish_reason, read.status)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_of_claude(dialect):
    body = {
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "I can't help with that."}],
        "stop_reason": "refusal",
    }
    answer = iv.decode(body, provider="anthropic")
    written = iv.written(answer, dialect)
    read = iv.decode(written.body, dialect=dialect)

    assert "I can't help with that." == read.text
    is_refused = dialect in ("anthropic", "openai-chat", "openai-responses", "bedrock-converse")
    assert is_refused == (read.status == "refused")
    assert is_refused != bool(changed(written.notes))
