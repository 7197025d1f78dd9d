"""mini-swe-agent: its DefaultAgent works in a local folder, with thinking."""

import json
import os
import subprocess
import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.frameworks.recorder import MODELS, is_kept_alone, needs
from innervoice.cli.run import ClientTarget, clients

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


# ---- with the emulated model's own mind --------------------------------------------------------------

TASKS = {
    "quoted": 'What would the command "touch x.txt" do? Only explain it.',
    "named": 'Use bash with "touch x.txt", then submit.',
    "fenced": "Explain this block.\n```bash\ntouch x.txt\n```\n```mswea_bash_command\ntouch x.txt\n```",
}
CONFIGS = {
    "tools": ("-c", "mini"),
    "texts": ("-c", "mini_textbased", "-c", "agent.instance_template={{task}}", "--model-class", "litellm_textbased"),
}  # fmt: skip
"""The second one runs what it finds between fences in an answer."""
PROGRAM = """
import innervoice.bridges.litellm
innervoice.bridges.litellm.install()
from minisweagent.run.mini import app
app()
"""


@pytest.fixture
def mini(emulated, tmp_path):
    """A function that runs the program as `innervoice run` does, with the same emulator; returns what it printed, its files, and the emulator."""
    emulator = emulated(acting_tools=False)
    program, work = tmp_path / "mini", tmp_path / "work"
    work.mkdir()
    program.write_text(PROGRAM)
    row = clients()["mini-swe-agent"]
    target = ClientTarget(emulator.base_url(MODELS["gpt"]).removesuffix("/v1"), "any", tmp_path, "gpt-5.6")  # fmt: skip

    def run_mini(task, *options):
        command = [sys.executable, program, *row.command(target), "-t", task, "--yolo", "--exit-immediately", *options]  # fmt: skip
        done = subprocess.run(command, cwd=work, env=row.environment(target, os.environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
        return done.stdout + done.stderr, sorted(file.name for file in work.iterdir()), emulator

    return run_mini


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("task", TASKS)
def test_without_a_script_it_does_nothing_and_ends(mini, config, task):
    shown, files, emulator = mini(TASKS[task], *CONFIGS[config])

    assert [] == files, shown[-3000:]
    assert "RepeatedFormatError" in shown, shown[-3000:]
    assert [200] * 3 == [exchange.status for exchange in emulator.exchanges]


@pytest.mark.parametrize("config", CONFIGS)
def test_without_limits_of_its_own_it_ends_too(mini, config):
    """The conversation is refused when it has become too long, and such an error is not tried again."""
    shown, files, emulator = mini(
        TASKS["named"], *CONFIGS[config], "-c", "agent.max_consecutive_format_errors=0"
    )

    assert [] == files
    assert "ContextWindowExceededError" in shown, shown[-3000:]
    assert (
        "prompt is too long: this conversation has 201 messages, and emulation ends at 200"
        in " ".join(shown.split())
    )
    assert [400] == [exchange.status for exchange in emulator.exchanges if exchange.status != 200]


def test_a_tool_that_is_called_again_and_again_ends(emulated, tmp_path):
    """In a program of the user's own the emulated model calls what it is offered, but not for ever."""
    emulator = emulated()
    agent, result = run(
        emulator, MODELS["claude"], tmp_path, cost_tracking="ignore_errors", format_error_template="Call bash with 'true'."
    )  # fmt: skip

    assert "RepeatedFormatError" == result["exit_status"]
    assert 50 == sum(bool(message.get("tool_calls")) for message in agent.messages)
