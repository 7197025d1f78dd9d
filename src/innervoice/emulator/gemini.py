"""Gemini's generateContent: signatures on calls and on the last text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from innervoice.canon.parts import Part
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.gemini.replay import is_placeholder
from innervoice.wire.gemini.rules import signature_of
from innervoice.wire.gemini.spelling import camel_case
from innervoice.wire.json_access import arguments_of, as_dict, as_list
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import refused

__all__ = ["SERVER", "check_signatures"]


def is_on(call: EmulatedCall) -> bool:
    """Whether the model thinks in this call."""
    budget = _config(call).get("thinkingBudget")
    return budget != 0 and (bool(_config(call)) or call.target.row.default != "none")


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Which signatures are refused: forged ones, and those of another call, model or account."""
    contents = [as_dict(content) for content in as_list(call.body.get("contents"))]
    return check_signatures(call, contents)


def check_signatures(call: EmulatedCall, contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Which signatures in contents are refused."""
    for content in contents:
        for part in map(as_dict, as_list(content.get("parts"))):
            signature = signature_of(part)
            if signature is None or is_placeholder(signature):
                continue
            claims = call.claims(signature)
            name = as_dict(part.get("functionCall")).get("name")
            moved = claims is not None and claims.get("call") is not None and name != claims["call"]
            if not claims or claims["account"] != call.account or (moved and name is not None):
                yield refused("Corrupted thought signature.")


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn: thoughts if they were requested, and a signature where Gemini puts it."""
    parts_here: list[Part] = []
    is_shown = _config(call).get("includeThoughts") is True and _can_show(call)
    is_shown = call.behaviour.show != "hidden" if call.behaviour.show else is_shown
    thinks = bool(draft.thoughts)
    if is_shown:
        parts_here += [
            call.thinking(thought, {"text": thought, "thought": True}, "summary")
            for thought in draft.thoughts
        ]
    if draft.text:
        parts_here += _text(call, draft.text, signed=thinks)
    for position, (name, values) in enumerate(draft.calls):
        call_id = call.id("call_", position)
        block: dict[str, Any] = {"functionCall": {"name": name, "args": values}}
        if _version(call) >= 3:
            block["functionCall"] = {"id": call_id, **block["functionCall"]}
        if thinks and position == 0:
            block["thoughtSignature"] = call.seal(kind="thought", call=name)
        parts_here.append(call.tool_call(name, arguments_of(values), call_id, block))
    return parts_here


def _can_show(call: EmulatedCall) -> bool:
    """Whether the model has thoughts to show."""
    row = call.target.row
    return bool({"full", "summary"} & {row.shown, *row.showable})


def _text(call: EmulatedCall, text: str, *, signed: bool) -> Iterator[Part]:
    """The answer; in a stream its signature follows on a part without text."""
    seal = {"thoughtSignature": call.seal(kind="thought", call=None)} if signed else {}
    if signed and call.stream:
        yield call.text(text, {"text": text})
        yield call.text("", {"text": "", **seal})
    else:
        yield call.text(text, {"text": text, **seal})


def _config(call: EmulatedCall) -> dict[str, Any]:
    return as_dict(as_dict(call.body.get("generationConfig")).get("thinkingConfig"))


def _version(call: EmulatedCall) -> int:
    match = re.match(r"gemini-(\d{1,3})", call.model.rsplit("/", 1)[-1])
    return int(match[1]) if match else 0


def _choices(call: EmulatedCall) -> int:
    return int(as_dict(call.body.get("generationConfig")).get("candidateCount") or 1)


def _carried(text: str, seal: str) -> dict[str, Any] | None:
    thought = {"text": text, "thought": True}
    return {**thought, "thoughtSignature": seal} if seal else thought


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    spelled=camel_case,
    carried=_carried,
    choices=_choices,
)
