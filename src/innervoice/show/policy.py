"""A response, a message or a history, and a policy -> a view: the items to show, in order.

Every renderer and the logs use the same policies:

  full      all readable reasoning
  summary   summaries from the provider; of other reasoning the first sentence, and its length
  length    only that there was reasoning, with its characters, and its tokens if they were reported
  none      nothing about reasoning at all

With the first three, unreadable reasoning (redacted, encrypted, or only counted in the usage) is one line.
Adjacent reasoning parts are one thought. Seals are never shown, and names and errors without keys (`privacy/redactor.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias, TypeGuard, assert_never, get_args

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value
from innervoice.canon.views import answer_of, thinking_of
from innervoice.errors import UsageError
from innervoice.privacy.redactor import Redactor
from innervoice.show.visible import one_line

__all__ = [
    "Answer",
    "Block",
    "Item",
    "Policy",
    "Remark",
    "Result",
    "Showable",
    "ShownCall",
    "ShownTurn",
    "Thought",
    "check_policy",
    "counted",
    "line_of",
    "thought_about",
    "view_of",
]

Policy: TypeAlias = Literal["full", "summary", "length", "none"]
Showable: TypeAlias = Response | Message | Sequence[Response | Message]

_SCREEN = Redactor("screen")
_OPENING = 160
# A sentence has at least a few words: "1." and "e.g." do not end one.
_SENTENCE = re.compile(r".{20,}?(?:[.!?…](?=\s)|[。！？])")
_REASONING = re.compile("reason|think|thought", re.IGNORECASE)
_TROUBLE = {
    "interrupted": "interrupted before an answer",
    "refused": "no answer: refused",
    "budget_exhausted": "no answer: the token limit was reached",
    "stopped_inside_thinking": "no answer",
    "empty": "no answer",
}
_TROUBLE_IN_THINKING = {
    "budget_exhausted": "no answer: the token limit was reached while thinking",
    "stopped_inside_thinking": "no answer: the model stopped while thinking",
}


class Thought(Value, frozen=True, kw_only=True):
    """Reasoning: the text to show, and its full length."""

    text: str = ""
    characters: int = 0
    tokens: int | None = None
    """The reasoning tokens of the whole response, on its first thought."""
    alone: bool = True
    """Whether the response has no other thought, so that `tokens` belongs to this one alone."""
    hidden_blocks: int = 0
    """The number of unreadable blocks; a thought with such blocks has no text."""
    summary: bool = False
    complete: bool = True

    @property
    def facts(self) -> list[str]:
        """Its length and state, in words."""
        facts = ["summary"] if self.summary else []
        if self.hidden_blocks > 1:
            facts.append(counted(self.hidden_blocks, "block"))
        if not self.hidden_blocks:
            facts.append(counted(self.characters, "character"))
        if self.tokens is not None:
            facts.append(counted(self.tokens, "token") + ("" if self.alone else " in all"))
        return facts if self.complete else [*facts, "unfinished"]

    @property
    def title(self) -> str:
        """A one-line title."""
        name = "Hidden reasoning" if self.hidden_blocks else "Thinking"
        return f"{name} ({', '.join(self.facts)})" if self.facts else name


class Answer(Value, frozen=True):
    """A contiguous text of a turn."""

    text: str


class ShownCall(Value, frozen=True):
    """A tool call; results refer to its number."""

    number: int
    name: str
    arguments: str


class Result(Value, frozen=True):
    """A tool result; `call` is None if its call is not part of the view."""

    text: str
    error: bool = False
    call: ShownCall | None = None


class Block(Value, frozen=True):
    """A part that is not text, by its kind."""

    kind: str


class Remark(Value, frozen=True):
    """Why there is no answer, or why it was interrupted."""

    text: str


Item: TypeAlias = Thought | Answer | ShownCall | Result | Block | Remark


class ShownTurn(Value, frozen=True):
    """The items of one turn; `role` is None for a turn that is shown alone."""

    items: tuple[Item, ...]
    role: str | None = None


def view_of(value: Showable, show: Policy = "full") -> tuple[ShownTurn, ...]:
    """Applies the policy; renderers draw the result and use nothing else.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    """
    check_policy(show)
    calls = _Calls()
    if isinstance(value, (Response, Message)):
        return (_turn(value, show, calls).replace(role=None),)
    if isinstance(value, (list, tuple)):
        return tuple(_turn(item, show, calls) for item in value)
    raise UsageError(
        f"expected a Response, a Message or a list of these, not {type(value).__name__}"
    )


def check_policy(show: str) -> None:
    """Raises `UsageError` for an unknown policy."""
    if show not in get_args(Policy):
        raise UsageError(f"show must be one of {', '.join(get_args(Policy))}, not {show!r}")


def thought_about(parts: Sequence[Part], show: Policy) -> tuple[Thought, ...]:
    """The thoughts of adjacent reasoning parts: readable text first, then unreadable blocks."""
    open_ended = not all(getattr(part, "complete", True) for part in parts)
    legible = [part for part in parts if _is_legible(part)]
    hidden = sum(_is_hidden(part) for part in parts)
    thoughts = []
    if legible:
        thoughts.append(
            Thought(
                text=thinking_of(_permitted(legible, show)) or "",
                characters=len(thinking_of(legible) or ""),
                summary=all(part.form == "summary" for part in legible),
                complete=not open_ended,
            )
        )
    if hidden:
        thoughts.append(Thought(hidden_blocks=hidden))
    return tuple(thoughts)


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _turn(value: Any, show: Policy, calls: _Calls) -> ShownTurn:
    if not isinstance(value, (Response, Message)):
        raise UsageError(
            f"expected a list of Messages and Responses, but it contains {type(value).__name__}"
        )
    items = tuple(_items(value.parts, show, calls))
    if isinstance(value, Message):
        if value.effort and value.role != "assistant":
            items = (Remark(f"effort {value.effort} from here on"), *items)
        return ShownTurn(items, value.role)
    remark = _remark(value, items, show)
    items = _with_tokens(items, value.usage, show)
    return ShownTurn(items if remark is None else (*items, remark), "assistant")


def _items(parts: Sequence[Part], show: Policy, calls: _Calls) -> Iterator[Item]:
    for kind, run in _runs(parts, show):
        if kind == "thinking":
            yield from thought_about(run, show)
        elif kind == "other":
            yield from (_other(part, calls) for part in run)
        elif not _is_blank(answer := answer_of(run)):
            yield Answer(answer)


def _runs(parts: Sequence[Part], show: Policy) -> Iterator[tuple[str, Sequence[Part]]]:
    """Runs of parts of one kind; a part that is not shown does not end a run.

    A run of text includes everything between it and the next text, so that `answer_of` knows where
    something was cut out and, with `none`, returns the same answer as the response itself.
    """
    seen = [(index, kind) for index, part in enumerate(parts) if (kind := _kind(part, show))]
    runs = [
        (kind, [index for index, _ in run]) for kind, run in groupby(seen, key=lambda pair: pair[1])
    ]
    ends = iter([*[run[0] for kind, run in runs if kind == "text"][1:], len(parts)])
    start = 0
    for kind, run in runs:
        if kind == "text":
            yield kind, parts[start : next(ends)]
            start = run[-1] + 1
        else:
            yield kind, [parts[index] for index in run]


def _kind(part: Part, show: Policy) -> str | None:
    if isinstance(part, Text):
        return "text"
    if _is_legible(part) or _is_hidden(part):
        return None if show == "none" else "thinking"
    return None if isinstance(part, Thinking) else "other"


def _is_legible(part: Part) -> TypeGuard[Thinking]:
    return isinstance(part, Thinking) and part.form != "hidden" and not _is_blank(part.text)


def _is_hidden(part: Part) -> bool:
    match part:
        case Thinking():
            return part.form == "hidden"
        case Opaque(value=dict(value)):
            # Reasoning in an unknown format is kept as an opaque block; its type or key reveals it.
            kind = value.get("type")
            names = [kind] if isinstance(kind, str) else list(map(str, value))
            return any(_REASONING.search(name) for name in names)
        case _:
            return False


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _permitted(parts: Sequence[Thinking], show: Policy) -> Iterator[Part]:
    """The parts, with as much of their text as the policy allows."""
    for part in parts:
        if show == "full" or (show == "summary" and part.form == "summary"):
            yield part
        elif show == "summary":
            yield part.replace(text=_opening(part.text))


def _opening(text: str) -> str:
    """The first sentence, or the first line if that is shorter, followed by an ellipsis if text is left."""
    text = text.strip()
    line = text.partition("\n")[0].rstrip()
    sentence = _SENTENCE.match(line)
    opening = sentence[0] if sentence else line
    if len(opening) > _OPENING:
        opening = opening[:_OPENING].rsplit(" ", 1)[0]
    return opening if opening == text else f"{opening} …"


def _with_tokens(items: tuple[Item, ...], usage: Usage, show: Policy) -> tuple[Item, ...]:
    tokens = usage.reasoning_tokens
    if tokens is None or show == "none":
        return items
    thoughts = [item for item in items if isinstance(item, Thought)]
    if not thoughts:
        return (Thought(hidden_blocks=1, tokens=tokens), *items) if tokens else items
    place = items.index(thoughts[0])
    telling = thoughts[0].replace(tokens=tokens, alone=len(thoughts) == 1)
    return (*items[:place], telling, *items[place + 1 :])


class _Calls:
    """The calls so far; if two share an id, later results belong to the last one."""

    def __init__(self) -> None:
        self._made = 0
        self._by_id: dict[str, ShownCall] = {}

    def add(self, part: ToolCall) -> ShownCall:
        self._made += 1
        call = self._by_id[part.id] = ShownCall(
            self._made, _SCREEN.name(part.name), _SCREEN.text(part.arguments)
        )
        return call

    def get(self, call_id: str) -> ShownCall | None:
        return self._by_id.get(call_id)


def _other(part: Part, calls: _Calls) -> Item:
    match part:
        case ToolCall():
            return calls.add(part)
        case ToolResult():
            return Result(_result_text(part), part.error, calls.get(part.call_id))
        case _:
            return Block(_block_kind(part))


def _block_kind(part: Part) -> str:
    match part:
        case Media():
            return _SCREEN.name(part.mime or "media")
        case Opaque(value={"type": str(kind)}):
            return _SCREEN.name(kind)
        case _:
            return "block"


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(
        part.text if isinstance(part, Text) else f"[{_block_kind(part)}]" for part in result.content
    )


def _remark(response: Response, items: tuple[Item, ...], show: Policy) -> Remark | None:
    if response.error is not None:
        message = response.error.message or response.error.type
        return Remark(f"interrupted: {_SCREEN.name(message)}" if message else "interrupted")
    if any(not isinstance(item, Thought) for item in items):
        return None
    status = response.status
    reasons = _TROUBLE if show == "none" else _TROUBLE | _TROUBLE_IN_THINKING
    return Remark(reasons.get(status, "no answer"))


# ---- A tool call, a result, a block or a remark -> one line of clean text, the same in every form.


def line_of(item: ShownCall | Result | Block | Remark) -> str:
    """The line; long arguments and results are shortened."""
    match item:
        case ShownCall():
            return f"call {one_line(item.name)}({one_line(item.arguments)})"
        case Result():
            word = "error from" if item.error else "result of"
            name = one_line(item.call.name) if item.call else "a call"
            return f"{word} {name}: {one_line(item.text)}"
        case Block():
            return f"[{one_line(item.kind)}]"
        case Remark():
            return f"[{one_line(item.text)}]"
        case _:
            assert_never(item)
