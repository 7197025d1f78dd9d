"""The memory of `innervoice serve`, as the system counts it."""

import json
import re
from pathlib import Path

import httpx2
import pytest

from cli.test_other_paths import served
from gateway.provider import running_provider

pytest.importorskip("aiohttp")
__all__ = ["served"]
SIZE, TIMES = 8_000_000, 20


@pytest.fixture
def provider():
    with running_provider() as running:
        yield running


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
def test_large_requests_that_fail_leave_nothing(served, path):
    """The provider is busy, or the model does not exist; thirty bodies of 8 MB kept more than a gigabyte."""
    address = served("retries = 0")
    process = served.processes[0].process.pid
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "x" * SIZE}], "input": "x" * SIZE}  # fmt: skip
    if path == "/v1/responses":
        del body["messages"]
    else:
        del body["input"]
    bodies = [json.dumps({**body, "model": name}).encode() for name in ("anthropic/claude-opus-5-5", "openai/gpt-5.6", "nope/nope")]  # fmt: skip

    def ask():
        headers = {"content-type": "application/json"}
        return [httpx2.post(address + path, content=data, headers=headers, trust_env=False, timeout=60).status_code for data in bodies]  # fmt: skip

    for _ in range(3):  # what is imported and allocated once
        assert 200 not in ask()
    before = resident(process)
    for _ in range(TIMES):
        ask()
    assert resident(process) - before < 5 * SIZE


def resident(process):
    """The memory of a process, in bytes."""
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())[1]) * 1024  # fmt: skip
