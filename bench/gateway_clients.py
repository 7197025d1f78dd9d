"""Two programs that run a tool through a gateway: one speaks Messages, one Chat. They keep the turns as they come, or drop the reasoning.

What a client keeps is what this gateway gave it, in whatever members: the history of a chat client has `reasoning_details` of one
gateway and `thinking_blocks` of another. So histories are played through the gateway that is measured, and not written here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

_RULES = "You work in a repository. Read a file before you change it, and say what you do. " * 4
_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, from the root of the repository."},
        "from": {"type": "integer"},
        "to": {"type": "integer"},
    },
    "required": ["path"],
}
READ_FILE = ("read_file", "Reads the lines of a file.", _SCHEMA)
WEATHER = (
    "get_weather",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_FILE = "".join(
    f"{n:>4}  def part_{n}(value): return value + {n}  # as 'before'\n" for n in range(58)
)
"""What the tool gives: 3 kB."""


class Conversation:
    """One conversation, as the client has it."""

    path: ClassVar[str]

    def __init__(
        self, model: str, question: str, *, tool: Any = READ_FILE, drops: bool = False
    ) -> None:
        self.model = model
        self.drops = drops
        self.marks = False
        """Whether it moves a cache mark to its last message, as agents of Anthropic's do."""
        self._tool = tool
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]

    def body(self, *, stream: bool = False) -> dict[str, Any]:
        """The next request."""
        raise NotImplementedError

    def take(self, answer: dict[str, Any], result: Callable[[Any], str] = lambda _: _FILE) -> bool:
        """Adds a turn and what its tools gave; returns whether there were any."""
        raise NotImplementedError

    def without_reasoning(self) -> None:
        """Forgets all reasoning, as a client would have that never kept it."""
        self.messages = [self._bare(message) for message in self.messages]

    def _bare(self, message: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class Messages(Conversation):
    """Speaks Anthropic's API."""

    path = "/v1/messages"

    def body(self, *, stream: bool = False) -> dict[str, Any]:
        name, description, schema = self._tool
        return {
            "model": self.model,
            "max_tokens": 8000,
            "stream": stream,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "system": _RULES,
            "tools": [{"name": name, "description": description, "input_schema": schema}],
            "messages": _marked(self.messages) if self.marks else self.messages,
        }

    def take(self, answer: dict[str, Any], result: Callable[[Any], str] = lambda _: _FILE) -> bool:
        turn = {"role": "assistant", "content": answer["content"]}
        self.messages.append(self._bare(turn) if self.drops else turn)
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": result(call["input"])}
            for call in calls
        ]
        if results:
            self.messages.append({"role": "user", "content": results})
        return bool(results)

    def _bare(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["role"] != "assistant":
            return message
        kept = {"text": ("text",), "tool_use": ("id", "name", "input")}
        blocks = [
            {"type": block["type"], **{name: block[name] for name in kept[block["type"]]}}
            for block in message["content"]
            if block["type"] in kept
        ]
        return {"role": "assistant", "content": blocks}


def _marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with a cache mark at their end."""
    *before, last = messages
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    block = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
    return [*before, {**last, "content": [*blocks[:-1], block]}]


class Chat(Conversation):
    """Speaks Chat Completions."""

    path = "/v1/chat/completions"

    def body(self, *, stream: bool = False) -> dict[str, Any]:
        name, description, schema = self._tool
        function = {"name": name, "description": description, "parameters": schema}
        return {
            "model": self.model,
            "max_tokens": 8000,
            "stream": stream,
            "reasoning_effort": "high",
            "tools": [{"type": "function", "function": function}],
            "messages": [{"role": "system", "content": _RULES}, *self.messages],
        }

    def take(self, answer: dict[str, Any], result: Callable[[Any], str] = lambda _: _FILE) -> bool:
        turn = answer["choices"][0]["message"]
        self.messages.append(self._bare(turn) if self.drops else turn)
        calls = turn.get("tool_calls") or []
        for call in calls:
            given = json.loads(call["function"]["arguments"])
            self.messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": result(given)}
            )
        return bool(calls)

    def _bare(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["role"] != "assistant":
            return message
        bare = {"role": "assistant", "content": message.get("content")}
        if not message.get("tool_calls"):
            return bare
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["function"]["name"],
                    "arguments": call["function"]["arguments"],
                },
            }
            for call in message["tool_calls"]
        ]
        return {**bare, "tool_calls": calls}


CLIENTS: dict[str, type[Conversation]] = {"messages": Messages, "chat": Chat}
