"""An effort that a message of the history sets, and that counts from there on.

Some APIs have a message for it (`wire/effort_messages.py`), which keeps the prompt cache; another setting at the top of the request would lose
it. In a history it is `Message.effort`: on the user's message that it is for, or on a message of its own where a client wrote one.

    carried    the target reads such messages: those of its own API go on as they came; others are written in its form, at its place
    top        it does not, or the level has no word there: the last effort is sent for the whole request, and the cache begins anew

A change before the first answer is no change: it is the effort that the conversation begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import ToolResult
from innervoice.canon.reasoning import Effort, Reasoning
from innervoice.canon.request import Request
from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.planning.settings import nearest_effort
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.effort_messages import effort_message, is_effort_message, without_effort
from innervoice.wire.json_access import as_dict
from innervoice.wire.serve import ReceivedMembers

__all__ = [
    "EffortWord",
    "FittedEffort",
    "fit_effort",
    "has_new_input",
    "reads_changes",
    "with_changes",
    "without_changes",
]

EffortWord: TypeAlias = Effort | Literal["default"]
_EFFORT, _ROLE = attrgetter("effort"), attrgetter("role")


class FittedEffort(NamedTuple):
    """What becomes of the efforts that a history sets."""

    setting: Reasoning | None
    """The setting for the whole request."""
    is_carried: bool = False
    """The target reads where the effort changes."""
    has_changes: bool = False


def fit_effort(
    request: Request, setting: Reasoning | None, target: Target, notebook: Notebook
) -> FittedEffort:
    """Decides whether a target is sent the changes of a history, or the last effort at the top."""
    if not any(map(_EFFORT, request.messages)):
        return FittedEffort(setting)
    messages = request.messages
    changes = [message for message in messages if message.effort and message.role != "assistant"]
    if not changes:
        return FittedEffort(setting)
    are_own = [is_effort_message(message, target.dialect) for message in changes]
    if target.row.guess and all(are_own):
        return FittedEffort(setting, is_carried=True, has_changes=True)
    first = next((at for at, one in enumerate(messages) if one.role == "assistant"), len(messages))
    leading = [one.effort for one in messages[:first] if one in changes and not is_effort_message(one, target.dialect)]  # fmt: skip
    if reads_changes(target, request.extra, setting) and all(
        is_own or word_for(message.effort, target)
        for message, is_own in zip(changes, are_own, strict=True)
    ):
        if leading:
            setting = _with_effort(setting, leading[-1])
        return FittedEffort(setting, is_carried=True, has_changes=True)
    notebook.add("effort_from_history", changes[-1].effort)
    return FittedEffort(_with_effort(setting, changes[-1].effort), has_changes=True)


def reads_changes(target: Target, extra: Any = None, setting: Reasoning | None = None) -> bool:
    """Whether a target reads messages that set another effort: a model that has them, as this request uses it."""
    dialect = dialect_named(target.dialect)
    if not (target.row.effort_updates and dialect.effort_path):
        return False
    if setting is not None and setting.effort == "none" and not dialect.effort_off:
        return False  # it would not switch reasoning on
    if isinstance(extra, ReceivedMembers) and extra.dialect != target.dialect:
        extra = None  # members of another API, which are not sent
    extra = extra or {}
    mode = as_dict(extra.get(dialect.effort_path[0])).get("mode")
    return mode in (None, "standard") and not any(
        extra.get(name) for name in dialect.effort_excludes
    )


def word_for(effort: EffortWord | None, target: Target) -> Effort | None:
    """The level that a change is written with, the nearest that the model has; None if it has no word for it."""
    row: ModelRow = target.row
    word: Any = row.default if effort == "default" else effort
    if word == "none":
        can_switch = row.off == "value" and dialect_named(target.dialect).effort_off
        return "none" if can_switch else None
    if word not in row.efforts:
        is_far = effort == "default" or not row.efforts
        word = None if is_far else nearest_effort(word, row.efforts)
    return word  # type: ignore[no-any-return]


def _with_effort(setting: Reasoning | None, effort: EffortWord | None) -> Reasoning | None:
    setting = setting or Reasoning()
    setting = setting.replace(effort=None if effort == "default" else effort, budget=None)
    return None if setting == Reasoning() else setting


def has_new_input(message: Message) -> bool:
    """Whether a message says something new, and is not only results."""
    return message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts)  # fmt: skip


# ---- What is sent.


def without_changes(messages: Sequence[Message], target: Target) -> tuple[Message, ...]:
    """The messages for a target that is sent no change: a message that says nothing else goes."""
    changed: list[Message] = []
    for message in messages:
        if message.effort is None or message.role != "system":
            changed.append(message)
        elif is_effort_message(message, target.dialect):
            changed += filter(None, (without_effort(message, dialect_named(target.dialect)),))
        elif message.parts:
            changed.append(message.replace(effort=None))
    return tuple(changed)


def with_changes(
    messages: Sequence[Message], target: Target, at_top: str | None, notebook: Notebook
) -> tuple[Message, ...]:
    """The messages with each change in the target's form, at its place; `at_top` is the effort that the request has at its top."""
    dialect = dialect_named(target.dialect)
    moved = _at_questions(messages, target, notebook)
    writing = _Writing(dialect, target, at_top or _default(target.row), notebook)
    for number, message in enumerate(moved):
        writing.add(message, moved[number + 1] if number + 1 < len(moved) else None)
    return tuple(writing.written)


