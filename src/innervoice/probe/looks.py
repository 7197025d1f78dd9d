"""What is looked for in the answers: a session and a fact -> a finding.

The same looks are taken at the emulator, for what the catalog expects. A look that cannot decide raises `NotMeasuredError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from innervoice.canon.parts import Opaque, Thinking, is_inline
from innervoice.catalog.fact_sources import shown_value
from innervoice.probe.exchanges import Outcome, plain_words
from innervoice.probe.facts import ProbeFact, recipe_of, values_of
from innervoice.probe.recipes import SMALL, Recipe
from innervoice.probe.session import NotMeasuredError, Session
from innervoice.probe.tampering import has_seals
from innervoice.wire.controls import is_claude
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_count, as_dict

__all__ = ["LOOKS", "Finding", "is_reasoning"]

_OPENER = re.compile(r"<([A-Za-z][\w:]{0,40})")
_CLOSER = re.compile(r"</([A-Za-z][\w:]{0,40})")
_KNOWN_BUDGET = 1024
_STEPS = 16
"""How often a number is doubled or halved until one is accepted; refusals cost nothing."""


@dataclass
class Finding:
    """What was measured."""

    value: Any
    """Compared with what the catalog expects."""
    text: str = ""
    """For people."""
    words: dict[str, str] = field(default_factory=dict)
    """Refused requests, by their recipes -> the server's words, without what differs every time."""
    said: str = ""
    """The last refusal, as the server worded it."""

    def __post_init__(self) -> None:
        self.text = self.text or shown_value(self.value)

    def note(self, session: Session, recipe: Recipe, outcome: Outcome) -> Outcome:
        """Keeps the words of a refusal."""
        if not outcome.is_accepted:
            words = plain_words(outcome.words, session.target.model)
            self.words[recipe.key] = f"{outcome.status} {words}"
            self.said = outcome.words
        return outcome


Look: TypeAlias = Callable[[Session, ProbeFact], Finding]


# ---- acceptance --------------------------------------------------------------------------------------


def accepted(session: Session, fact: ProbeFact) -> Finding:
    """Whether a request is accepted."""
    recipe, finding = recipe_of(fact), Finding(None, "-")
    outcome = finding.note(session, recipe, session.outcome(recipe))
    finding.value = "accepted" if outcome.is_accepted else "refused"
    finding.text = "accepted" if outcome.is_accepted else str(outcome.status)
    return finding


def accepted_each(session: Session, fact: ProbeFact) -> Finding:
    """Which of some values are accepted."""
    return _each(session, fact, is_kept=lambda outcome: outcome.is_accepted)


def refused_each(session: Session, fact: ProbeFact) -> Finding:
    """Which of some values are refused."""
    finding = _each(session, fact, is_kept=lambda outcome: not outcome.is_accepted)
    finding.text = shown_value(finding.value)
    return finding


def _each(session: Session, fact: ProbeFact, *, is_kept: Callable[[Outcome], bool]) -> Finding:
    finding = Finding((), "-")
    for value in values_of(fact, session.target):
        recipe = recipe_of(fact, value)
        if is_kept(finding.note(session, recipe, session.outcome(recipe))):
            finding.value = (*finding.value, value)
    finding.text = _range(finding.value, values_of(fact, session.target))
    return finding


def _range(values: tuple[str, ...], all_values: tuple[str, ...]) -> str:
    """Some words of an order: low..max, or each of them."""
    start = all_values.index(values[0]) if values else 0
    if len(values) > 2 and values == all_values[start : start + len(values)]:
        return f"{values[0]}..{values[-1]}"
    return ", ".join(values) or "none"


def highest(session: Session, fact: ProbeFact) -> Finding:
    """The highest effort that is accepted while reasoning is off; "any" if it is the highest of all."""
    finding = _each(session, fact, is_kept=lambda outcome: outcome.is_accepted)
    efforts = [
        effort
        for effort in values_of(fact, session.target)
        if session.outcome(Recipe(setting="on", effort=effort)).is_accepted
    ]
    finding.value = finding.value[-1] if finding.value else "none"
    if efforts and finding.value == efforts[-1]:
        finding.value = "any"
    finding.text = finding.value
    return finding


def off(session: Session, fact: ProbeFact) -> Finding:
    """How reasoning is switched off."""
    recipe, finding = recipe_of(fact), Finding("never", "no")
    if is_claude(session.target.row):
        recipe = recipe.replace(off_by="disabled")
    outcome = finding.note(session, recipe, session.outcome(recipe))
    if outcome.is_accepted:
        finding.value = "ignored" if _reasons(outcome) else "value"
        finding.text = "accepted, and it reasons" if finding.value == "ignored" else "yes"
    elif recipe.off_by:
        between = recipe.replace(off_by="between_tools", large=False)
        if session.outcome(between).is_accepted:
            finding.value, finding.text = "between_tools", "but for notes between tools"
    return finding


