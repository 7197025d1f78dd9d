"""Histories written by litellm itself, and edited turns."""

import json

import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS, results, through_json
from innervoice.bridges import litellm
from innervoice.bridges.litellm.message_fields import messages_from_litellm
from innervoice.canon.parts import Media, Text, Thinking, ToolCall

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000}
CLAUDE = "anthropic/claude-sonnet-4-5"


def asked(line, model=CLAUDE, **options):
    """A first turn with calls, as it is stored."""
    response = line.ask(model, [QUESTION], tools=TOOLS, **options)
    return through_json(response.choices[0].message.model_dump())


def without_ours(message, **changes):
    """The turn as litellm stores it, without our key."""
    fields = {**(message["provider_specific_fields"] or {})}
    fields.pop("innervoice", None)
    return {**message, "provider_specific_fields": fields or None, **changes}


# ---- turns of litellm's own --------------------------------------------------------------------------


@pytest.mark.parametrize("behaviour", [None, "redact"])
def test_claude(line, behaviour):
    """Thinking blocks are sent back from `thinking_blocks` alone."""
    message = without_ours(asked(line, **THINKING, behaviour=behaviour))
    line.ask(CLAUDE, [QUESTION, message, *results(message)], tools=TOOLS, **THINKING)

    sent = line.body["messages"][1]["content"]
    assert sent[: len(message["thinking_blocks"])] == message["thinking_blocks"]
    assert [block["type"] for block in sent[-2:]] == ["tool_use", "tool_use"]


def test_claude_on_bedrock(line):
    """The same blocks in the form of Converse."""
    model = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    message = without_ours(asked(line, model, reasoning_effort="low", behaviour="redact"))
    assert [block["type"] for block in message["thinking_blocks"]] == [
        "redacted_thinking",
        "thinking",
    ]
    line.ask(model, [QUESTION, message, *results(message)], tools=TOOLS, reasoning_effort="low")

    sent = line.body["messages"][1]["content"]
    assert list(sent[0]["reasoningContent"]) == ["redactedContent"]
    assert sent[1]["reasoningContent"]["reasoningText"]["signature"]


@pytest.mark.parametrize("where", ["field", "id"])
def test_gemini(line, where):
    """A signature is sent back from the call's own field, or from the id where litellm puts it."""
    model = "gemini/gemini-3-pro"
    message = without_ours(asked(line, model))
    call = message["tool_calls"][0]
    signature = call["provider_specific_fields"]["thought_signature"]
    if where == "id":
        del call["provider_specific_fields"]
        call["id"] += f"__thought__{signature}"
    line.ask(model, [QUESTION, message, *results(message)], tools=TOOLS)

    sent = line.body["contents"][1]["parts"]
    assert signature == sent[0]["thoughtSignature"]
    assert "__thought__" not in json.dumps(line.body)


def test_gemini_text(line):
    """The signature of an answer without calls stands in the message's own fields."""
    turn = {
        "role": "assistant",
        "content": "It is 345.",
        "provider_specific_fields": {"thought_signatures": ["c2ln"]},
    }
    (_, read) = messages_from_litellm([SUM, turn], "gemini")

    assert {"text": "It is 345.", "thoughtSignature": "c2ln"} == read.parts[0].origin.block


def test_responses(line):
    """Reasoning items go back from `reasoning_items`, encrypted content and all."""
    model = "openai/gpt-5.6"
    message = without_ours(asked(line, model, reasoning_effort="low"))
    line.ask(model, [QUESTION, message, *results(message)], tools=TOOLS, reasoning_effort="low")

    items = [item for item in line.body["input"] if item.get("type") == "reasoning"]
    expected = [item["encrypted_content"] for item in message["reasoning_items"]]
    assert expected == [item["encrypted_content"] for item in items]


def test_deepseek(line):
    """A plain field goes back as it is."""
    message = without_ours(asked(line, "deepseek/deepseek-v4"))
    line.ask("deepseek/deepseek-v4", [QUESTION, message, *results(message)], tools=TOOLS)

    assert message["reasoning_content"] == line.body["messages"][1]["reasoning_content"]


