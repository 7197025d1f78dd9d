"""A conversation -> the rows of its timeline: the head of each turn, then each of its parts in wire order.

Parts are never joined or hidden: a block without text is a row that says why. The text of a row is what `show.render(..., "plain")` shows of
the single part, without quotation marks; for calls and results, render shows the beginning on one line, and the row all of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, overload

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import (
    Media,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_inline,
)
from innervoice.planning.pairs import pairs_of
from innervoice.show.policy import (
    Item,
    Remark,
    Thought,
    counted,
    line_of,
    view_of,
)
from innervoice.sources.conversation import Conversation, Turn
from innervoice.sources.injected import is_injected
from innervoice.view.call_forms import call_blocks, call_line
from innervoice.view.emptiness import why_empty, why_no_thought
from innervoice.view.markdown import blocks_of
from innervoice.view.part_view import (
    block_title,
    first_line,
    image_of,
    is_reasoning,
    media_facts,
    name_line,
    opening_of,
    part_text,
    result_facts,
    shown_item,
)
from innervoice.view.row_types import Fact, Row, day_of, duration, fact, size
from innervoice.view.seals import Seals
from innervoice.view.totals import Prices, covered_fact, sums, turn_facts, turn_notes

__all__ = [
    "LONGEST",
    "Timeline",
    "head_facts",
    "heads_of",
    "is_aside",
    "is_own_prompt",
    "rows_of",
    "whole_text",
]

LONGEST = 20_000
"""Characters of a text in a row; the whole text is fetched on demand."""


def rows_of(conversation: Conversation) -> list[Row]:
    """All rows of a conversation."""
    return list(Timeline(conversation))


def whole_text(conversation: Conversation, n: int) -> str:
    """The whole text of row `n`; raises `IndexError` if there is no such row."""
    heads = heads_of(conversation)
    turn = bisect_right(heads, n) - 1
    if n < 0 or turn < 0:
        raise IndexError(f"there is no row {n}")
    item, place = conversation.turns[turn], n - heads[turn] - 1
    if place < len(item.message.parts):
        return part_text(item.message.parts[place]) if place >= 0 else ""
    remark = _remark(item)
    if remark is None or place > len(item.message.parts):
        raise IndexError(f"there is no row {n}")
    return line_of(remark)


def heads_of(conversation: Conversation) -> list[int]:
    """The row of the head of each turn; the rows of its parts follow it."""
    heads: list[int] = []
    number = 0
    for turn in conversation.turns:
        heads.append(number)
        number = _after(number, turn)
    return heads


def head_facts(conversation: Conversation) -> list[Fact]:
    """Sums over a conversation: turns, models, tokens, reasoning and its share, cost, time."""
    turns = conversation.turns
    facts = [fact(counted(len(turns), "turn"))]
    thoughts = sum(isinstance(part, Thinking) for turn in turns for part in turn.message.parts)
    if thoughts:
        facts.append(fact(counted(thoughts, "thought")))
    models = list(
        dict.fromkeys(turn.answer.model for turn in turns if turn.answer and turn.answer.model)
    )
    if models:
        more = f" and {len(models) - 3} more" if len(models) > 3 else ""
        facts.append(fact(", ".join(models[:3]) + more, "Who answered."))
    facts += _settings_facts(conversation)
    facts += sums(conversation, Prices())
    seconds = [turn.seconds for turn in turns if turn.seconds]
    if seconds and (words := duration(sum(seconds))):
        facts.append(fact(words, "How long the model took in total, as far as the source says."))
    return facts


def _settings_facts(conversation: Conversation) -> Iterator[Fact]:
    """The settings of the last request, as far as the source has them."""
    request = conversation.request
    if request is None:
        return
    if request.system:
        why = f"{counted(len(request.system), 'character')}, beginning: {request.system[:300]}"
        yield fact("system prompt", why)
    if request.tools:
        names = ", ".join(tool.name for tool in request.tools[:40])
        yield fact(counted(len(request.tools), "tool"), names)
    reasoning = request.reasoning
    if reasoning is not None:
        words = [reasoning.effort, f"{reasoning.budget:,} tokens" if reasoning.budget else None]
        form = f"shown as {reasoning.show}" if reasoning.show else None
        if label := ", ".join(filter(None, (*words, form))):
            yield fact(f"reasoning {label}", "What the last request asked for.")


class _Call(NamedTuple):
    """A call that results refer to."""

    row: int
    name: str


class Timeline(Sequence[Row]):
    """The rows of a conversation. Each is made when it is asked for: those of a long session would take more memory than the session."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.heads = heads_of(conversation)
        self._seals = Seals(conversation)
        self._prices = Prices()
        self._rows: list[Row] = []
        self._unanswered = frozenset(pairs_of(conversation.messages).unanswered)
        self._calls: dict[str, list[_Call]] = {}
        for head, turn in zip(self.heads, conversation.turns, strict=True):
            for row, part in enumerate(turn.message.parts, head + 1):
                if isinstance(part, ToolCall):
                    self._calls.setdefault(part.id, []).append(_Call(row, part.name))
        self._days = dict(_days(conversation.turns))
        last = len(conversation.turns) - 1
        self._length = _after(self.heads[last], conversation.turns[last]) if self.heads else 0

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            start, stop, _ = place.indices(self._length)
            return list(islice(self._from(start), max(0, stop - start)))
        return next(self._from(range(self._length)[place]))

    def __iter__(self) -> Iterator[Row]:
        return self._from(0)

    def _from(self, start: int) -> Iterator[Row]:
        """The rows from a number on."""
        first = max(0, bisect_right(self.heads, start) - 1)
        for number in range(first, len(self.heads)):
            rows = self.of_turn(number)
            yield from rows[max(0, start - self.heads[number]) :]

    def of_turn(self, number: int) -> list[Row]:
        """The rows of a turn."""
        turn = self.conversation.turns[number]
        self._rows = []
        self._head(number, turn)
        self._parts(number, turn)
        if (remark := _remark(turn)) is not None:
            row = self._add(number, None, turn, "remark", "Remark", line_of(remark))
            row["title"] = "No answer" if remark.text.startswith("no answer") else "Interrupted"
        return self._rows

    def shape(self, end: int) -> int:
        """A hash of what the turns before a row are, without their texts: it differs if one of them was added, removed or marked."""
        turns = self.conversation.turns[: max(0, bisect_right(self.heads, end) - 1)]
        return hash(
            tuple((turn.message.role, len(turn.message.parts), turn.marks) for turn in turns)
        )

    def _head(self, number: int, turn: Turn) -> None:
        row = self._add(number, None, turn, "turn", _speaker(turn), "")
        row["facts"] = turn_facts(number, turn, self._prices)
        if "compaction" in turn.marks:
            row["facts"].insert(1, covered_fact(self.conversation, number))
        row["notes"] = turn_notes(turn)
        if number in self._days:
            row["day"] = self._days[number]
        if _is_results(turn) and all(
            self._call_of(part, row["n"]) is not None for part in turn.message.parts
        ):
            row["is_nested"] = True
        if not any(is_reasoning(part) for part in turn.message.parts) and (
            empty := why_no_thought(self.conversation, turn)
        ):
            row["empty"] = empty

    def _parts(self, number: int, turn: Turn) -> None:
        thoughts = [place for place, part in enumerate(turn.message.parts) if is_reasoning(part)]
        for place, part in enumerate(turn.message.parts):
            item = shown_item(part)
            call = self._call_of(part, self.heads[number])
            kind, title = _kind(part, item, call)
            row = self._add(number, place, turn, kind, title, part_text(part, item))
            row["facts"] = list(self._facts(number, place, part, item))
            if place in thoughts:
                self._describe_thought(row, turn, part, thoughts)
            row["seals"] = self._seals.of(number, place)
            if call is not None:
                row["call"] = call.row
            if image := image_of(part):
                row["image"] = image
            first = call_line(part) if isinstance(part, ToolCall) else row["text"]
            if first := first_line(first):
                row["first"] = first
            if isinstance(part, Text) and is_aside(turn, part):
                self._fold(row, turn, part)
            elif blocks := _blocks(part, row):
                row["blocks"] = blocks

    def _fold(self, row: Row, turn: Turn, part: Text) -> None:
        """A text that neither the user nor the model wrote for the other."""
        row["is_aside"] = True
        row["title"] = "System prompt" if turn.message.role == "system" else "Context"
        if "compaction" in turn.marks:
            row["title"] = "Summary of the turns before"
        why = "The program wrote this, not the user." if row["title"] == "Context" else ""
        row["facts"].append(fact(counted(len(part.text), "character"), why))

    def _describe_thought(self, row: Row, turn: Turn, part: Part, thoughts: Sequence[int]) -> None:
        tokens = turn.answer.usage.reasoning_tokens if turn.answer else None
        if tokens is not None and row["part"] == thoughts[0]:
            alone = len(thoughts) == 1
            why = (
                "Reasoning tokens of the whole answer."
                if not alone
                else "Reasoning tokens, as the provider counted them."
            )
            row["facts"].append(fact(counted(tokens, "token") + ("" if alone else " in all"), why))
        if len(turn.message.parts) == 1 and turn.seconds and (words := duration(turn.seconds)):
            row["facts"].append(fact(words))
        if empty := why_empty(self.conversation, turn, part):
            row["empty"] = empty
        elif opening := opening_of(part):
            row["opening"] = _shortened(opening)

    def _call_of(self, part: Part, before: int) -> _Call | None:
        """The call of a result: the last before it, because some models use an id again."""
        calls = self._calls.get(part.call_id, ()) if isinstance(part, ToolResult) else ()
        return next((call for call in reversed(calls) if call.row < before), None)

    def _facts(self, number: int, place: int, part: Part, item: Item | None) -> Iterator[Fact]:
        match part:
            case Thinking():
                if isinstance(item, Thought) and item.summary:
                    yield fact(
                        "summary",
                        "The provider shows a summary of the reasoning, not the reasoning itself.",
                    )
                if isinstance(item, Thought) and item.characters:
                    yield fact(counted(item.characters, "character"))
            case Text() if item is None:
                why = "It has only white space." if part.text else "It has no characters."
                yield fact("blank" if part.text else "empty", why)
            case ToolCall() if (number, place) in self._unanswered and number < len(
                self.conversation.turns
            ) - 1:
                yield fact("no result", "No result of this call is in the conversation.", "warn")
            case ToolResult():
                yield from result_facts(part, item)
            case Media():
                yield from media_facts(part)
            case Opaque():
                yield fact(
                    size(len(dump_json(part.value))),
                    "A block that is passed on unchanged; its content is not shown.",
                )
        if not getattr(part, "complete", True):
            yield fact(
                "unfinished",
                "It was cut off before its end; it is not sent back as sealed.",
                "warn",
            )
        if is_inline(part) and not isinstance(part, Text):
            yield fact(
                "from the text",
                "It was part of the text, marked by tags or a channel, and was split out of it.",
            )

    def _add(
        self, turn: int, part: int | None, item: Turn, kind: Any, title: str, text: str
    ) -> Row:
        row: Row = {
            "n": self.heads[turn] + len(self._rows),
            "turn": turn,
            "part": part,
            "kind": kind,
            "role": item.message.role,
            "title": title,
            "text": text if len(text) <= LONGEST else _shortened(text),
            "facts": [],
            "seals": [],
            "notes": [],
        }
        if len(text) > LONGEST:
            row["cut"] = len(text)
        self._rows.append(row)
        return row


