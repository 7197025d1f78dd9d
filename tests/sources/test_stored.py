"""Histories that others keep: LangChain messages in every form, and lists of objects."""

import json
from types import SimpleNamespace

import pytest

import innervoice as iv
from innervoice.sources.stored import history_from
from sources.langchain_messages import (
    CLAUDE,
    FORMS,
    TEXT,
    THINKING,
    as_dict,
    by,
    call,
    conversation,
    use,
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("in_body", [False, True])
def test_langchain_is_read(form, in_body):
    items = conversation(FORMS[form])
    history = history_from(json.dumps({"messages": items, "step": 3} if in_body else items))

    assert "langchain" == history.kind
    assert in_body == (history.body is not None)
    assert ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "user"] == [
        message.role for message in history.messages
    ]  # fmt: skip
    turn = history.messages[2]
    assert ("Hm.", "I look.", ["toolu_1"]) == (
        turn.thinking,
        turn.text,
        [made.id for made in turn.tool_calls],
    )
    assert ("anthropic", "claude-opus-4-6") == (turn.parts[0].origin.provider, turn.parts[0].origin.model)  # fmt: skip
    assert ("So it rains.", "Rain.") == (history.messages[4].thinking, history.messages[4].text)
    assert "toolu_1" == history.messages[3].parts[0].call_id


class Object:
    """Stands for a LangChain message."""

    def __init__(self, kind, content, **members):
        self.type, self.content = kind, content
        self.additional_kwargs, self.response_metadata = {}, {}
        self.__dict__.update(members)


def test_a_list_of_objects():
    """What people hold in their hands goes to lint, plan, repair and encode."""
    history = history_from(
        [
            Object("human", "Weather?"),
            Object("ai", [THINKING, use("toolu_1")], tool_calls=[call("toolu_1")]),
            Object("tool", "rain", tool_call_id="toolu_1"),
        ]
    )
    assert "langchain" == history.kind
    assert [] == iv.lint(history.messages, CLAUDE)
    body = iv.encode(iv.Request(CLAUDE, history.messages, max_tokens=9)).body
    assert [THINKING, use("toolu_1")] == body["messages"][1]["content"]

    chat = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."})  # fmt: skip
    mixed = history_from([{"role": "user", "content": "Hi?"}, chat])
    assert ("openai-chat", "Hm.") == (mixed.kind, mixed.messages[1].thinking)
    ours = [iv.user("Hi?"), iv.decode(Object("ai", "Hi."))]
    assert ["user", "assistant"] == [message.role for message in history_from(ours).messages]


def test_openai_items_in_langchain():
    """A reasoning item is reasoning, as a block, in the standard form, and beside the content."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gAAA"}  # fmt: skip
    standard = {"type": "reasoning", "id": "rs_1", "reasoning": "Hm.", "extras": {"encrypted_content": "gAAA"}}  # fmt: skip
    text = {"type": "text", "text": "Hi.", "annotations": []}
    made = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}", "id": "fc_1"}  # fmt: skip
    members = {"response_metadata": by("gpt-5.6", "openai"), "tool_calls": [call("call_1")]}
    for message in (
        Object("ai", [item, text, made], **members),
        Object("ai", [standard, text], **members),
        Object("ai", "Hi.", **members, additional_kwargs={"reasoning": item}),
    ):
        decoded = iv.decode(message)
        assert ("Hm.", "Hi.", ["call_1"]) == (
            decoded.thinking,
            decoded.text,
            [made.id for made in decoded.tool_calls],
        )
        assert "gAAA" == decoded.parts[0].origin.block["encrypted_content"]
        asked = [Object("human", "x"), message, Object("tool", "y", tool_call_id="call_1")]
        history = history_from(asked)
        assert [] == iv.lint(history.messages, "openai/gpt-5.6")
        assert "thinking_omitted" in {item.code for item in iv.lint(history.messages, CLAUDE)}


def test_google_and_bedrock_in_langchain():
    """Their blocks are at home where they came from, though LangChain names them anew."""
    google = Object(
        "ai",
        [{"type": "thinking", "thinking": "Hm."}, TEXT],
        tool_calls=[call("c1")],
        additional_kwargs={"__gemini_function_call_thought_signatures__": {"c1": "sig"}},
        response_metadata=by("gemini-3-flash-preview", "google_genai"),
    )
    bedrock = Object(
        "ai",
        [{"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "sig"}}],
        tool_calls=[call("c1")],
        response_metadata=by("us.anthropic.claude-sonnet-4-5-v1:0", "bedrock_converse"),
    )
    homes = {
        "gemini/gemini-3-flash-preview": google,
        "bedrock/us.anthropic.claude-sonnet-4-5-v1:0": bedrock,
    }
    for home, message in homes.items():
        history = history_from([Object("human", "x"), message, Object("tool", "y", tool_call_id="c1")])  # fmt: skip
        assert "Hm." == history.messages[1].thinking
        for target in (*homes, CLAUDE):
            codes = {problem.code for problem in iv.lint(history.messages, target)}
            assert (target != home) == bool(codes & {"thinking_omitted", "signature_filled"})


def test_older_and_odd_langchain():
    old = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = history_from(
        [
            as_dict("human", content="x"),
            as_dict("ai", content="", additional_kwargs={"tool_calls": [old]}),
            as_dict("tool", content=["y", {"type": "text", "text": "z"}], tool_call_id="c"),
            {"type": "AIMessageChunk", "data": {"content": "So.", "tool_calls": []}},
            as_dict("chat", content="ok", role="assistant"),
            as_dict("function", content="old", name="f"),
            as_dict("ai", content="", invalid_tool_calls=[{"id": "d", "name": "f", "args": "{"}]),
        ]
    )
    roles = ["user", "assistant", "tool", "assistant", "assistant", "user", "assistant"]
    assert roles == [message.role for message in history.messages]
    assert ["c", "d"] == [made.id for message in history.messages for made in message.tool_calls]
    assert "So." == history.messages[3].text


def test_whole_answers_of_claude_in_a_list():
    """People append what they got; that its type is "message" makes it no item of OpenAI's."""
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "content": [THINKING, TEXT]}
    history = history_from([{"role": "user", "content": "x"}, answer])
    assert ("anthropic", "Hm.") == (history.kind, history.messages[1].thinking)


@pytest.mark.parametrize("data", [[], {}, [1], [{"type": "ai"}], {"messages": []}, [object()]])
def test_what_is_no_history(data):
    with pytest.raises(iv.DecodeError, match="expected"):
        history_from(data)


def test_the_public_functions_take_what_others_keep():
    """A list of OpenAI's messages is a history: nobody has to turn it into ours first."""
    import innervoice as iv

    function = {"name": "f", "arguments": "{}"}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]  # fmt: skip
    target = "deepseek/deepseek-v4-pro"
    assert ["reasoning_filled"] == [problem.code for problem in iv.lint(messages, target)]
    assert ["filled"] == [decision.action for decision in iv.plan(messages, target).decisions]
    assert 3 == len(iv.repair(messages, target))


def test_the_earlier_name_of_the_module_still_works():
    from innervoice.sessions import foreign

    assert history_from is foreign.history_from
