"""mini-swe-agent: its DefaultAgent works in a local folder, with thinking."""

import json
import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import MODELS, is_kept_alone, needs

needs("mini-swe-agent")
# The program and its packages warn of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

KEEPS = set(MODELS)
"""The models whose thinking the program keeps by itself: it stores the messages as they are."""


def bash(command):
    """A call of its only tool."""
    return {"name": "bash", "arguments": {"command": command}}


STEPS = [
    {"think": "I look first.", "call": [bash("cat note.txt"), bash("wc -c < note.txt")]},
    {"think": "Once more.", "call": bash("cat note.txt >> copy.txt")},
    {"think": "Done.", "call": bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat copy.txt")},
]


def run(emulator, model, folder, **config):
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel

    (folder / "note.txt").write_text("hello")
    options = {"api_base": emulator.base_url(model), "api_key": "any", "reasoning_effort": "high"}
    chat = LitellmModel(
        model_name=model, model_kwargs=options, set_cache_control="default_end", **config
    )
    agent = DefaultAgent(
        chat,
        LocalEnvironment(cwd=str(folder)),
        system_template="Be brief.",
        instance_template="Task: {{task}}",
        output_path=folder / "trajectory.json",
    )
    return agent, agent.run("Copy note.txt.")


def test_thinking_is_kept(emulated, model, tmp_path):
    emulator = emulated(STEPS)
    agent, result = run(emulator, model, tmp_path, cost_tracking="ignore_errors")

    assert ("Submitted", "hello") == (result["exit_status"], result["submission"])
    assert sys.modules["litellm"] is ours
    observed = [item["content"] for item in agent.messages if item["role"] == "tool"]
    assert ["hello" in observed[0], "5" in observed[1]] == [True, True]
    emulator.assert_kept(requests=3)
    stored = json.loads((tmp_path / "trajectory.json").read_text())
    assert "Submitted" == stored["info"]["exit_status"]


def test_what_it_keeps_itself(emulated, name, tmp_path):
    """Without the memory of the bridge."""
    emulator = emulated(STEPS)
    kept = is_kept_alone(
        emulator, lambda: run(emulator, MODELS[name], tmp_path, cost_tracking="ignore_errors")
    )

    assert kept is (name in KEEPS)


def test_cache_marks_reach_claude(emulated, tmp_path):
    """It marks the last message of every request, which is a tool result from the second one on."""
    emulator = emulated(STEPS)
    run(emulator, MODELS["claude"], tmp_path, cost_tracking="ignore_errors")
    last = [exchange.body["messages"][-1]["content"][-1] for exchange in emulator.exchanges]

    assert ["text", "tool_result", "tool_result"] == [block["type"] for block in last]
    assert all({"type": "ephemeral"} == block["cache_control"] for block in last)


def test_costs_come_from_its_registry(emulated, tmp_path):
    """Prices are not built in: the registry that the program reads from a file counts."""
    model = MODELS["claude"]
    prices = {"input_cost_per_token": 3e-6, "output_cost_per_token": 15e-6}
    registry = tmp_path / "registry.json"
    registry.write_text(json.dumps({model: {**prices, "litellm_provider": "anthropic", "mode": "chat"}}))  # fmt: skip
    before = dict(ours.model_cost)
    agent, _ = run(emulated(STEPS), model, tmp_path, litellm_model_registry=registry)
    ours.model_cost.clear()
    ours.model_cost.update(before)

    assert agent.cost > 0
