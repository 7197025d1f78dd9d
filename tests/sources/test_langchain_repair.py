"""Lists of LangChain messages come back repaired, in the form they were stored in."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.sources.langchain import repair_langchain
from innervoice.sources.stored import history_from
from sources.langchain_messages import (
    CLAUDE,
    FORMS,
    TEXT,
    THINKING,
    by,
    call,
    conversation,
    flat,
    use,
)


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
        "message 6: result added after it for the call 'toolu_2': it has no result",
        "message 7: tool result removed: there is no call with its id",
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


def test_a_late_result():
    items = [
        {"type": "human", "content": "x"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": name, "type": "tool_call"} for name in ("call_1", "call_2")]},
        {"type": "tool", "content": "1", "tool_call_id": "call_1"},
        {"type": "human", "content": "y"},
        {"type": "tool", "content": "2", "tool_call_id": "call_2"},
        {"type": "human", "content": "z"},
    ]  # fmt: skip
    repaired, told = repair_langchain(items, CLAUDE)

    assert [items[n] for n in (0, 1, 4, 2, 3, 5)] == repaired
    assert ["message 4: tool result moved to its call"] == [text.rpartition(": ")[0] for text in told]  # fmt: skip
    assert (repaired, []) == repair_langchain(repaired, CLAUDE)
