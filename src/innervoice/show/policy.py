"""A response, a message or a history, and one word -> what is to be shown, in its order.

The word is the same for every renderer and for logs:

  full      all reasoning that can be read
  summary   reasoning that the provider summarised; of other reasoning the opening, and its length
  length    only that there was reasoning, with its characters, and its tokens where they are known
  none      nothing about reasoning at all

Reasoning that nobody can read (redacted, encrypted, or only counted in the usage) is one line in the
first three. Neighbouring reasoning is one thought. Seals are no part of what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value
from innervoice.canon.views import answer_of, thinking_of
from innervoice.errors import UsageError

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
    "thought_about",
    "view_of",
]

Policy: TypeAlias = Literal["full", "summary", "length", "none"]
Showable: TypeAlias = Response | Message | Sequence[Response | Message]

_OPENING = 160
# A sentence is not shorter than a few words: "1." and "e.g." end none.
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
    """Reasoning: what may be read of it, and how much there was."""

    text: str = ""
    characters: int = 0
    tokens: int | None = None
    """Of the whole response; its first thought tells them."""
    alone: bool = True
    """Whether the response has no other thought, so that the tokens are those of this one."""
    hidden_blocks: int = 0
    """How many blocks of it nobody can read; a thought with such blocks has no text."""
    summary: bool = False
    complete: bool = True

    @property
    def facts(self) -> list[str]:
        """Its measures, in words."""
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
        """One line about it."""
        name = "Hidden reasoning" if self.hidden_blocks else "Thinking"
        return f"{name} ({', '.join(self.facts)})" if self.facts else name


class Answer(Value, frozen=True):
    """Text of a turn that stands in one piece."""

    text: str


class ShownCall(Value, frozen=True):
    """A tool call; results refer to its number."""

    number: int
    name: str
    arguments: str


class Result(Value, frozen=True):
    """What a call gave; `call` is None if the call is not among what is shown."""

    text: str
    error: bool = False
    call: ShownCall | None = None


class Block(Value, frozen=True):
    """Something that is no text: its kind."""

    kind: str


class Remark(Value, frozen=True):
    """Why there is no answer, or why it broke off."""

    text: str


Item: TypeAlias = Thought | Answer | ShownCall | Result | Block | Remark


class ShownTurn(Value, frozen=True):
    """The items of one turn; `role` is None for a turn that is shown alone."""

    items: tuple[Item, ...]
    role: str | None = None


def view_of(value: Showable, show: Policy = "full") -> tuple[ShownTurn, ...]:
    """Applies the policy; renderers draw what this gives, and look at nothing else."""
    check_policy(show)
    calls = _Calls()
    if isinstance(value, (Response, Message)):
        return (_turn(value, show, calls).replace(role=None),)
    if isinstance(value, (list, tuple)):
        return tuple(_turn(item, show, calls) for item in value)
    raise UsageError(
        f"a Response, a Message or a list of these can be shown, not {type(value).__name__}"
    )


def check_policy(show: str) -> None:
    """Refuses a word that is none of the four."""
    if show not in get_args(Policy):
        raise UsageError(f"show must be one of {', '.join(get_args(Policy))}, not {show!r}")


def thought_about(parts: Sequence[Part], show: Policy) -> tuple[Thought, ...]:
    """What neighbouring parts of reasoning show: what can be read, then what cannot."""
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
            f"a list of Messages and Responses can be shown, but {type(value).__name__} is in it"
        )
    items = tuple(_items(value.parts, show, calls))
    if isinstance(value, Message):
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
    """Runs of parts of one kind; a part that leaves no trace does not end a run.

    A run of text has with it all that stands between it and other text: so `answer_of` knows where
    something was cut out of it, and under `none` gives the answer of the response itself.
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
            # Reasoning of an unexpected shape is carried as it came; its name still tells what it is.
            kind = value.get("type")
            names = [kind] if isinstance(kind, str) else list(map(str, value))
            return any(_REASONING.search(name) for name in names)
        case _:
            return False


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _permitted(parts: Sequence[Thinking], show: Policy) -> Iterator[Part]:
    """The parts with as much of their text as the policy lets through."""
    for part in parts:
        if show == "full" or (show == "summary" and part.form == "summary"):
            yield part
        elif show == "summary":
            yield part.replace(text=_opening(part.text))


def _opening(text: str) -> str:
    """The first sentence, or the first line if that is shorter, and an ellipsis for the rest."""
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
    """The calls so far; of two with one id the later counts for what follows."""

    def __init__(self) -> None:
        self._made = 0
        self._by_id: dict[str, ShownCall] = {}

    def add(self, part: ToolCall) -> ShownCall:
        self._made += 1
        call = self._by_id[part.id] = ShownCall(self._made, part.name, part.arguments)
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
            return part.mime or "media"
        case Opaque(value={"type": str(kind)}):
            return kind
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
        return Remark(f"interrupted: {message}" if message else "interrupted")
    if any(not isinstance(item, Thought) for item in items):
        return None
    status = response.status
    reasons = _TROUBLE if show == "none" else _TROUBLE | _TROUBLE_IN_THINKING
    return Remark(reasons.get(status, "no answer"))
