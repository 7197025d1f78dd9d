"""What stands for content that another provider stores is refused, never dropped: an answer without it would be wrong."""

import pytest

from gateway.harness import BEHIND, Served

CLAUDE, GPT, GEMINI = BEHIND["anthropic"], BEHIND["openai-responses"], BEHIND["gemini"]
TEXT = "What does it say?"


def messages(model, *blocks, **members):
    content = [*blocks, {"type": "text", "text": TEXT}]
    turns = [{"role": "user", "content": content}]
    return "/v1/messages", {"model": model, "max_tokens": 2000, "messages": turns, **members}


def responses(model, *blocks, **members):
    content = [*blocks, {"type": "input_text", "text": TEXT}]
    return "/v1/responses", {
        "model": model,
        "input": [{"role": "user", "content": content}],
        **members,
    }


def contents(model, *parts, **members):
    path = f"/v1beta/models/{model.replace('/', '%2F')}:generateContent"
    turns = [{"role": "user", "parts": [*parts, {"text": TEXT}]}]
    return path, {"contents": turns, **members}


FILE = {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
# What is refused -> a request with it, its home, and the member that the error names.
STATES = {
    "a container": (messages, (), {"container": "container_1"}, CLAUDE, "container"),
    "a compaction": (messages, (), {"compaction": {"type": "summary"}}, CLAUDE, "compaction"),
    "a file of Anthropic": (messages, (FILE,), {}, CLAUDE, "file_id"),
    "a prompt": (responses, (), {"prompt": {"id": "pmpt_1"}}, GPT, "prompt"),
    "a file of OpenAI": (
        responses,
        ({"type": "input_file", "file_id": "file-1"},),
        {},
        GPT,
        "file_id",
    ),
    "a cache": (contents, (), {"cachedContent": "cachedContents/1"}, GEMINI, "cachedContent"),
    "a cache in snake case": (
        contents,
        (),
        {"cached_content": "cachedContents/1"},
        GEMINI,
        "cachedContent",
    ),
}


@pytest.mark.parametrize("behind", [CLAUDE, GPT, GEMINI])
@pytest.mark.parametrize("state", STATES)
def test_state_of_a_provider_is_sent_home_or_refused(state, behind):
    request, blocks, members, home, name = STATES[state]
    reply = Served().ask("POST", *request(behind, *blocks, **members))
    if behind == home:
        assert reply.status == 200, reply.body
    else:
        assert reply.status == 400, reply.body
        error = reply.json["error"]
        assert name in error["message"]
        assert "send" in error["message"] or "ask" in error["message"], "it says what to do"
