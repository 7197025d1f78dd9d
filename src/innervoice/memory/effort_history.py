"""The efforts that the turns of a conversation were written with -> the same conversation with a change where each of them began.

A program that changes its setting at the top of its requests says nothing in the history, and would lose the prompt cache. A stored turn has the
effort that was in force for it (`Message.effort`): so the first one stays at the top, and each change stands before the question that it was first
sent with, in every later request at the same place. It is never put before a turn that was sent already.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.target import Target
from innervoice.planning.effort_changes import EffortWord, has_new_input, reads_changes, word_for

__all__ = ["KnownEfforts", "effort_word", "with_known_efforts"]

_EFFORT = attrgetter("effort")


class KnownEfforts(NamedTuple):
    """A conversation with its changes of the effort."""

    messages: tuple[Message, ...]
    setting: Reasoning | None
    """The setting at the top."""
    in_force: EffortWord | None
    """The effort for the answer; None for a budget."""
    is_waiting: bool = False
    """Whether another effort was requested that only the next question can bring."""


def effort_word(setting: Reasoning | None) -> EffortWord | None:
    """The effort of a setting; None for a budget."""
    if setting is None or (setting.effort is None and setting.budget is None):
        return "default"
    return setting.effort


def with_known_efforts(
    messages: tuple[Message, ...],
    setting: Reasoning | None,
    target: Target,
    extra: Any,
    notebook: Notebook,
) -> KnownEfforts:
    """The conversation for a request with this setting, with what is known of its turns."""
    effort = effort_word(setting)
    earlier = [one.effort for one in messages if one.role == "assistant" and one.effort] if any(map(_EFFORT, messages)) else []  # fmt: skip
    plain = KnownEfforts(messages, setting, effort)
    if not earlier or {effort} == {*earlier}:
        return plain
    if any(one.effort and one.role != "assistant" for one in messages):
        return plain  # the program sets efforts itself
    words = {effort, *earlier}
    first = earlier[0]
    top = (setting or Reasoning()).replace(effort=None if first == "default" else first, budget=None)  # fmt: skip
    if not reads_changes(target, extra, top) or not all(word and word_for(word, target) for word in words):  # fmt: skip
        if effort != earlier[-1]:
            notebook.add("effort_at_top", effort or "a budget")
        return plain
    return _placed(messages, top, effort, notebook)


def _placed(
    messages: Sequence[Message], top: Reasoning, effort: EffortWord | None, notebook: Notebook
) -> KnownEfforts:
    placed = list(messages)
    current: EffortWord = top.effort or "default"
    question: int | None = None
    changes = 0
    for number, message in enumerate(messages):
        if message.role == "assistant" and message.effort:
            if message.effort != current and question is not None:
                placed[question] = placed[question].replace(effort=message.effort)
                current, changes = message.effort, changes + 1
            question = None
        elif has_new_input(message):
            question = number
    last = max(number for number, one in enumerate(messages) if one.role == "assistant")
    is_waiting = effort != current and (question is None or question < last)
    if is_waiting:
        notebook.add("effort_later", effort or "")
    elif effort is not None and effort != current and question is not None:
        placed[question] = placed[question].replace(effort=effort)
        current, changes = effort, changes + 1
    if changes:
        notebook.add("effort_in_place", current, count=changes)
    setting = None if top == Reasoning() else top
    return KnownEfforts(tuple(placed), setting, current, is_waiting)
