"""Thoughts that run on, and answers that go on: what a watch ends, and what a request after a break asks for.

loops, circles, rambles   the thought repeats itself, comes back to the same sentences in other orders, or does not end
a budget                  ends the thought, unless the behaviour says that it overruns
a cut answer              is continued, from the model's own last message or from the characters that a user message asks for
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.target import Target
from innervoice.emulator.call import Behaviour, EmulatedCall
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.steering.asking import is_request_to_go_on

__all__ = ["Begun", "begun_by", "rest_of", "running_on", "within_budget"]

_LOOP = " Wait, let me check that once more from the start, because it does not fit."
_CIRCLE = (
    "Wait, maybe the question means something else.",
    "The numbers are as given, and nothing else is known.",
    "So the answer is what was computed, which looks right.",
    "But it could also be meant in another way.",
    "Hmm, let me read the question once more.",
    "Alternatively, the result has to be rounded first.",
    "However, that does not change anything here.",
    "I think that the first reading was the right one.",
)
_SENTENCE = 9
"""The words of a sentence of a thought that does not end."""


def running_on(draft: AnswerDraft, behaviour: Behaviour) -> AnswerDraft:
    """The draft with thoughts that run on as the behaviour says."""
    more = _LOOP * behaviour.loops
    # The order of the sentences is that of a generator of random numbers, always the same.
    number = 1
    for _ in range(behaviour.circles):
        number = number * 48_271 % 2_147_483_647
        more += " " + _CIRCLE[number % len(_CIRCLE)]
    for count in range(0, behaviour.rambles, _SENTENCE):
        more += f" Case {count} gives {count * count} for side{count} of shape{count % 97} here."
    if not more or not draft.thoughts:
        return draft
    return draft.replace(thoughts=(*draft.thoughts[:-1], draft.thoughts[-1] + more))


def within_budget(call: EmulatedCall, draft: AnswerDraft) -> AnswerDraft:
    """The draft with its thoughts ended at the budget, where the request sets one."""
    setting = call.request.reasoning
    if setting is None or not setting.budget or call.behaviour.overruns:
        return draft
    room, thoughts = setting.budget * 4, []
    for thought in draft.thoughts:
        thoughts.append(thought[:room])
        room -= len(thoughts[-1])
    return draft.replace(thoughts=tuple(filter(None, thoughts)))


# ---- an answer that was cut off


class Begun(NamedTuple):
    """The beginning of an answer that a request asks the rest of."""

    text: str
    repeated: int = 0
    """So many of its last characters come first."""


def begun_by(
    messages: Sequence[Message], target: Target
) -> tuple[tuple[Message, ...], Begun | None]:
    """The conversation before the answer, and the beginning of the answer, if a request has one."""
    *before, last = messages or (Message("user"),)
    is_own = last.role == "assistant" and not last.tool_calls and bool(last.text.strip())
    if is_own and target.host and target.dialect in target.host.continues:
        return tuple(before), Begun(last.text)
    count = is_request_to_go_on(last.text) if last.role == "user" else None
    if count is not None and before and before[-1].role == "assistant":
        return tuple(before[:-1]), Begun(before[-1].text, count)
    return tuple(messages), None


def rest_of(draft: AnswerDraft, begun: Begun) -> AnswerDraft:
    """What is still to be said of a draft."""
    text = begun.text.rstrip()
    if not draft.text.startswith(text):
        return draft
    rest = text[len(text) - begun.repeated :] + draft.text[len(text) :]
    return draft.replace(text=rest, thoughts=draft.thoughts if begun.repeated else ())
