"""Small requests of every dialect, and places in them where a stranger may stand."""

from __future__ import annotations

import copy
import json
from typing import Any

from innervoice.emulator import Emulator

__all__ = ["BODIES", "PATHS", "STRICT", "ask", "changed"]

Body = dict[str, Any]
_FUNCTION = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
_SAID = [{"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?"}]}]

PATHS = {
    "anthropic": "/anthropic/v1/messages",
    "openai-chat": "/openai/v1/chat/completions",
    "openai-responses": "/openai/v1/responses",
    "gemini": "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
    "gemini-interactions": "/gemini/v1beta/interactions",
    "bedrock-converse": "/bedrock/model/us.anthropic.claude-sonnet-4-5-v1%3A0/converse",
    "mistral": "/mistral/v1/chat/completions",
    "cohere": "/cohere/v2/chat",
    "deepseek": "/deepseek/chat/completions",
    "ollama": "/ollama/api/chat",
    "vllm": "/vllm/v1/chat/completions",
}
_CHAT = {"messages": _SAID, "tools": [{"type": "function", "function": _FUNCTION}]}
BODIES: dict[str, Body] = {
    "anthropic": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 2000,
        "messages": _SAID,
        "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
    },
    "openai-chat": {"model": "gpt-5.6", "reasoning_effort": "none", **_CHAT},
    "openai-responses": {
        "model": "gpt-5.6",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "What is 2 + 2?"}]}],
        "tools": [{"type": "function", **_FUNCTION}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "What is 2 + 2?"}]}],
        "tools": [{"functionDeclarations": [_FUNCTION]}],
    },
    "gemini-interactions": {
        "model": "gemini-2.5-flash",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "What is 2 + 2?"}]}],
        "tools": [{"type": "function", **_FUNCTION}],
    },
    "bedrock-converse": {
        "messages": [{"role": "user", "content": [{"text": "What is 2 + 2?"}]}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]},
    },
    "mistral": {"model": "mistral-small-latest", **_CHAT},
    "cohere": {"model": "command-a-03-2025", **_CHAT},
    "deepseek": {"model": "deepseek-v4-pro", **_CHAT},
    "ollama": {"model": "qwen3", "stream": False, "messages": [{"role": "user", "content": "What is 2 + 2?"}]},
    "vllm": {"model": "any/model-at-all", **_CHAT},
}  # fmt: skip
"""One request that each API accepts, by dialect; deepseek and vllm are hosts that ignore strangers."""
FLAGS = {"anthropic-beta": "per-turn-control-2026-07-01"}
"""What Claude Code sends with its messages that set an effort."""
STRICT = (
    "anthropic", "openai-chat", "openai-responses", "gemini", "gemini-interactions", "bedrock-converse", "mistral",
    "cohere",
)  # fmt: skip


def ask(name: str, body: Any, emulator: Emulator | None = None, path: str | None = None) -> Any:
    """The status of a reply and its body as text."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = (emulator or Emulator()).reply(
        "POST", path or PATHS[name], {"authorization": "k", **FLAGS}, data
    )
    return reply.status, reply.body.decode()


def changed(name: str, place: str, value: Any) -> Body:
    """The request of a dialect with a value put at a place: `messages.0.content.0.foo`."""
    body = copy.deepcopy(BODIES[name])
    holder: Any = body
    *steps, last = place.split(".")
    for step in steps:
        holder = holder[int(step) if step.isdigit() else step]
    holder[int(last) if last.isdigit() else last] = value
    return body
