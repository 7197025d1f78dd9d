"""A history and a target -> the list of changes that a repair makes, part by part.

`repair` returns messages. To repair a history in another program's form, only the parts that
must change are edited; the list says which. The plan decides, as for `repair`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message, user
from innervoice.canon.parts import Part, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.planning.compactions import UNREADABLE, readable_point
from innervoice.planning.decisions import Decision, Place
from innervoice.planning.lint import Problem, lint
from innervoice.planning.pairs import at_calls, late_results, pairs_of
from innervoice.planning.plan import Plan, planned
from innervoice.sources.transcripts import LinePosition, SessionFile, SessionTurn
from innervoice.text_search import split_turn
from innervoice.wire.json_access import as_dict

__all__ = ["NEXT", "Change", "lint_session", "mend", "repair_session"]

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
        self._kept = self._remaining()
        self._plan = self._planned(target)
        unreadable = [item for item in self._plan.decisions if item.note == UNREADABLE]
        if unreadable:
            self._cut_back(unreadable[0], goes_on=goes_on)
            self._kept = self._remaining()
            self._plan = self._planned(target)

    def _planned(self, target: str) -> Plan:
        return planned(Request(target, tuple(self._with(self._kept)))).plan

    def _cut_back(self, unreadable: Decision, *, goes_on: bool) -> None:
        """Removes a compaction that the target cannot read, and all that came after it."""
        first = unreadable.message
        start = self._kept[first][unreadable.part or 0]
        for number in range(first, len(self._messages) - goes_on):
            for position in self._remaining_in(number):
                if number == first and position < start:
                    continue
                is_it = (number, position) == (first, start)
                why = (
                    f"{unreadable.why}; {readable_point(first)}"
                    if is_it
                    else "it comes after a compaction that cannot be read"
                )
                kind = "compaction" if is_it else self._part((number, position)).type
                self._remove(number, position, kind, why)

    def changes(self) -> list[Change]:
        """All changes; those of the plan name parts by their number among the kept ones."""
        for decision in self._plan.decisions:
            if decision.action == "omitted":
                self._omit(decision)
        remaining = self._remaining()
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
            for position in reversed(self._remaining_in(number)):
                if not isinstance(self._messages[number].parts[position], Thinking):
                    break
                self._remove(number, position, kind, decision.why)
        elif decision.note == "turn_repeated":
            for position in self._remaining_in(number):
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

    def _remaining(self) -> list[list[int]]:
        """The parts that are not removed, by their numbers."""
        return [self._remaining_in(number) for number in range(len(self._messages))]

    def _remaining_in(self, number: int) -> list[int]:
        count = len(self._messages[number].parts)
        return [at for at in range(count) if (number, at) not in self._gone]

    def _with(self, numbers: list[list[int]]) -> list[Message]:
        return [
            message.replace(parts=tuple(message.parts[at] for at in parts))
            for message, parts in zip(self._messages, numbers, strict=True)
        ]

    def _moved(self, remaining: list[list[int]]) -> tuple[list[Change], dict[tuple[int, int], int]]:
        """The results that the plan moves to their calls, and where they and their goals are among the parts that are remaining."""
        why = {item.note: item.why for item in self._plan.decisions}.get("result_moved")
        if why is None:
            return [], {}
        messages = self._with(remaining)
        late, calls = late_results(messages), pairs_of(messages).calls
        changes = [
            Change(number, remaining[number][at], "moved", "tool_result", why, to=calls[number, at])
            for number, at in late
        ]
        return changes, late

    def _names(
        self,
        remaining: list[list[int]],
        waiting: list[tuple[int, int]],
        late: dict[tuple[int, int], int],
    ) -> dict[tuple[int, int], str]:
        """Calls and results that the plan sends under another id: they are in it in the same order."""
        if not any(decision.note == "id_mapped" for decision in self._plan.decisions):
            return {}
        planned = iter(self._plan.messages)
        added = Counter(number for number, _ in waiting)
        names: dict[tuple[int, int], str] = {}
        places = [[(number, at) for at in parts] for number, parts in enumerate(remaining)]
        rows = at_calls(places, late, lambda place: isinstance(self._part(place), ToolResult))
        for number, row in enumerate(rows):
            role = self._messages[number].role
            if not row and (remaining[number] or role in ("assistant", "tool")):
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


# ---- A session file -> the same file, as a target accepts it.
#
# A repair edits the lines that must change, and leaves all others byte for byte. A line that becomes empty is removed,
# and its children are attached to its parent. A missing result is added on a new line after the last line of the
# message with the call, and the children of that line are attached to the new one. So is a result that is moved to its call.
#
# A session continues with the next message of its user, and is judged as the history before that message.


def lint_session(session: SessionFile, target: str) -> list[tuple[int, Problem]]:
    """The problems of the next request, each with its line number."""
    problems: list[tuple[int, Problem]] = []
    for thread in session.threads:
        messages = [split_turn(message) for message in thread.messages]
        for problem in lint([*messages, NEXT], target):
            number = problem.message
            is_whole = number >= len(messages) or messages[number] is thread.messages[number]
            problems.append((thread.line_of(number, problem.part if is_whole else None), problem))
    return sorted(problems, key=lambda pair: pair[0])


def repair_session(session: SessionFile, target: str) -> tuple[bytes, list[str]]:
    """The repaired file, and a line of text for each change."""
    edits = _Edits(session)
    described: list[tuple[int, str]] = []
    for thread in session.threads:
        for change in mend(thread.messages, target, goes_on=True):
            line = thread.line_of(change.message, change.part)
            text = change.described(f"line {line}")
            if change.step == "moved":
                edits.move(thread.turns[change.message], change, thread.turns[change.to])
                described.append((line, text))
            elif edits.note(thread.turns[change.message], change):
                described.append((line, text))
    described.sort(key=lambda pair: pair[0])
    return edits.written(), [text for _, text in described]


class _Edits:
    """Collects the changes of the lines of a session, and applies them at the end."""

    def __init__(self, session: SessionFile) -> None:
        self._session = session
        self._gone: dict[int, set[int | None]] = {}
        self._names: dict[int, dict[int | None, str]] = {}
        self._answers: dict[int, list[tuple[SessionTurn, ToolCall, str]]] = {}
        self._moved: list[tuple[LinePosition, SessionTurn]] = []

    def note(self, turn: SessionTurn, change: Change) -> bool:
        """Adds a change; False for a duplicate, which occurs if several parts are one item."""
        if change.part is None:
            spots = [LinePosition(line, None) for line in turn.lines]
        else:
            spots = [turn.spots[change.part]]
        if change.step == "removed":
            is_gone = all(spot.block in self._gone.get(spot.line, ()) for spot in spots)
            for spot in spots:
                self._gone.setdefault(spot.line, set()).add(spot.block)
            return not is_gone
        if change.step == "renamed":
            self._names.setdefault(spots[0].line, {})[spots[0].block] = change.id
            return True
        assert change.part is not None
        call = turn.message.parts[change.part]
        assert isinstance(call, ToolCall)
        self._answers.setdefault(turn.lines[0], []).append((turn, call, change.id))
        return True

    def move(self, turn: SessionTurn, change: Change, goal: SessionTurn) -> None:
        """Moves a result behind the turn that has its call."""
        assert change.part is not None
        spot = turn.spots[change.part]
        self._gone.setdefault(spot.line, set()).add(spot.block)
        self._moved.append((spot, goal))

    def written(self) -> bytes:
        """The file with all changes."""
        entries = [as_dict(line.entry) for line in self._session.lines]
        form = self._session.format
        changed: dict[int, dict[str, Any] | None] = {
            number: form.edited(
                entries[number], self._gone.get(number, set()), self._names.get(number, {})
            )
            for number in {*self._gone, *self._names}
        }
        added: dict[int, list[dict[str, Any]]] = {}
        for answers in self._answers.values():
            last = max(
                line for line in answers[0][0].lines if changed.get(line, entries) is not None
            )
            before = entries[last]
            for _, call, name in answers:
                before = form.answered(before, name, call)
                added.setdefault(last, []).append(before)
        for spot, goal in self._moved:
            last = max(line for line in goal.lines if changed.get(line, entries) is not None)
            before = added[last][-1] if last in added else entries[last]
            names = self._names.get(spot.line, {})
            moved = form.moved(before, entries[spot.line], spot, names)
            added.setdefault(last, []).append(moved)
        form.relink(entries, changed, added)
        return b"".join(self._pieces(changed, added))

    def _pieces(
        self, changed: dict[int, dict[str, Any] | None], added: dict[int, list[dict[str, Any]]]
    ) -> Iterator[bytes]:
        for number, line in enumerate(self._session.lines):
            entry = changed.get(number)
            new = [dump_json(line_added) for line_added in added.get(number, ())]
            if number not in changed:
                new.insert(0, line.text)
            elif entry is not None:
                new.insert(0, dump_json(entry))
            if new:
                # The last line of a file may lack a line ending, but not one that is followed by another.
                yield (line.ending or b"\n").join(new) + line.ending
