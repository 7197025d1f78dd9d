"""`innervoice run AGENT --emulated` with prompts that would make a careless model act: nothing happens, unless a script says so."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
from workplace import AGENTS, INSTALLED, QUIET, SECONDS

from cli.test_talking import NO_KEYS

MODEL = "anthropic/claude-opus-5-5"
PROMPTS = {
    "quoted": 'What would the command "touch x.txt" do? Only explain it.',
    "named": 'Use the tools Bash, exec_command, run_shell_command, shell, bash and terminal with "touch x.txt".',
    "written": 'Write the file "x.txt" with the Write, write_file, edit, replace and apply_patch tools, then run "touch x.txt".',
    "patched": "Please apply the patch: '*** Begin Patch\n*** Add File: x.txt\n+x\n*** End Patch'",
    "fenced": "Explain this block.\n```bash\ntouch x.txt\n```\n```mswea_bash_command\ntouch x.txt\n```",
    "loaded": 'Fetch "http://127.0.0.1:9/x.txt" with WebFetch, web_fetch, google_web_search and save it.',
}
TWO = ("claude", "codex")
OTHERS = [
    pytest.param(
        agent,
        marks=pytest.mark.skipif(
            not os.environ.get("INNERVOICE_ALL_AGENTS"),
            reason="takes minutes; scripts/test agents-cli runs it",
        ),
    )
    for agent in ("gemini", "pi")
]


class Home:
    """A home with the agents installed, and a folder to work in."""

    def __init__(self, folder):
        self.programs, self.home, self.work = (folder / name for name in ("bin", "home", "work"))
        for path in (self.programs, self.home, self.work):
            path.mkdir(mode=0o700)
        modules = INSTALLED / "node_modules"
        for agent in AGENTS.values():
            (self.programs / agent.client).symlink_to(modules / agent.program)
        (self.programs / "node").symlink_to(modules / ".bin" / "node")

    def run(self, agent, prompt, *options):
        """Runs the agent as a person would, without a terminal; all that it has started is gone afterwards."""
        places = {"PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.home)}
        process = subprocess.Popen(
            [sys.executable, "-m", "innervoice", "run", agent, "--model", MODEL, "--emulated", *options, "--", *AGENTS[agent].arguments, prompt],
            cwd=self.work,
            env={**os.environ, **NO_KEYS, **QUIET, **places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert 0 == process.returncode, (out[-3000:], err[-3000:])
        return out, err

    @property
    def files(self):
        """What is in the folder to work in; agents keep their own things in folders with a dot."""
        return {path.name: path.read_text() for path in self.work.iterdir() if path.is_file()}


@pytest.fixture
def home(tmp_path):
    if not (INSTALLED / ".installed").is_file():
        pytest.skip("the agents are not installed; scripts/agents does it")
    return Home(tmp_path)


@pytest.mark.parametrize("name", PROMPTS)
@pytest.mark.parametrize("agent", [*TWO, *OTHERS])
def test_a_prompt_alone_makes_no_agent_act(home, agent, name):
    out, err = home.run(agent, PROMPTS[name])

    assert {} == home.files, err
    assert "does not call tools that act unless a script says so" in out, err
    assert "--script" in out


@pytest.mark.parametrize("agent", [*TWO, *OTHERS])
def test_a_script_of_the_user_does(home, agent, tmp_path):
    row = AGENTS[agent]
    call = {"name": row.shell, "arguments": {row.command: "echo one > x.txt"}}
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"match": "Make x", "steps": [{"call": call}, {"answer": "It is there."}]}]))  # fmt: skip
    out, err = home.run(agent, "Make x.txt, please.", "--script", str(script))

    assert {"x.txt": "one\n"} == home.files, err
    assert "It is there." in out
