"""Stored turns that a program sends back in another form: a run of messages and the turns stored at its place go in, the turns come out.

    gathered    one turn came back as several: its text and then its calls, or every call followed by its result
    merged      two turns came back as one
    rewritten   something was appended to the text of a turn, or its calls were written into the text

A turn is signed as a whole, so it is put together again. If several stored turns fit, none is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, Thinking, ToolResult
from innervoice.memory.turn_keys import shown_turn, without_blanks

__all__ = ["RecalledTurns", "changed_turns"]


class RecalledTurns(NamedTuple):
    """Messages of a request that follow each other, and the stored turns that they show."""

    start: int
    end: int
    """The number of the message behind them."""
    turns: tuple[Message, ...]
    results: tuple[int, ...] = ()
    """The messages among them that are no turns: results of calls. They stand behind the turn."""


def changed_turns(
    messages: Sequence[Message], at: int, stored: Sequence[Message], by_call: Sequence[Message]
) -> RecalledTurns | None:
    """The stored turns that the messages from a number on were made of; None if there are none, or several that differ.

    `stored` are the turns at this place of the conversation, `by_call` those that a call was found by.
    """
    others = (known for known in by_call if known not in stored)
    found = [made for known in (*stored, *others) if (made := _gathered(messages, at, known))]
    if not found:
        found = _merged(messages[at], at, stored)
    if not found:
        texts = (_rewritten(messages[at], known) for known in stored)
        found = [RecalledTurns(at, at + 1, (known,)) for known in texts if known]
    return found[0] if len(found) == 1 else None


def _gathered(messages: Sequence[Message], at: int, known: Message) -> RecalledTurns | None:
    """The turn that came back as several, the first of them at a number."""
    whole = shown_turn(known)
    wanted, calls, text = without_blanks(whole.text), list[tuple[str, str]](), ""
    ids: list[str] = []
    results: list[int] = []
    for number in range(at, len(messages)):
        message = messages[number]
        if number > at and calls and _is_result(message):
            results.append(number)
            continue
        if message.role != "assistant":
            return None
        piece = shown_turn(message)
        if results and (piece.text or not piece.calls):
            return None  # behind a result, words begin another turn
        calls, text = [*calls, *piece.calls], text + without_blanks(piece.text)
        ids += (call.id for call in message.tool_calls)
        if calls != whole.calls[: len(calls)] or not wanted.startswith(text):
            return None
        if len(calls) == len(whole.calls) and text == wanted:
            is_whole = number > at and _are_same(ids, known, is_apart=bool(results))
            return RecalledTurns(at, number + 1, (known,), tuple(results)) if is_whole else None
    return None


def _are_same(ids: list[str], known: Message, *, is_apart: bool) -> bool:
    """Whether calls may be those of a stored turn: their ids are the same, or all are others because a program renamed them.

    Calls with results between them may as well be turns that were never one, so their ids must be the same.
    """
    own = [call.id for call in known.tool_calls]
    return ids == own or not (is_apart or set(ids) & set(own))


def _is_result(message: Message) -> bool:
    """Whether a message is nothing but results of calls."""
    return bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts)


def _merged(message: Message, at: int, stored: Sequence[Message]) -> list[RecalledTurns]:
    """The pairs of turns, the first without calls, that give a message."""
    given = shown_turn(message)
    text = without_blanks(given.text)
    shown = [(known, shown_turn(known)) for known in stored]
    texts = [(known, without_blanks(one.text)) for known, one in shown if not one.calls]
    starts = [(known, start) for known, start in texts if start and text.startswith(start)]
    return [
        RecalledTurns(at, at + 1, (first, second))
        for first, start in starts
        for second, one in shown
        if second is not first
        and one.calls == given.calls
        and (one.text or one.calls)
        and without_blanks(one.text) == text[len(start) :]
    ]


def _rewritten(message: Message, known: Message) -> Message | None:
    """The stored turn with the text that a program made of it; None if the text is not made of this turn."""
    said = message.text.strip()
    if message.tool_calls or not said:
        return None
    calls, start = known.tool_calls, known.text.strip()
    if calls and all(call.id in said for call in calls):
        thoughts = (part for part in known.parts if isinstance(part, Thinking))
        return known.replace(parts=(*thoughts, Text(said)))
    if not calls and start and said.startswith(start):
        return known.replace(parts=(*known.parts, Text(said.removeprefix(start))))
    return None
