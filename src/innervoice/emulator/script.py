"""A script for the emulated model: what it does next in a conversation, instead of deciding itself.

A script is a function `(messages, tools) -> step`, or a list of steps: the first turn of the model uses the first step, and so on; after
the last step the emulated model decides itself. A step is a dict:

    {"think": "I need the file.", "call": {"name": "read", "arguments": {"path": "a.txt"}}}     `call` may be a list of calls
    {"call": {"name": "apply_patch", "input": "*** Begin Patch"}}                               `input` for a free-form tool
    {"think": "Done.", "answer": "It says hello."}

A file contains such a list as JSON, or several conversations: `[{"match": "a regular expression", "steps": [...]}, ...]`. The first of the
user's messages that one of the expressions matches begins that conversation: agents put messages of their own before it. A request without
tools, such as an agent's for a title, gets no calls. Seals and rules are still those of the emulator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Tool
from innervoice.emulator.scripted_model import AnswerDraft, words_of
from innervoice.errors import UsageError

__all__ = ["Script", "draft_of", "script_from"]

Step: TypeAlias = dict[str, Any]
Script: TypeAlias = Callable[[Sequence[Message], Sequence[Tool]], Step | None]
"""Returns the next step of a conversation, or None where the emulated model decides itself."""

_MEMBERS = {"think", "call", "answer"}


def script_from(source: Any) -> Script:
    """The script from a function, a list of steps or a file."""
    if callable(source):
        script: Script = source
        return script
    if isinstance(source, (str, Path)):
        try:
            source = load_json(Path(source).read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"the script {str(source)[:200]!r} cannot be read: {error}") from None
    if not isinstance(source, (list, tuple)):
        raise UsageError(f"a script is a function or a list of steps, not {type(source).__name__}")
    conversations = [_conversation(number, item) for number, item in enumerate(source)]
    if not all(conversations):
        steps = [_checked(number, item) for number, item in enumerate(source)]
        return lambda messages, tools: _at(steps, messages, tools)

    def play(messages: Sequence[Message], tools: Sequence[Tool]) -> Step | None:
        for number, message in enumerate(messages):
            words = words_of(message) if message.role == "user" else ""
            for pattern, steps in filter(None, conversations):
                if message.role == "user" and pattern.search(words):
                    return _at(steps, messages[number:], tools)
        return None

    return play


def draft_of(step: Step, pieces: int) -> AnswerDraft:
    """The turn that a step describes."""
    thought = step.get("think")
    calls = step.get("call")
    listed = [calls] if isinstance(calls, dict) else calls or []
    thoughts = [str(thought)] if thought else []
    thoughts += ["Checking once more."] * (pieces - len(thoughts) if thoughts else 0)
    return AnswerDraft(
        thoughts=tuple(thoughts),
        text=str(step.get("answer") or ""),
        calls=tuple((str(call["name"]), _given(call)) for call in listed),
    )


def _given(call: Step) -> dict[str, Any] | str:
    """The input of a call: arguments, or the text of a free-form tool."""
    arguments = call.get("input", call.get("arguments"))
    return arguments if isinstance(arguments, str) else dict(arguments or {})


def _conversation(number: int, item: Any) -> tuple[re.Pattern[str], list[Step]] | None:
    if not isinstance(item, dict) or "steps" not in item:
        return None
    try:
        pattern = re.compile(str(item.get("match", "")))
    except re.error as error:
        raise UsageError(f"conversation {number} of the script: {error}") from None
    return pattern, [_checked(at, step) for at, step in enumerate(item["steps"])]


def _checked(number: int, step: Any) -> Step:
    if not isinstance(step, dict) or not step.keys() <= _MEMBERS or not step:
        raise UsageError(
            f"step {number} of the script must have think, call or answer; not {step!r}"
        )
    calls = step.get("call")
    for call in [calls] if isinstance(calls, dict) else calls or []:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise UsageError(f"a call in step {number} of the script needs a name; not {call!r}")
    return step


def _at(steps: Sequence[Step], messages: Sequence[Message], tools: Sequence[Tool]) -> Step | None:
    turns = sum(message.role == "assistant" for message in messages)
    step = steps[turns] if turns < len(steps) else None
    return None if step and "call" in step and not tools else step
