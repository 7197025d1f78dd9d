"""What hosts share whose reasoning has no seal: Mistral, Cohere, Ollama. Each accepts any reasoning that it receives."""

from __future__ import annotations

from collections.abc import Callable

from innervoice.canon.parts import Part, Thinking
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.json_access import arguments_of
from innervoice.wire.refusals import Refusal

__all__ = ["no_refusals", "parts", "parts_with_ids"]


def no_refusals(_call: EmulatedCall) -> tuple[Refusal, ...]:
    """There is no seal to refuse."""
    return ()


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn, with the usual ids of calls."""
    return parts_with_ids(call, draft, lambda position: call.id("call_", position))


def parts_with_ids(
    call: EmulatedCall, draft: AnswerDraft, id_of: Callable[[int], str]
) -> list[Part]:
    """The turn; `id_of` makes the id of a call from its position."""
    hidden = call.behaviour.show == "hidden"
    parts_here: list[Part] = [Thinking(thought) for thought in (() if hidden else draft.thoughts)]
    if draft.text:
        parts_here.append(call.text(draft.text))
    for position, (name, values) in enumerate(draft.calls):
        parts_here.append(call.tool_call(name, arguments_of(values), id_of(position)))
    return parts_here
