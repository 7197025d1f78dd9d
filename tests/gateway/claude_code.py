"""Claude Code as it asks: a billing line that varies, and cache marks that move."""

import asyncio
import json
import sys
from pathlib import Path

from gateway.harness import TOOLS, Served
from innervoice.canon.jsontext import dump_json
from innervoice.gateway.callers import ANYBODY
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.endpoints import Endpoint

BILLING = "x-anthropic-billing-header: cc_version=2.1.328.{:03x}; cc_entrypoint=cli; cch={:05x};"
MARK = {"cache_control": {"type": "ephemeral"}}
PROMPT = "You are an agent. " * 40
SOURCE = str(Path(__file__).parents[2] / "src" / "innervoice")
_TOOLS = [{"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in TOOLS]  # fmt: skip
_BLOCKS = ("thinking", "redacted_thinking")


class ClaudeCode:
    """One conversation: an agent that makes one call in each step."""

    def __init__(self, model, *, keeps=True, line="varies", marked=("last",), joined=False):
        """`keeps`: its reasoning; `line`: "varies", "constant" or "none"; `marked`: which messages have a cache mark."""
        self.served = Served()
        self.model, self.keeps, self.line = model, keeps, line
        self.marked, self.is_joined = marked, joined
        self.history = []
        self.number = 0
        self.bodies = []

    def ask(self, text):
        """A question of the user."""
        self.history.append({"role": "user", "content": [{"type": "text", "text": text}]})

    def add(self, message):
        """Another message of the program."""
        self.history.append(message)

    def request(self):
        """The body of the next request."""
        self.number += 1
        messages = json.loads(json.dumps(self.history))
        turns = [one for one in messages if one["role"] == "assistant"]
        users = [one for one in messages if one["role"] == "user"]
        chosen = {"last": users[-1:], "two": users[-2:], "turn": turns[-1:], "first": users[:1]}
        for name in self.marked:
            for message in chosen[name]:
                message["content"][-1].update(MARK)
        line = BILLING.format(*((self.number, self.number * 7) if self.line == "varies" else (1, 1)))  # fmt: skip
        first = [] if self.line == "none" else [{"type": "text", "text": line}]
        system = [*first, {"type": "text", "text": PROMPT, **MARK}]
        if self.is_joined:
            system = "\n".join(block["text"] for block in system)
        return {
            "model": self.model, "max_tokens": 8000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}, "system": system, "tools": _TOOLS,
            "messages": messages,
        }  # fmt: skip

    def step(self):
        """One request and its answer, with the results of its calls."""
        body = self.request()
        self.bodies.append(json.dumps(body).encode())
        reply = self.served.ask("POST", "/v1/messages", self.bodies[-1])
        assert reply.status == 200, reply.body
        content = [block for block in reply.json["content"] if self.keeps or block["type"] not in _BLOCKS]  # fmt: skip
        self.history.append({"role": "assistant", "content": content})
        calls = [block for block in content if block["type"] == "tool_use"]
        if calls:
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "Sunshine"}]} for call in calls]  # fmt: skip
            self.history.append({"role": "user", "content": results})
        return calls

    @property
    def report(self):
        """What happened to the last request."""
        return self.served.reports[-1]

    @property
    def sent(self):
        """What the provider got last."""
        return self.served.upstream.bodies[-1]

    def written_anew(self):
        """What a gateway that knows nothing but the store would send for the last request."""
        gateway = self.served.gateway
        names = ("forwarded", "appended", "first_questions")
        tables = [getattr(gateway, name) for name in names]
        for name, table in zip(names, tables, strict=True):
            setattr(gateway, name, type(table)())
        try:
            report = gateway.new_report(ANYBODY, "anthropic")
            endpoint = Endpoint("anthropic", "answer", None, None)
            request = ClientRequest(gateway, endpoint, self.bodies[-1], report, {})
            route = gateway.routes.route(request.name)
            attempt = asyncio.run(request.attempt(route.candidates[0], route))
            return attempt.sent or dump_json(attempt.wire.body)
        finally:
            for name, table in zip(names, tables, strict=True):
                setattr(gateway, name, table)


def lines_of(client):
    """How many lines of innervoice one step of a client runs, without those of the emulator that answers it."""
    count = 0
    upstream = client.served.upstream
    reply = upstream.reply

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        count += event == "line"
        return trace

    def uncounted(*request):
        sys.settrace(None)
        try:
            return reply(*request)
        finally:
            sys.settrace(trace)

    before = sys.gettrace()
    upstream.reply = uncounted
    sys.settrace(trace)
    try:
        client.step()
    finally:
        sys.settrace(before)
        upstream.reply = reply
    return count
