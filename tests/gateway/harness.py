"""A gateway on the emulator, asked without a socket, and clients that keep or lose reasoning."""

import asyncio
import json
from dataclasses import replace
from typing import Any, NamedTuple

import innervoice as iv
from innervoice.canon.messages import Message, assistant, tool_result
from innervoice.canon.parts import Text, Thinking, ToolCall
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig, UpstreamSettings
from innervoice.gateway.report import Report

URLS = base_urls("http://emulator")
# One model of each dialect, all of which think.
BEHIND = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "deepseek/deepseek-v4-pro",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "gemini-interactions": "interactions/gemini-3.5-flash",
    "bedrock-converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral/mistral-small-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/gpt-oss",
}
# What a dialect that is not the usual one of its host needs: an upstream that names it.
UPSTREAMS = {"interactions": UpstreamSettings(provider="gemini", dialect="gemini-interactions")}
# The same models as a client names them that asks their hosts.
HOMES = {**BEHIND, "gemini-interactions": "gemini/gemini-3.5-flash"}
# What a client of each dialect believes to talk to, and where it sends its requests: whole, streamed.
PATHS = {
    "anthropic": ("/v1/messages",) * 2,
    "openai-chat": ("/v1/chat/completions",) * 2,
    "openai-responses": ("/v1/responses",) * 2,
    "gemini": (
        "/v1beta/models/{}:generateContent",
        "/v1beta/models/{}:streamGenerateContent?alt=sse",
    ),
    "gemini-interactions": ("/v1beta/interactions",) * 2,
    "bedrock-converse": ("/model/{}/converse", "/model/{}/converse-stream"),
    "mistral": ("/mistral/v1/chat/completions",) * 2,
    "cohere": ("/v2/chat",) * 2,
    "ollama": ("/api/chat",) * 2,
}
TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    }
]
QUESTION = "What is the weather in Lisbon, then the weather in Oslo?"


class Upstream:
    """The emulator, and what was sent to it."""

    def __init__(self, emulator: Emulator | None = None) -> None:
        self.emulator = emulator or Emulator()
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.statuses: list[int] = []
        self.lost: list[int] = []
        """The bytes of the conversation's last prompt that a request lost in the prompt cache."""
        self.raw_answers: list[bytes] = []

    def reply(self, method, path, headers, body):
        reply = self.emulator.reply(method, path, headers, body)
        self.raw_answers.append(reply.body)
        reply = replace(reply, pieces=iter([self.raw_answers[-1]]))
        self.bodies.append(body)
        self.requests.append(json.loads(body or b"{}"))
        self.paths.append(path)
        self.headers.append(dict(headers))
        self.statuses.append(reply.status)
        counted = reply.headers.get("x-emulator-prompt-cache", "lost=0")
        self.lost.append(int(counted.partition("lost=")[2]))
        return reply


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    pieces: list[bytes]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A gateway for a test; `send` asks it as a server would, without a socket."""

    def __init__(self, config=None, upstream=None, environ=None, *, http=None, **options) -> None:
        self.upstream = upstream or Upstream()
        self.reports: list[Report] = []
        config = config or GatewayConfig()
        self.gateway = Gateway(
            config.replace(upstreams={**UPSTREAMS, **config.upstreams}),
            environ or {},
            http=http or embedded_async_http(self.upstream),
            base_url_of=options.pop("base_url_of", URLS.get),
            log=self.reports.append,
            **options,
        )
        self.app = create_app(self.gateway)

    async def call(
        self, method, path, body=None, headers=None, *, leaves=None, reads=None
    ) -> Reply:
        """Asks; `leaves` is an event at which the client is gone, `reads` is awaited with each piece: a slow client."""
        sent: list[dict[str, Any]] = []
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        waiting = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive():
            if waiting:
                return waiting.pop(0)
            await (leaves or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)
            if reads:
                await reads(message)

        plain, _, query = path.partition("?")
        given = {"content-type": "application/json", **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": plain,
            "raw_path": plain.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }
        await self.app(scope, receive, send)
        if not sent:
            return Reply(0, {}, b"", [])
        head, *pieces = sent
        headers = {name.decode(): value.decode() for name, value in head["headers"]}
        bodies = [piece.get("body", b"") for piece in pieces]
        return Reply(head["status"], headers, b"".join(bodies), bodies)

    def ask(self, method, path, body=None, headers=None) -> Reply:
        return asyncio.run(self.call(method, path, body, headers))


def body_of(dialect, model, messages, *, stream=False, **settings):
    """The path and the body that a client of a dialect sends for a conversation."""
    home = HOMES[dialect]
    request = iv.Request(home, tuple(messages), stream=stream, dialect=dialect, **settings)
    body = dict(iv.encode(request).body)
    if "model" in body:
        body["model"] = model
    return PATHS[dialect][stream].format(model), body


class Client:
    """A program that speaks one dialect through a gateway, and runs a tool; `loses` says that it keeps text and calls alone."""

    def __init__(self, served, dialect, model, *, stream=False, loses=False) -> None:
        self.served, self.dialect, self.model = served, dialect, model
        self.stream, self.loses = stream, loses
        self.max_tokens = 8000
        self.history: list[Message] = []
        self.replies: list[Reply] = []
        self.answers: list[iv.Response] = []

    async def say(self, text, *, rounds=5) -> iv.Response:
        self.history.append(iv.user(text))
        for _ in range(rounds):
            answer = await self.turn()
            if not answer.tool_calls:
                return answer
            self.history += [
                tool_result(call.id, f"{json.loads(call.arguments)['city']}: sunshine")
                for call in answer.tool_calls
            ]
        raise AssertionError("the model calls tools without an end")

    async def turn(self) -> iv.Response:
        path, body = body_of(
            self.dialect,
            self.model,
            self.history,
            stream=self.stream,
            tools=TOOLS,
            reasoning=iv.Reasoning("high", show="summary"),
            max_tokens=self.max_tokens,
        )
        reply = await self.served.call("POST", path, body)
        assert reply.status == 200, (reply.status, reply.body[:500])
        self.replies.append(reply)
        answer = read(reply, self.dialect)
        assert answer.error is None, answer.error
        self.answers.append(answer)
        self.history.append(bare(answer.message) if self.loses else answer.message)
        return answer


def read(reply: Reply, dialect) -> iv.Response:
    """The answer, as a client reads it that knows nothing but its own dialect's provider."""
    return iv.decode(reply.body, dialect=dialect, model=HOMES[dialect])


def bare(message: Message) -> Message:
    """What programs keep that know nothing of reasoning."""
    kept = []
    for part in message.parts:
        match part:
            case ToolCall():
                kept.append(ToolCall(part.id, part.name, part.arguments))
            case Text():
                kept.append(Text(part.text))
            case _:
                pass
    return assistant(kept)


def thoughts(message: Message) -> list[Thinking]:
    return [part for part in message.parts if isinstance(part, Thinking)]
