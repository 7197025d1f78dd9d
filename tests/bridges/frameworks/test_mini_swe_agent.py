"""mini-swe-agent: its DefaultAgent works in a local folder, with thinking."""

import json
import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import needs

needs("mini-swe-agent")
# The program and its packages warn of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

STEPS = [
    {"think": "I look first.", "call": {"name": "bash", "arguments": {"command": "cat note.txt"}}},
    {
        "think": "Now the other.",
        "call": {"name": "bash", "arguments": {"command": "wc -c < note.txt"}},
    },
    {
        "think": "I know it.",
        "call": {
            "name": "bash",
            "arguments": {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat note.txt"},
        },
    },
]


def run(emulator, model, folder, **config):
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel

    (folder / "note.txt").write_text("hello")
    options = {"api_base": emulator.base_url(model), "api_key": "any", "reasoning_effort": "high"}
    chat = LitellmModel(
        model_name=model,
        model_kwargs={**options, "drop_params": True},
        set_cache_control="default_end",
        **config,
    )
    agent = DefaultAgent(
        chat,
        LocalEnvironment(cwd=str(folder)),
        system_template="Be brief.",
        instance_template="Task: {{task}}",
        output_path=folder / "trajectory.json",
    )
    return agent, agent.run("What does note.txt say?")


def test_thinking_is_kept(emulated, model, tmp_path):
    emulator = emulated(STEPS)
    agent, result = run(emulator, model, tmp_path, cost_tracking="ignore_errors")

    assert ("Submitted", "hello") == (result["exit_status"], result["submission"])
    assert sys.modules["litellm"] is ours
    observed = [item["content"] for item in agent.messages if item["role"] == "tool"]
    assert ["hello" in observed[0], "5" in observed[1]] == [True, True]
    emulator.assert_kept(requests=3)
    json.loads((tmp_path / "trajectory.json").read_text())
