"""`innervoice serve --demo`: one conversation through four APIs of a gateway, with a program that keeps no reasoning."""

from __future__ import annotations

from typing import Any

import click
import httpx2

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message, assistant, tool_result, user
from innervoice.canon.parts import Text, ToolCall
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.tools import Tool
from innervoice.client.embedded import embedded_async_http
from innervoice.decoding import decode
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import load_config
from innervoice.gateway.in_thread import GatewayInThread
from innervoice.planning.encode import encode

__all__ = ["run"]

_MODEL = "anthropic/claude-opus-5-5"
# The API that the program uses, a model of that API, the path of its requests, and its question.
_WAY = (
    ("Messages", "anthropic/claude-opus-5-5", "/v1/messages", "What is the weather in Lisbon, then the weather in Oslo?"),
    ("Chat Completions", "deepseek/deepseek-v4-pro", "/v1/chat/completions", "And the weather in Bergen?"),
    ("Responses", "openai/gpt-5.6", "/v1/responses", "The weather in Porto, please."),
    ("Gemini", "gemini/gemini-3.5-flash", f"/v1beta/models/{_MODEL}:generateContent", "And what is 17 * 3?"),
)  # fmt: skip
_TOOL = Tool(
    "get_weather",
    "Returns the weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def run() -> None:
    """Starts a gateway on the emulator, runs the conversation, and prints what was kept and restored."""
    urls = base_urls("http://emulator")
    gateway = Gateway(
        load_config(None, {}), {}, http=embedded_async_http(Emulator()), base_url_of=urls.get
    )
    with GatewayInThread(create_app(gateway)) as server:
        click.echo(f"A gateway at {server.url}; every model is emulated, and no API key is needed.")
        click.echo(f"A client that keeps only texts and tool calls talks to {_MODEL}.\n")
        with httpx2.Client(base_url=server.url, timeout=60) as http:
            restored = _lead(http)
    click.echo(
        f"\nThe client dropped the reasoning of every turn; the gateway restored {restored} pieces."
    )
    click.echo("The model got all its reasoning back, whichever API the client used.")


def _lead(http: httpx2.Client) -> int:
    """Runs the conversation; returns how much reasoning was restored."""
    history: list[Message] = []
    restored = 0
    for api, home, path, question in _WAY:
        click.secho(f"── {api}: POST {path}", bold=True)
        click.echo(f"you: {question}")
        history.append(user(question))
        while True:
            answer, headers_line = _answer_of(http, history, home, path)
            restored += int(headers_line.partition("restored=")[2].partition(" ")[0])
            click.echo(f"  {headers_line}")
            history.append(_bare(answer.message))
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                click.echo(f"  calls {call.name}({call.arguments})")
                city = load_json(call.arguments or "{}").get("city", "")
                history.append(tool_result(call.id, f"{city}: sunshine"))
        click.echo(f"{_MODEL}: {answer.text}\n")
    return restored


def _answer_of(
    http: httpx2.Client, history: list[Message], home: str, path: str
) -> tuple[Response, str]:
    """The answer, and what happened to the reasoning of the request."""
    request = Request(
        home,
        tuple(history),
        tools=(_TOOL,),
        reasoning=Reasoning("high", show="summary"),
        max_tokens=8000,
    )
    wire = encode(request)
    body: dict[str, Any] = {**wire.body, "model": _MODEL} if "model" in wire.body else wire.body
    reply = http.post(path, json=body)
    if reply.status_code != 200:
        raise click.ClickException(f"{path}: {reply.status_code} {reply.text[:500]}")
    return decode(reply.content, dialect=wire.dialect, model=home), reply.headers[
        "x-innervoice-reasoning"
    ]


def _bare(message: Message) -> Message:
    """What a program keeps if it ignores reasoning."""
    messages: list[Any] = []
    for part in message.parts:
        if isinstance(part, Text):
            messages.append(Text(part.text))
        elif isinstance(part, ToolCall):
            messages.append(ToolCall(part.id, part.name, part.arguments))
    return assistant(messages)
