"""Reasoning in the text of an answer: what a decoder gives is what the splitter gives."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from inline.test_chunking import texts
from wire.fixtures import ANSWERS

CALL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}


def chunk(delta, reason=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def shape(parts):
    return [(part.type, part.text, part.complete) for part in parts]


@settings(max_examples=500, deadline=None)
@given(st.data(), texts, st.sampled_from([None, "qwq-32b", "gpt-oss-20b", "qwen3:8b"]))
def test_as_the_splitter_does(data, text, model):
    """Any text in any deltas, with a call in between: the same parts, and the same from its events alone."""
    ends = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    deltas = [{"content": text[start:end]} for start, end in pairwise(ends)]
    deltas.insert(data.draw(st.integers(0, len(deltas))), {"tool_calls": [CALL]})
    chunks = [*map(chunk, deltas), chunk({}, "stop")]
    events = list(iv.decode_stream(chunks, provider="sglang", model=model, inline="all"))
    response = events[-1].response
    expected = iv.split(text, model=model, finish_reason="stop").parts

    found = [part for part in response.parts if part.type in ("text", "thinking")]
    assert shape(part for part in expected if part.type != "opaque") == shape(found)
    assert text == iv.restore(response.parts)
    assert ["f"] == [call.name for call in response.tool_calls]
    told = iv.fold(events[:-1]).parts
    assert [(part.type, getattr(part, "text", "")) for part in response.parts] == [
        (part.type, getattr(part, "text", "")) for part in told
    ]


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_a_field_and_a_text(field, text):
    """Whatever a field and the text hold, no character of the text is lost and the field comes first."""
    chunks = [chunk({"reasoning": field}), chunk({"content": text}), chunk({}, "stop")]
    response = iv.fold(iv.decode_stream(chunks, provider="sglang"))
    own = [
        part
        for part in response.parts
        if part.origin and part.origin.block and "reasoning" in part.origin.block
    ]

    assert ([field] if field else []) == [part.text for part in own]
    assert text == iv.restore(part for part in response.parts if part not in own)
    assert response == iv.from_json(iv.to_json(response))


def test_an_empty_text_keeps_its_seal():
    """Gemini signs an empty text at the end; looking for markup in it loses nothing."""
    parts = [{"text": "<think>R</think>A"}, {"text": "", "thoughtSignature": "sig"}]
    body = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    response = iv.decode(body, provider="gemini", inline="on")
    assert ("R", "A") == (response.thinking, response.text)
    assert parts[1] == response.parts[-1].origin.block


def test_a_later_text_is_not_the_head():
    """An unclosed opener in a second text is a mention, because an answer stands before it."""
    blocks = [{"text": "The tag"}, {"text": "<thinking> opens."}]
    body = {"output": {"message": {"content": blocks}}, "stopReason": "end_turn"}
    response = iv.decode(body, provider="bedrock", model="amazon.nova-pro-v1:0")
    assert None is response.thinking
    assert "The tag<thinking> opens." == response.text


def test_the_last_word_about_a_seal_counts_here_too():
    answer = next(answer for answer in ANSWERS if answer.name == "responses")
    hints = {"provider": "lmstudio", "model": "m", "dialect": answer.dialect}
    response = iv.fold(iv.decode_stream([answer.stream], **hints))
    assert "encrypted-final==" == response.parts[0].origin.block["encrypted_content"]


def test_parts_of_a_text_say_what_led_to_it():
    """A text that follows a reasoning item still says so when it is split; its item goes with the first part."""
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "<think>R</think>A"}],
    }
    output = [{"type": "reasoning", "id": "rs_1", "summary": []}, message]
    body = {"id": "r", "object": "response", "status": "completed", "output": output}
    _, thinking, text = iv.decode(body, provider="openai", inline="on").parts
    assert ("rs_1", "rs_1") == (thinking.origin.led_by, text.origin.led_by)
    assert (message, None) == (thinking.origin.block, text.origin.block)


def test_an_ended_part_says_at_once_where_it_comes_from():
    """The end of a thought that stood in the text, told while the text goes on, names its model."""
    decoder = iv.StreamDecoder(provider="sglang")
    delta = {"content": "<think>R</think>A"}
    events = decoder.feed({"id": "c", "model": "qwen3-32b", "choices": [{"delta": delta}]})
    (ended,) = [event.part for event in events if isinstance(event, iv.PartEnd)]
    assert ("R", "sglang", "qwen3-32b") == (ended.text, ended.origin.provider, ended.origin.model)