def kinds(session: Session, _fact: ProbeFact) -> Finding:
    """Which of the two ways to ask for thinking are accepted."""
    target, finding = session.target, Finding((), "-")
    budget = target.row.budget[0] if target.row.budget else _KNOWN_BUDGET
    if is_claude(target.row):
        settings: dict[str, Any] = {
            "adaptive": {"thinking": {"type": "adaptive"}},
            "enabled": {"thinking": {"type": "enabled", "budget_tokens": budget}},
        }
    else:
        level = (target.row.efforts or ("low",))[0].upper()
        settings = {
            name: {"generationConfig": {"thinkingConfig": config}}
            for name, config in (("level", {"thinkingLevel": level}), ("budget", {"thinkingBudget": budget}))
        }  # fmt: skip
    wrap = dialect_named(target.dialect).wraps_reasoning
    for name, members in settings.items():
        recipe = Recipe(members={wrap: members} if wrap else members, limit=budget + SMALL)
        if finding.note(session, recipe, session.outcome(recipe)).is_accepted:
            finding.value = (*finding.value, name)
    finding.text = shown_value(finding.value)
    return finding


def exclusive(session: Session, _fact: ProbeFact) -> Finding:
    """Which pairs of settings are refused together."""
    finding = Finding((), "-")
    values = {"thinking": {"type": "enabled"}, "reasoning_effort": (session.target.row.efforts or ("low",))[0]}  # fmt: skip
    host = session.target.host
    for one, other in host.exclusive if host else ():
        members = {name: values.get(name, "low") for name in (one, other)}
        recipe = Recipe(members=members)
        if not finding.note(session, recipe, session.outcome(recipe)).is_accepted:
            finding.value = (*finding.value, f"{one} and {other}")
    finding.text = shown_value(finding.value)
    return finding


# ---- numbers -----------------------------------------------------------------------------------------


