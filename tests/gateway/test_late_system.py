"""System messages inside a conversation, as Claude Code sends them in mid-session: they stay where they are, and change nothing of what was sent before."""

import itertools
import json

import pytest

import innervoice as iv
from gateway.claude_code import ClaudeCode
from gateway.harness import BEHIND, Served, body_of
from innervoice.planning.encode import decode_request
from shared import SHARED, needs_shared

MODELS = {**BEHIND, "openai": "openai/gpt-5.6", "openrouter": "openrouter/anthropic/claude-opus-5.5", "groq": "groq/qwen3-32b", "vllm": "sglang/qwen3-32b"}  # fmt: skip
APART = ("anthropic", "gemini", "gemini-interactions", "bedrock-converse")
"""APIs whose system prompt has a member of its own."""
QUESTION = "What is " + ", then ".join(f"the weather in Oslo{number}" for number in range(9)) + "?"
LATE = "The user changed the file {}."
TEXT = "<system-message>\n{}\n</system-message>"
SYSTEM_MEMBERS = ("system", "systemInstruction", "system_instruction", "instructions")


def items_of(body):
    return next(body[name] for name in ("messages", "contents", "input") if name in body)


def head_of(body):
    return {name: body[name] for name in (*SYSTEM_MEMBERS, "tools", "toolConfig") if name in body}


def words(item):
    return json.dumps(item, ensure_ascii=False)


@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "dropped"])
@pytest.mark.parametrize("target", MODELS)
def test_ten_growing_steps_change_nothing_that_was_sent(target, keeps):
    """Behind every second step the program says something as the system: it is sent once, at its place, and all that was sent before stays."""
    client = ClaudeCode(MODELS[target], keeps=keeps, marked=(), line="none")
    client.ask(QUESTION)
    late = []
    for number in range(10):
        client.step()
        if number % 2:
            late.append(LATE.format(number))
            client.add({"role": "system", "content": late[-1]})
    bodies = [json.loads(body) for body in client.served.upstream.bodies]
    assert 10 == len(bodies)
    for before, after in itertools.pairwise(bodies):
        assert head_of(before) == head_of(after)
        one, other = items_of(before), items_of(after)
        *settled, last = one
        assert settled == other[: len(settled)]
        # What the user's turn had is the beginning of what it has now.
        assert words(last)[:-4] in words(other[len(settled)])
    everything = words(items_of(bodies[-1]))
    assert [1] * 4 == [everything.count(text) for text in late[:4]]
    assert [text for text in late[:4] if text in words(head_of(bodies[-1]))] == []


def body(target, *items):
    """A body of Messages with a system message in each place where one can stand, for a target."""
    request = {"model": "m", "max_tokens": 4000, "system": "PROMPT", "messages": list(items), "tools": [{"name": "read", "input_schema": {"type": "object"}}]}  # fmt: skip
    read = decode_request(request, "anthropic")
    model = MODELS[target].replace("interactions/", "gemini/")
    dialect = "gemini-interactions" if target == "gemini-interactions" else None
    return iv.encode(read.replace(model=model, dialect=dialect))


