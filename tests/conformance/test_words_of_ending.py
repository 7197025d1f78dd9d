"""How an answer ended, in the words of its provider, and in words that nobody knows yet."""

import json

import pytest

import innervoice as iv

KNOWN = {
    "MISSING_THOUGHT_SIGNATURE": "error",
    "MODEL_ARMOR": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "ESCALATION": None,
}
DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini", "gemini-interactions", "bedrock-converse", "mistral", "cohere", "ollama")  # fmt: skip


def gemini(word, parts):
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": word, "index": 0}]}  # fmt: skip


@pytest.mark.parametrize("word", KNOWN)
def test_words_of_gemini(word):
    response = iv.decode(gemini(word, [{"text": "Yes."}]), "gemini", "gemini-3.5-flash")
    assert (KNOWN[word], word) == (response.finish_reason, response.wire_finish_reason)


@pytest.mark.parametrize(
    ("parts", "status"),
    [([{"text": "Yes."}], "answered"), ([], "empty"), ([{"functionCall": {"name": "a", "args": {}}}], "tool_calls")],
)  # fmt: skip
def test_an_unknown_word_leaves_the_status_to_the_content(parts, status):
    response = iv.decode(gemini("WHATEVER_NEW", parts), "gemini", "gemini-3.5-flash")
    assert (None, status) == (response.finish_reason, response.status)
    assert ["WHATEVER_NEW"] == [note.detail for note in response.notes if note.code == "unknown_finish_reason"]  # fmt: skip


@pytest.mark.parametrize("reason", ["max_prompt_tokens", "tool_budget"])
def test_an_unknown_reason_of_an_incomplete_response_is_no_length(reason):
    body = {"id": "resp_1", "object": "response", "status": "incomplete", "incomplete_details": {"reason": reason}, "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "incomplete", "content": [{"type": "output_text", "text": "Yes", "annotations": []}]}]}  # fmt: skip
    response = iv.decode(body, "openai", "gpt-5.6")
    assert (None, "answered", reason) == (response.finish_reason, response.status, response.wire_finish_reason)  # fmt: skip
    assert "unknown_finish_reason" in {note.code for note in response.notes}
    again = iv.encode_response(response, "openai-responses")
    assert {"reason": reason} == again["incomplete_details"]


@pytest.mark.parametrize("calls", [False, True], ids=["text", "calls"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_word_is_written_as_the_normal_ending(dialect, calls):
    """Nobody who reads it takes the answer for cut off, filtered or failed; hosts have words of their own for all of it."""
    parts = [{"text": "Yes."}, *([{"functionCall": {"name": "get_weather", "args": {}}}] if calls else [])]  # fmt: skip
    response = iv.decode(gemini("WHATEVER_NEW", parts), "gemini", "gemini-3.5-flash")
    body = iv.encode_response(response, dialect, model="m")
    streamed = b"".join(iv.encode_stream([iv.Finish(response)], dialect=dialect, model="m"))
    for read in (iv.decode(body, dialect=dialect), iv.decode(streamed, dialect=dialect)):
        known = None if dialect == "gemini" else "tool_calls" if calls else "stop"
        assert (known, "tool_calls" if calls else "answered") == (read.finish_reason, read.status)
    assert ("WHATEVER_NEW" in json.dumps(body)) == (dialect == "gemini"), "its own word, and no other's"  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_so_is_one_that_came_from_nowhere(dialect):
    response = iv.Response(parts=(iv.Text("Yes."),), ended=True, wire_finish_reason="whatever")
    read = iv.decode(iv.encode_response(response, dialect, model="m"), dialect=dialect)
    assert ("stop", "answered") == (read.finish_reason, read.status)