def test_details_of_openrouter(line):
    """litellm keeps OpenRouter's details among the provider's own fields."""
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "index": 0}]
    turn = {
        "role": "assistant",
        "content": "345",
        "provider_specific_fields": {"reasoning_details": details},
    }
    (read,) = messages_from_litellm([turn], "openai-chat")

    assert details[0] == read.parts[0].origin.block


def test_unsigned_blocks_are_not_sent_to_claude(line):
    """Gemini's reasoning has litellm's shape of a block, and no signature."""
    turn = {
        "role": "assistant",
        "content": "Sunny.",
        "reasoning_content": "Hm.",
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}],
    }
    line.ask(CLAUDE, [QUESTION, turn, SUM], **THINKING)

    assert [{"type": "text", "text": "Sunny."}] == line.body["messages"][1]["content"]


# ---- turns that were edited --------------------------------------------------------------------------


def answered(line, **options):
    message = asked(line, **THINKING)
    response = line.ask(
        CLAUDE, [QUESTION, message, *results(message)], tools=TOOLS, **THINKING, **options
    )
    return through_json(response.choices[0].message.model_dump())


def test_an_edited_answer_is_sent_as_it_is_now(line):
    """Text may be edited; the reasoning stays signed."""
    turn = answered(line)
    turn["content"] = "Rain, I fear."
    line.ask(CLAUDE, [QUESTION, turn, SUM], **THINKING)

    sent = line.body["messages"][1]["content"]
    assert ["thinking", "text"] == [block["type"] for block in sent]
    assert "Rain, I fear." == sent[1]["text"]
    assert turn["thinking_blocks"] == [sent[0]]


@pytest.mark.parametrize("edit", ["changed", "one removed", "all removed"])
def test_edited_reasoning_loses_its_seal(line, edit):
    """Claude refuses blocks if one was edited or is missing, so none of them is sent."""
    turn = answered(line, behaviour="pieces=2")
    blocks = turn["thinking_blocks"]
    if edit == "changed":
        blocks[0]["thinking"] = "Something else."
    else:
        turn["thinking_blocks"] = blocks[1:] if edit == "one removed" else []
    response = line.ask(CLAUDE, [QUESTION, turn, SUM], **THINKING)

    assert 2 == len(blocks)
    assert "345" in response.choices[0].message.content
    assert [{"type": "text", "text": turn["content"]}] == line.body["messages"][1]["content"]


def test_what_is_said_of_sealed_reasoning_may_change(line):
    """`reasoning_content` only repeats the blocks, so an edit to it has no effect."""
    turn = answered(line)
    turn["reasoning_content"] = "In short: sun."
    line.ask(CLAUDE, [QUESTION, turn, SUM], **THINKING)

    assert turn["thinking_blocks"][0] == line.body["messages"][1]["content"][0]


def test_an_edited_field(line):
    """A plain field has no signature, so its edited text is sent."""
    turn = asked(line, "deepseek/deepseek-v4")
    turn["reasoning_content"] = "In short: two calls."
    line.ask("deepseek/deepseek-v4", [QUESTION, turn, *results(turn)], tools=TOOLS)

    assert "In short: two calls." == line.body["messages"][1]["reasoning_content"]


def test_an_edited_call(line):
    """An edited call is sent as edited, the other call unchanged."""
    turn = asked(line, "openai/gpt-5.6", reasoning_effort="low")
    turn["tool_calls"][0]["function"]["arguments"] = '{"city":"Oslo"}'
    (_, read) = messages_from_litellm([QUESTION, turn], "openai-responses")
    calls = [part for part in read.parts if isinstance(part, ToolCall)]

    assert ['{"city":"Oslo"}', '{"city":"London"}'] == [call.arguments for call in calls]
    assert ["openai-chat", "openai-responses"] == [call.origin.dialect for call in calls]


def test_missing_members_were_not_edited(line):
    """A message with only some members keeps its seals, if our key is among them."""
    message = asked(line, **THINKING)
    kept = {name: message[name] for name in ("role", "content", "provider_specific_fields")}
    (_, read) = messages_from_litellm([QUESTION, kept], "anthropic")

    assert ["thinking", "tool_call", "tool_call"] == [part.type for part in read.parts]


