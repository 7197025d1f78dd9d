"""A place to work for an agent of somebody else's: a gateway on a scripted emulator, a folder, a home of its own, and a bounded time."""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from gateway.witness import Witness, reasoning_is_at_home, reasoning_is_back
from innervoice.canon.parts import ToolResult
from innervoice.cli.run import ClientTarget, clients
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.emulator.scripted_model import words_of
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import load_config
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.gateway.report import Report

__all__ = ["AGENTS", "INSTALLED", "MODELS", "QUIET", "SECONDS", "Agent", "Workplace"]

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".npm-agents"
MODELS = (
    "anthropic/claude-opus-5-5",
    "openai/gpt-5.6",
    "gemini/gemini-3.5-flash",
    "deepseek/deepseek-v4-pro",
)
SECONDS = 60
_TASK = re.compile(r"Task (\w+):")
# Nothing is reported, looked up or updated.
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "IS_SANDBOX": "1",  # Claude Code, if the tests run as root
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "GEMINI_TELEMETRY_ENABLED": "false",
    "PI_OFFLINE": "1",
    "PI_SKIP_VERSION_CHECK": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
}


class Agent(NamedTuple):
    """How an agent is run without a terminal, and which of its tools the script calls."""

    client: str
    program: str
    arguments: tuple[str, ...]
    """Before the prompt."""
    again: tuple[str, ...]
    """The same, to go on with the last conversation."""
    named: tuple[str, ...]
    """The same, to go on with the conversation whose id stands in place of {id}; {model} is the model."""
    shell: str
    command: str
    """The argument of the shell's tool."""
    writes: tuple[str, str, str] | None = None
    """A tool that writes a file, and its arguments for the path and the text."""


_CODEX = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
_CLAUDE = ("-p", "--dangerously-skip-permissions")
AGENTS = {
    agent.client: agent
    for agent in (
        Agent("claude", "@anthropic-ai/claude-code-linux-x64/claude", _CLAUDE, ("--continue", *_CLAUDE), ("--resume", "{id}", *_CLAUDE), "Bash", "command", ("Write", "file_path", "content")),
        Agent("codex", ".bin/codex", ("exec", *_CODEX), ("exec", "resume", "--last", *_CODEX), ("exec", "resume", "{id}", *_CODEX), "exec_command", "cmd"),
        Agent("gemini", ".bin/gemini", ("--yolo", "-p"), ("--resume", "latest", "--yolo", "-p"), ("--resume", "{id}", "--yolo", "-p"), "run_shell_command", "command", ("write_file", "file_path", "content")),
        Agent("pi", ".bin/pi", ("-p",), ("--continue", "-p"), ("--session", "{id}", "-p"), "bash", "command", ("write", "path", "content")),
        Agent("opencode", "opencode-linux-x64/bin/opencode", ("run",), ("run", "--continue"), ("run", "--model", "innervoice/{model}", "--session", "{id}"), "bash", "command"),
    )
}  # fmt: skip


