"""A history and a target -> the list of changes that a repair makes, part by part.

`repair` returns messages. To repair a history in another program's form, only the parts that
must change are edited; the list says which. The plan decides, as for `repair`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from innervoice.canon.messages import Message, user
from innervoice.canon.parts import Part, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.planning.decisions import Decision, Place
from innervoice.planning.pairs import at_calls, late_results, pairs_of
from innervoice.planning.plan import Plan, planned

__all__ = ["NEXT", "Change", "mend"]

NEXT = user("(the next user message)")
"""Appended to a history that continues, so that the plan sees it as the part before the next user message."""

Step: TypeAlias = Literal["removed", "renamed", "answered", "moved"]


class Change(NamedTuple):
    """One change of a repair, and its reason."""

    message: int
    part: int | None
    """None for a whole message, which is empty."""
    step: Step
    """A part is removed, a call or result gets another id, a call gets the result that is missing, or a result is moved to its call."""
    kind: str
    why: str
    id: str = ""
    """The new id of the call or result."""
    to: int = -1
    """The message with the call of a result that is moved: the result comes right after it."""

    def described(self, place: str) -> str:
        """The change as one line of text."""
        kind = self.kind.replace("_", " ")
        match self.step:
            case "removed":
                return f"{place}: {kind} removed: {self.why}"
            case "renamed":
                return f"{place}: {kind} renamed to {self.id!r}: {self.why}"
            case "answered":
                return f"{place}: result added after it for the call {self.id!r}: {self.why}"
            case "moved":
                return f"{place}: {kind} moved to its call: {self.why}"


def mend(messages: Sequence[Message], target: str, *, goes_on: bool = False) -> list[Change]:
    """The changes for a target, `provider/model`, in the order of the history."""
    return _Mender(messages, target, goes_on=goes_on).changes()


class _Mender:
    """Maps the decisions of a plan back to the parts of the history."""

    def __init__(self, messages: Sequence[Message], target: str, *, goes_on: bool) -> None:
        self._messages = [*messages, NEXT] if goes_on else list(messages)
        self._gone: dict[Place, Change] = {}
        for number, position in pairs_of(self._messages).strays:
            why = "there is no call with its id"
            self._remove(number, position, "tool_result", why)
        self._kept = self._left()
        request = Request(target, tuple(self._with(self._kept)))
        self._plan: Plan = planned(request).plan

    def changes(self) -> list[Change]:
        """All changes; those of the plan name parts by their number among the kept ones."""
        for decision in self._plan.decisions:
            if decision.action == "omitted":
                self._omit(decision)
        remaining = self._left()
        waiting = [
            (number, position)
            for number, position in pairs_of(self._with(remaining)).unanswered
            if number < len(self._messages) - 1
        ]
        moved, late = self._moved(remaining)
        names = self._names(remaining, waiting, late)
        renamed = [
            Change(*place, "renamed", self._part(place).type, "the target rejects its id", name)
            for place, name in names.items()
        ]
        answered = []
        for number, position in waiting:
            place = (number, remaining[number][position])
            call = self._part(place)
            assert isinstance(call, ToolCall)
            why = "it has no result"
            answered.append(Change(*place, "answered", "tool_call", why, names.get(place, call.id)))
        changes = [*self._gone.values(), *renamed, *answered, *moved]
        return sorted(changes, key=lambda change: (change.message, change.part or 0))

    def _omit(self, decision: Decision) -> None:
        number, kind = decision.message, decision.kind
        if decision.part is not None:
            position = self._kept[number][decision.part]
            self._remove(number, position, kind, self._reason(decision, (number, position)))
        elif kind == "thinking":
            # Without a part: the thinking at the end of the turn.
            for position in reversed(self._left_of(number)):
                if not isinstance(self._messages[number].parts[position], Thinking):
                    break
                self._remove(number, position, kind, decision.why)
        elif decision.note == "turn_repeated":
            for position in self._left_of(number):
                part = self._part((number, position))
                self._remove(number, position, part.type, decision.why)
        elif not self._messages[number].parts:
            self._remove(number, None, kind, "it is empty")

    def _reason(self, decision: Decision, place: tuple[int, int]) -> str:
        """The reason; session files name the model and not the provider, which the plan cannot know."""
        origin = self._part(place).origin
        if decision.rule == "H2" and origin and origin.model and not origin.provider:
            return f"it came from {origin.model}"
        return decision.why

    def _remove(self, number: int, position: int | None, kind: str, why: str) -> None:
        self._gone[number, position] = Change(number, position, "removed", kind, why)

    def _part(self, place: tuple[int, int]) -> Part:
        return self._messages[place[0]].parts[place[1]]

    def _left(self) -> list[list[int]]:
        """The parts that are not removed, by their numbers."""
        return [self._left_of(number) for number in range(len(self._messages))]

    def _left_of(self, number: int) -> list[int]:
        count = len(self._messages[number].parts)
        return [at for at in range(count) if (number, at) not in self._gone]

    def _with(self, left: list[list[int]]) -> list[Message]:
        return [
            message.replace(parts=tuple(message.parts[at] for at in parts))
            for message, parts in zip(self._messages, left, strict=True)
        ]

    def _moved(self, left: list[list[int]]) -> tuple[list[Change], dict[tuple[int, int], int]]:
        """The results that the plan moves to their calls, and where they and their goals are among the parts that are left."""
        why = {item.note: item.why for item in self._plan.decisions}.get("result_moved")
        if why is None:
            return [], {}
        messages = self._with(left)
        late, calls = late_results(messages), pairs_of(messages).calls
        changes = [
            Change(number, left[number][at], "moved", "tool_result", why, to=calls[number, at])
            for number, at in late
        ]
        return changes, late

    def _names(
        self,
        left: list[list[int]],
        waiting: list[tuple[int, int]],
        late: dict[tuple[int, int], int],
    ) -> dict[tuple[int, int], str]:
        """Calls and results that the plan sends under another id: they are in it in the same order."""
        if not any(decision.note == "id_mapped" for decision in self._plan.decisions):
            return {}
        planned = iter(self._plan.messages)
        added = Counter(number for number, _ in waiting)
        names: dict[tuple[int, int], str] = {}
        places = [[(number, at) for at in parts] for number, parts in enumerate(left)]
        rows = at_calls(places, late, lambda place: isinstance(self._part(place), ToolResult))
        for number, row in enumerate(rows):
            is_emptied = bool(left[number]) or self._messages[number].role in ("assistant", "tool")
            if not row and is_emptied:
                continue  # nothing of it is sent
            sent = [
                part for part in next(planned).parts if isinstance(part, (ToolCall, ToolResult))
            ]
            calls = [
                place for place in row if isinstance(self._part(place), (ToolCall, ToolResult))
            ]
            for place, part in zip(calls, sent, strict=True):
                if _name(part) != _name(self._part(place)):
                    names[place] = _name(part)
            for _ in range(added[number]):
                next(planned)  # a result that the plan has added
        return names


def _name(part: Part) -> str:
    match part:
        case ToolCall():
            return part.id
        case ToolResult():
            return part.call_id
        case _:
            return ""
