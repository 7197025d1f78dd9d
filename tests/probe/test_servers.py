"""Servers of one's own: what they are, where their reasoning stands, and the lines that make them work."""

import json
import tomllib

import pytest
from click.testing import CliRunner

import innervoice as iv
from innervoice.cli.commands import innervoice as command
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import load_config
from innervoice.gateway.in_thread import GatewayInThread
from probe.probing import Probed, emulator_server

QWEN = "qwen3-8b"


@pytest.fixture(scope="module")
def at():
    with emulator_server() as both:
        yield both


def found(url, *arguments):
    line = ["probe", "--base-url", url, "--yes", *arguments]
    return CliRunner().invoke(command, line, catch_exceptions=False)


SERVERS = [
    ("vllm", "vLLM 0.26.0", "stands in reasoning"),
    ("sglang", "SGLang 0.6.1", "stands in reasoning_content"),
    ("llamacpp", "llama.cpp b9931-emulated", "stands in reasoning_content"),
    ("ollama", "Ollama 0.30.4", "stands in thinking"),
    ("lmstudio", "LM Studio", "stands in <think> in the content"),
]


@pytest.mark.parametrize(("host", "name", "reasoning"), SERVERS)
@pytest.mark.parametrize("with_version", [True, False])
def test_the_program_is_recognized(at, host, name, reasoning, with_version):
    """By the base URL that people pass, with its version or without."""
    server, answering = at
    answering.emulator = Emulator()
    url = f"{server.url}/{host}" + ("/v1" if with_version else "")
    result = found(url, "--model", QWEN)

    assert f"server    {name} at {server.url}/{host}" in result.stdout
    assert "openai-chat" in next(
        line for line in result.stdout.splitlines() if line.startswith("APIs")
    )
    assert f"reasoning {reasoning}" in result.stdout
    assert "DIFFERS" not in result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize("host", [host for host, *_ in SERVERS])
def test_the_lines_work(at, host, tmp_path):
    """The table is accepted by the gateway, and the line of Python gives an answer with its reasoning."""
    server, answering = at
    answering.emulator = Emulator()
    lines = found(f"{server.url}/{host}/v1", "--model", QWEN).stdout.splitlines()
    start = lines.index("for the gateway:") + 1
    table = tomllib.loads("\n".join(lines[start : lines.index("", start)]))
    file = tmp_path / "gateway.toml"
    file.write_text("\n".join(lines[start : lines.index("", start)]), "utf-8")
    checked = CliRunner().invoke(command, ["serve", "--check", "--config", str(file)])
    python = lines[lines.index("for Python:") + 1].strip()
    made, _, asked = python.partition(".ask(")
    with eval(made, {"iv": iv}) as client:
        answer = eval(f"client.ask({asked}", {"client": client})

    assert table["upstreams"]["local"]["provider"] == host
    assert checked.exit_code == 0, checked.output
    assert answer.thinking
    assert answer.text


@pytest.mark.parametrize(
    ("host", "model", "advice"),
    [
        ("vllm", "Qwen/Qwen3-8B", "--reasoning-parser qwen3"),
        ("vllm", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "--reasoning-parser deepseek_r1"),
        ("sglang", "Qwen/Qwen3-8B", "--reasoning-parser qwen3"),
        ("sglang", "deepseek-ai/DeepSeek-R1", "--reasoning-parser deepseek-r1"),
        ("llamacpp", "Qwen3-8B-Q4_K_M.gguf", "--jinja --reasoning-format deepseek"),
    ],
)
def test_a_server_without_its_parser(at, host, model, advice):
    """Reasoning in the text: the server can be started so that it comes in a field."""
    server, answering = at
    answering.emulator = Emulator(deviations=[{"markup": {"tags": ["think"]}}])
    result = found(f"{server.url}/{host}/v1", "--model", model)

    assert "reasoning stands in <think> in the content" in result.stdout
    assert f"start the server with: {advice}" in result.stdout


def test_a_template_that_opens_the_tag(at):
    """The text starts inside the reasoning; the catalog that is printed makes every reader know it."""
    server, answering = at
    answering.emulator = Emulator(deviations=[{"markup": {"tags": ["think"], "prefix_open": True}}])
    result = found(f"{server.url}/vllm/v1", "--model", "my-own-model")
    lines = result.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("for your catalog"))
    [row] = tomllib.loads("\n".join(lines[start + 1 :]))["markup"]

    assert "and the template opens the tag" in result.stdout
    assert (row["match"], row["tags"], row["prefix_open"]) == (["my-own-model"], ["think"], True)


def test_a_proxy(at):
    server, answering = at
    answering.emulator = Emulator(deviations=[{"server": {"poses_as": "litellm"}}])
    result = found(f"{server.url}/custom/v1", "--model", QWEN)

    assert f"server    litellm at {server.url}/custom/v1" in result.stdout


def test_an_unknown_server(at):
    server, answering = at
    answering.emulator = Emulator()
    result = found(f"{server.url}/custom/v1", "--model", QWEN, "--json")
    probed = Probed(result)

    assert probed.data["server"][0].startswith("server    an unknown server at")
    assert probed.facts["plain"]["status"] == "agrees"


def test_the_first_model_is_measured_if_none_is_named(at):
    server, answering = at
    answering.emulator = Emulator()
    result = found(f"{server.url}/vllm/v1", "--only", "plain", "--json")

    assert json.loads(result.stdout)["model"].startswith("vllm/")


def test_nothing_answers():
    with emulator_server() as (server, _):
        url = f"{server.url}/vllm/v1"
    result = found(url)

    assert result.exit_code == 1
    assert f"nothing answers at {url}" in result.stderr


def test_loops_and_errors_of_streams(at):
    server, answering = at
    answering.emulator = Emulator()
    probed = Probed(found(f"{server.url}/vllm/v1", "--model", QWEN, "--json"))

    assert {"loop", "dropped", "grammar", "streamed-place"} <= set(probed.facts)


def test_another_innervoice():
    """A gateway of this project is recognized, and its models are measured."""
    http, urls = embedded_async_http(Emulator()), base_urls("http://emulator")
    gateway = Gateway(load_config(None, {}), {}, http=http, base_url_of=urls.get)
    with GatewayInThread(create_app(gateway)) as server:
        url = f"{server.url}/v1"
        result = found(url, "--model", "deepseek/deepseek-v4-pro", "--only", "plain,place,grammar")

    assert f"server    innervoice at {url}" in result.stdout
    assert "reasoning stands in reasoning_content" in result.stdout