def least_budget(session: Session, _fact: ProbeFact) -> Finding:
    """The smallest budget that is accepted, near the one in the catalog."""
    least, most = session.target.row.budget or (1, 1)
    above = [least * 2**step for step in range(1, _STEPS) if least * 2**step <= most]
    below = [least - 1, least // 2, 1] if least > 1 else []
    return _limit(session, [least, *above], [number for number in below if number >= 1])


def most_budget(session: Session, _fact: ProbeFact) -> Finding:
    """The largest budget that is accepted, near the one in the catalog."""
    least, most = session.target.row.budget or (1, 1)
    below = [most // 2**step for step in range(1, _STEPS) if most // 2**step >= least]
    return _limit(session, [most, *below], [most + 1, most * 2])


def _limit(session: Session, towards: list[int], beyond: list[int]) -> Finding:
    """The bound of accepted numbers: that of the catalog, the first of `towards`, or else the exact one."""
    finding = Finding(None, "none accepted")

    def is_accepted(number: int) -> bool:
        recipe = Recipe(setting="on", budget=number)
        return finding.note(session, recipe, session.outcome(recipe)).is_accepted

    finding.value = _bound(towards, beyond, is_accepted)
    finding.text = f"{finding.value:,}" if finding.value is not None else finding.text
    return finding


def _bound(towards: list[int], beyond: list[int], is_accepted: Callable[[int], bool]) -> int | None:
    """The last accepted number: the first of `towards` if nothing beyond it is accepted, or else by bisection."""
    good, bad = None, None
    for number in towards:
        if is_accepted(number):
            good = number
            break
        bad = number
    if good == towards[0]:
        for number in beyond:
            if not is_accepted(number):
                bad = number
                break
            good = number
        if good == towards[0]:
            return good
    while good is not None and bad is not None and abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if is_accepted(middle) else (good, middle)
    return good


def most_output(session: Session, _fact: ProbeFact) -> Finding:
    """Whether the limit of the catalog is accepted, or else which smaller one."""
    most = session.target.row.max_output or 1
    finding = Finding(None, "none accepted")

    def is_accepted(number: int) -> bool:
        recipe = Recipe(limit=number, stream=True, peek=True)
        return finding.note(session, recipe, session.outcome(recipe)).is_accepted

    finding.value = _bound(
        [most // 2**step for step in range(_STEPS) if most >= 2**step], [], is_accepted
    )
    finding.text = f"{finding.value:,}" if finding.value else finding.text
    return finding


# ---- reasoning ---------------------------------------------------------------------------------------


def _thoughts(outcome: Outcome) -> list[Thinking]:
    """The thoughts of an answer; an empty pair of tags, which templates write for a model that is not to think, is none."""
    parts = outcome.response.parts if outcome.response else ()
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    return [part for part in thoughts if part.text.strip() or not is_inline(part)]


def _reasons(outcome: Outcome) -> bool:
    """Whether there is a sign of reasoning: a part, a count, or a seal."""
    response = outcome.response
    if response is None:
        return False
    if _thoughts(outcome) or _unknown_blocks(outcome) or response.usage.reasoning_tokens:
        return True
    origins = (part.origin for part in response.parts)
    return any(
        has_seals(origin.block, origin.dialect)
        for origin in origins
        if origin and origin.block and origin.dialect
    )


def _unknown_blocks(outcome: Outcome) -> list[dict[str, Any]]:
    """Blocks of an answer of a type that is not known here: perhaps reasoning in a new form."""
    parts = outcome.response.parts if outcome.response else ()
    blocks = [part.value for part in parts if isinstance(part, Opaque) and not is_inline(part)]
    return [as_dict(block) for block in blocks]


def _is_readable(outcome: Outcome) -> bool:
    if any(thought.text.strip() for thought in _thoughts(outcome)):
        return True
    members = (item for block in _unknown_blocks(outcome) for item in block.items())
    return any(isinstance(text, str) and " " in text for _, text in members)


def is_reasoning(session: Session) -> bool:
    """Whether the model reasons at all: when nothing is sent, or when it is asked to."""
    for recipe in (Recipe(large=True, setting="on", show="visible"), Recipe(large=True)):
        outcome = session.outcome(recipe)
        if outcome.is_accepted and _reasons(outcome):
            return True
    return False


def reasons(session: Session, fact: ProbeFact) -> Finding:
    """Whether the model reasons in an answer."""
    value = _reasons(session.accepted(recipe_of(fact)))
    return Finding("on" if value else "none", "yes" if value else "no")


def shown(session: Session, fact: ProbeFact) -> Finding:
    """What an answer shows of its reasoning."""
    outcome = session.accepted(recipe_of(fact))
    if _is_readable(outcome):
        return Finding("readable")
    return Finding("hidden", "omitted") if _reasons(outcome) else Finding("nothing")


def showable(session: Session, fact: ProbeFact) -> Finding:
    """Which settings for what is shown have an effect."""
    finding = Finding((), "-")
    is_on = session.on_choice() is not None
    for value in values_of(fact, session.target):
        recipe = recipe_of(fact, value)
        if not is_on:  # nothing that would switch it on is accepted; perhaps this is, alone
            recipe = recipe.replace(setting="default")
        outcome = finding.note(session, recipe, session.outcome(recipe))
        if not is_on and not outcome.is_accepted:
            raise NotMeasuredError(f"refused: {outcome.words}"[:120])
        if outcome.is_accepted and _is_readable(outcome) == (value != "hidden"):
            finding.value = (*finding.value, value)
    finding.text = shown_value(finding.value)
    return finding


def whole(session: Session, fact: ProbeFact) -> Finding:
    """Whether the model reasons in an answer that is not streamed."""
    recipe, finding = recipe_of(fact), Finding("refused")
    outcome = finding.note(session, recipe, session.outcome(recipe))
    if outcome.is_accepted:
        finding.value = "yes" if _reasons(outcome) else "no"
    finding.text = finding.value
    return finding


def place(session: Session, fact: ProbeFact) -> Finding:
    """Where an answer has its reasoning."""
    outcome = session.accepted(recipe_of(fact))
    parts = outcome.response.parts if outcome.response else ()
    places = [_place(part) for part in parts if isinstance(part, Thinking)]
    places += [f"unknown: {block.get('type', 'block')}" for block in _unknown_blocks(outcome)]
    unread = [
        note.detail
        for note in (outcome.response.notes if outcome.response else ())
        if note.code == "content_unread"
    ]
    places += [f"unknown: {detail}" for detail in unread if detail]
    if not places:
        places = ["only in the counts"] if outcome.response and _reasons(outcome) else ["nowhere"]
    return Finding(tuple(dict.fromkeys(places)))


def _place(part: Thinking) -> str:
    if is_inline(part):
        return f"<{_tag(part)}> in the content"
    block = as_dict(part.origin.block if part.origin else None)
    if kind := block.get("type"):
        return "reasoning_details" if str(kind).startswith("reasoning.") else str(kind)
    names = [name for name in block if name not in ("text", "signature", "index", "id", "format")]
    return names[0] if names else "parts"


def _tag(part: Thinking) -> str:
    markup = "".join(mark.text for mark in (part.origin.markup if part.origin else None) or ())
    match = _OPENER.search(markup) or _CLOSER.search(markup)
    return match[1] if match else "tags"


def inline(session: Session, fact: ProbeFact) -> Finding:
    """Whether the text has reasoning in tags."""
    thoughts = _thoughts(session.accepted(recipe_of(fact)))
    return Finding(any(map(is_inline, thoughts)))


def opened(session: Session, fact: ProbeFact) -> Finding:
    """Whether the text starts inside the reasoning, without an opening tag."""
    thoughts = [part for part in _thoughts(session.accepted(recipe_of(fact))) if is_inline(part)]
    marks = ["".join(mark.text for mark in part.origin.markup or ()) for part in thoughts if part.origin]  # fmt: skip
    return Finding(any(not _OPENER.search(text) for text in marks))


def grammar(session: Session, fact: ProbeFact) -> Finding:
    """Which rules of the dialect's grammar a stream breaks."""
    complaints = session.accepted(recipe_of(fact)).complaints
    return Finding(complaints, ", ".join(complaints) or "yes")


def counted(session: Session, fact: ProbeFact) -> Finding:
    """Whether the counts of an answer mention its reasoning."""
    response = session.accepted(recipe_of(fact)).response
    if response is None or response.usage.output_tokens is None:
        return Finding("no counts")
    return Finding("counted" if response.usage.reasoning_tokens else "not counted")


def counted_apart(session: Session, fact: ProbeFact) -> Finding:
    """Whether reasoning tokens are reported beside the output tokens, not as part of them."""
    response = session.accepted(recipe_of(fact)).response
    usage = as_dict(response.usage.raw if response else None)
    details = as_dict(usage.get("completion_tokens_details"))
    thought = as_count(usage.get("reasoning_tokens", details.get("reasoning_tokens")))
    output, total = as_count(usage.get("completion_tokens")), as_count(usage.get("total_tokens"))
    prompt = as_count(usage.get("prompt_tokens"))
    if not thought or output is None:
        raise NotMeasuredError("the counts do not say")
    adds_up = None not in (total, prompt) and total == (prompt or 0) + output + thought
    return Finding(thought > output or adds_up)


# ---- loops -------------------------------------------------------------------------------------------


def calls(session: Session, fact: ProbeFact) -> Finding:
    """Whether a turn has several calls."""
    response = session.accepted(recipe_of(fact)).response
    count = len(response.tool_calls) if response else 0
    if not count:
        raise NotMeasuredError("the model called no tool")
    return Finding("several" if count > 1 else "one")


def sealed(session: Session, _fact: ProbeFact) -> Finding:
    """Whether a turn of a loop has a seal."""
    items, _ = session.turn()
    return Finding(has_seals(items, session.target.dialect))


# ---- errors ------------------------------------------------------------------------------------------


def error_shape(session: Session, _fact: ProbeFact) -> Finding:
    """The members of the body of a refusal."""
    for recipe in (Recipe(unknown_member=True), Recipe(unknown_model=True)):
        outcome = session.outcome(recipe)
        if not outcome.is_accepted:
            return Finding(outcome.shape)
    raise NotMeasuredError("nothing was refused")


def stream_error(session: Session, fact: ProbeFact) -> Finding:
    """How a refusal of a streamed request comes: as a status, or as an event of the stream."""
    outcome = session.outcome(recipe_of(fact))
    if outcome.is_accepted:
        raise NotMeasuredError("nothing was refused")
    return Finding("an event" if outcome.is_late else "a status")


def retry(session: Session, _fact: ProbeFact) -> Finding:
    """What failures said about when to try again."""
    if not session.waits:
        raise NotMeasuredError("no failure came")
    waits = [outcome.wait for outcome in session.waits if outcome.wait is not None]
    return Finding(bool(waits), f"retry-after {waits[0]:g}" if waits else "not said")


LOOKS: dict[str, Look] = {
    look.__name__: look
    for look in (
        accepted, accepted_each, refused_each, highest, off, kinds, exclusive, least_budget, most_budget, most_output, reasons,
        shown, showable, whole, place, inline, opened, grammar, counted, counted_apart, calls, sealed, error_shape, stream_error, retry,
    )
}  # fmt: skip
