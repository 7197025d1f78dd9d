"""Logs of inspect_ai: the zip and the JSON, reasoning of every provider, tokens and times of the events."""

import json
import struct
import zipfile
from io import BytesIO

import pytest

import innervoice as iv
from innervoice.errors import DecodeError
from innervoice.sources.opening import open_source
from sources.made_sessions import (
    AT,
    EVAL,
    SEAL,
    inspect_json,
    inspect_zip,
    model_event,
    sample,
)

READS_ZSTD = hasattr(zipfile, "ZIP_ZSTANDARD")


def shown(turns):
    return [(turn.message.role, *map(words, turn.message.parts)) for turn in turns]


def words(part):
    match part:
        case iv.Thinking():
            return (part.form, part.text)
        case iv.ToolCall():
            return ("calls", part.id, part.name, part.arguments)
        case iv.ToolResult():
            return ("result", part.call_id, part.content, part.error)
        case iv.Text():
            return part.text
        case _:
            return part.type


TURNS = [
    ("system", "Be exact."),
    ("user", "What is 2 + 2?"),
    ("assistant", ("full", "I should add."), ("hidden", ""), "Adding.", ("calls", "toolu_1", "add", '{"a":2,"b":2}')),
    ("tool", ("result", "toolu_1", "4", False)),
    ("assistant", "It is 4."),
]  # fmt: skip


@pytest.fixture(params=["zip", "json", "file"])
def log(request, tmp_path):
    if request.param == "file":
        path = tmp_path / "2026_arithmetic.eval"
        path.write_bytes(inspect_zip())
        return path
    return inspect_zip() if request.param == "zip" else inspect_json()


def test_each_sample_and_epoch_is_a_conversation(log):
    source = open_source(log)

    assert (source.kind, source.troubles) == ("inspect", [])
    assert ["add-1_epoch_1", "add-1_epoch_2"] == [entry.id for entry in source.entries]
    assert "What is 2 + 2?" == source.entries[0].title
    assert {"anthropic/claude-opus-5-5"} == {entry.model for entry in source.entries}
    for conversation in source.conversations():
        assert TURNS == shown(conversation.turns)


def test_seals_and_authors(log):
    turns = open_source(log).conversation().turns
    thoughts = [part for part in turns[2].message.parts if isinstance(part, iv.Thinking)]

    assert [("signature",), ("data",)] == [thought.origin.seals for thought in thoughts]
    assert {("anthropic", "claude-opus-5-5")} == {(thought.origin.provider, thought.origin.model) for thought in thoughts}  # fmt: skip
    assert SEAL not in repr(turns)
    kept = iv.plan([turn.message for turn in turns], "anthropic/claude-opus-5-5").decisions
    assert {"kept"} == {found.action for found in kept if found.kind == "thinking"}


def test_the_events_give_tokens_times_and_the_reason_of_the_end(log):
    turns = open_source(log).conversation().turns
    answers = [turn.answer for turn in turns if turn.answer]

    assert [(50, 25, 15, 40)] * 2 == [
        (one.usage.input_tokens, one.usage.output_tokens, one.usage.reasoning_tokens, one.usage.cached_input_tokens)
        for one in answers
    ]  # fmt: skip
    assert ["tool_calls", "stop"] == [answer.finish_reason for answer in answers]
    assert [None, None, AT + 3, None, AT + 3] == [turn.at for turn in turns]
    assert [None, None, 2.5, None, 2.5] == [turn.seconds for turn in turns]


def test_the_settings_of_the_last_request(log):
    request = open_source(log).conversation().request

    assert ("anthropic/claude-opus-5-5", 500, "high", ["add"]) == (
        request.model, request.max_tokens, request.reasoning.effort, [tool.name for tool in request.tools],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"input_tokens": 50, "output_tokens": 25, "total_tokens": 75, "input_tokens_cache_read": 40}, (50, 25)),
        ({"input_tokens": 10, "output_tokens": 25, "total_tokens": 80, "input_tokens_cache_read": 40, "input_tokens_cache_write": 5}, (55, 25)),
        ({"input_tokens": 50, "output_tokens": 25, "total_tokens": 90, "reasoning_tokens": 15}, (50, 40)),
        ({"input_tokens": 10, "output_tokens": 25, "total_tokens": 90, "reasoning_tokens": 15, "input_tokens_cache_read": 40}, (50, 40)),
    ],
)  # fmt: skip
def test_the_total_tells_what_is_counted_beside(counts, expected):
    """Anthropic counts the cache beside the input, Google thoughts beside the output, OpenAI neither."""
    one = sample(events=[model_event("m2", usage=counts)])
    usage = open_source(inspect_json([one])).conversation().turns[2].answer.usage

    assert expected == (usage.input_tokens, usage.output_tokens)


DETAILS = [{"type": "reasoning.text", "text": "Hm.", "signature": SEAL}]


