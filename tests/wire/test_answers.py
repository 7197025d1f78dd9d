"""Every dialect, whole and streamed: the same answer, to the character, seals in their places."""

import asyncio
import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from wire.fixtures import ANSWERS, ARGUMENTS, Answer

every_answer = pytest.mark.parametrize("answer", ANSWERS, ids=[answer.name for answer in ANSWERS])


def hints(answer: Answer) -> dict[str, str]:
    return {"provider": answer.provider, "model": answer.model, "dialect": answer.dialect}


def body(answer: Answer) -> bytes:
    return json.dumps(answer.whole, ensure_ascii=False).encode()


def streamed(answer: Answer, pieces=None, **more) -> iv.Response:
    return iv.fold(iv.decode_stream(pieces or [answer.stream], **{**hints(answer), **more}))


def check(answer: Answer, response: iv.Response) -> None:
    assert (answer.thinking, answer.text) == (response.thinking, response.text)
    assert answer.reasoning_tokens == response.usage.reasoning_tokens
    assert ("tool_calls", "tool_calls") == (response.finish_reason, response.status)
    (call,) = response.tool_calls
    assert (answer.call_id, "weather", ARGUMENTS) == (
        call.id,
        call.name,
        json.loads(call.arguments),
    )
    assert all(getattr(part, "complete", True) for part in response.parts)


def seals(response: iv.Response) -> list[str]:
    found = []
    for part in response.parts:
        for path in part.origin.seals if part.origin else ():
            value = part.origin.block
            for step in path.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
            found.append(value)
    return [seal for seal in found if not seal.startswith(("rs_", "msg_"))]


@every_answer
def test_whole(answer):
    check(answer, iv.decode(body(answer), **hints(answer)))


@every_answer
def test_streamed(answer):
    check(answer, streamed(answer))


@every_answer
def test_same_blocks(answer):
    """I1: the stream holds the same parts, blocks and seals as the whole."""
    whole, stream = iv.decode(body(answer), **hints(answer)), streamed(answer)

    assert list(answer.seals) == seals(whole) == seals(stream)
    assert [part.type for part in whole.parts] == [part.type for part in stream.parts]
    for one, other in zip(whole.parts, stream.parts, strict=True):
        assert getattr(one, "text", None) == getattr(other, "text", None)
        if one.type == "thinking":
            assert one.origin.block == other.origin.block
            assert one.form == other.form


@every_answer
def test_no_hint_is_needed(answer):
    """P31: the shape of what comes tells who speaks."""
    for response in (iv.decode(body(answer)), iv.fold(iv.decode_stream([answer.stream]))):
        assert answer.text == response.text
        assert answer.thinking == response.thinking


@every_answer
def test_storage_and_secrecy(answer):
    for response in (iv.decode(body(answer), **hints(answer)), streamed(answer)):
        assert response == iv.from_json(iv.to_json(response))
        for seal in answer.seals:
            assert seal not in repr(response)
            assert seal in iv.to_json(response).decode()


@every_answer
def test_byte_by_byte(answer):
    assert streamed(answer) == streamed(
        answer, [answer.stream[at : at + 1] for at in range(len(answer.stream))]
    )


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(ANSWERS))
def test_any_cutting(data, answer):
    """I1: the same result for every cutting of the bytes."""
    stream = answer.stream
    ends = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=15)) | {0, len(stream)})
    pieces = [stream[start:end] for start, end in pairwise(ends)]

    assert streamed(answer) == streamed(answer, pieces)


def restored(response: iv.Response, kind: str) -> str:
    """What was written of this kind; all of a text that holds its reasoning."""
    inline = any(part.origin and part.origin.markup is not None for part in response.parts)
    held = any(part.type == "text" and "<" in part.text for part in response.parts)
    return iv.restore(part for part in response.parts if inline or held or part.type == kind)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(ANSWERS))
def test_any_truncation(data, answer):
    """I4: cut anywhere, what arrived is readable, says that it is cut, and seals nothing that is incomplete."""
    end = data.draw(st.integers(0, len(answer.stream)))
    whole, torn = streamed(answer), streamed(answer, [answer.stream[:end]])

    for kind in ("text", "thinking"):
        came, all_of_it = (restored(response, kind) for response in (torn, whole))
        assert all_of_it.startswith(came)
    if torn.status != "interrupted":
        assert torn.text == whole.text
    for part in torn.parts:
        if part.type == "thinking" and not part.complete:
            assert not part.origin.seals


@every_answer
def test_dicts_and_text(answer):
    """The same from parsed messages and from text as from bytes."""
    assert iv.decode(body(answer), **hints(answer)) == iv.decode(answer.whole, **hints(answer))
    if answer.dialect != "bedrock-converse":
        text = answer.stream.decode()
        assert streamed(answer) == streamed(answer, [text])
        assert streamed(answer) == iv.decode(text, **hints(answer))


@every_answer
def test_async(answer):
    async def chunks():
        for at in range(0, len(answer.stream), 100):
            yield answer.stream[at : at + 100]

    async def events():
        return [event async for event in iv.decode_stream(chunks(), **hints(answer))]

    assert streamed(answer) == iv.fold(asyncio.run(events()))


@every_answer
def test_events_are_legal(answer):
    """Parts start in order and end once, deltas go to open parts, and the last event is Finish."""
    events = list(iv.decode_stream([answer.stream], **hints(answer)))
    opened: dict[int, str] = {}
    for event in events:
        match event:
            case iv.PartStart():
                assert event.index == len(opened)
                opened[event.index] = "open"
            case iv.TextDelta() | iv.ThinkingDelta() | iv.ToolCallDelta():
                assert opened[event.index] == "open"
            case iv.PartEnd():
                assert opened[event.index] == "open"
                opened[event.index] = "ended"
    assert set(opened.values()) == {"ended"}
    assert isinstance(events[-1], iv.Finish)
    assert [part.type for part in iv.fold(events[:-1]).parts] == [
        part.type for part in iv.fold(events).parts
    ]


@every_answer
def test_text_is_live(answer):
    """The first delta comes with the first bytes of it, not with the end."""
    decoder = iv.StreamDecoder(**hints(answer))
    seen = []
    for at in range(len(answer.stream)):
        seen += [
            event
            for event in decoder.feed(answer.stream[at : at + 1])
            if isinstance(event, iv.ThinkingDelta)
        ]
        if seen:
            break

    assert at < len(answer.stream) / 2
