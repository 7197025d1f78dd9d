"""Searches a conversation: text, thinking, tools (names, arguments, results), notes, models and status, in any letter case.

A query has words, all of which must be in the same row, and conditions that narrow where they are searched:

  word word          both words, in one row, anywhere
  "two words"        the words in this order
  in:thinking word   only there: text, thinking, tool, note, model or status
  model:gemini       only turns whose model has this in its name
  status:truncated   only turns that ended so, by the word of `Response.status` or the words that the page shows
  role:user          only turns of this role
  tool:read_file     only turns that call a tool of such a name, or have a result of it

A query of conditions alone finds the heads of the turns that meet them. Each row is a hit once, at the position of the first word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from innervoice.canon.parts import Part, Text, Thinking, ToolCall, ToolResult
from innervoice.show.visible import one_line, visible
from innervoice.sources.conversation import Conversation, Turn
from innervoice.view.part_view import part_text
from innervoice.view.row_types import Hit
from innervoice.view.rows import heads_of
from innervoice.view.sending import model_of
from innervoice.view.totals import STATUS_WORDS, turn_notes

__all__ = ["hits_in"]

_LONGEST_QUERY = 500
_BEFORE, _AFTER = 60, 120
_PIECE = re.compile(r'(?:(in|model|status|role|tool):)?(?:"([^"]*)"?|(\S+))', re.IGNORECASE)


class _Query(NamedTuple):
    words: list[str]
    """In lower case."""
    conditions: dict[str, list[str]]

    def meets(self, name: str, *values: str) -> bool:
        """Whether one of the values contains every text of a condition."""
        return all(
            any(wanted in value.lower() for value in values)
            for wanted in self.conditions.get(name, [])
        )


class _Field(NamedTuple):
    """A text of a row that can be searched."""

    row: int
    title: str
    where: str
    text: str


def hits_in(id: str, conversation: Conversation, query: str) -> Iterator[Hit]:  # noqa: A002 - the plain word
    """The rows that match a query, in order; an empty query finds nothing."""
    parsed = _parsed(query)
    if not parsed.words and not parsed.conditions.keys() - {"in"}:
        return
    names: dict[str, str] = {}
    for turn, head, item in zip(
        range(len(conversation.turns)), heads_of(conversation), conversation.turns, strict=True
    ):
        model = model_of(conversation, turn) or ""
        names.update(
            {part.id: part.name for part in item.message.parts if isinstance(part, ToolCall)}
        )
        if _is_meant(parsed, item, model, names):
            if parsed.words:
                yield from _hits(id, parsed, _fields(head, item, model, names))
            else:
                yield _head_hit(id, parsed, head, item, model, names)


def _parsed(query: str) -> _Query:
    words: list[str] = []
    conditions: dict[str, list[str]] = {}
    for name, quoted, plain in _PIECE.findall(query[:_LONGEST_QUERY]):
        text = (quoted or plain).lower()
        if not text:
            continue
        if name:
            text = text.removesuffix("s") if name.lower() == "in" else text  # in:tools, in:notes
            conditions.setdefault(name.lower(), []).append(text)
        else:
            words.append(text)
    return _Query(words, conditions)


def _is_meant(query: _Query, turn: Turn, model: str, names: dict[str, str]) -> bool:
    if not query.conditions:
        return True
    return (
        query.meets("model", model)
        and query.meets("status", *_status(turn))
        and query.meets("role", turn.message.role)
        and query.meets("tool", *_tools(turn, names))
    )


def _tools(turn: Turn, names: dict[str, str]) -> list[str]:
    """The tools that a turn calls, or has results of."""
    return [
        part.name if isinstance(part, ToolCall) else names.get(part.call_id, "")
        for part in turn.message.parts
        if isinstance(part, (ToolCall, ToolResult))
    ]


def _status(turn: Turn) -> tuple[str, ...]:
    """How an answer ended, in the words of the page and as the status code."""
    answer = turn.answer
    return (STATUS_WORDS[answer.status], answer.status, *turn.marks) if answer else turn.marks


def _hits(id: str, query: _Query, fields: Iterator[_Field]) -> Iterator[Hit]:  # noqa: A002 - the plain word
    for field in fields:
        if query.meets("in", field.where) and (place := _first_match(query.words, field.text)):
            yield _hit(id, field, *place)


def _first_match(words: list[str], text: str) -> tuple[int, int] | None:
    """The position of the first word, if all are in the text."""
    lowered = text.lower()
    if not all(word in lowered for word in words):
        return None
    if len(lowered) == len(text):
        start = lowered.index(words[0])
        return start, start + len(words[0])
    # A few letters become two in lower case; then positions in the two texts differ.
    match = re.search(re.escape(words[0]), text, re.IGNORECASE)
    return match.span() if match else (0, 0)


def _hit(id: str, field: _Field, start: int, end: int) -> Hit:  # noqa: A002 - the plain word
    before, after = field.text[max(start - _BEFORE, 0) : start], field.text[end : end + _AFTER]
    return {
        "id": id,
        "n": field.row,
        "title": field.title,
        "where": field.where,
        "before": ("…" if start > _BEFORE else "") + _on_one_line(before),
        "hit": _on_one_line(field.text[start:end]),
        "after": _on_one_line(after) + ("…" if end + _AFTER < len(field.text) else ""),
    }


def _on_one_line(text: str) -> str:
    """The text around a hit: white space at its ends is kept."""
    return re.sub(r"\s+", " ", text)


def _head_hit(
    id: str,  # noqa: A002 - the plain word
    query: _Query,
    head: int,
    turn: Turn,
    model: str,
    names: dict[str, str],
) -> Hit:
    """The head of a turn that meets all conditions, with the field of the first of them."""
    texts = {
        "model": ("model", model),
        "status": ("status", (*_status(turn), "")[0]),
        "tool": ("tool", ", ".join(_tools(turn, names))),
        "role": ("status", turn.message.role),
    }
    where, text = texts[next(name for name in query.conditions if name in texts)]
    line = one_line(text, _AFTER)
    return _hit(id, _Field(head, turn.message.role, where, line), 0, len(line))


def _fields(head: int, turn: Turn, model: str, names: dict[str, str]) -> Iterator[_Field]:
    role = turn.message.role
    if model:
        yield _Field(head, role, "model", visible(model))
    if status := _status(turn):
        yield _Field(head, role, "status", " · ".join(dict.fromkeys(status)))
    for note in turn_notes(turn):
        yield _Field(head, role, "note", f"{note['label']}: {note.get('why', '')}")
    for place, part in enumerate(turn.message.parts):
        where, title, name = _about(part, names)
        text = part_text(part)
        yield _Field(
            head + 1 + place, f"{role}: {title}", where, f"{name}\n{text}" if name else text
        )


def _about(part: Part, names: dict[str, str]) -> tuple[str, str, str]:
    """The field of a part's text, its title, and the name that is searched with it."""
    match part:
        case Thinking():
            return "thinking", "thinking", ""
        case ToolCall():
            name = one_line(part.name, 80)
            return "tool", f"call of {name}", name
        case ToolResult():
            name = one_line(names.get(part.call_id, ""), 80)
            return "tool", f"result of {name or 'a call'}", name
        case Text():
            return "text", "text", ""
        case _:
            return "text", part.type, ""
