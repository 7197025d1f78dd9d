"""Long histories through `plan` and `encode`: to their own provider, with reasoning, and to another one, without."""

from __future__ import annotations

import json

import innervoice as iv
from contenders import Jobs

TURNS = (10, 100, 1_000, 10_000)
TARGETS = {
    "home": "anthropic/claude-opus-5-5",
    "abroad": "openai/gpt-5.6",
    "ids": "mistral/mistral-large-latest",
    "shared": "anthropic/claude-opus-5-5",
}
"""`ids`: every id is mapped. `shared`: all calls have one id, as in histories of Gemini without ids."""


def _answer(number: int) -> iv.Message:
    """A turn of Claude; every third one calls a tool."""
    content = [
        {
            "type": "thinking",
            "thinking": f"Step {number}: " + "think " * 40,
            "signature": f"sig-{number}",
        },
        {"type": "text", "text": f"Answer {number}. " + "say " * 40},
    ]
    if number % 3 == 0:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"n": number}}
        content.append(call)
    message = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": content,
        "stop_reason": "end_turn",
    }
    return iv.decode(json.dumps(message).encode(), provider="anthropic").message


def history(turns: int) -> list[iv.Message]:
    """So many turns of both, with the results of calls between them, and a last question."""
    messages: list[iv.Message] = []
    for number in range(turns):
        messages += [iv.user(f"Question {number}"), _answer(number)]
        if number % 3 == 0:
            messages.append(iv.tool_result(f"toolu_{number}", f"result {number}"))
    return [*messages, iv.user("And now?")]


def shared(turns: int) -> list[iv.Message]:
    """So many turns with a call each, all of which have the same id."""
    messages: list[iv.Message] = []
    for number in range(turns):
        call = iv.ToolCall("call_0", "look", f'{{"n": {number}}}')
        result = iv.tool_result("call_0", f"result {number}")
        messages += [iv.user(f"Question {number}"), iv.Message("assistant", (call,)), result]
    return [*messages, iv.user("And now?")]


def jobs(_: str) -> Jobs:
    """By verb, and by target and number of turns."""
    found: Jobs = {}
    for turns in TURNS:
        usual, alike = history(turns), shared(turns)
        for where, target in TARGETS.items():
            messages = alike if where == "shared" else usual
            name = f"{where}.{turns}"
            request = iv.Request(target, messages)
            found["plan", name] = lambda messages=messages, target=target: iv.plan(messages, target)
            found["encode", name] = lambda request=request: iv.encode(request)
    return found
