"""Compares two turns, or the requests before two turns: of one conversation or of two, so that the answers of two providers to one prompt can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.conversation.prefix import difference
from innervoice.errors import UsageError
from innervoice.planning.cache import cache_effect
from innervoice.planning.plan import Plan, planned
from innervoice.show.policy import counted
from innervoice.sources.conversation import Conversation, Turn
from innervoice.view.part_view import part_text
from innervoice.view.plans import diff_lines, encoded_lines, trouble
from innervoice.view.row_types import DiffView, Fact, fact, turn_name
from innervoice.view.seals import Seals
from innervoice.view.sending import Sent, model_of, request_for, sent_before
from innervoice.view.totals import STATUS_WORDS

__all__ = ["request_diff", "turn_diff"]

_UNKNOWN = "not known"


def turn_diff(
    first: Conversation, first_turn: int, second: Conversation, second_turn: int
) -> DiffView:
    """The content of two turns, part by part, and the differences; raises `UsageError` for a turn that does not exist."""
    one, other = _turn(first, first_turn), _turn(second, second_turn)
    facts = [
        fact(f"{name}: {before} → {after}")
        for (name, before), (_, after) in zip(
            _traits(first, first_turn, one), _traits(second, second_turn, other), strict=True
        )
        if before != after
    ]
    return {
        "left": _name(first, first_turn),
        "right": _name(second, second_turn),
        "facts": facts
        or [fact("same in kind", "Model, status, tokens, parts and seals are the same.")],
        "lines": diff_lines(list(_part_lines(one)), list(_part_lines(other))),
    }


def request_diff(
    first: Conversation, first_turn: int, second: Conversation, second_turn: int
) -> DiffView:
    """The requests before two turns, each as its own model gets it; raises `UsageError` for a turn that does not exist."""
    _turn(first, first_turn)
    _turn(second, second_turn)
    one, other = _request(first, first_turn), _request(second, second_turn)
    facts = [
        fact("cannot be written", words, "bad") for words in (one.problem, other.problem) if words
    ]
    return {
        "left": f"the request before {_name(first, first_turn)}",
        "right": f"the request before {_name(second, second_turn)}",
        "facts": [*facts, *_about_requests(first, one, second, other)],
        "lines": diff_lines(one.lines, other.lines),
    }


def _turn(conversation: Conversation, number: int) -> Turn:
    if not 0 <= number < len(conversation.turns):
        raise UsageError(
            f"there is no {turn_name(number)} in this conversation, which has {len(conversation.turns)}"
        )
    return conversation.turns[number]


def _name(conversation: Conversation, number: int) -> str:
    title = f" of {conversation.title}" if conversation.title else ""
    return fact(f"{turn_name(number)} ({conversation.turns[number].message.role}){title}")["label"]


def _part_lines(turn: Turn) -> Iterator[str]:
    """The parts of a turn as lines, each under its kind."""
    for part in turn.message.parts:
        yield f"[{_heading(part)}]"
        yield from part_text(part).split("\n")


def _heading(part: Part) -> str:
    if isinstance(part, ToolCall):
        return fact(f"call of {part.name}")["label"]
    if isinstance(part, Thinking) and part.form == "hidden":
        return "hidden reasoning"
    return part.type.replace("_", " ")


def _traits(conversation: Conversation, number: int, turn: Turn) -> list[tuple[str, str]]:
    answer = turn.answer
    usage = answer.usage if answer else None
    parts = turn.message.parts
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    written = sum(len(part.text) for part in thoughts)
    return [
        ("role", turn.message.role),
        ("model", model_of(conversation, number) or _UNKNOWN),
        ("status", _status(answer)),
        ("parts", " ".join(part.type for part in parts[:12]) + (" …" if len(parts) > 12 else "")),
        ("thinking", f"{counted(len(thoughts), 'block')}, {counted(written, 'character')}"),
        ("input tokens", _count(usage.input_tokens if usage else None)),
        ("output tokens", _count(usage.output_tokens if usage else None)),
        ("reasoning tokens", _count(usage.reasoning_tokens if usage else None)),
        ("cached tokens", _count(usage.cached_input_tokens if usage else None)),
        ("seals", _seals(conversation, number, turn)),
    ]


def _status(answer: Response | None) -> str:
    return STATUS_WORDS[answer.status] if answer else _UNKNOWN


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _seals(conversation: Conversation, number: int, turn: Turn) -> str:
    seals = Seals(conversation)
    labels = [
        badge["label"]
        for place in range(len(turn.message.parts))
        for badge in seals.of(number, place)
    ]
    return "; ".join(labels[:6]) or "none"


class _Request(NamedTuple):
    """A request as its host got it."""

    model: str | None
    plan: Plan | None
    sent: Sent
    lines: list[str]
    problem: str


def _request(conversation: Conversation, turn: int) -> _Request:
    sent = sent_before(conversation, turn)
    model = _model(conversation, turn)
    if model is None:
        return _Request(None, None, sent, list(_plainly(sent)), "")
    try:
        plan = planned(request_for(conversation, sent.messages, model))
        return _Request(model, plan.plan, sent, encoded_lines(plan), "")
    except Exception as error:  # noqa: BLE001 - whatever a file holds, the page shows the rest
        return _Request(model, None, sent, list(_plainly(sent)), trouble(error))


def _model(conversation: Conversation, turn: int) -> str | None:
    """The model that was called: the one that wrote the turn, or the next one that answered."""
    request = conversation.request
    answers = (model_of(conversation, number) for number in range(turn, len(conversation.turns)))
    return next(filter(None, answers), None) or (request.model if request else None)


def _plainly(sent: Sent) -> Iterator[str]:
    """The messages as lines, if the dialect in which they were sent is unknown."""
    for message in sent.messages:
        yield f"{message.role}:"
        for part in message.parts:
            yield from part_text(part).split("\n")


def _about_requests(
    first: Conversation, one: _Request, second: Conversation, other: _Request
) -> Iterator[Fact]:
    if one.model != other.model:
        yield fact(f"model: {one.model or _UNKNOWN} → {other.model or _UNKNOWN}")
    if one.model is None or other.model is None:
        why = (
            "The source does not say which model was called, so the messages are shown as they are."
        )
        yield fact("unknown dialect", why, "warn")
    before, after = len(one.sent.messages), len(other.sent.messages)
    if before != after:
        yield fact(f"messages: {before} → {after}")
    if one.plan and other.plan and one.plan.target == other.plan.target:
        yield from _about_plans(one.plan, other.plan, other.sent)
    if first.request is None or second.request is None:
        why = "The source does not say which system prompt, tools and settings were sent."
        yield fact("unknown settings", why, "warn")
    elif first is second:
        why = "The source has the settings of the last request only; both requests are written with them."
        yield fact("settings of the last request", why)


def _about_plans(one: Plan, other: Plan, sent: Sent) -> Iterator[Fact]:
    """Where one request first differs from the other: from there on, a prompt cache is not reused, and bound blocks are dead."""
    effect = cache_effect(one, other)
    if effect.message is None:
        why = f"The right request contains all of the left one: {effect.why}."
        yield fact("continues", why, "good")
        return
    turn = sent.numbers[effect.message] if effect.message < len(sent.numbers) else None
    place = turn_name(turn) if turn is not None else "its end"
    yield fact(f"first difference at {place}", f"{effect.why}.", "warn")
    if len(one.messages) == len(other.messages):
        words = difference(one.prefix, other.prefix)
        yield fact("bound blocks after it are dead", f"{words}.", "warn")
