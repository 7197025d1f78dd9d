"""Finds stored turns that a program sends back in another form: a run of messages and the turns stored at its place go in, the turns come out.

    gathered    one turn came back as several: its text and then its calls, or every call followed by its result
    merged      two turns came back as one
    rewritten   something was appended to the text of a turn, or its calls were written into the text

A turn is signed as a whole, so it is put together again. If several stored turns match, none is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, Thinking, ToolResult
from innervoice.conversation.turns import call_ids, shown_turn, without_blanks

__all__ = ["RecalledTurns", "changed_turns"]

_REACH = 64
"""How many messages one turn may have become."""
_LONG = 6
"""Shorter ids occur by chance in many texts."""


class RecalledTurns(NamedTuple):
    """Consecutive messages of a request, and the stored turns that they show."""

    start: int
    end: int
    """The number of the message after them."""
    turns: tuple[Message, ...]
    results: tuple[int, ...] = ()
    """The messages among them that are not turns: results of calls. They are placed after the turn."""


def changed_turns(
    messages: Sequence[Message],
    at: int,
    stored: Sequence[Message],
    by_call: Sequence[Message],
    *,
    edited_words: bool = False,
) -> RecalledTurns | None:
    """The stored turns that the messages from a number on were made of; None if there are none, or several that differ.

    `stored` are the turns at this place of the conversation, `by_call` those that were found by a call. With `edited_words` the text of
    a turn with calls may be any.
    """
    every = [*stored, *(turn for turn in by_call if turn not in stored)]
    gathered = [match for turn in every if (match := _gathered(messages, at, turn))]
    if not gathered:
        gathered = _merged(messages[at], at, stored)
    if not gathered:
        texts = (_rewritten(messages[at], turn) for turn in stored)
        gathered = [RecalledTurns(at, at + 1, (turn,)) for turn in texts if turn]
    if not gathered and edited_words and messages[at].tool_calls:
        gathered = [match for turn in every if (match := _called(messages, at, turn))]
        if len(gathered) > 1:
            gathered = [
                one for one in gathered if call_ids(one.turns) == call_ids(messages[at : one.end])
            ]
    return gathered[0] if len(gathered) == 1 else None


def _called(messages: Sequence[Message], at: int, turn: Message) -> RecalledTurns | None:
    """The turn whose calls came back with another text, in one turn or in several."""
    if shown_turn(messages[at]).calls == shown_turn(turn).calls:
        return RecalledTurns(at, at + 1, (turn,))
    return _gathered(messages, at, turn, edited_words=True)


def _gathered(
    messages: Sequence[Message], at: int, turn: Message, *, edited_words: bool = False
) -> RecalledTurns | None:
    """The turn that came back as several, beginning at a number."""
    whole = shown_turn(turn)
    wanted, calls, text = without_blanks(whole.text), list[tuple[str, str]](), ""
    ids: list[str] = []
    results: list[int] = []
    for number, message in enumerate(messages[at : at + _REACH], at):
        if number > at and calls and _is_result(message):
            results.append(number)
            continue
        if message.role != "assistant":
            return None
        piece = shown_turn(message)
        if (results and piece.text) or (number > at and not piece.text and not piece.calls):
            return None  # after a result, text begins another turn
        calls, text = [*calls, *piece.calls], text + without_blanks(piece.text)
        ids += piece.ids
        if calls != whole.calls[: len(calls)] or not (edited_words or wanted.startswith(text)):
            return None
        if not _may_be(ids, whole.ids, is_apart=bool(results)):
            return None
        if len(calls) == len(whole.calls) and (edited_words or text == wanted):
            return RecalledTurns(at, number + 1, (turn,), tuple(results)) if number > at else None
    return None


def _may_be(ids: list[str], turn_ids: list[str], *, is_apart: bool) -> bool:
    """Whether calls may be the first of a stored turn: their ids are the same, or all differ because a program renamed them.

    Calls with results between them may also be turns that were never one, so their ids must be the same.
    """
    return ids == turn_ids[: len(ids)] or not (is_apart or set(ids) & set(turn_ids))


def _is_result(message: Message) -> bool:
    """Whether a message is nothing but results of calls."""
    return bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts)


def _merged(message: Message, at: int, stored: Sequence[Message]) -> list[RecalledTurns]:
    """The pairs of turns, the first without calls, that a message may be merged from."""
    visible = shown_turn(message)
    text = without_blanks(visible.text)
    candidates = [(turn, shown_turn(turn)) for turn in stored]
    texts = [(turn, without_blanks(one.text)) for turn, one in candidates if not one.calls]
    starts = [(turn, start) for turn, start in texts if start and text.startswith(start)]
    return [
        RecalledTurns(at, at + 1, (first, second))
        for first, start in starts
        for second, one in candidates
        if second is not first
        and one.calls == visible.calls
        and (one.text or one.calls)
        and without_blanks(one.text) == text[len(start) :]
    ]


def _rewritten(message: Message, turn: Message) -> Message | None:
    """The stored turn with the text that a program made of it; None if the text was not made from this turn."""
    text = message.text.strip()
    if message.tool_calls or not text:
        return None
    calls, start = turn.tool_calls, turn.text.strip()
    if calls and all(len(call.id) >= _LONG and call.id in text for call in calls):
        thoughts = (part for part in turn.parts if isinstance(part, Thinking))
        return turn.replace(parts=(*thoughts, Text(text)))
    if not calls and start and text.startswith(start):
        return turn.replace(parts=(*turn.parts, Text(text.removeprefix(start))))
    return None
