"""A real llama.cpp: what the catalog says of it is true, budgets and template arguments do what they should, and reasoning that is restored counts."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

import innervoice as iv
from innervoice.cli.commands import innervoice

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-llamacpp" / "bin" / "python"
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="llama.cpp is in .venv-llamacpp: scripts/setup llamacpp"
)
THOUGHT, ANSWER = "Let me add two and two.", "It is four."


@contextmanager
def served(folder, template, form="deepseek"):
    model = folder / f"{template.stem}.gguf"
    if not model.exists():
        subprocess.run([PYTHON, HERE / "model.py", model, template], check=True, timeout=60)
    with subprocess.Popen(
        [PYTHON, HERE / "serve.py", model, form],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("llamacpp")


@pytest.fixture(scope="module")
def server(folder):
    with served(folder, HERE / "chat.jinja") as address:
        yield address


@pytest.fixture
def client(server):
    with iv.Client(provider="llamacpp", base_url=f"{server}/v1") as client:
        yield client


def test_whole_and_streamed(client):
    whole = client.ask("two-and-two", "2+2?")
    with client.stream("two-and-two", "2+2?") as events:
        for _ in events:
            pass

    assert (THOUGHT, ANSWER) == (whole.thinking, whole.text)
    assert whole.parts == events.response.parts
    assert whole.usage.output_tokens == events.response.usage.output_tokens


def test_a_budget_ends_the_thought(client):
    """In tokens, counted by the server, and the answer still comes."""
    answer = client.ask("two-and-two", "2+2?", reasoning=iv.Reasoning(budget=3))

    assert ("Let me add", ANSWER) == (answer.thinking, answer.text)


def test_thinking_is_switched_off(client):
    answer = client.ask("two-and-two", "2+2?", reasoning="none")

    assert (None, ANSWER) == (answer.thinking, answer.text)


def test_reasoning_in_the_text_is_split(folder):
    with (
        served(folder, HERE / "chat.jinja", "none") as address,
        iv.Client(provider="llamacpp", base_url=f"{address}/v1") as client,
    ):
        answer = client.ask("two-and-two", "2+2?")

    assert (THOUGHT, ANSWER) == (answer.thinking, answer.text)


@pytest.mark.parametrize("form", ["deepseek", "none"])
def test_probe_recognizes_it_and_agrees_with_the_catalog(folder, form):
    with served(folder, HERE / "chat.jinja", form) as address:
        result = CliRunner().invoke(
            innervoice, ["probe", "--base-url", f"{address}/v1", "--yes", "--json"]
        )
    found = json.loads(result.stdout)
    differs = {fact["id"] for fact in found["facts"] if fact["status"] not in ("agrees", "not measured")}  # fmt: skip

    assert found["server"][0].startswith("server    llama.cpp ")
    assert ({"place", "streamed-place"} if form == "none" else set()) == differs


@pytest.mark.parametrize("keeps", [True, False])
def test_a_conversation_is_read_from_the_cache_if_its_reasoning_counts(folder, server, keeps):
    """The server says how much of the prompt it had read before: all of the last turn, where the template keeps the thought."""
    name = "Qwen/Qwen3.6-35B-A3B" if keeps else "an-unknown-model"
    with iv.Client(provider="llamacpp", base_url=f"{server}/v1") as client:
        chat = client.conversation(name)
        first = chat.ask(f"2+2, and tell me why, please? ({keeps})")
        second = chat.ask("And 3+3?")

    read = first.usage.input_tokens + first.usage.output_tokens
    assert (second.usage.cached_input_tokens >= read - 2) is keeps


def test_the_gateway_restores_what_a_client_drops(folder, server, tmp_path):
    """A client that keeps only texts: through the gateway the server still has the thought, and need not read the prompt again."""
    configuration = tmp_path / "gateway.toml"
    configuration.write_text(
        f'[upstreams.local]\nprovider = "llamacpp"\nbase_url = "{server}/v1"\n', "utf-8"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "innervoice", "serve", "--config", configuration, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as process:
        try:
            address = next(line for line in process.stdout if "http://" in line)
            base = "http://" + address.split("http://")[1].split()[0].rstrip("/,")
            messages = [{"role": "user", "content": "2+2, in words?"}]
            first = _asked(base, messages)
            messages += [
                {"role": "assistant", "content": first["choices"][0]["message"]["content"]}
            ]
            messages += [{"role": "user", "content": "And 3+3?"}]
            second = _asked(base, messages)
        finally:
            process.terminate()
            process.wait(30)

    read = first["usage"]["total_tokens"]
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] >= read - 2


def _asked(base, messages):
    body = {"model": "local/Qwen/Qwen3.6-35B-A3B", "messages": messages, "max_tokens": 64}
    answer = httpx2.post(f"{base}/v1/chat/completions", json=body, timeout=60)
    assert 200 == answer.status_code, answer.text
    return answer.json()
