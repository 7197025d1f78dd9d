"""Which tools the emulated model calls without a script, and where a conversation ends.

The emulated model understands nothing: it calls a tool because a word of the tool's name occurs in the question, and passes words of the
question on. A program of the user's own (`emulated_client`, the pytest fixture) has its own tools, and decides what they do. Behind
`innervoice run`, `serve --emulated` and `emulate` there may be an agent with a shell. There:

  1. Without a script only the tools of `HARMLESS` are called.
  2. What is repeated of a question or a result is plain text: some agents run the code, the tags or the JSON in an answer.
  3. A conversation has a limit, so that a program which asks until it gets a certain call comes to an end.

Everywhere, the model calls no more tools after `MOST_ROUNDS` turns with calls.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Text
from innervoice.canon.request import Tool
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.refusals import Refusal

__all__ = ["HARMLESS", "CallableTools", "callable_tools", "own_words", "plain_text", "too_long"]


class HarmlessTool(NamedTuple):
    """A tool that changes nothing, by its name and arguments: a name alone could be anybody's."""

    name: str
    arguments: frozenset[str]
    """All arguments that it may have, each a string, a number or a boolean."""
    reason: str


_PLACE = frozenset({"city", "location", "place", "country", "unit", "units", "format"})
HARMLESS = (
    HarmlessTool("get_weather", _PLACE, "the usual example of the SDKs: looks up the weather"),
    HarmlessTool("get_current_weather", _PLACE, "the same, in older examples"),
    HarmlessTool("get_temperature", _PLACE, "the same, in Google's examples"),
    HarmlessTool("get_population", _PLACE, "an example of `innervoice demo`: looks up a number"),
    HarmlessTool("get_current_time", _PLACE | {"timezone"}, "reads a clock"),
    HarmlessTool("multiply", frozenset("ab"), "the example of LangChain: computes a number"),
)
_BY_NAME = {row.name: row for row in HARMLESS}
_SCALARS = {"string", "number", "integer", "boolean"}

MOST_ROUNDS = 50
_MOST_MESSAGES = 200
_ACTS = (
    "The emulated model does not call tools that act unless a script says so:"
    " write the steps into a JSON file, as docs/emulator.md shows under 'A script', and pass it with --script FILE."
)
_ENOUGH = "The emulated model has called tools in {rounds} turns of this conversation, and calls no more of them."
_NOT_PLAIN = re.compile(r"[^\w.,:?!'\"“”’()+*/=×%-]+")


class CallableTools(NamedTuple):
    """The tools of a request, divided: those that the model may call now, and the others."""

    tools: tuple[Tool, ...]
    withheld: tuple[Tool, ...] = ()
    reason: str = ""
    """Why some are withheld, in a sentence for the answer."""


def callable_tools(
    tools: Sequence[Tool], messages: Sequence[Message], *, acting: bool
) -> CallableTools:
    """Divides the tools of a request; with `acting`, the model may call all of them."""
    rounds = sum(bool(message.tool_calls) for message in messages)
    if rounds >= MOST_ROUNDS:
        return CallableTools((), tuple(tools), _ENOUGH.format(rounds=rounds))
    if acting:
        return CallableTools(tuple(tools))
    harmless = [_is_harmless(tool) for tool in tools]
    return CallableTools(
        tuple(tool for tool, is_so in zip(tools, harmless, strict=True) if is_so),
        tuple(tool for tool, is_so in zip(tools, harmless, strict=True) if not is_so),
        _ACTS,
    )


def _is_harmless(tool: Tool) -> bool:
    row, schema = _BY_NAME.get(tool.name), as_dict(tool.parameters)
    properties = as_dict(schema.get("properties"))
    return (
        row is not None
        and schema.get("type") == "object"
        and properties.keys() <= row.arguments
        and all(as_text(as_dict(value).get("type")) in _SCALARS for value in properties.values())
    )


def plain_text(text: str) -> str:
    """A text in one line, without the characters that code, tags, JSON and commands of a shell need."""
    return " ".join(_NOT_PLAIN.sub(" ", text).split())


def too_long(messages: Sequence[Message]) -> Refusal | None:
    """A provider's refusal of a conversation with too many messages.

    The user's texts are counted, too: a program that keeps no answers sends them as one message.
    """
    texts = sum(
        isinstance(part, Text) and bool(own_words(part.text))
        for message in messages
        if message.role == "user"
        for part in message.parts
    )
    count = texts + sum(message.role == "assistant" for message in messages)
    if count <= _MOST_MESSAGES:
        return None
    return Refusal(
        text=f"prompt is too long: this conversation has {count} messages, and emulation ends at {_MOST_MESSAGES}",
        code="context_length_exceeded",
        param="messages",
    )


# ---- The user's own text, without the context that programs put around it in tags.
#
# Agents add `<system-reminder>`, `<environment_context>`, `<INSTRUCTIONS>` and similar tags to user messages and to tool results.
# Some put the user's own words into tags as well (`<task>`, `<user_query>`): those are kept.


_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,60})>")
_SPOKEN = {"task", "user_query", "user_request", "user_message", "question", "query", "feedback"}


def own_words(text: str) -> str:
    """The text without injected context; takes time in proportion to the text's length."""
    closers: dict[str, list[int]] = {}
    tags = list(_TAG.finditer(text))
    for tag in tags:
        if tag[1]:
            closers.setdefault(tag[2], []).append(tag.start())
    lines: list[str] = []
    place = 0
    for tag in tags:
        ends = closers.get(tag[2], [])
        after = bisect_left(ends, tag.end())
        if tag[1] or tag.start() < place or after == len(ends):
            continue
        lines.append(text[place : tag.start()])
        if tag[2] in _SPOKEN:
            lines.append(text[tag.end() : ends[after]])
        place = ends[after] + len(tag[0]) + 1
    lines.append(text[place:])
    return " ".join(piece.strip() for piece in lines if piece.strip())
