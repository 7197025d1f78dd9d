"""Runs `innervoice batch` as a user does, against an emulator that can kill it."""

import json
import os
import re
import signal
import subprocess
import sys

from innervoice.canon.jsontext import load_json
from innervoice.emulator.core import Emulator

MODELS = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
}
KEYS = {
    "OPENAI_API_KEY": "sk-test-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789",
    "GEMINI_API_KEY": "AIza-0123456789",
}
_IDS = re.compile(r"(?:batch_|msgbatch_|file-|batches/)\w+")


class WatchedEmulator(Emulator):
    """Records which requests are in which created batch; `kill` ends the client at a call, before or after it is served."""

    def __init__(self):
        super().__init__()
        self.calls = []
        self.created = []
        self.kill = None
        self.client = None

    def reply(self, method, path, headers, body):
        if _is_single(path):
            return super().reply(method, path, headers, body)
        call = f"{method} {_IDS.sub('ID', path)}"
        self.calls.append(call)
        when = self.kill(call) if self.kill else None
        if when == "before":
            os.kill(self.client.pid, signal.SIGKILL)
            return super().reply("GET", "/", {}, b"")
        reply = super().reply(method, path, headers, body)
        if method == "POST" and reply.status == 200 and (ids := _request_ids(path, body)):
            self.created.append(ids)
        if when == "after":
            os.kill(self.client.pid, signal.SIGKILL)
        return reply


def _is_single(path):
    return path.endswith((":generateContent", "/responses", "/chat/completions", "/v1/messages"))


def _request_ids(path, body):
    """The ids of the requests in a body that creates a batch; OpenAI's are in its file, of which the metadata has the name."""
    value = load_json(body) if body.startswith(b"{") else {}
    if path.endswith("/messages/batches"):
        return [one["custom_id"] for one in value["requests"]]
    if path.endswith(":batchGenerateContent"):
        inner = value["batch"]["inputConfig"]["requests"]["requests"]
        return [one["metadata"]["key"] for one in inner]
    return [value["metadata"]["innervoice"]] if path.endswith("/batches") else []


def write_requests(path, count=5, **members):
    """A file of requests."""
    lines = [{"id": f"q/{n}", "prompt": f"What is {n} * 23?", **members} for n in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def batch(*arguments, emulator=None, environ=None, **options):
    """Runs the command to its end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "innervoice", "batch", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **KEYS, **(environ or {})},
        **options,
    )
    if emulator is not None:
        emulator.client = process
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def rows_in(path):
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
