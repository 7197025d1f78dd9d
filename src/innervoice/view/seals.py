"""The seals of a conversation: their owners, whether they still match what is before them, and since which edit they do not.

A seal is never shown, only its size and eight hex digits of a hash, to tell seals apart. Whether a bound block still matches is decided by the plan for
the model that wrote it (rule H7): the digest of everything before it is computed again, and compared with the original one.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.canon.blobs import seal_facts
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking
from innervoice.catalog.lookup import host_of, model_row_of
from innervoice.errors import InnervoiceError
from innervoice.planning.decisions import Decision
from innervoice.planning.plan import planned
from innervoice.planning.recover import recover
from innervoice.privacy.redactor import Redactor, sealed_values
from innervoice.show.visible import one_line
from innervoice.sources.conversation import Conversation
from innervoice.view.row_types import Badge, fact, size, turn_name
from innervoice.view.sending import Sent, model_of, next_sent, request_for, sent_before

__all__ = ["Seals"]


class _Writer(NamedTuple):
    """The provider and account that sealed a block: only they can open it."""

    provider: str | None
    model: str | None
    dialect: str | None
    scope: str | None

    @property
    def name(self) -> str:
        """In words."""
        return "/".join(filter(None, (self.provider, self.model))) or "an unknown provider"


class _Checked(NamedTuple):
    """What the plan for a writer says about the blocks of the conversation."""

    decisions: dict[tuple[int, int], Decision]
    last_fitting: dict[int, int]
    """The turn of a block that does not match -> the last turn before it with a block that does."""
    first_dead: int | None


class Seals:
    """The badges of one conversation; each writer's plan is made once, on first use."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._plans: dict[_Writer, _Checked | str] = {}
        self._sent: Sent | None = None
        self._numbers: frozenset[int] | None = None
        self._refusals: dict[int, str] | None = None

    def of(self, turn: int, position: int) -> list[Badge]:
        """The badge of a part; none for a part without a seal."""
        part = self._conversation.turns[turn].message.parts[position]
        values_by_path = dict(sealed_values(part))
        if not values_by_path or part.origin is None:
            return []
        # The id of an item is not a separate seal where the item's content is sealed.
        is_stored = values_by_path.keys() == {"id"}
        values = [value for path, value in values_by_path.items() if path != "id" or is_stored]
        facts = [seal_facts(value) for value in values]
        data = "".join(seal.hash for seal in facts).encode()
        writer = _writer(part.origin)
        state, why = self._state(turn, position, part, writer)
        who = one_line(
            f"by {_SCREEN.name(writer.provider or writer.model or 'an unknown provider')}", 60
        )
        return [
            {
                "state": state,
                "label": _LABELS[state].format(who=who, word="stored" if is_stored else "sealed"),
                "why": fact("", f"{_whose(writer, is_stored=is_stored)} {why}")["why"],
                "size": size(sum(seal.size for seal in facts)),
                "hash": facts[0].hash
                if len(facts) == 1
                else blake2b(data, digest_size=4).hexdigest(),
            }
        ]

    def _state(self, turn: int, position: int, part: Part, writer: _Writer) -> tuple[Any, str]:
        if turn in self._refused() and isinstance(part, Thinking):
            return "refused", f"The host refused it: {self._refused()[turn]}"
        item = self._conversation.turns[turn]
        if not isinstance(part, Thinking):
            return "present", "It is sent back with the part that it came with."
        if turn not in self._sending_numbers():
            where = (
                "an abandoned branch"
                if "abandoned" in item.marks
                else "the turns that were summarised"
            )
            return "present", f"It is part of {where}, and is not sent again."
        bound = _binding(writer)
        if part.origin is None or part.origin.prefix is None or bound in (None, "no"):
            return "present", _UNCHECKED[bound or "unknown"]
        return self._fit(turn, position, writer)

    def _fit(self, turn: int, position: int, writer: _Writer) -> tuple[Any, str]:
        checked = self._checked(writer)
        if isinstance(checked, str):
            return (
                "present",
                f"It is bound to the messages before it, which could not be checked: {checked}",
            )
        decision = checked.decisions.get((turn, position))
        if decision is None:
            return "present", "It is bound to the messages before it."
        if decision.note != "prefix_changed":
            if decision.rule == "H1" and decision.action == "kept":
                return "fits", "It is bound to everything before it, which has not changed."
            return "present", f"It would not be sent: {decision.why}."
        change = decision.why.removeprefix("the host will ignore it: ")
        if self._conversation.request is None and change.startswith(_HEAD):
            return (
                "present",
                "It is bound to the system prompt and the tools as well, and the source does not say what they are now.",
            )
        ignored = (
            "The host would ignore it" if decision.action == "kept" else "The host would refuse it"
        )
        return "dead", f"{ignored}: {change}.{self._since(turn, checked, change)}"

    def _since(self, turn: int, checked: _Checked, change: str) -> str:
        """Where the edit is, as far as blocks before it narrow it down."""
        first = checked.first_dead
        if first is None or " changed" in change:
            return ""
        if turn != first:
            return f" It is dead since the edit before {turn_name(first)}, whose block is the first that does not fit."
        start = checked.last_fitting.get(turn)
        numbers = self._sending().numbers
        between = [
            number for number in numbers if (start is None or number >= start) and number < turn
        ]
        if len(between) == 1:
            return f" The edit is in {turn_name(between[0])}."
        if between:
            return f" The edit is in one of the turns {between[0] + 1} to {between[-1] + 1}."
        return ""

    def _sending_numbers(self) -> frozenset[int]:
        if self._numbers is None:
            self._numbers = frozenset(self._sending().numbers)
        return self._numbers

    def _sending(self) -> Sent:
        if self._sent is None:
            self._sent = next_sent(self._conversation)
        return self._sent

    def _checked(self, writer: _Writer) -> _Checked | str:
        if writer not in self._plans:
            self._plans[writer] = self._check(writer)
        return self._plans[writer]

    def _check(self, writer: _Writer) -> _Checked | str:
        """The plan for a writer, by the numbers of turns and parts; or why there is none."""
        sent = self._sending()
        try:
            plan = planned(
                request_for(
                    self._conversation,
                    sent.messages,
                    writer.name,
                    dialect=writer.dialect,
                    scope=writer.scope,
                ).replace(reasoning=None, foreign="omit")
            ).plan
        except InnervoiceError as error:
            return str(error)
        decisions: dict[tuple[int, int], Decision] = {}
        fitting: dict[int, int] = {}
        last: int | None = None
        first: int | None = None
        for item in plan.decisions:
            if item.part is None or item.kind != "thinking":
                continue
            number = sent.numbers[item.message]
            decisions[number, item.part] = item
            origin = self._conversation.turns[number].message.parts[item.part].origin
            if item.note == "prefix_changed":
                first = number if first is None else first
                if last is not None:
                    fitting[number] = last
            elif item.action == "kept" and origin and origin.prefix:
                last = number
        return _Checked(decisions, fitting, first)

    def _refused(self) -> dict[int, str]:
        """The turns whose reasoning a host refused, according to a note or a shown error."""
        if self._refusals is None:
            self._refusals = dict(self._find_refusals())
        return self._refusals

    def _find_refusals(self) -> Iterator[tuple[int, str]]:
        refusals: list[tuple[int, str]] = []
        for number, turn in enumerate(self._conversation.turns):
            notes = turn.answer.notes if turn.answer else ()
            refusals += [(number, note.detail or "") for note in notes if note.code == _RECOVERED]
            if "api_error" in turn.marks:
                refusals.append((number, turn.message.text))
        # Each costs a plan; a refusal long ago adds nothing to later ones.
        for number, text in refusals[-_MOST_REFUSALS:]:
            for refused in self._turns_refused(number, text):
                yield refused, one_line(_SCREEN.name(text[:4000]), 200)

    def _turns_refused(self, turn: int, refusal: str) -> Iterator[int]:
        """The turns that a request must leave out after a refusal."""
        sent = sent_before(self._conversation, turn)
        around = (turn, *(number for number in reversed(sent.numbers)))
        model = next(
            filter(None, (model_of(self._conversation, number) for number in around)), None
        )
        if model is None:
            return
        try:
            request = request_for(self._conversation, sent.messages, model)
            reduced = recover(request, refusal)
        except InnervoiceError:
            return
        for number, before, after in zip(
            sent.numbers, sent.messages, reduced.messages if reduced else (), strict=False
        ):
            if before is not after and before != after:
                yield number