def _default(row: ModelRow) -> str | None:
    return row.default if row.default in (*row.efforts, "none") else None


def _at_questions(messages: Sequence[Message], target: Target, notebook: Notebook) -> list[Message]:
    """The messages with each change of another API on the user's message that it is for."""
    moved: list[Message] = []
    question: int | None = None
    later: EffortWord | None = None
    for message in messages:
        changed = message
        if message.role == "assistant":
            question = None
        elif message.effort and message.role == "system" and not is_effort_message(message, target.dialect):  # fmt: skip
            if question is None:
                later = message.effort
            else:
                moved[question] = moved[question].replace(effort=message.effort)
            changed = message.replace(effort=None)
            if not message.parts:
                continue
        elif has_new_input(message):
            question = len(moved)
            if later and message.effort is None:
                changed = message.replace(effort=later)
            later = None
        moved.append(changed)
    if later:
        notebook.add("effort_later", later)
    return moved


class _Writing:
    """Writes the changes of a history, one after the other."""

    def __init__(
        self, dialect: Dialect, target: Target, current: str | None, notebook: Notebook
    ) -> None:
        self.written: list[Message] = []
        self._dialect, self._target, self._notebook = dialect, target, notebook
        self._current = current
        self._has_answer = False
        self._waiting: Effort | None = None
        """A change that is written at the end of the user's turn."""

    def add(self, message: Message, following: Message | None) -> None:
        """Adds a message, and before it or after it the change that it makes."""
        if message.role == "assistant":
            self._has_answer = True
        elif is_effort_message(message, self._dialect.name):
            self._current, self._waiting = message.effort, None
        elif message.effort is not None:
            change = self._change(message.effort)
            if change is not None and self._dialect.effort_follows:
                self._waiting = change
            elif change is not None:
                message = self._with_change_before(message, change)
        self.written.append(message)
        ends = following is None or following.role == "assistant"
        if ends and self._waiting is not None:
            self.written.append(effort_message(self._waiting, self._dialect))
            self._waiting = None

    def _change(self, effort: EffortWord) -> Effort | None:
        """The level to write; None for one that is in force already."""
        word = word_for(effort, self._target)
        if word is None or word == self._current:
            self._waiting = None if word is not None else self._waiting
            return None
        if effort not in ("default", word):
            row = self._target.row
            detail = f"{effort} became {word}; accepted are {', '.join(row.efforts)}"
            self._notebook.add("effort_clamped", detail)
        self._current = word
        # What stands before the first answer is at the top.
        return word if self._has_answer else None

    def _with_change_before(self, message: Message, effort: Effort) -> Message:
        """Adds the change, behind results that the message begins with; returns what of the message follows."""
        results = tuple(part for part in message.parts if isinstance(part, ToolResult))
        if results:
            self.written.append(Message("tool", results))
            others = tuple(part for part in message.parts if not isinstance(part, ToolResult))
            message = message.replace(parts=others)
        if self.written and is_effort_message(self.written[-1], self._dialect.name):
            self.written.pop()  # two in a row are refused, and the last one counts
        self.written.append(effort_message(effort, self._dialect))
        return message
