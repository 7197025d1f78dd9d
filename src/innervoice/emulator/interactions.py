"""Gemini's Interactions: signed thoughts, and conversations that the server stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from innervoice.answering.writing import exact_answer
from innervoice.canon.parts import Part
from innervoice.canon.response import Response
from innervoice.emulator.call import EmulatedCall, ServerMemory
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.gemini.replay import is_placeholder
from innervoice.wire.interactions import DIALECT
from innervoice.wire.interactions.read import InteractionsReader
from innervoice.wire.interactions.rules import INVALID, results_in
from innervoice.wire.interactions.serve import steps_of
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import refused
from innervoice.wire.serve import assistant_turn

__all__ = ["SERVER", "StoredInteraction", "stored"]

_STORED = re.compile(r"/interactions/(v1_\w+)$")
_NOT_FOUND = refused("Requested entity was not found.", status=404)


def is_on(call: EmulatedCall) -> bool:
    """Whether the model thinks in this call."""
    return bool(_config(call).get("thinking_level")) or call.target.row.default != "none"


def conversation(call: EmulatedCall) -> dict[str, Any]:
    """The body with the stored part of the conversation before the new input."""
    stored_before = call.memory.responses.get(str(call.body.get("previous_interaction_id")))
    before = as_list(as_dict(stored_before).get("items"))
    return {**call.body, "input": [*before, *steps_of(call.body.get("input"))]}


class StoredInteraction(NamedTuple):
    """The reply to a GET for a stored interaction."""

    status: int
    body: dict[str, Any]


def stored(memory: ServerMemory, path: str) -> StoredInteraction | None:
    """The reply to a GET for a stored interaction; None if the path does not name one."""
    match = _STORED.search(urlsplit(path).path)
    interaction = memory.responses.get(match[1]) if match else None
    if match is None or interaction is None:
        return None
    answer = Response(id=match[1], model=interaction["model"], ended=True, finish_reason="stop")
    return StoredInteraction(
        200, {**exact_answer(answer, DIALECT.name).body, "steps": interaction["output"]}
    )


# ---- refusals -------------------------------------------------------------------------------


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Which steps are refused: those with a signature that is forged or from another account, or after an interaction that is not stored."""
    previous = call.body.get("previous_interaction_id")
    steps = [as_dict(step) for step in steps_of(call.body.get("input"))]
    if previous:
        stored_before = call.memory.responses.get(str(previous))
        if stored_before is None:
            yield _NOT_FOUND
            return
        yield from _unanswered(stored_before["items"], steps)
    for step in steps:
        signature = step.get("signature")
        if not signature or is_placeholder(signature):
            continue
        claims = call.claims(signature)
        if not claims or claims["account"] != call.account or claims["step"] != step.get("type"):
            yield INVALID


def _unanswered(stored: list[Any], steps: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Calls of the stored conversation that have no result, there or in the new steps."""
    results = (result for step in [*stored, *steps] for result in results_in(step))
    answered = {as_text(result.get("call_id")) for result in results}
    for step in stored:
        if step.get("type") == "function_call" and as_text(step.get("id")) not in answered:
            yield INVALID


# ---- the answer ------------------------------------------------------------------------------


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn; it is stored if the request asks for it."""
    steps = [*_thoughts(call, draft), *_answer_steps(call, draft)]
    if call.body.get("store") is not False:
        items = [*as_list(conversation(call).get("input")), *steps]
        record = {"items": items, "output": steps, "model": call.model}
        call.memory.responses[call.id(DIALECT.id_start)] = record
    answer = {"object": "interaction", "steps": steps}
    turn = assistant_turn(InteractionsReader(Context(model=call.model)), answer)
    return list(turn.parts)


def _thoughts(call: EmulatedCall, draft: AnswerDraft) -> Iterator[dict[str, Any]]:
    row = call.target.row
    can_show = bool({"full", "summary"} & {row.shown, *row.showable})
    is_shown = _config(call).get("thinking_summaries") == "auto" and can_show
    is_shown = call.behaviour.show != "hidden" if call.behaviour.show else is_shown
    for position, thought in enumerate(draft.thoughts):
        seal = call.seal(kind="thought", step="thought", position=position)
        summary = {"summary": [{"type": "text", "text": thought}]} if is_shown else {}
        yield {"type": "thought", "signature": seal, **summary}


def _answer_steps(call: EmulatedCall, draft: AnswerDraft) -> Iterator[dict[str, Any]]:
    if draft.text:
        yield {"type": "model_output", "content": [{"type": "text", "text": draft.text}]}
    for position, (name, values) in enumerate(draft.calls):
        step = {"type": "function_call", "id": call.id("call_", position), "name": name}
        yield {**step, "arguments": values}


def _config(call: EmulatedCall) -> dict[str, Any]:
    return as_dict(call.body.get("generation_config"))


def _carried(text: str, seal: str) -> dict[str, Any] | None:
    summary = {"summary": [{"type": "text", "text": text}]} if text else {}
    step: dict[str, Any] = {"type": "thought", **summary}
    return {**step, "signature": seal} if seal else step


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    conversation=conversation,
    carried=_carried,
)