_SCREEN = Redactor("screen")
_RECOVERED = "recovered_after_refusal"
_MOST_REFUSALS = 20
_UNBOUND = "It is bound to everything before it; the source does not say what that was when it was written."
_UNCHECKED = {
    "no": "It is not bound to the messages before it.",
    "unknown": "For this model it is unknown whether it is bound to the messages before it.",
    "refused": _UNBOUND,
    "dropped": _UNBOUND,
}
_HEAD = ("the system prompt", "the tools")
_LABELS = {
    "present": "{word} {who}",
    "fits": "{word} {who}, fits",
    "dead": "{word} {who}, dead",
    "refused": "{word} {who}, refused",
}


def _writer(origin: Origin) -> _Writer:
    return _Writer(origin.provider, origin.model, origin.dialect, origin.scope)


def _binding(writer: _Writer) -> str | None:
    """What happens to a block of this writer if something before it changed; None if nothing is known about the model."""
    host = host_of(writer.provider or "")
    row = model_row_of(writer.model or "", host.id if host else None, writer.dialect or "")
    return row.bound if row else None


def _in_dialect(writer: _Writer) -> str:
    return f"; it came in the format {writer.dialect}" if writer.dialect else ""


def _whose(writer: _Writer, *, is_stored: bool) -> str:
    """The owner of a seal, in a sentence."""
    account = f", account {writer.scope}" if writer.scope else ""
    if not writer.provider and not writer.model:
        return f"Its owner is unknown{_in_dialect(writer)}."
    who = writer.provider or "its provider"
    if is_stored:
        return f"{who} stores it for {writer.name}{account} under an id; only the id is sent back."
    return f"Written by {writer.name}{account}; only {who} can open it."
