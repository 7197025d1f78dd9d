"""An answer of a known API is never read as nothing: with its content under another member it is an error, has a note, or is read all the same."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

import innervoice as iv
from innervoice.wire.dialects import DIALECTS

WORDS = "planted words"
ANSWERS = {
    "text": (iv.Text(WORDS),),
    "thinking": (iv.Thinking(WORDS),),
    "a call": (iv.ToolCall("call00001", "planted", '{"planted":"planted words"}'),),
}


def holders(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all members of a body that hold the words, from the outermost to the words themselves."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for step, item in items:
        if "planted" in json.dumps(item):
            if isinstance(step, str):
                yield (*path, step)
            yield from holders(item, (*path, step))


def moved(body: Any, path: tuple[str | int, ...]) -> Any:
    """The body with one member under another name."""
    copied = holder = copy.deepcopy(body)
    for step in path[:-1]:
        holder = holder[step]
    holder["x_moved"] = holder.pop(path[-1])
    return copied


def body_of(kind: str, dialect: str) -> Any:
    reason = "tool_calls" if kind == "a call" else "stop"
    answer = iv.Response(parts=ANSWERS[kind], finish_reason=reason, ended=True, model="m")
    return iv.encode_response(answer, dialect)


CASES = [
    (dialect, kind, path)
    for dialect in DIALECTS
    for kind in ANSWERS
    for path in holders(body_of(kind, dialect))
]


def reads_something(response: iv.Response) -> bool:
    """Whether the words are in a part, in readable form or kept as they came."""
    return any("planted" in iv.to_json(iv.Message("assistant", (part,))).decode() for part in response.parts
               if not (isinstance(part, (iv.Text, iv.Thinking)) and not part.text))  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "kind", "path"), CASES, ids=lambda item: str(item).replace(" ", "")
)
def test_content_under_another_member(dialect, kind, path):
    body = moved(body_of(kind, dialect), path)
    try:
        response = iv.decode(body, dialect=dialect)
    except iv.InnervoiceError:
        return

    noted = [note.code for note in response.notes if note.code in ("content_unread", "odd_value")]
    assert response.error or noted or reads_something(response), response


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_answer_has_no_note(dialect):
    answer = iv.Response(parts=(), finish_reason="stop", ended=True, model="m")
    written = iv.encode_response(answer, dialect)

    assert () == iv.decode(written, dialect=dialect).notes
    data = b"".join(iv.encode_stream([iv.Finish(answer)], dialect))
    assert () == iv.decode(data, dialect=dialect).notes


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("openai-chat", "content"),
        ("mistral", "content"),
        ("ollama", "content"),
        ("anthropic", "text"),
        ("gemini", "parts"),
    ],
)
def test_a_stream_with_its_content_under_another_member(dialect, name):
    answer = iv.Response(parts=(iv.Text(WORDS),), finish_reason="stop", ended=True, model="m")
    data = b"".join(iv.encode_stream([iv.Finish(answer)], dialect))
    renamed = data.replace(f'"{name}":'.encode(), b'"x_moved":')
    response = iv.decode(renamed, dialect=dialect)

    assert renamed != data
    assert response.error or any(
        note.code in ("content_unread", "odd_value") for note in response.notes
    )


@pytest.mark.parametrize(
    "dialect", ["anthropic", "openai-responses", "gemini-interactions", "cohere"]
)
def test_a_stream_of_unknown_events(dialect):
    """The first and the last event are known, and those between are of a revision that is not."""
    answer = iv.Response(parts=(iv.Text(WORDS),), finish_reason="stop", ended=True, model="m")
    frames = b"".join(iv.encode_stream([iv.Finish(answer)], dialect)).split(b"\n\n")
    kept = [frame for frame in frames if b"planted" not in frame]
    event = {"type": "x.delta", "event_type": "x.delta", "index": 0, "x_delta": {"x_words": WORDS}}
    kept.insert(1, b"data: " + json.dumps(event).encode())
    response = iv.decode(b"\n\n".join(kept), dialect=dialect)

    assert "" == response.text
    assert response.error or ["x.delta"] == [
        note.detail for note in response.notes if note.code == "content_unread"
    ]


def test_an_interaction_of_the_older_revision():
    """The contents of all its steps are in one list."""
    outputs = [
        {"type": "thought", "signature": "c2VhbA==", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Rome"},
        {"type": "text", "text": " is sunny."},
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}},
    ]
    body = {
        "id": "v1_x",
        "object": "interaction",
        "status": "requires_action",
        "model": "m",
        "outputs": outputs,
    }
    response = iv.decode(body)

    assert ("Rome is sunny.", "Hm.") == (response.text, response.thinking)
    assert ["f"] == [call.name for call in response.tool_calls]
    assert ("signature",) == response.parts[0].origin.seals
    assert "tool_calls" == response.status


@pytest.mark.parametrize("streamed", [False, True])
def test_perplexitys_steps_beside_the_choices(streamed):
    steps = [
        {"thought": "I search.", "type": "web_search"},
        {"thought": "I read.", "type": "fetch"},
    ]
    message = {"role": "assistant", "content": "Rome."}
    choice = {"index": 0, "finish_reason": "stop", "delta" if streamed else "message": message}
    body = {"id": "x", "model": "sonar-pro", "choices": [choice], "reasoning_steps": steps}
    # A stream repeats the steps so far with every chunk.
    first = {**body, "choices": [], "reasoning_steps": steps[:1]}
    response = (
        iv.fold(iv.decode_stream([first, body], provider="perplexity"))
        if streamed
        else iv.decode(body, provider="perplexity")
    )

    assert ("Rome.", "I search.\n\nI read.") == (response.text, response.thinking)
