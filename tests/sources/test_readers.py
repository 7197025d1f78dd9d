"""Stored histories, captured answers, batch files, HAR recordings and logs of litellm: what a user gets of each."""

import json

import pytest

import innervoice as iv
from innervoice.errors import DecodeError
from innervoice.sources.opening import open_source
from innervoice.sources.reader import Hints
from sources.samples import (  # fmt: skip
    ANSWER,
    ASKED,
    CHAT,
    CLAUDE,
    FAILED,
    PAYLOAD,
    SAMPLES,
    SECOND,
    SPENT,
    har_of,
    lines,
    post,
)
from wire.fixtures import ANSWERS

# ---- what innervoice stores, and histories ------------------------------------------------------------


def test_what_was_stored_comes_back():
    """A response keeps its status, tokens and notes; a message is a turn."""
    (one,) = open_source(SAMPLES["stored"]["a history"]).conversations()

    assert [None, ANSWER, None] == [turn.answer for turn in one.turns]
    assert "Hi there" == one.title
    assert [one.turns] == [other.turns for other in open_source(iv.to_json([iv.user("Hi there"), ANSWER, iv.user("Bye")])).conversations()]  # fmt: skip
    assert [1, 2, 3] == [turn.line for turn in open_source(SAMPLES["stored"]["turns"]).conversation().turns]  # fmt: skip


def test_responses_on_lines_stand_for_themselves():
    found = list(open_source(SAMPLES["stored"]["responses"]).conversations())

    assert [(ANSWER,), (ANSWER,)] == [tuple(turn.answer for turn in one.turns) for one in found]


def test_a_saved_conversation(tmp_path):
    client = iv.Client(keys={"anthropic": "x"})
    talk = client.conversation("anthropic/claude-opus-4-6", system="Be brief.", history=[iv.user("Hi there"), ANSWER])  # fmt: skip
    talk.save(tmp_path / "talk.json")
    one = open_source(tmp_path / "talk.json").conversation()

    assert ["Hi there", "Hello."] == [turn.message.text for turn in one.turns]
    assert ("anthropic/claude-opus-4-6", "Be brief.") == (one.request.model, one.request.system)


def test_a_request_has_its_settings():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    body = {**SECOND, "reasoning_effort": "low", "tools": tools}
    one = open_source(json.dumps(body).encode()).conversation()

    assert ("glm-4.7", (), "low", "weather") == (one.request.model, one.request.messages, one.request.reasoning.effort, one.request.tools[0].name)  # fmt: skip
    assert 3 == len(one.turns)
    assert ["1", "2"] == [entry.id for entry in open_source(SAMPLES["stored"]["requests"]).entries]


# ---- captured answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.name for answer in ANSWERS])
def test_a_stream_that_grows_gives_the_parts_so_far(answer):
    """Cut at every byte: never less than before, and in the end all of it."""
    seen, whole = 0, iv.decode(answer.stream)
    for end in range(1, len(answer.stream) + 1):
        try:
            (turn,) = open_source(answer.stream[:end]).conversation().turns
        except DecodeError:
            assert not seen
            continue
        size = sum(len(getattr(part, "text", "")) for part in turn.answer.parts)
        # Inline reasoning may turn out to be reasoning later; its tag goes away then.
        assert size >= seen - len("<think>")
        seen = max(seen, size)
    assert whole == turn.answer


def test_a_cut_stream_says_so():
    turn = open_source(ANSWERS[0].stream[: len(ANSWERS[0].stream) // 2]).conversation().turns[0]

    assert "interrupted" == turn.answer.status
    assert turn.answer.parts


def test_lines_of_bodies_and_a_bad_one():
    content = lines(CHAT, {"error": {"message": "No."}}) + b"{broken\n" + lines({"messages": ASKED["messages"], "response": CHAT})  # fmt: skip
    source = open_source(content)
    first, second, last = source.conversations()

    assert ["1", "2", "4"] == [entry.id for entry in source.entries]
    assert [(3, "not valid JSON")] == source.troubles
    assert ("Hello.", "No.") == (first.turns[0].message.text, second.turns[0].answer.error.message)
    assert ["Hi there", "Hello."] == [turn.message.text for turn in last.turns]


def test_hints():
    content = json.dumps({"message": {"role": "assistant", "content": "Hi"}, "odd": 1}).encode()
    turn = open_source(content, Hints(provider="ollama", model="llama")).conversation().turns[0]

    assert ("ollama", "llama", "Hi") == (turn.answer.provider, turn.answer.model, turn.message.text)


# ---- batch files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["openai", "azure", "anthropic", "gemini", "vertex", "bedrock"])  # fmt: skip
def test_a_batch_of_answers(provider):
    """One conversation a line, by its own id; a line that failed has its failure, and is never an empty answer."""
    source = open_source(SAMPLES["batch"][provider])
    good, bad = source.conversations()

    assert (["1", "2"] if provider == "vertex" else ["one", "two"]) == [good.id, bad.id]
    answer, failed = good.turns[-1].answer, bad.turns[-1].answer
    assert ("Hello.", "A greeting.", "answered") == (answer.text, answer.thinking, answer.status)
    assert (1, 2) == (good.turns[-1].line, bad.turns[-1].line)
    assert ("interrupted", ()) == (failed.status, failed.parts)
    assert failed.error.message or failed.error.type
    if provider in ("vertex", "bedrock"):
        assert "Hi there" == good.title == bad.title


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "vertex", "bedrock"])
def test_a_batch_of_requests(provider):
    for one in open_source(SAMPLES["batch"][f"input of {provider}"]).conversations():
        assert ["Hi there"] == [turn.message.text for turn in one.turns]
        assert [None] == [turn.answer for turn in one.turns]
        assert one.request is not None


