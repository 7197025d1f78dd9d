"""What a turn of the model shows, what it seals, and which calls it makes: the one place that says whether two turns are the same.

Programs write a text as a string or as a list of blocks, sort the members of arguments, trim white space and rename calls. `shown_turn` is
the part of a turn that survives all of that; `seals_of` is what only its provider can read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text, Thinking, ToolResult
from innervoice.wire.gemini.replay import is_placeholder

__all__ = [
    "RenamedCalls",
    "VisibleTurn",
    "call_ids",
    "is_same_message",
    "plain_text",
    "seals_in",
    "seals_of",
    "shown_turn",
    "without_blanks",
    "without_seals",
]

_TAGGED = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
"""Reasoning that a program writes before the text of a turn, as pydantic-ai can."""


class VisibleTurn(NamedTuple):
    """The part of a turn that every program keeps."""

    text: str
    calls: list[tuple[str, str]]
    """Name and arguments of each call; programs parse the arguments and serialize them again."""
    data: bytes
    """Both, as JSON."""
    ids: list[str]
    """The ids of the calls."""


_last_shown: dict[int, tuple[tuple[Part, ...], VisibleTurn]] = {}
"""The parts of the last messages, by identity, and what they show: it is asked for several times, and costs more than all else."""
_MOST_SHOWN = 16


def shown_turn(message: Message) -> VisibleTurn:
    """The words and the calls of a turn, without the ids of the calls."""
    parts = message.parts  # of an answer, each message that it gives has the same
    cached = _last_shown.get(id(parts))
    if cached and cached[0] is parts:
        return cached[1]
    text = message.text.strip()
    if text.startswith("<think>"):
        text = _TAGGED.sub("", text)
    text = plain_text(text)
    tool_calls = message.tool_calls
    calls = [(call.name, _sorted_json(call.arguments)) for call in tool_calls]
    visible = VisibleTurn(text, calls, dump_json([text, calls]), [call.id for call in tool_calls])
    if len(_last_shown) >= _MOST_SHOWN:
        _last_shown.clear()  # at once, for other threads
    _last_shown[id(parts)] = (parts, visible)
    return visible


def is_same_message(one: Message, other: Message) -> bool:
    """Whether two messages say the same, whichever program recorded them.

    Reasoning and marks do not count: programs drop and move them. Calls and results have the same ids or, where a program invents ids,
    the same content.
    """
    first, second = shown_turn(one), shown_turn(other)
    results, others = _results(one), _results(other)
    if first.text != second.text or (one.role != other.role and not (results and others)):
        return False
    is_called = [name for name, _ in first.calls] == [name for name, _ in second.calls]
    if not is_called or not (first.ids == second.ids or first.calls == second.calls):
        return False
    by_id = [part.call_id for part in results] == [part.call_id for part in others]
    return by_id or [_content(part) for part in results] == [_content(part) for part in others]


def _results(message: Message) -> list[ToolResult]:
    return [part for part in message.parts if isinstance(part, ToolResult)]


def _content(result: ToolResult) -> Any:
    if isinstance(result.content, str):
        return result.content
    return [
        part.text if isinstance(part, Text) else part.replace(origin=None)
        for part in result.content
    ]


def plain_text(text: str) -> str:
    """A text as programs send it back: they trim and normalize it."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def without_blanks(text: str) -> str:
    """A text, normalized to compare it with one that was joined from several."""
    return "".join(text.split())


def _sorted_json(arguments: str) -> str:
    try:
        value = load_json(arguments) if arguments else {}
    except ValueError:
        return arguments.strip()
    return dump_json(_sorted(value)).decode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


# ---- seals ----------------------------------------------------------------------------------------------


def seals_of(part: Part) -> Iterator[str]:
    """The seals in the wire block of a part; the placeholders that programs write for a lost one do not count.

    The id of an item counts only where nothing else is sealed: some programs leave it out, and the host does not need it.
    """
    origin = part.origin
    paths = origin.seals if origin else ()
    for path in paths if len(paths) == 1 else (one for one in paths if one != "id"):
        value: Any = origin.block if origin else None
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str) and value and not is_placeholder(value):
            yield value


def seals_in(messages: Sequence[Message]) -> frozenset[str]:
    """The seals of all reasoning."""
    return frozenset(
        seal
        for message in messages
        for part in message.parts
        if isinstance(part, Thinking)
        for seal in seals_of(part)
    )


def without_seals(messages: Sequence[Message], seals: frozenset[str]) -> tuple[Message, ...]:
    """The messages without the reasoning that has one of these seals."""
    return tuple(
        message.replace(
            parts=tuple(
                part
                for part in message.parts
                if not (isinstance(part, Thinking) and not seals.isdisjoint(seals_of(part)))
            )
        )
        if seals_in((message,)) & seals
        else message
        for message in messages
    )


# ---- calls ----------------------------------------------------------------------------------------------


class RenamedCalls:
    """The ids that a program uses for calls, and those of their host; a result names the last call with its id."""

    def __init__(self) -> None:
        self._host_ids: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._host_ids)

    def add(self, ids: Iterable[str], host_ids: Iterable[str]) -> None:
        """Maps the calls of a program to those of a host, in the same order."""
        for one, other in zip(ids, host_ids, strict=False):
            if one != other:
                self._host_ids[one] = other
            else:
                self._host_ids.pop(one, None)

    def host_id(self, call_id: str) -> str:
        """The host's id of a call."""
        return self._host_ids.get(call_id, call_id)

    def with_host_ids(self, message: Message) -> Message:
        """A message whose results refer to calls by the host's ids."""
        if message.role == "assistant":
            self.add(call_ids((message,)), call_ids((message,)))
            return message
        if not any(_is_result_of(part, self._host_ids) for part in message.parts):
            return message
        parts = tuple(
            part.replace(call_id=self.host_id(part.call_id))
            if isinstance(part, ToolResult)
            else part
            for part in message.parts
        )
        return message.replace(parts=parts)


def call_ids(messages: Iterable[Message]) -> list[str]:
    """The ids of all calls."""
    return [call.id for message in messages for call in message.tool_calls]


def _is_result_of(part: Part, calls: Container[str]) -> bool:
    return isinstance(part, ToolResult) and part.call_id in calls
