"""What a request is compared by: neither a billing line nor a cache mark is part of it, in any digest, prefix or seal."""

import json

import pytest

import innervoice as iv
from innervoice.conversation.body import SplitBody
from innervoice.conversation.digest import ConversationDigest, conversation_start
from innervoice.emulator.core import Emulator
from innervoice.emulator.prompt_cache import HEADER

LINES = [f"x-anthropic-billing-header: cc_version=2.1.328.{one}; cc_entrypoint=cli; cch={one}{one};" for one in ("1df", "2ef")]  # fmt: skip
MARK = {"cache_control": {"type": "ephemeral"}}
PROMPT = "You are an agent."
HOME = "anthropic/claude-opus-5-5"
ASKED = {"model": "claude-opus-5-5", "max_tokens": 4000, "thinking": {"type": "adaptive"}}
TOOL = {"name": "read", "input_schema": {"type": "object"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def blocks(line, **mark):
    return [{"type": "text", "text": line}, {"type": "text", "text": PROMPT, **mark}]


def written(form, line, **mark):
    """A body whose system prompt begins with a line, in one of the forms in which programs send it."""
    question = {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]}
    match form:
        case "blocks":
            return "anthropic", {**ASKED, "system": blocks(line, **mark), "messages": [question], "tools": [TOOL, {**SEARCH, **mark}]}  # fmt: skip
        case "one text":
            return "anthropic", {**ASKED, "system": f"{line}\n{PROMPT}", "messages": [question]}
        case "a message":
            return "openai-chat", {"model": "m", "messages": [{"role": "system", "content": f"{line}\n{PROMPT}"}, question]}  # fmt: skip
        case "a message of blocks":
            return "openai-chat", {"model": "m", "messages": [{"role": "system", "content": blocks(line, **mark)}, question]}  # fmt: skip
        case "instructions":
            return "openai-responses", {"model": "m", "instructions": f"{line}\n{PROMPT}", "input": [{"role": "user", "content": "hi"}]}  # fmt: skip
        case _:
            return "gemini", {"systemInstruction": {"parts": [{"text": line}, {"text": PROMPT}]}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}  # fmt: skip


FORMS = ("blocks", "one text", "a message", "a message of blocks", "instructions", "parts")


def split(form, line, prompt=PROMPT, **mark):
    dialect, body = written(form, line, **mark)
    return SplitBody(json.dumps(body).replace(PROMPT, prompt).encode(), dialect, "m")


@pytest.mark.parametrize("form", FORMS)
def test_digests_of_bodies(form):
    """Two requests with other lines are the same; two with other prompts are not."""
    one, other = split(form, LINES[0]), split(form, LINES[1], **MARK)

    def digests(body):
        return body.settings, body.beginnings, body.opening

    assert digests(one) == digests(other)
    assert digests(one) != digests(split(form, LINES[0], prompt="You are a cook."))
    assert LINES == [one.billing_line, other.billing_line]
    assert split(form, "Be brief.").billing_line is None
    marks = [split(form, line, **MARK).marked_settings for line in LINES]
    assert marks[0] == marks[1]


@pytest.mark.parametrize("form", FORMS)
def test_digests_of_conversations_and_prefixes(form):
    """The keys of a turn, the name of a conversation, and what reasoning is bound to are the same under another line."""
    requests = []
    for line, mark in zip(LINES, ({}, MARK), strict=True):
        dialect, body = written(form, line, **mark)
        requests.append(iv.decode_request({**body, "model": "m"}, dialect))
    one, other = requests
    assert conversation_start(one, "me", b"0" * 32) == conversation_start(other, "me", b"0" * 32)
    keys = []
    for request in requests:
        digest = ConversationDigest("me", b"0" * 32, request.system)
        for message in request.messages:
            digest.add(message)
        keys.append(digest.keys(iv.assistant("ho")))
    assert keys[0] == keys[1]
    prefixes = [iv.encode(request.replace(model=HOME, dialect=None, max_tokens=4000)).prefix for request in requests]  # fmt: skip
    assert prefixes[0] == prefixes[1]
    changed = one.replace(model=HOME, dialect=None, max_tokens=4000, system="You are a cook.")
    assert prefixes[0] != iv.encode(changed).prefix


def test_a_text_of_the_user_that_begins_like_the_line_is_a_text():
    """Only the system prompt has such a line: what a user pastes is what was asked."""
    bodies = [SplitBody(json.dumps({"model": "m", "messages": [{"role": "user", "content": line}]}).encode(), "openai-chat") for line in LINES]  # fmt: skip

    assert bodies[0].beginnings != bodies[1].beginnings
    assert [None, None] == [body.billing_line for body in bodies]


def _answer(emulator, line, messages):
    body = {**ASKED, "system": blocks(line), "messages": messages}
    reply = emulator.reply("POST", "/anthropic/v1/messages", {"x-api-key": "k"}, json.dumps(body).encode())  # fmt: skip
    return reply.status, json.loads(reply.body), reply.headers


def test_a_changed_line_kills_no_block():
    """Neither the library nor the emulator takes thinking for bound to another line; another prompt is another prompt."""
    emulator = Emulator()
    question = {"role": "user", "content": "What is the weather in Lisbon?"}
    status, first, _ = _answer(emulator, LINES[0], [question])
    history = [question, {"role": "assistant", "content": first["content"]}, {"role": "user", "content": "And?"}]  # fmt: skip
    again, _, headers = _answer(emulator, LINES[1], history)
    assert (200, 200) == (status, again)
    assert "lost=0" in headers[HEADER]

    def planned(line, prompt=PROMPT):
        asked = iv.Request(HOME, (iv.system([iv.Text(line), iv.Text(prompt)]), iv.user("hi")), max_tokens=4000)  # fmt: skip
        origin = iv.Origin(provider="anthropic", model="claude-opus-5-5", dialect="anthropic", block=first["content"][0], seals=("signature",), prefix=iv.encode(asked).prefix)  # fmt: skip
        thought = iv.Thinking("Hm.", origin=origin)
        return [*asked.messages, iv.assistant([thought, iv.Text("ho")]), iv.user("So?")]

    for line, prompt, codes in ((LINES[1], PROMPT, set()), (LINES[0], "You are a cook.", {"prefix_changed"})):  # fmt: skip
        messages = planned(LINES[0])
        messages[0] = iv.system([iv.Text(line), iv.Text(prompt)])
        codes_planned = {decision.note for decision in iv.plan(messages, HOME).decisions if decision.note}  # fmt: skip
        assert codes == codes_planned
        assert codes == {finding.code for finding in iv.lint(messages, target=HOME)} & {"prefix_changed"}  # fmt: skip


def test_the_word_in_a_text_is_no_mark():
    """An agent reads sources that speak of cache marks: that moves nothing."""
    said = {
        "role": "user",
        "content": 'Set {"cache_control": {"type": "ephemeral"}} in cache_control.',
    }
    body = SplitBody(json.dumps({"model": "m", "messages": [said]}).encode(), "anthropic")

    assert () == body.marked_items
    assert json.dumps(said).encode() == body.opening