CALL = {"type": "tool_use", "id": "toolu_01abcdefghijklmnop", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": CALL["id"], "content": "RESULT"}


@pytest.mark.parametrize("target", MODELS)
def test_behind_the_results_of_an_open_call(target):
    """A message between a call and its result stands behind the result, which must follow the call."""
    sent = body(target, {"role": "user", "content": "ASKED"}, {"role": "assistant", "content": [CALL]}, {"role": "system", "content": "LATE"}, {"role": "user", "content": [RESULT]})  # fmt: skip
    everything = words(items_of(sent.body))

    assert everything.index("ASKED") < everything.index("read") < everything.index("RESULT")
    # Responses take results anywhere, and Claude judges messages of its own API itself.
    assert sent.dialect in ("anthropic", "openai-responses") or everything.index(
        "RESULT"
    ) < everything.index("LATE")
    assert "LATE" not in words(head_of(sent.body))


@pytest.mark.parametrize("target", MODELS)
def test_it_is_told_from_what_the_user_said(target):
    """Where an API has no such messages, the text is marked, with a note; the system prompt is only what stands before everything."""
    sent = body(target, {"role": "user", "content": "ASKED"}, {"role": "system", "content": [{"type": "text", "text": "LATE"}, {"type": "text", "text": "MORE"}]}, {"role": "assistant", "content": "SAID"}, {"role": "user", "content": "AGAIN"})  # fmt: skip
    everything = words(items_of(sent.body))
    is_marked = target in APART and target != "anthropic"

    assert is_marked == (words(TEXT.format("LATE\n\nMORE"))[1:-1] in everything)
    assert is_marked == ("system_in_turn" in {note.code for note in sent.notes})
    assert "PROMPT" in words(sent.body)
    assert everything.index("ASKED") < everything.index("LATE") < everything.index("MORE") < everything.index("SAID")  # fmt: skip


@pytest.mark.parametrize("target", APART)
def test_of_other_apis_too(target):
    """A system message in the history of Chat goes to every API without such messages as text of the user's turn, to Claude too; those at the beginning are its prompt."""
    history = [iv.system("FIRST"), iv.system("SECOND"), iv.user("ASKED"), iv.system("LATE"), iv.assistant("SAID"), iv.user("AGAIN")]  # fmt: skip
    path, sent = body_of("openai-chat", MODELS[target], history)
    served = Served()
    assert 200 == served.ask("POST", path, sent).status
    sent = json.loads(served.upstream.bodies[-1])

    assert words(TEXT.format("LATE"))[1:-1] in words(items_of(sent))
    assert "FIRST" in words(head_of(sent))
    assert "SECOND" in words(head_of(sent))
    assert "system_in_turn" in {note.code for note in served.reports[-1].notes}


def test_claude_keeps_its_own():
    """Messages of Claude's own API stay what they are for models of Anthropic."""
    message = {"role": "system", "content": [{"type": "text", "text": "LATE"}]}
    sent = body("anthropic", {"role": "user", "content": "ASKED"}, message)

    assert message == items_of(sent.body)[1]
    assert () == sent.notes


def test_reasoning_stays_valid_when_the_system_speaks():
    """A message of the system behind everything changes nothing that bound reasoning depends on."""
    history = [iv.user("ASKED"), iv.assistant("SAID"), iv.user("AGAIN")]
    for target in APART:
        model = MODELS[target].replace("interactions/", "gemini/")
        before = iv.plan(history, model).prefix
        head, tools, count, _ = iv.plan([*history, iv.system("LATE")], model).prefix.split(".")
        assert [head, tools] == before.split(".")[:2]
        assert int(before.split(".")[2]) + 1 == int(count)


@needs_shared
@pytest.mark.parametrize("model", [MODELS["gemini"], MODELS["bedrock-converse"], MODELS["cohere"], MODELS["mistral"], MODELS["ollama"], MODELS["openai-chat"]])  # fmt: skip
def test_requests_of_claude_code_grow_behind_what_was_sent(model):
    """As Claude Code really sends them: its message of the system turns from a list of blocks into a text once its cache mark moves on."""
    lines = (SHARED / "agents" / "claude.gemini.jsonl").read_text("utf-8").splitlines()
    requests = [iv.decode_request(json.loads(line)["body"], "anthropic") for line in lines]
    bodies = [iv.encode(one.replace(model=model, dialect=None)).body for one in requests]
    assert 3 == len(bodies)
    for before, after in itertools.pairwise(map(_unmarked, bodies)):
        assert head_of(before) == head_of(after)
        one, other = items_of(before), items_of(after)
        assert one == other[: len(one)]


def _unmarked(body):
    """A body without Converse's cache marks."""
    if isinstance(body, list):
        return [_unmarked(item) for item in body if not (isinstance(item, dict) and item.keys() == {"cachePoint"})]  # fmt: skip
    return {name: _unmarked(item) for name, item in body.items()} if isinstance(body, dict) else body  # fmt: skip
