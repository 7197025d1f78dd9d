"""Programs that lose the ids of tool calls and results: both are matched in order, and the turn is found again."""

import pytest

import innervoice.bridges.litellm as ours
from bridges.litellm.talk import QUESTION, SUM, TOOLS, results, through_json

TARGETS = {
    "claude": ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "low"}),
    "adaptive": ("anthropic/claude-opus-5-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-3-pro", {"reasoning_effort": "low"}),
    "openai": ("openai/gpt-5.6", {"reasoning_effort": "low"}),
    "deepseek": ("deepseek/deepseek-v4", {"reasoning_effort": "high"}),
}
NOTE = "messages: tool calls or results without ids were matched in order"


def without_ids(message):
    """A turn with two calls and its results, as a program sends them that keeps names and arguments."""
    calls = [{"type": "function", "id": None, "function": call["function"]} for call in message["tool_calls"]]  # fmt: skip
    answered = [{"role": "tool", "content": result["content"]} for result in results(message)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answered]


@pytest.fixture(params=TARGETS)
def target(request):
    """A model and its reasoning setting."""
    return TARGETS[request.param]


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("remembered", [True, False])
def test_a_loop_without_ids(line, monkeypatch, target, remembered, how):
    monkeypatch.setattr(ours, "remember_turns", remembered)
    model, options = target
    first = line.whole(model, [QUESTION], how=how, tools=TOOLS, **options).choices[0].message
    history = through_json([QUESTION, *without_ids(first.model_dump())])
    second = line.whole(model, history, how=how, tools=TOOLS, **options)

    assert "sunny in Paris. It is sunny in London" in second.choices[0].message.content
    assert NOTE in second._hidden_params["notes"]
    if remembered:
        assert any("was restored" in note for note in second._hidden_params["notes"])


def test_ids_stay_the_same(line):
    """What is invented for a turn does not depend on what follows it."""
    call = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}  # fmt: skip
    turn = [QUESTION, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "fog"}]  # fmt: skip
    bodies = []
    for history in (turn, [*turn, {"role": "assistant", "content": "Fog."}, SUM]):
        line.ask("anthropic/claude-sonnet-4-5", history, tools=TOOLS)
        bodies.append(line.body["messages"])

    assert bodies[0] == bodies[1][:3]


def test_a_result_with_an_id_is_not_guessed(line):
    """Only results without an id are matched in order, with the calls that are left."""
    call = {"type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    turn = [
        QUESTION,
        {"role": "assistant", "tool_calls": [{**call, "id": "toolu_a"}, {**call, "id": "toolu_b"}]},
        {"role": "tool", "content": "b", "tool_call_id": "toolu_b"},
        {"role": "tool", "content": "a"},
    ]
    line.ask("anthropic/claude-sonnet-4-5", turn, tools=TOOLS)

    sent = {block["tool_use_id"]: block["content"] for block in line.body["messages"][2]["content"]}
    assert {"toolu_a": "a", "toolu_b": "b"} == sent
