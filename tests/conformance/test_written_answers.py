"""Recorded answers, written in every dialect and read again: the same words, reasoning, calls and status."""

import base64
import json
from collections import Counter

import pytest

import innervoice as iv
from innervoice.answering.writing import encode_events
from innervoice.wire.dialects import DIALECTS
from shared import SHARED, needs_shared

CORPUS = SHARED / "corpus"
UNCLOSED = "stopped_inside_thinking"
"""No dialect can say that a tag was never closed; reasoning without an answer is left of it."""


def exchanges():
    for path in sorted(CORPUS.glob("*.json")):
        exchange = json.loads(path.read_text())
        if exchange.get("api") in DIALECTS:
            exchange["dialect"] = exchange["api"]  # recorded before it was one of ours
        if exchange["status"] == 200 and exchange["dialect"] in DIALECTS:
            yield path.stem, exchange


def body_of(exchange):
    response = exchange["response"]
    if "json" in response:
        return json.dumps(response["json"], ensure_ascii=False).encode()
    if "eventstream_b64" in response:
        return base64.b64decode(response["eventstream_b64"])
    return (response.get("sse") or response.get("ndjson") or "").encode()


def events_of(exchange):
    hints = {"provider": exchange["provider"].split("/")[-1], "model": exchange["model"]}
    return list(iv.decode_stream([body_of(exchange)], dialect=exchange["dialect"], **hints))


def calls_of(response):
    return [(call.name, arguments_of(call)) for call in response.tool_calls]


def arguments_of(call):
    """A dialect without free-form calls writes their text as the only argument."""
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        value = call.arguments
    return value if isinstance(value, dict) else {"input": value}


def said(response):
    return {
        "text": response.text,
        "thinking": response.thinking,
        "calls": calls_of(response),
        "status": "empty" if response.status == UNCLOSED else response.status,
    }


def differences(one, other):
    return {key: (one[key], other[key]) for key in one if one[key] != other[key]}


@pytest.mark.parametrize("dialect", DIALECTS)
@needs_shared
def test_written_and_read_again(dialect, capsys):
    counts: Counter[str] = Counter()
    wrong = []
    for name, exchange in exchanges():
        events = events_of(exchange)
        response = events[-1].response
        counts[exchange["dialect"]] += 1
        whole = iv.encode_response(response, dialect=dialect)
        stream = b"".join(iv.encode_stream(events, dialect=dialect))
        hints = {"dialect": dialect, "inline": "off"}
        expected = said(response)
        if response.status != "interrupted":
            found = differences(expected, said(iv.decode(whole, **hints)))
            wrong += [(name, "whole", found)] if found else []
        streamed = list(iv.decode_stream([stream], **hints))[-1].response
        found = differences(expected, said(streamed))
        wrong += [(name, "stream", found)] if found else []
    with capsys.disabled():
        print(f"\n{sum(counts.values())} answers written as {dialect}: {dict(counts)}")
    assert [] == wrong[:5], len(wrong)
    assert sum(counts.values()) > 500


def heard(response):
    """What a client learns of an answer, but for ids.

    In a stream a seal may arrive behind its text, as Gemini sends it: with an empty one, at the end.
    """
    parts = [(part.type, getattr(part, "text", "")) for part in response.parts]
    parts = [part for part in parts if part != ("text", "")]
    return {**said(response), "parts": sorted(parts), "usage": response.usage.replace(raw=None)}


@pytest.mark.parametrize("dialect", DIALECTS)
@needs_shared
def test_whole_is_streamed(dialect):
    """One writer: an answer has the same parts, notes, counts and status in one body and in a stream."""
    wrong = []
    for name, exchange in exchanges():
        events = events_of(exchange)
        response = events[-1].response
        if response.status == "interrupted":
            continue
        whole = iv.written(response, dialect, "m")
        encoder = iv.StreamEncoder(dialect, "m")
        stream = b"".join(encode_events(events, encoder))
        hints = {"dialect": dialect, "inline": "off"}
        streamed = list(iv.decode_stream([stream], **hints))[-1].response
        one = {**heard(iv.decode(whole.body, **hints)), "notes": set(whole.notes)}
        other = {**heard(streamed), "notes": set(encoder.notes)}
        found = differences(one, other)
        wrong += [(name, found)] if found else []

    assert [] == wrong[:5], len(wrong)
