"""Three gateways behind nginx, with the shipped configuration of nginx and one Redis: one of them is killed, and nothing is lost."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx2
import pytest

from cli.test_serve import Serve
from memory.stores.servers import free_port, redis_server  # noqa: F401 - a fixture

pytest.importorskip("aiohttp")
DEPLOY = Path(__file__).parents[2] / "deploy"
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]  # fmt: skip
QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo? Number {}."
CONVERSATIONS = 24
KILLED_AFTER = 20
"""Answers."""
TRIES = 5


@pytest.fixture
def cluster(tmp_path, redis_server):  # noqa: F811 - the fixture
    """The address of nginx, and the gateways behind it."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed: scripts/servers")
    redis_server.empty()
    file = tmp_path / "gateway.toml"
    file.write_text('[server]\nkey = "env:GATEWAY_KEY"\nstore = "env:STORE"\n')
    gateways = []
    process = None
    try:
        for _ in range(3):
            serve = Serve("--emulated", "--config", str(file), GATEWAY_KEY="g" * 32, STORE=redis_server.url, XDG_STATE_HOME=str(tmp_path))  # fmt: skip
            gateways.append(serve)
            serve.greeting()
        port = free_port()
        process = nginx(tmp_path, port, [gateway.port for gateway in gateways])
        yield f"http://127.0.0.1:{port}", gateways
    finally:
        if process is not None:
            process.terminate()
            process.wait(30)
        for serve in gateways:
            serve.__exit__()


def nginx(folder, port, ports):
    """Nginx in the foreground, with our file: only addresses and TLS differ."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    servers = "\n".join(f"    server 127.0.0.1:{each};" for each in ports)
    text = re.sub(r"(    server 10\.0\.0\.\d+:8807;\n)+", servers + "\n", text)
    text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", text)
    text = re.sub(r"\s+ssl_certificate\S*\s+\S+;", "", text)
    places = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))  # fmt: skip
    whole = f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}} http {{ access_log off; {places}\n{text}\n}}"
    file = folder / "nginx.conf"
    file.write_text(whole)
    subprocess.run(["nginx", "-t", "-c", str(file)], check=True, capture_output=True, timeout=30)
    process = subprocess.Popen(["nginx", "-c", str(file)], stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.02)
    raise RuntimeError("nginx does not start")


class Load:
    """Programs that drop all reasoning, and repeat a request that fails, as every SDK does."""

    def __init__(self, address, kill):
        self.address, self._kill = address, kill
        self.answers = self.repeated = 0
        self.omitted = []
        self.restored = 0

    async def ask(self, http, messages, session):
        body = {"model": "anthropic/claude-opus-5-5", "messages": messages, "tools": TOOLS, "reasoning_effort": "high"}  # fmt: skip
        for _ in range(TRIES):
            try:
                reply = await http.post(f"{self.address}/v1/chat/completions", json=body, headers={"x-session-id": session})  # fmt: skip
            except httpx2.TransportError:
                reply = None
            if reply is not None and reply.status_code == 200:
                break
            self.repeated += 1
            await asyncio.sleep(0.05)
        assert reply is not None
        assert reply.status_code == 200, reply.text
        self.answers += 1
        if self.answers == KILLED_AFTER:
            self._kill()
        words = dict(re.findall(r"(\w+)=(\d+)", reply.headers["x-innervoice-reasoning"]))
        self.restored += int(words["restored"])
        if int(words["omitted"]):
            self.omitted.append(reply.headers["x-innervoice-reasoning"])
        return reply.json()["choices"][0]["message"]

    async def converse(self, number):
        """A tool loop in three requests, with text and calls alone in its history."""
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
            messages = [{"role": "user", "content": QUESTION.format(number)}]
            thoughts = 0
            while True:
                answer = await self.ask(http, messages, f"session-{number}")
                if not answer.get("tool_calls"):
                    return answer["content"], thoughts
                thoughts += 1
                messages.append({name: answer[name] for name in ("role", "content", "tool_calls") if name in answer})  # fmt: skip
                messages += [{"role": "tool", "tool_call_id": call["id"], "content": f"{call['function']['arguments']}: 9 °C"} for call in answer["tool_calls"]]  # fmt: skip


def test_a_killed_gateway_loses_nothing(cluster):
    address, gateways = cluster
    victim = gateways[1].process
    load = Load(address, lambda: os.killpg(victim.pid, signal.SIGKILL))

    async def all_of_them():
        return await asyncio.gather(*(load.converse(number) for number in range(CONVERSATIONS)))

    ended = asyncio.run(all_of_them())
    assert victim.wait(30) == -signal.SIGKILL
    assert [True] * CONVERSATIONS == ["Oslo" in text for text, _ in ended]
    assert [] == load.omitted, "every thought that was dropped is back"
    # Each turn with calls was thought about, and is sent again by every later request of its conversation.
    assert sum(range(3)) * CONVERSATIONS == load.restored
    assert load.answers == 3 * CONVERSATIONS