class Workplace:
    """One agent, one gateway, one upstream that keeps what was sent to it."""

    def __init__(self, folder: Path, agent: Agent) -> None:
        self.agent = agent
        self.home, self.work, self.files = (folder / name for name in ("home", "work", "files"))
        for path in (self.home, self.work, self.files):
            path.mkdir(mode=0o700)
        self.upstream = Witness(Emulator(script=self._step))
        self.reports: list[Report] = []
        gateway = Gateway(
            load_config(None, {}),
            {},
            http=embedded_async_http(self.upstream),
            base_url_of=base_urls("http://emulator").get,
            log=self.reports.append,
        )
        self._server = GatewayInThread(create_app(gateway))

    def __enter__(self):
        self._server.__enter__()
        return self

    def __exit__(self, *error):
        self._server.__exit__(*error)

    @property
    def url(self) -> str:
        """The address of the gateway."""
        return self._server.url

    # ---- the agent ---------------------------------------------------------------------------

    def run(
        self,
        prompt: str,
        model: str,
        *,
        again: bool = False,
        session: str | None = None,
        more: tuple[str, ...] = (),
    ) -> subprocess.CompletedProcess:
        """Runs the agent with a prompt, and with `more` arguments before it; all that it has started is gone afterwards.

        `again` goes on with the last conversation, `session` with the one of this id.
        """
        agent = self.agent
        how = agent.again if again else agent.arguments
        if session is not None:
            how = tuple(word.format(id=session, model=model) for word in agent.named)
        return self.start(*more, *how, prompt, model=model)

    def start(self, *arguments: str, model: str) -> subprocess.CompletedProcess:
        """Runs the agent with arguments."""
        row = clients()[self.agent.client]
        target = ClientTarget(self._server.url, "any", self.files, model)
        row.write_files(target)
        bin = INSTALLED / "node_modules" / ".bin"  # noqa: A001 - the folder's name
        variables = {"PATH": f"{bin}:{os.environ['PATH']}", "HOME": str(self.home), **QUIET}
        program = INSTALLED / "node_modules" / self.agent.program
        process = subprocess.Popen(
            [program, *row.command(target), *arguments],
            cwd=self.work,
            env=row.environment(target, variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        try:
            out, err = process.communicate(timeout=SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def does(
        self,
        task: str,
        model: str,
        *,
        again: bool = False,
        session: str | None = None,
        more: tuple[str, ...] = (),
    ) -> str:
        """Lets the agent do a task of three calls; returns what it printed, once the right files are there."""
        prompt = f"Task {task}: make three files."
        done = self.run(prompt, model, again=again, session=session, more=more)
        said = f"{done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}\n{self.troubles()}"
        assert done.returncode == 0, said
        found = {path.name: path.read_text().split() for path in self.work.glob(f"{task}-*")}
        assert {f"{task}-1": ["one"], f"{task}-2": ["one", "two"], f"{task}-3": ["2"]} == found, said  # fmt: skip
        assert f"Task {task} is finished." in done.stdout, said
        return done.stdout

    def troubles(self) -> list[str]:
        """Requests that failed."""
        return [
            f"{report.status} {report.error} {report.notes}"
            for report in self.reports
            if report.error or report.status != 200
        ]

    # ---- the model ---------------------------------------------------------------------------

    def _step(self, messages, tools) -> dict[str, Any]:
        """What the model does next: three calls for a task, and a sentence when they are done."""
        if not tools:
            return {"answer": "Files"}  # a title, or a summary
        task, done = self._place(messages)
        calls = self._calls(task)
        thought = f"Thought {len(done)} about {task}."
        if len(done) >= len(calls):
            return {"think": thought, "answer": f"Task {task} is finished."}
        return {"think": thought, "call": calls[len(done)]}

    def _place(self, messages) -> tuple[str, set[str]]:
        """The task, and the calls that are done for it."""
        task, done = "none", set()
        for message in messages:
            named = _TASK.findall(words_of(message)) if message.role == "user" else []
            if named:
                task, done = named[-1], set()
            done |= {part.call_id for part in message.parts if isinstance(part, ToolResult)}
        return task, done

    def _calls(self, task: str) -> list[dict[str, Any]]:
        if task == "none":
            return []
        one, two, three = (f"{task}-{number}" for number in (1, 2, 3))
        commands = [
            f"echo one > {one}",
            f"cat {one} > {two} && echo two >> {two}",
            f"wc -l < {two} > {three}",
        ]
        calls = [
            {"name": self.agent.shell, "arguments": {self.agent.command: text}} for text in commands
        ]
        if self.agent.writes:
            name, path, text = self.agent.writes
            calls[0] = {"name": name, "arguments": {path: str(self.work / one), text: "one\n"}}
        return calls

    # ---- what was sent -----------------------------------------------------------------------

    def _main(self) -> Witness:
        """The upstream as if it had been asked nothing but the conversation itself: no titles and no summaries."""
        chosen = [
            number for number, request in enumerate(self.upstream.requests) if request.get("tools")
        ]
        found = Witness(self.upstream.emulator)
        for name in ("requests", "paths", "statuses", "answers"):
            setattr(found, name, [getattr(self.upstream, name)[number] for number in chosen])
        return found

    def statuses(self) -> list[int]:
        """What the provider said to the requests of the conversation."""
        return self._main().statuses

    def thoughts_are_back(self, *, since: int = 0, of_calls: bool = False) -> int:
        """Asserts that each request has all thoughts before it, or those before calls, each once and in order; returns how many."""
        upstream = self._main()
        if of_calls:
            upstream.answers = [
                answer if answer and answer.tool_calls else None for answer in upstream.answers
            ]
        return reasoning_is_back(upstream, since=since, summaries=False)

    def thoughts_are_at_home(self) -> int:
        """The same for a conversation with several providers: each reads its own thoughts, and no other."""
        return reasoning_is_at_home(self._main(), summaries=False)