def test_ids_that_are_not_unique():
    line = {"custom_id": "same", "response": {"status_code": 200, "body": CHAT}}
    source = open_source(lines(line, line, {"odd": 1}))

    assert ["same", "same~2"] == [entry.id for entry in source.entries]
    assert [(3, "not a line of a batch")] == source.troubles


# ---- HAR ----------------------------------------------------------------------------------------------


def test_a_recording():
    """Requests that go on from each other are one conversation; other requests are counted, and nothing is shown of keys."""
    source = open_source(SAMPLES["har"]["a recording"])
    (one,) = source.conversations()

    assert ["user", "assistant", "user", "assistant"] == [turn.message.role for turn in one.turns]
    assert (
        "A gre" == one.turns[1].answer.thinking
    )  # as it was streamed, with the reasoning that the client dropped
    assert ("A greeting.", 1.5, 1795168806.5) == (one.turns[3].answer.thinking, one.turns[3].seconds, one.turns[3].at)  # fmt: skip
    assert "glm-4.7" == one.request.model
    assert any("1 other request" in sentence for sentence in source.cannot_know)
    assert "sk-secret" not in repr([source.entries, source.troubles, one, iv.to_json(one.turns[1].answer)])  # fmt: skip


def test_a_failed_request_and_its_repetition():
    body = json.dumps({"error": {"message": "Slow down."}}).encode()
    good = json.dumps(CHAT).encode()
    other = {**ASKED, "messages": [{"role": "user", "content": "A title, please"}]}
    source = open_source(
        har_of(post(ASKED, body, status=429), post(ASKED, good), post(other, good))
    )
    first, second = source.conversations()

    assert [(), ("api_error",), ()] == [turn.marks for turn in first.turns]
    assert "Slow down." == first.turns[1].answer.error.message
    assert "A title, please" == second.title


def test_recordings_of_other_apis():
    gemini = {"contents": [{"role": "user", "parts": [{"text": "Hi there"}]}]}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent?key=sk-secret"
    content = har_of(post(gemini, b"", url=url), post({"messages": "x"}, b"{}"), post(ASKED, b"{}", url="https://example.org/chat"))  # fmt: skip
    source = open_source(content)
    (one,) = source.conversations()

    assert "gemini-3-pro" == one.request.model
    assert ("gemini", "the recording does not have the body of this response") == (one.turns[1].answer.provider, one.turns[1].answer.error.message)  # fmt: skip
    assert any("2 other requests" in sentence for sentence in source.cannot_know)
    with pytest.raises(
        DecodeError, match="the HAR has no request to a model API; it has 0 other requests"
    ):
        open_source(har_of())


# ---- litellm ------------------------------------------------------------------------------------------


def test_a_log_of_litellm():
    source = open_source(lines(PAYLOAD, FAILED))
    good, bad = source.conversations()
    answer, failed = good.turns[1], bad.turns[1]

    assert ("p1", "Hi there", "big") == (good.id, good.title, good.request.model)
    assert "high" == good.request.reasoning.effort
    assert ("Hello.", "A greeting.", 0.5, 3.0) == (answer.message.text, answer.answer.thinking, answer.cost, answer.seconds)  # fmt: skip
    assert "big was asked for, glm-4.7 answered" in [note.detail for note in answer.answer.notes]
    error = failed.answer.error
    assert ("RateLimitError", "429", "Slow down.") == (error.type, error.code, error.message)


def test_spend_logs_without_content():
    """Nothing was kept of what was said: that is noted, and the counts are there."""
    one, other = open_source(json.dumps([SPENT, {**SPENT, "request_id": "x", "messages": ASKED["messages"], "response": CHAT}]).encode()).conversations()  # fmt: skip
    (turn,) = one.turns

    assert ["content_not_logged"] == [note.code for note in turn.answer.notes]
    assert (7, 9, 0.25, 2.5) == (turn.answer.usage.input_tokens, turn.answer.usage.output_tokens, turn.cost, turn.seconds)  # fmt: skip
    assert ["Hi there", "Hello."] == [turn.message.text for turn in other.turns]
    assert "sk-hash" not in repr([one, other])


def test_litellm_keeps_claudes_blocks():
    message = {"content": "Hello.", "reasoning_content": "A greeting.", "thinking_blocks": [{"type": "thinking", "thinking": "A greeting.", "signature": "c2VhbA=="}]}  # fmt: skip
    body = {"id": "x", "model": "claude", "choices": [{"message": message, "finish_reason": "stop"}]}  # fmt: skip
    record = {**PAYLOAD, "custom_llm_provider": "anthropic", "response": body}
    answer = open_source(json.dumps(record).encode()).conversation().turns[1].answer

    assert iv.decode(body).thinking == answer.thinking == "A greeting."
    assert iv.decode(CLAUDE).text == answer.text