@pytest.mark.parametrize(
    ("model", "reasoning", "expected", "seals"),
    [
        ("openai/gpt-5.6", {"reasoning": SEAL, "redacted": True, "summary": "Adds.", "signature": "rs_1"}, ("summary", "Adds."), ("id", "encrypted_content")),
        ("openai/gpt-5.6", {"reasoning": SEAL, "redacted": True, "signature": "rs_1"}, ("hidden", ""), ("id", "encrypted_content")),
        ("openai/gpt-5.6", {"reasoning": "Adds.", "signature": "rs_1"}, ("summary", "Adds."), ("id",)),
        ("google/gemini-3-pro-preview", {"reasoning": SEAL, "redacted": True, "summary": "Adds."}, ("summary", "Adds."), ("thoughtSignature",)),
        ("openrouter/anthropic/claude-opus-5-5", {"reasoning": "Hm.", "signature": f"reasoning-details://{json.dumps(DETAILS)}"}, ("full", "Hm."), ("signature",)),
        ("together/deepseek-ai/DeepSeek-R1", {"reasoning": "Hm."}, ("full", "Hm."), ()),
        ("mockllm/model", {"reasoning": "Hm.", "signature": SEAL}, ("full", "Hm."), ("signature",)),
    ],
)  # fmt: skip
def test_reasoning_of_every_provider(model, reasoning, expected, seals):
    message = {
        "id": "m",
        "role": "assistant",
        "content": [{"type": "reasoning", **reasoning}, {"type": "text", "text": "4"}],
    }
    one = sample(messages=[message], events=[model_event("m", model=model)])
    (turn,) = open_source(inspect_json([one])).conversation().turns

    assert expected == words(turn.message.parts[0])
    assert seals == turn.message.parts[0].origin.seals


def test_results_files_and_blocks_of_servers():
    image = {"type": "image", "image": "data:image/png;base64,aW1n"}
    searched = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "s",
        "name": "search",
        "arguments": "{}",
        "result": "",
    }
    messages = [
        {"id": "1", "role": "user", "content": [{"type": "text", "text": "See"}, image]},
        {"id": "2", "role": "assistant", "content": [searched, {"type": "text", "text": "Seen."}], "model": "claude-opus-5-5"},
        {"id": "3", "role": "tool", "content": "", "tool_call_id": "c", "error": {"type": "timeout", "message": "too slow"}},
    ]  # fmt: skip
    turns = open_source(inspect_json([sample(messages=messages)])).conversation().turns

    assert [
        ("user", "See", "media"),
        ("assistant", "opaque", "Seen."),
        ("tool", ("result", "c", "too slow", True)),
    ] == shown(turns)


def test_an_answer_that_failed():
    one = sample(events=[model_event("m2", error="overloaded")])
    answer = open_source(inspect_json([one])).conversation().turns[2].answer

    assert ("interrupted", "overloaded") == (answer.status, answer.error.message)


def test_reasoning_of_the_first_logs_stands_beside_the_content():
    message = {"id": "m", "role": "assistant", "content": "4", "reasoning": "Adds."}
    (turn,) = open_source(inspect_json([sample(messages=[message])])).conversation().turns

    assert [("assistant", ("full", "Adds."), "4")] == shown([turn])


def test_a_log_that_is_being_written_has_no_header_yet():
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": EVAL}))
        archive.writestr("samples/add-1_epoch_1.json", json.dumps(sample()))

    assert TURNS == shown(open_source(buffer.getvalue()).conversation().turns)


def test_a_sample_that_is_broken_does_not_hide_the_others():
    data = inspect_zip(**{"samples/bad_epoch_1.json": '{"id": "bad", "mess'})
    source = open_source(data)

    assert TURNS == shown(source.conversation("add-1_epoch_2").turns)
    with pytest.raises(DecodeError, match="bad_epoch_1"):
        source.conversation("bad_epoch_1")


def zstd(data):
    """The archive as if its samples were compressed with zstd, in both places that say how a file is compressed."""
    changed = bytearray(data)
    for mark, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        start = changed.find(mark)
        while start >= 0:
            if b"samples/" in changed[start : start + 60]:
                struct.pack_into("<H", changed, start + place, 93)
            start = changed.find(mark, start + 4)
    return bytes(changed)


@pytest.mark.skipif(READS_ZSTD, reason="this Python reads zstd")
def test_zstd_is_said_where_it_cannot_be_read():
    source = open_source(zstd(inspect_zip(compression=zipfile.ZIP_STORED)))

    assert ["add-1_epoch_1", "add-1_epoch_2"] == [entry.id for entry in source.entries]
    assert "zstd" in source.troubles[0].why
    with pytest.raises(DecodeError, match="add-1_epoch_1"):
        source.conversation()


@pytest.mark.skipif(not READS_ZSTD, reason="only Python 3.14 reads zstd")
def test_zstd_is_read_where_it_can_be():
    data = inspect_zip(compression=getattr(zipfile, "ZIP_ZSTANDARD", None))

    assert TURNS == shown(open_source(data).conversation().turns)


def test_samples_in_chunks_are_told():
    data = inspect_zip(
        **{"samples/long_epoch_1/sample.json": "{}", "samples/long_epoch_1/messages/0.json": "[]"}
    )
    source = open_source(data)

    assert ["1 samples are in chunks, which are not read, for example long_epoch_1"] == [trouble.why for trouble in source.troubles]  # fmt: skip
    assert 2 == len(source.entries)


def test_a_member_that_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr("innervoice.sources.inspect_log._LARGEST", 100)
    source = open_source(inspect_json())
    zipped = open_source(inspect_zip())

    assert TURNS == shown(source.conversation().turns)
    with pytest.raises(DecodeError, match="at most 100 are read"):
        zipped.conversation()


def test_other_zips_and_json_are_not_taken():
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    for data in (buffer.getvalue(), json.dumps({"eval": 3, "version": 2}).encode()):
        with pytest.raises(DecodeError):
            open_source(data)


def test_what_the_format_does_not_tell_is_said(log):
    said = " ".join(open_source(log).cannot_know)

    for subject in ("When users and tools wrote", "order of text and calls", "subagents"):
        assert subject in said
