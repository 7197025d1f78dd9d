"""Claude Code's billing line, whose number differs in every request, and its cache marks, which move: neither costs reasoning, time, or the prompt cache."""

import itertools
import json

import pytest

from gateway.claude_code import BILLING, MARK, ClaudeCode, lines_of

MODELS = {
    "anthropic": "anthropic/claude-opus-5-5",
    "chat": "deepseek/deepseek-v4-pro",
    "openrouter": "openrouter/anthropic/claude-opus-5.5",
    "responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
}
QUESTION = "What is " + ", then ".join(f"the weather in Oslo{number}" for number in range(9)) + "?"
KEEPS = pytest.mark.parametrize("keeps", [True, False], ids=["kept", "dropped"])


@KEEPS
@pytest.mark.parametrize("marked", [("last",), ("two",), ("turn", "last"), ("first",), ()], ids="+".join)  # fmt: skip
@pytest.mark.parametrize("model", MODELS)
def test_ten_steps_lose_nothing_and_are_what_would_be_written(model, keeps, marked):
    """No reasoning is omitted, and each body is the one that a gateway writes which knows nothing of the conversation but its stored turns."""
    client = ClaudeCode(MODELS[model], keeps=keeps, marked=marked)
    client.ask(QUESTION)
    for number in range(10):
        called = client.step()
        assert 0 == client.report.omitted, client.report.reasoning
        assert number <= client.report.kept
        assert client.written_anew() == client.sent
        assert bool(called) == (number < 9)


@KEEPS
@pytest.mark.parametrize("model", MODELS)
def test_the_line_is_that_of_the_request_or_none(model, keeps):
    """Anthropic gets the client's line of this request; nobody else gets one."""
    client = ClaudeCode(MODELS[model], keeps=keeps)
    client.ask(QUESTION)
    for number in range(1, 5):
        client.step()
        line = BILLING.format(number, number * 7)
        assert (model == "anthropic") == (line.encode() in client.sent)
        assert (model == "anthropic") == (b"x-anthropic-billing-header" in client.sent)
        noted = {note.code for note in client.report.notes}
        assert (model == "anthropic") == ("system_line_dropped" not in noted)


@KEEPS
@pytest.mark.parametrize("model", MODELS)
def test_a_varying_line_costs_nothing(model, keeps):
    """From the second step on a request runs as many lines of ours as one without a billing line, and no more at the tenth step."""
    counts = {}
    for line in ("varies", "none"):
        for _ in range(2):  # the first conversation loads what it needs
            client = ClaudeCode(MODELS[model], keeps=keeps, line=line)
            client.ask(QUESTION)
            counts[line] = [lines_of(client) for _ in range(9)]
    for varying, without in zip(counts["varies"][1:], counts["none"][1:], strict=True):
        assert varying <= without * 1.1
    # What is left of the slope are digests of bytes: a few lines for each message.
    assert counts["varies"][8] <= counts["varies"][4] * 1.1


@pytest.mark.parametrize("model", MODELS)
def test_a_first_question_is_as_cheap_with_a_varying_line(model):
    """A new conversation in known settings is not read as a whole, and is sent with its own line."""
    client = ClaudeCode(MODELS[model], keeps=False, marked=())
    for number in range(4):
        client.history = []
        client.ask(f"What is {number} + 2?")
        client.step()
        assert client.written_anew() == client.sent
        assert (model == "anthropic") == (BILLING.format(number + 1, 7 * number + 7).encode() in client.sent)  # fmt: skip


@KEEPS
@pytest.mark.parametrize("model", ["anthropic", "gemini"])
def test_a_prompt_in_one_text_is_read_without_its_first_line_alone(model, keeps):
    """Programs join the blocks of the system prompt: only the line is left out, and another prompt is another request."""
    client = ClaudeCode(MODELS[model], keeps=keeps, joined=True)
    client.ask(QUESTION)
    for _ in range(4):
        client.step()
        assert 0 == client.report.omitted
        assert client.written_anew() == client.sent
        assert b"You are an agent." in client.sent
    body = json.loads(client.bodies[-1])
    body["system"] = body["system"].replace("You are an agent.", "You are a cook.")
    assert 200 == client.served.ask("POST", "/v1/messages", body).status
    assert b"You are a cook." in client.sent


def test_a_prompt_that_begins_with_the_line_or_does_not_is_written_as_it_came():
    """At Anthropic a request with the line and one without it are not each other's bytes."""
    client = ClaudeCode(MODELS["anthropic"], keeps=False, joined=True)
    client.ask("What is 1 + 2?")
    for line, number in itertools.product(("varies", "none"), range(2)):
        client.line, client.history = line, []
        client.ask(f"What is {number} + 2?")
        client.step()
        assert (line == "varies") == (b"x-anthropic-billing-header" in client.sent)


@pytest.mark.parametrize("model", ["openrouter", "converse", "anthropic"])
def test_a_message_that_lost_its_mark_is_written_as_if_it_never_had_one(model):
    """A mark makes a list of blocks of a text at some hosts: without it the same text is a text again, or the cached prompt would be another."""
    client = ClaudeCode(MODELS[model], keeps=False)
    client.ask(QUESTION)
    for _ in range(4):
        client.step()
    marked = client.sent
    client.marked = ()
    client.step()
    assert client.written_anew() == client.sent
    sent = [one for one in json.loads(client.sent)["messages"] if one["role"] != "system"]
    assert json.dumps(MARK)[1:-1] in json.dumps(json.loads(marked)["messages"]) or b"cachePoint" in marked  # fmt: skip
    assert "cache" not in json.dumps(sent)


def test_what_looks_like_a_mark_in_arguments_stays():
    """The arguments of a call may have a member of that name, which is none of ours to leave out."""
    client = ClaudeCode(MODELS["converse"], keeps=False)
    client.ask(QUESTION)
    call = {"type": "tool_use", "id": "toolu_0123456789abcdef", "name": "get_weather", "input": {"city": "Oslo", **MARK}}  # fmt: skip
    client.add({"role": "assistant", "content": [call]})
    client.add({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "Rain"}]}]})  # fmt: skip
    for _ in range(3):
        client.step()
        assert client.written_anew() == client.sent
        assert {"city": "Oslo", **MARK} == json.loads(client.sent)["messages"][1]["content"][0]["toolUse"]["input"]  # fmt: skip
