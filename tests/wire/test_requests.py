"""One request in every dialect: the whole body as it is written, and the request that is read back from it."""

import json
from pathlib import Path

import pytest

import innervoice as iv
from wire.test_tools import TARGETS

BODIES = json.loads((Path(__file__).parent / "requests.json").read_text("utf-8"))
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
HISTORY = [
    iv.system("Be kind."),
    iv.Message("user", (iv.Text("Look."), iv.Media("image/png", data="AA=="))),
    iv.Message("assistant", (iv.Text("I look."), iv.ToolCall("call00001", "weather", '{"city":"Rome"}'))),
    iv.tool_result("call00001", "rain", error=True),
    iv.user("So?"),
]  # fmt: skip
CHOICES = ("auto", "none", "required", "any", "weather")


def request_for(dialect, **fields):
    settings = {
        "system": "Be brief.",
        "tools": [iv.Tool("weather", "The weather.", SCHEMA)],
        "max_tokens": 5000,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "reasoning": "none" if dialect in ("anthropic", "bedrock-converse") else None,
        "response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": SCHEMA}},
        "stream": True,
    }
    return iv.Request(TARGETS[dialect][0], HISTORY, **{**settings, **fields})


def written(dialect):
    """The body, and how it says each choice of a tool."""
    body = iv.encode(request_for(dialect)).body
    choices = {}
    for choice in CHOICES:
        made = iv.encode(request_for(dialect, tool_choice=choice)).body
        choices[choice] = {
            name: value for name, value in made.items() if name not in body or body[name] != value
        }
    return {"body": body, "choices": choices}


@pytest.mark.parametrize("dialect", TARGETS)
def test_written(dialect):
    assert BODIES[dialect] == json.loads(json.dumps(written(dialect)))


@pytest.mark.parametrize("dialect", TARGETS)
def test_read_back(dialect):
    """What a server reads says the same, and written again it is the same body."""
    body = BODIES[dialect]["body"]
    read = iv.decode_request(json.dumps(body), dialect)
    said = [message for message in read.messages if message.role != "system"]
    assert ["Look.", "I look.", "So?"] == [message.text for message in said if message.text]
    calls = [call for message in said for call in message.tool_calls]
    assert ["weather"] == [call.name for call in calls]
    assert {"city": "Rome"} == json.loads(calls[0].arguments)
    results = [part for message in said for part in message.parts if part.type == "tool_result"]
    assert [calls[0].id] == [part.call_id for part in results]
    model = TARGETS[dialect][0]
    again = iv.encode(read.replace(model=model, stream=True)).body
    assert body == json.loads(json.dumps(again))