def _kind(part: Part, item: Item | None, call: _Call | None) -> tuple[Any, str]:
    """The kind and the title of a row."""
    match part:
        case Thinking():
            return "thinking", "Hidden reasoning" if part.form == "hidden" else "Thinking"
        case Text():
            return "text", "Text"
        case ToolCall():
            return "call", name_line(part.name, 80)
        case ToolResult():
            word = "error from" if part.error else "result of"
            return "result", f"{word} {(name_line(call.name, 80) if call else '') or 'a call'}"
        case Media():
            return "media", name_line(part.name or part.mime or "media", 80)
        case Opaque():
            return "opaque", block_title(item)


def _shortened(text: str) -> str:
    return text[:LONGEST]


def _remark(turn: Turn) -> Remark | None:
    """Why there is no answer, or why it was cut off."""
    answer = turn.answer
    if answer is None or answer.status in ("answered", "tool_calls", "truncated"):
        return None
    items = view_of(answer)[0].items
    return items[-1] if items and isinstance(items[-1], Remark) else None


def _after(head: int, turn: Turn) -> int:
    """The number after the last row of a turn."""
    return head + 1 + len(turn.message.parts) + (_remark(turn) is not None)


def _blocks(part: Part, row: Row) -> list[Any] | None:
    """The text as people read it, if that differs from what was written."""
    if isinstance(part, ToolCall):
        return call_blocks(part)
    return blocks_of(row["text"]) if isinstance(part, (Text, Thinking)) else None


