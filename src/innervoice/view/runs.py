"""Two runs side by side: the same prompts on two models or efforts, aligned turn by turn, with thoughts, calls, tokens, time and cost.

A run is a conversation. Its prompts are aligned by their number, and the steps of the model after each prompt by theirs: what one run needed and the other did
not is an empty place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, cast

from innervoice.canon.parts import Text, Thinking, ToolCall, ToolResult
from innervoice.errors import UsageError
from innervoice.show.policy import Policy, check_policy, counted, thought_about
from innervoice.show.visible import one_line, visible
from innervoice.sources.conversation import Conversation, Turn
from innervoice.view.call_forms import call_line
from innervoice.view.export import RUNS_PAGE, ExportedFile, standalone, without_secrets
from innervoice.view.library import Library
from innervoice.view.markdown import blocks_of
from innervoice.view.part_view import name_line
from innervoice.view.row_types import Fact, dollars, duration, fact
from innervoice.view.rows import heads_of, is_aside, is_own_prompt
from innervoice.view.totals import STATUS_WORDS, Prices

__all__ = [
    "RunCell",
    "RunRow",
    "RunSide",
    "RunSum",
    "RunText",
    "RunsView",
    "export_runs",
    "runs_view",
]

_LONGEST = 6_000
_MOST_ROWS = 2_000


class RunText(TypedDict):
    """A text, and its blocks where it has Markdown."""

    text: str
    blocks: NotRequired[list[Any]]


class RunCell(TypedDict):
    """A turn of a run."""

    n: int
    """Its row in the timeline."""
    answer: RunText
    thoughts: list[RunText]
    calls: list[Fact]
    """The name of a tool, its arguments on one line, and whether it failed."""
    facts: list[Fact]


class RunRow(TypedDict):
    """Two turns at the same place."""

    kind: Literal["prompt", "step"]
    name: str
    left: RunCell | None
    right: RunCell | None


class RunSide(TypedDict):
    """A run."""

    id: str
    title: str
    facts: list[Fact]


class RunSum(TypedDict):
    """A number of both runs."""

    name: str
    left: str
    right: str
    more: Literal["left", "right", ""]
    """Which is larger."""


class RunsView(TypedDict):
    """Two runs."""

    left: RunSide
    right: RunSide
    sums: list[RunSum]
    rows: list[RunRow]
    is_cut: bool
    """Whether there are more rows."""


class _Chapter(NamedTuple):
    """A prompt and the steps that answer it; no prompt for what is before the first."""

    prompt: int | None
    steps: list[int]


def runs_view(
    ids: tuple[str, str], conversations: tuple[Conversation, Conversation], show: Policy = "full"
) -> RunsView:
    """The runs, aligned; thoughts are shown by the policy."""
    left, right = (
        _Run(id_, conversation, show) for id_, conversation in zip(ids, conversations, strict=True)
    )
    rows = list(_rows(left, right))
    return {
        "left": left.side(),
        "right": right.side(),
        "sums": _sums(left, right),
        "rows": rows[:_MOST_ROWS],
        "is_cut": len(rows) > _MOST_ROWS,
    }


def export_runs(library: Library, ids: tuple[str, str], show: str) -> ExportedFile:
    """One HTML file with both runs, without seals and secrets; `show` is the policy for thoughts."""
    check_policy(show)
    if ids[0] == ids[1]:
        raise UsageError("expected two different runs, not the same one twice")
    first, second = (library.conversation(id_) for id_ in ids)
    view = without_secrets(runs_view(ids, (first, second), cast("Policy", show)))
    for row in view["rows"]:
        for cell in (row["left"], row["right"]):
            if cell is not None:
                # The blocks that they came with have everything.
                cell["answer"] = _text(cell["answer"]["text"])
                cell["thoughts"] = [_text(thought["text"]) for thought in cell["thoughts"]]
    data = standalone(RUNS_PAGE, {"runs": view}).encode()
    return ExportedFile("two-runs.html", "text/html; charset=utf-8", data)


def _rows(left: _Run, right: _Run) -> Iterator[RunRow]:
    for number, (one, other) in enumerate(zip_longest(left.chapters, right.chapters)):
        prompts = [chapter.prompt if chapter else None for chapter in (one, other)]
        if prompts != [None, None]:
            yield {
                "kind": "prompt", "name": f"prompt {number + 1}",
                "left": left.cell(prompts[0]), "right": right.cell(prompts[1]),
            }  # fmt: skip
        steps = [chapter.steps if chapter else [] for chapter in (one, other)]
        for place, (first, second) in enumerate(zip_longest(*steps)):
            yield {
                "kind": "step", "name": f"step {place + 1}",
                "left": left.cell(first), "right": right.cell(second),
            }  # fmt: skip


class _Run:
    """A conversation, as one side."""

    def __init__(self, id: str, conversation: Conversation, show: Policy) -> None:  # noqa: A002 - the plain word
        self._id = id
        self._conversation = conversation
        self._show = show
        self._prices = Prices()
        self._heads = heads_of(conversation)
        turns = conversation.turns
        self._failed = {
            part.call_id
            for turn in turns
            for part in turn.message.parts
            if isinstance(part, ToolResult) and part.error
        }
        self.chapters: list[_Chapter] = []
        for number, turn in enumerate(turns):
            if is_own_prompt(turn):
                self.chapters.append(_Chapter(number, []))
            elif turn.message.role == "assistant":
                if not self.chapters:
                    self.chapters.append(_Chapter(None, []))
                self.chapters[-1].steps.append(number)

    def side(self) -> RunSide:
        models = dict.fromkeys(
            turn.answer.model for turn in self.turns if turn.answer and turn.answer.model
        )
        request = self._conversation.request
        effort = request.reasoning.effort if request and request.reasoning else None
        facts = [fact(model) for model in list(models)[:3]]
        facts += [fact(f"effort {effort}")] if effort else []
        return {"id": self._id, "title": one_line(self._conversation.title), "facts": facts}

    @property
    def turns(self) -> Sequence[Turn]:
        return self._conversation.turns

    def cell(self, number: int | None) -> RunCell | None:
        if number is None:
            return None
        turn = self.turns[number]
        texts = [
            part.text
            for part in turn.message.parts
            if isinstance(part, Text) and not is_aside(turn, part)
        ]
        text = visible("\n\n".join(texts))
        cell: RunCell = {
            "n": self._heads[number],
            "answer": _text(text),
            "thoughts": [_text(visible(thought.text) or _size(thought.characters)) for thought in thought_about(turn.message.parts, self._show)],
            "calls": [self._call(part) for part in turn.message.parts if isinstance(part, ToolCall)],
            "facts": list(self._facts(turn)),
        }  # fmt: skip
        return cell

    def _call(self, call: ToolCall) -> Fact:
        tone: Literal["bad"] | None = "bad" if call.id in self._failed else None
        return fact(name_line(call.name, 60), call_line(call)[:600], tone)

    def _facts(self, turn: Turn) -> Iterator[Fact]:
        answer = turn.answer
        if answer is not None and answer.status not in ("answered", "tool_calls"):
            yield fact(STATUS_WORDS[answer.status], tone="bad")
        if answer is not None and answer.usage.output_tokens is not None:
            reasoning = answer.usage.reasoning_tokens
            more = f", {reasoning:,} reasoning" if reasoning else ""
            yield fact(f"{answer.usage.output_tokens:,} tokens out{more}")
        if turn.message.role == "assistant" and turn.seconds and (words := duration(turn.seconds)):
            yield fact(words)
        if cost := self._cost(turn):
            yield fact(dollars(cost))

    def _cost(self, turn: Turn) -> Decimal:
        price = self._prices.of(turn.answer) if turn.answer else None
        return price.total if price else Decimal(str(turn.cost or 0))

    def numbers(self) -> dict[str, float]:
        """What the run took, in the order in which it is shown; only what the source knows."""
        answers = [turn.answer for turn in self.turns if turn.answer]
        parts = [part for turn in self.turns for part in turn.message.parts]
        counts: dict[str, float] = {
            "steps": sum(turn.message.role == "assistant" for turn in self.turns),
            "thoughts": sum(isinstance(part, Thinking) for part in parts),
            "calls": sum(isinstance(part, ToolCall) for part in parts),
            "errors of tools": len(self._failed),
            "tokens in": sum(answer.usage.input_tokens or 0 for answer in answers),
            "tokens out": sum(answer.usage.output_tokens or 0 for answer in answers),
            "reasoning tokens": sum(answer.usage.reasoning_tokens or 0 for answer in answers),
            "time": sum(turn.seconds or 0.0 for turn in self.turns),
            "cost": float(sum((self._cost(turn) for turn in self.turns), Decimal())),
        }
        return counts


def _text(text: str) -> RunText:
    if len(text) > _LONGEST:
        # Cut between two words: half a key is not recognized any more.
        text = f"{' '.join(text[:_LONGEST].rsplit(None, 1)[:-1])} …"
    shown: RunText = {"text": text}
    if blocks := blocks_of(shown["text"]):
        shown["blocks"] = blocks
    return shown


def _size(characters: int | None) -> str:
    """What is said of a thought that is not shown."""
    return counted(characters, "character") if characters else "a thought without text"


def _sums(left: _Run, right: _Run) -> list[RunSum]:
    one, other = left.numbers(), right.numbers()
    sums: list[RunSum] = []
    for name in one:
        if one[name] or other[name]:
            more: Literal["left", "right", ""] = "" if one[name] == other[name] else "left" if one[name] > other[name] else "right"  # fmt: skip
            sums.append({"name": name, "left": _number(name, one[name]), "right": _number(name, other[name]), "more": more})  # fmt: skip
    return sums


def _number(name: str, number: float) -> str:
    if not number:
        return "–"
    if name == "cost":
        return dollars(Decimal(str(number)))
    return duration(number) if name == "time" else f"{number:,.0f}"
