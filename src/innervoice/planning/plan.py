"""Plans a history for a target: the messages to send, and a decision for every part that is not sent unchanged.

Rules, as the design numbers them, and where they are:

  H1  Parts that came from this host, in this dialect, from a model that this one reads, are sent back unchanged. Interrupted
      or unsigned parts are never sent as sealed.                                                          parts.py
  H2  For another target, seals stay in the history; reasoning is omitted, or sent as labelled text on request. What
      user and tool messages contain is sent in the form of the target's dialect.                          parts.py
  H3  A host that requires the reasoning of every turn with calls gets the field, empty if the reasoning is lost; one
      that refuses reasoning gets none.                                                                    turns.py
  H4  Gemini 3 and later: the first call of an unsigned step of the current turn gets the skip value, in Interactions a thought
      before it.
  H5  Responses: a reasoning item goes with what it produced, and with its encrypted content if nothing is stored.
  H6  A call's id that the target refuses is mapped, its results with it.                                  turns.py
  H7  Reasoning that is bound to everything before it is left out once that changed.         conversation/prefix.py
  H9  Claude with a budget refuses a tool loop that does not begin with its thinking: thinking goes off.
  H10 A server that stores the conversation is sent only what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from operator import is_
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.canon.target import Target
from innervoice.canon.value import Value
from innervoice.conversation.prefix import Prefix
from innervoice.errors import RuleError
from innervoice.planning.cache import CacheEffect, cache_effect
from innervoice.planning.compactions import UNASKED, UNREADABLE, compaction_of
from innervoice.planning.decisions import Action, Decision, Ledger
from innervoice.planning.pairs import pairs_of
from innervoice.planning.parts import (
    ContentRules,
    ReasoningRules,
    compacted,
    has_blank_text,
    is_own,
)
from innervoice.planning.received import takes_free_form
from innervoice.planning.request import FittedRequest
from innervoice.planning.turns import TurnRules, new_from, with_taken_ids
from innervoice.wire.controls import Choice
from innervoice.wire.dialects import dialect_named, replay_of
from innervoice.wire.free_form import as_function_call, is_free_form

__all__ = ["Action", "Decision", "Plan", "Planned", "plan", "planned", "refused_end"]


class Plan(Value, frozen=True, kw_only=True):
    """The messages that are sent to a target, and why."""

    target: str
    """The target, `provider/model`."""
    messages: tuple[Message, ...]
    """The messages that are sent."""
    decisions: tuple[Decision, ...]
    """What happens to each part that a rule is about."""
    thinking_off: bool = False
    """Thinking must be off for this request, because an open tool loop began elsewhere (H9)."""
    gaps: tuple[int, ...] = ()
    """The positions in `messages` before which a turn is left out completely."""
    dialect: str
    """The wire format that they are written in."""
    setting: str = "default"
    """The reasoning setting that is sent, in words."""
    prefix: str = ""
    """The digest of everything that is sent, to which the answer may be bound (H7)."""
    cache: CacheEffect | None = None
    """How much of the prompt cache can be reused; None without a `last` plan."""

    def __str__(self) -> str:
        lines = [f"to {self.target}:"]
        for item in self.decisions:
            place = f"{item.message}.{item.part}" if item.part is not None else f"{item.message}"
            lines.append(f"  {place:6} {item.kind:10} {item.action:9} {item.rule:3} {item.why}")
        for number, message in enumerate(self.messages):
            if message.effort and message.role != "assistant":
                lines.append(f"  {number:<6} effort     {message.effort} from here on")
        if self.cache:
            lines.append(f"  cache  {self.cache}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The plan as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").plan_html(self))


def plan(
    messages: Sequence[Message],
    target: str,
    dialect: str | None = None,
    *,
    last: Plan | None = None,
    **settings: Any,
) -> Plan:
    """Plans a history for a target, `provider/model`; nothing is sent.

    `last` is the plan of the previous request, to compare the prompt cache with. `settings` are other fields of a `Request`: system, tools, reasoning, scope, ...
    """
    request = Request(target, tuple(messages), dialect=dialect, **settings)
    new_plan = planned(request).plan
    return new_plan.replace(cache=cache_effect(last, new_plan)) if last else new_plan


class Planned(NamedTuple):
    """A request with the settings, and the plan for the history, that its target accepts."""

    fitted: FittedRequest
    plan: Plan
    prefix: Prefix
    """Everything that is sent, to continue from."""


def planned(
    request: Request,
    target: Target | None = None,
    *,
    checked: bool = False,
    notebook: Notebook | None = None,
) -> Planned:
    """Fits a request to its target and plans its history. All code that needs a plan calls this.

    With `checked`, rules that only a complete request can break raise `RuleError`; pass it for a request that will be sent. `notebook`
    has the notes so far, and gets those of the plan.
    """
    fitted = FittedRequest(request, target, checked=checked, notebook=notebook)
    plan, prefix = _Planner(fitted).plan()
    if checked and request.mode != "passthrough" and (why := refused_end(fitted, plan)):
        raise RuleError("prefill_refused", f"{why}; end with a user message")
    return Planned(fitted, plan, prefix)


def refused_end(fitted: FittedRequest, plan: Plan) -> str | None:
    """The reason why the end of what is sent is refused: it is an assistant message; None if it is not, or if a compaction is refused before it."""
    if not fitted.refuses_end(plan.messages):
        return None
    notes = {decision.note for decision in plan.decisions}
    if not notes.isdisjoint((UNREADABLE, UNASKED)):
        return None
    is_own = fitted.asked.messages[-1].role == "assistant"
    while_reasoning = " while it reasons" if fitted.target.row.prefill else ""
    why = f"{'the history' if is_own else 'what is sent'} ends with an assistant message, and this model does not accept prefill{while_reasoning}"
    if is_own:
        return why
    if "result_moved" in notes:
        return f"{why} (the result at the end of the history was moved to its call)"
    return f"{why} (the last message of the history is blank)" if "blank_omitted" in notes else why


class _Planner:
    """Fits a history to the target of a request."""

    _repeats: frozenset[tuple[int, int]] = frozenset()

    def __init__(self, fitted: FittedRequest) -> None:
        self._request = fitted.asked
        self._choice = fitted.choice
        self._target, self._dialect = fitted.target, fitted.target.dialect
        self._ledger = Ledger()
        self._prefix = Prefix(fitted.asked, self._dialect)
        self._reasoning = ReasoningRules(fitted, self._ledger, self._prefix)
        self._turns = TurnRules(fitted, self._ledger)
        self._cut_calls: set[str] = set()
        self._refuses_blanks = dialect_named(self._dialect).refuses_blanks
        self._grouped = replay_of(self._dialect).groups(fitted.target.host)

    @cached_property
    def _content(self) -> ContentRules:
        return ContentRules(self._target, self._ledger)

    def plan(self) -> tuple[Plan, Prefix]:
        """The messages to send and every decision; and everything that is sent, to continue from."""
        start = new_from(self._request)
        if start:
            why = "the server stores everything before"
            self._ledger.omitted(
                (0, None), "message", "H10", f"{why} message {start}", "held_by_server"
            )
        # Without a turn of the model, no rule for turns applies.
        has_turns = any(message.role in ("assistant", "tool") for message in self._request.messages)
        if has_turns:
            self._repeats = frozenset(pairs_of(self._request.messages).repeats)
        fitted: list[Message] = []
        for number, message in enumerate(self._request.messages):
            new_plan = self._fitted(number, message)
            if has_turns and self._turns.is_repeated(number, new_plan):
                new_plan = new_plan.replace(parts=())
            self._prefix.add(new_plan, new_plan.parts)
            fitted.append(new_plan if number >= start else new_plan.replace(parts=()))
        if has_turns:
            fitted = self._with_turns_fitted(fitted, start)
        thinking_off = self._turns.began_elsewhere(fitted)
        plan = Plan(
            target=self._request.model,
            messages=tuple(fitted),
            decisions=tuple(self._ledger.decisions),
            thinking_off=thinking_off,
            gaps=tuple(self._turns.gaps),
            dialect=self._dialect,
            setting=_setting(self._choice, off=thinking_off),
            prefix=self._prefix.value,
        )
        return plan, self._prefix

    def _with_turns_fitted(self, messages: list[Message], start: int) -> list[Message]:
        """Applies the rules for whole turns to messages whose parts are already fitted."""
        fitted = self._turns.without_latest_thinking(messages)
        fitted = self._turns.without_leftover(fitted)
        # Ids before skip values: a skip value adds a block to a call, and a call with a block keeps its id.
        fitted, renamed = with_taken_ids(fitted, dialect_named(self._dialect))
        for place in renamed:
            why = "the target refuses its id"
            self._ledger.converted(place, "tool_call", "H6", why, "id_mapped")
        fitted = self._turns.with_skip_values(fitted)
        fitted = self._turns.with_results_at_calls(fitted)
        fitted = self._turns.with_system_behind_results(fitted)
        fitted = self._turns.with_results(fitted, start)
        self._reasoning.note_missing(self._request.messages, start)
        return fitted

    def _fitted(self, number: int, message: Message) -> Message:
        if message.role != "assistant":
            if is_own(message) and not (self._refuses_blanks and has_blank_text(message)):
                return message
            if self._cut_calls or self._repeats:
                message = self._without_results(number, message)
            return self._content.fitted(number, message)
        parts: list[Part] = []
        unstored = self._turns.is_unstored(message)
        for position, part in enumerate(message.parts):
            fitted = self._fitted_part((number, position), part, unstored=unstored)
            if fitted is not None:
                parts.append(fitted)
        parts = self._turns.with_field(number, parts)
        if self._reasoning.is_signed or self._grouped:
            rule = "H1" if self._reasoning.is_signed else "H5"
            parts = self._turns.without_loose_ends(number, parts, rule=rule)
        if self._request.store and unstored:
            parts = self._turns.without_unknown_ids(number, parts)
        elif self._grouped:
            parts = self._turns.without_lost_ids(number, parts)
        parts = self._turns.with_calls_last(number, parts)
        if message.origin is not None and message.origin.block:
            is_home = self._reasoning.is_home(message.origin)
            rules = self._content
            fit_members = rules.known_members if is_home else rules.without_members
            message = fit_members(number, message)
        return _changed(message, parts)

    def _fitted_part(self, place: tuple[int, int], part: Part, *, unstored: bool) -> Part | None:
        if isinstance(part, Thinking):
            return self._reasoning.fitted(place, part, unstored=unstored)
        home = part.origin is None or self._reasoning.is_home(part.origin)
        if self._is_left_out(place, part, home=home):
            return None
        if (
            isinstance(part, ToolCall)
            and is_free_form(part)
            and not (home and takes_free_form(self._target))
        ):
            return as_function_call(part)
        if isinstance(part, Media) and (part.origin is None or not home):
            return self._content.file_of_turn(place, part)
        if not home and (block := compaction_of(part)) is not None:
            return compacted(place, block, self._ledger)
        return part if home else self._content.abroad(place, part)

    def _is_left_out(self, place: tuple[int, int], part: Part, *, home: bool) -> bool:
        """Whether a part of a turn is not sent; adds the decision about it."""
        match part:
            case Text() if _is_blank(part, home=home):
                return True
            case Text(origin=None) if not part.text.strip():
                self._ledger.omitted(place, "text", "H1", "it is blank", "blank_omitted")
                return True
            case ToolCall() if not part.complete:
                why = "it was interrupted"
                self._ledger.omitted(place, "tool_call", "H1", why, "call_omitted")
                self._cut_calls.add(part.id)
                return True
            case ToolCall():
                self._cut_calls.discard(part.id)  # results from here on belong to this call
                return False
            case Opaque() if not home and compaction_of(part) is None:
                why = "it is a block of another provider"
                self._ledger.omitted(place, "opaque", "H2", why, "opaque_dropped")
                return True
            case _:
                return False

    def _without_results(self, number: int, message: Message) -> Message:
        """A message without results of calls that are not sent, and without a second result of a call."""
        parts: list[Part] = []
        for position, part in enumerate(message.parts):
            if (number, position) in self._repeats:
                place, why = (number, position), "its call has a result already"
                self._ledger.omitted(place, "tool_result", "H1", why, "result_repeated")
            elif isinstance(part, ToolResult) and part.call_id in self._cut_calls:
                place, why = (number, position), "its call is not sent"
                self._ledger.omitted(place, "tool_result", "H1", why, "call_omitted")
            else:
                parts.append(part)
        return message if len(parts) == len(message.parts) else message.replace(parts=tuple(parts))


def _changed(message: Message, parts: list[Part]) -> Message:
    """The message with fitted parts; the same object if nothing changed."""
    same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
    return message if same else message.replace(parts=tuple(parts))


def _is_blank(part: Text, *, home: bool) -> bool:
    """Whether a text is empty because it was interrupted, or blank because the markup around it is not sent."""
    return (not part.text and not part.complete) or (not home and not part.text.strip())


def _setting(choice: Choice | None, *, off: bool) -> str:
    """The reasoning setting that is sent, in a word or two."""
    if choice is None:
        return "default"
    if off or choice.off:
        return "off"
    budget = f"{choice.budget} tokens" if choice.budget else None
    return ", ".join(word for word in (choice.effort, budget) if word) or "on"