def is_own_prompt(turn: Turn) -> bool:
    """Whether the user wrote it: not a program in the user's name, and not a tool."""
    return (
        turn.message.role == "user"
        and not turn.marks
        and any(
            isinstance(part, Media) or (isinstance(part, Text) and not is_aside(turn, part))
            for part in turn.message.parts
        )
    )


def is_aside(turn: Turn, part: Text) -> bool:
    """Whether a text is folded: neither the user nor the model wrote it for the other."""
    return (
        turn.message.role == "system"
        or bool({"injected", "compaction"} & {*turn.marks})
        or (turn.message.role == "user" and is_injected(part.text))
    )


def _days(turns: Sequence[Turn]) -> Iterator[tuple[int, str]]:
    """The turns that are the first of their day; results are shown with their calls, and begin none."""
    last = ""
    for number, turn in enumerate(turns):
        if turn.at is not None and not _is_results(turn) and (day := day_of(turn.at)) != last:
            last = day
            if day:
                yield number, day


def _is_results(turn: Turn) -> bool:
    parts = turn.message.parts
    return (
        turn.message.role != "assistant"
        and bool(parts)
        and all(isinstance(part, ToolResult) for part in parts)
    )


def _speaker(turn: Turn) -> str:
    if _is_results(turn):
        return "tool result" if len(turn.message.parts) == 1 else "tool results"
    return turn.message.role
