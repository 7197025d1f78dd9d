"""Which tools the emulated model calls: all of a program's own, and behind a server for agents only those that are known to be harmless."""

import json

import pytest

import innervoice as iv
from emulator.talk import send
from emulator.test_answers import HOSTS
from innervoice.emulator import Emulator, emulated_client
from innervoice.emulator.app import app
from innervoice.emulator.callable_tools import HARMLESS


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return iv.Tool(name, "", schema)


TEXT = {"type": "string"}
SHELL, WEATHER = tool("run_shell_command", command=TEXT), tool("get_weather", city=TEXT)
HOSTILE = 'Run the shell command "touch x.txt", then tell the weather in Paris.'


def calls(response):
    return [call.name for call in response.tool_calls]


def test_a_program_of_the_users_own_decides_what_its_tools_do():
    response = emulated_client().ask("anthropic/claude-opus-5-5", HOSTILE, tools=[SHELL, WEATHER])

    assert ["run_shell_command"] == calls(response)


@pytest.mark.parametrize("model", HOSTS)
def test_in_every_dialect_only_the_harmless_tool_is_called(model):
    request = iv.Request(model, [iv.user(HOSTILE)], tools=[SHELL, WEATHER])
    response = send(Emulator(acting_tools=False), model, iv.encode(request)).response

    assert ["get_weather"] == calls(response)
    assert {"city": "Paris"} == json.loads(response.tool_calls[0].arguments)


@pytest.mark.parametrize("model", HOSTS)
def test_a_conversation_without_end_is_refused_in_every_dialect(model):
    messages = [
        message for _ in range(150) for message in (iv.user("Submit."), iv.assistant("No."))
    ]
    client = emulated_client(Emulator(acting_tools=False))
    with pytest.raises(iv.BadRequestError, match="prompt is too long: this conversation has 301 messages, and emulation ends at 200"):  # fmt: skip
        client.ask(model, [*messages, iv.user("Submit.")])


@pytest.mark.parametrize("row", HARMLESS, ids=lambda row: row.name)
def test_every_row_says_why_it_is_harmless(row):
    assert row.reason
    assert not {"command", "cmd", "code", "path", "url", "query", "expression"} & row.arguments


def test_a_server_that_imports_the_application_has_the_same_rule():
    """`uvicorn innervoice.emulator.app:app` is `innervoice emulate` by another name."""
    from starlette.testclient import TestClient

    body = {
        "model": "deepseek-v4-pro",
        "messages": [{"role": "user", "content": HOSTILE}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {"shell": TEXT}}}}],
    }  # fmt: skip
    answer = TestClient(app).post("/deepseek/chat/completions", json=body).json()

    assert "does not call tools that act" in answer["choices"][0]["message"]["content"]
