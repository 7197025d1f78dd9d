"""Finds tool calls that a model wrote as text instead of making them; they are reported as notes and never run.

A model that forgets to close its reasoning writes its call into it, so that the host sees no call and the loop stops
(github.com/QwenLM/qwen-code/issues/6548, 2026). Running such a call is the caller's decision: a draft of a call looks the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.notes import Note
from innervoice.canon.parts import Part, Text, Thinking, ToolCall

__all__ = ["Candidate", "call_notes", "calls_in"]

# The frames of calls in the templates of open models (vllm tool parsers, 2026-08).
_FRAMES = (
    ("<tool_call>", "</tool_call>"),
    ("<minimax:tool_call>", "</minimax:tool_call>"),
    ("<|tool_call_begin|>", "<|tool_call_end|>"),
)
_BEGINNING = re.compile(rf"\s*(?:{'|'.join(re.escape(opener) for opener, _ in _FRAMES)})")
# The beginnings of calls that are not JSON objects, in this order: Qwen3-Coder, MiniMax, Kimi, GLM.
_HEADS = tuple(
    map(
        re.compile,
        (
            r"\s*<function=([\w.-]{1,64})>",
            r'\s*<invoke name="([\w.-]{1,64})">',
            r"\s*(?:functions\.)?([\w.-]{1,64})(?::\d{1,4})?\s*<\|tool_call_argument_begin\|>",
            r"\s*([\w.-]{1,64})\s*(?=<arg_key>|\Z)",
        ),
    )
)
_MOST_NOTES = 8


class Candidate(NamedTuple):
    """A call that is written out in a text."""

    name: str
    arguments: str
    at: int
    """The position of its first character."""


def calls_in(text: str) -> list[Candidate]:
    """The complete calls in a text, in their order."""
    return sorted((call for frame in _FRAMES for call in _framed(text, *frame)), key=_position)


def call_notes(parts: Sequence[Part]) -> tuple[Note, ...]:
    """Notes about calls written into the reasoning of an answer, or at the start of its text."""
    number = _where(parts)
    if number is None or any(isinstance(part, ToolCall) for part in parts):
        return ()
    part = parts[number]
    assert isinstance(part, (Text, Thinking))
    return tuple(
        Note("call_candidate", f"{name} {arguments} at character {at} of part {number}")
        for name, arguments, at in calls_in(part.text)[:_MOST_NOTES]
    )


def _where(parts: Sequence[Part]) -> int | None:
    """Which part may contain a call: the first text if it begins like one, or without a text the last reasoning."""
    last = None
    for number, part in enumerate(parts):
        if type(part) is Thinking:
            last = number
        elif type(part) is not Text:
            last = None  # the reasoning led to something, so the call in it was a draft
        elif part.text and not part.text.isspace():
            return number if _BEGINNING.match(part.text) else None
    return last


def _framed(text: str, opener: str, closer: str) -> Iterator[Candidate]:
    at = text.find(opener)
    while at >= 0:
        end = text.find(closer, at)
        if end < 0:
            return
        call = _call(text[at + len(opener) : end])
        if call:
            yield Candidate(*call, at)
        at = text.find(opener, end)


def _call(inside: str) -> tuple[str, str] | None:
    """Name and arguments of the content of a frame."""
    if inside.lstrip().startswith("{"):
        try:
            value = load_json(inside)
        except ValueError:
            return None
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            return None
        arguments = value.get("arguments", value.get("parameters", {}))
        return name, arguments if isinstance(arguments, str) else dump_json(arguments).decode()
    for head in _HEADS:
        if match := head.match(inside):
            return match[1], " ".join(inside[match.end() :].split())
    return None


def _position(candidate: Candidate) -> int:
    return candidate.at