@pytest.mark.parametrize("kept", [{"type": "text", "text": "x"}, {"type": "message"}, 7, "x", []])
def test_a_spoiled_key_falls_back(kept):
    """A value under our key that is not a turn is ignored."""
    turn = {"role": "assistant", "content": "Hi.", "provider_specific_fields": {"innervoice": kept}}
    (read,) = messages_from_litellm([turn], "anthropic")

    assert "Hi." == read.text


# ---- what users say ----------------------------------------------------------------------------------

PIXEL = "iVBORw0KGgo="


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            Media("image/png", PIXEL),
        ),
        (
            {"type": "image_url", "image_url": "https://example.org/a.png"},
            Media(None, url="https://example.org/a.png"),
        ),
        (
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PIXEL}"}},
            Media("application/pdf", PIXEL),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "mp3"}},
            Media("audio/mp3", PIXEL),
        ),
        (
            {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
            Text("Hi"),
        ),
    ],
)
def test_blocks_of_content(block, expected):
    """OpenAI's blocks become parts that every dialect can write."""
    (read,) = messages_from_litellm([{"role": "user", "content": [block]}], "gemini")

    assert (expected,) == read.parts


def test_blocks_stay_as_they_are_in_chat():
    """A host of OpenAI's dialect gets its own blocks."""
    block = {
        "type": "image_url",
        "image_url": {"url": "https://example.org/a.png", "detail": "low"},
    }
    (read,) = messages_from_litellm([{"role": "user", "content": [block]}], "openai-chat")

    assert [block] == [part.origin.block for part in read.parts]


def test_marks_for_the_cache(line):
    """Claude gets `cache_control` in the system prompt and the messages; OpenAI would reject it and does not."""
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?", **mark}]},
    ]
    line.ask("anthropic/claude-haiku-4-5", messages)
    assert [{"type": "text", "text": "Be brief.", **mark}] == line.body["system"]
    assert mark["cache_control"] == line.body["messages"][0]["content"][0]["cache_control"]

    line.ask("openai/gpt-4o", messages)
    assert "cache_control" not in json.dumps(line.body)


@pytest.mark.parametrize("name", ["toolu_1", "not.for.Claude"])
def test_marks_of_messages(line, name):
    """A mark beside the content is moved to the block, as litellm does; agents mark the last tool result this way."""
    mark = {"cache_control": {"type": "ephemeral"}}
    call = {"id": name, "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    messages = [
        {**QUESTION, **mark},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": name,
            "content": [{"type": "text", "text": "fog"}],
            **mark,
        },
    ]
    line.ask("anthropic/claude-haiku-4-5", messages, tools=TOOLS)
    question, turn, result = (message["content"] for message in line.body["messages"])
    assert [{"type": "text", "text": QUESTION["content"], **mark}] == question
    assert (mark["cache_control"], turn[0]["id"]) == (result[0]["cache_control"], result[0]["tool_use_id"])  # fmt: skip

    line.ask("openai/gpt-4o", messages, tools=TOOLS)
    assert "cache_control" not in json.dumps(line.body)


def test_objects_are_messages(line):
    """The message of an answer is appended as it is, and so is its dict."""
    message = line.ask(CLAUDE, [QUESTION], tools=TOOLS, **THINKING).choices[0].message
    history = [QUESTION, message, *results(message)]
    assert messages_from_litellm(history, "anthropic") == messages_from_litellm(
        through_json([QUESTION, message.model_dump(), *results(message)]), "anthropic"
    )
    assert dict(message).keys() == message.model_dump().keys()


@pytest.mark.parametrize("messages", ["Hi", {"role": "user"}, ["Hi"], [3]])
def test_what_is_no_list_of_messages(line, messages):
    """Invalid messages raise litellm's BadRequestError."""
    with pytest.raises(litellm.BadRequestError):
        line.ask("openai/gpt-4o", messages)


def test_thinking_parts_of_a_shown_turn():
    """Redacted blocks are hidden parts, and keep their place."""
    blocks = [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "thinking", "thinking": "b", "signature": "t"},
    ]
    (read,) = messages_from_litellm(
        [{"role": "assistant", "content": "c", "thinking_blocks": blocks}], "anthropic"
    )
    parts = [part for part in read.parts if isinstance(part, Thinking)]

    assert blocks == [part.origin.block for part in parts]
    assert ["full", "hidden", "full"] == [part.form for part in parts]
