"""Histories that others keep: LangChain messages in every form, and lists of objects."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.sessions.foreign import history_from
from innervoice.sessions.langchain import repair_langchain

CLAUDE = "anthropic/claude-opus-4-6"
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}  # fmt: skip


def as_dict(kind, **members):
    """As `messages_to_dict` gives it."""
    head = {
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": None,
        "id": None,
    }
    return {"type": kind, "data": {**head, **members}}


def as_constructor(kind, **members):
    """As `dumpd` gives it."""
    path = ["langchain", "schema", "messages", CLASSES[kind]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {**members, "type": kind}}


def flat(kind, **members):
    """As `model_dump` and LangGraph's server give it."""
    return {"type": kind, **members}


FORMS = {"data": as_dict, "kwargs": as_constructor, "flat": flat}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "EuwB"}
TEXT = {"type": "text", "text": "I look."}


def call(name):
    return {"name": "weather", "args": {"city": "Rome"}, "id": name, "type": "tool_call"}


def use(name):
    return {"type": "tool_use", "id": name, "name": "weather", "input": {"city": "Rome"}}


def by(model, provider):
    return {"model_name": model, "model_provider": provider}


def conversation(form):
    """Claude's turn with a result, one without, one of DeepSeek, and a result that nobody asked for."""
    claude = by("claude-opus-4-6", "anthropic")
    return [
        form("system", content="Be brief."),
        form("human", content="Weather?"),
        form("ai", content=[THINKING, TEXT, use("toolu_1")], tool_calls=[call("toolu_1")], response_metadata=claude),
        form("tool", content="rain", tool_call_id="toolu_1"),
        form("ai", content="Rain.", additional_kwargs={"reasoning_content": "So it rains.", "refusal": None}, response_metadata=by("deepseek-v4-pro", "deepseek")),
        form("human", content=[{"type": "text", "text": "Again."}]),
        form("ai", content=[{**THINKING, "signature": ""}, use("toolu_2")], tool_calls=[call("toolu_2")], response_metadata=claude),
        form("tool", content="snow", tool_call_id="toolu_9"),
        form("human", content="Well?"),
    ]  # fmt: skip


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


@pytest.mark.parametrize("form", FORMS)
def test_langchain_comes_back_in_its_form(form):
    """What was removed is gone, what was missing is there, and all else is as it was."""
    items = conversation(FORMS[form])
    before = json.dumps(items)
    repaired, told = repair_langchain(items, CLAUDE)

    assert before == json.dumps(items)
    assert [
        "message 4: thinking removed: it came from deepseek/deepseek-v4-pro",
        "message 6: thinking removed: it was never signed",
        "message 6: result added behind it for the call 'toolu_2': it was never answered",
        "message 7: tool result removed: it answers a call that nobody made",
    ] == told
    assert items[:4] == repaired[:4]
    assert [items[5], items[8]] == [repaired[5], repaired[8]]
    where = {"data": "data", "kwargs": "kwargs"}.get(form)
    deepseek, claude, result = (item[where] if where else item for item in (repaired[4], repaired[6], repaired[7]))  # fmt: skip
    assert {"refusal": None} == deepseek["additional_kwargs"]
    assert [use("toolu_2")] == claude["content"]
    assert [call("toolu_2")] == claude["tool_calls"]
    assert ("tool", "toolu_2", "error") == (result["type"], result["tool_call_id"], result["status"])  # fmt: skip
    assert repaired[3].keys() == repaired[7].keys() or form == "flat"
    assert (repaired, []) == repair_langchain(repaired, CLAUDE)
    assert [] == iv.lint(history_from(json.dumps(repaired)).messages, CLAUDE)


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


def test_ids_are_renamed_wherever_they_stand():
    name = "call.1 x"
    items = [
        flat("human", content="x"),
        flat("ai", content=[use(name)], tool_calls=[call(name)]),
        flat("tool", content="y", tool_call_id=name),
        flat("human", content="x"),
    ]
    (_, turn, result, _), told = repair_langchain(items, "openai/gpt-5.6")
    new = result["tool_call_id"]
    assert new != name
    assert [new, new] == [turn["content"][0]["id"], turn["tool_calls"][0]["id"]]
    assert 2 == len(told)


def test_whole_answers_of_claude_in_a_list():
    """People append what they got; that its type is "message" makes it no item of OpenAI's."""
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "content": [THINKING, TEXT]}
    history = history_from([{"role": "user", "content": "x"}, answer])
    assert ("anthropic", "Hm.") == (history.kind, history.messages[1].thinking)


@pytest.mark.parametrize("data", [[], {}, [1], [{"type": "ai"}], {"messages": []}, [object()]])
def test_what_is_no_history(data):
    with pytest.raises(iv.DecodeError, match="expected"):
        history_from(data)


PIECES = {
    "thinking": THINKING,
    "unsigned": {**THINKING, "signature": ""},
    "text": TEXT,
    "standard": {"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "s"}},
    "image": {"type": "image", "url": "https://example.org/x.png"},
}


@st.composite
def langchain_lists(draw):
    form = FORMS[draw(st.sampled_from(sorted(FORMS)))]
    items = [form("human", content="Go.")]
    for number in range(draw(st.integers(1, 5))):
        content = [PIECES[name] for name in draw(st.lists(st.sampled_from(sorted(PIECES)), max_size=3))]  # fmt: skip
        names = [f"toolu_{number}_{at}" for at in range(draw(st.integers(0, 2)))]
        extra = draw(st.sampled_from([{}, {"reasoning_content": "Hm."}]))
        model = draw(st.sampled_from(["claude-opus-4-6", "claude-fable-5-2"]))
        members = {"additional_kwargs": extra, "response_metadata": by(model, "anthropic")}
        items.append(form("ai", content=content, tool_calls=[call(name) for name in names], **members))  # fmt: skip
        answered = [name for name in names if draw(st.booleans())]
        if draw(st.integers(0, 4)) == 0:
            answered.append(f"stray_{number}")
        items += [form("tool", content="x", tool_call_id=name) for name in answered]
        items.append(form("human", content="On."))
    return items


@given(langchain_lists(), st.sampled_from([CLAUDE, "openai/gpt-5.6"]))
@settings(deadline=None)
def test_any_langchain_list(items, target):
    """Accepted afterwards, the same when repaired again, and messages that need nothing are the same."""
    repaired, told = repair_langchain(items, target)

    left = iv.lint(history_from(repaired).messages, target)
    assert [] == [problem for problem in left if problem.severity == "refused"]
    assert (repaired, []) == repair_langchain(repaired, target)
    named = {int(line.split()[1].rstrip(":")) for line in told}
    same = [item for number, item in enumerate(items) if number not in named]
    assert same == [item for item in repaired if any(item is one for one in same)]


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
