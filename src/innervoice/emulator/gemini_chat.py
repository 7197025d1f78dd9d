"""Gemini behind Chat Completions: its signatures on tool calls, and its errors.

A signature is at `tool_calls[].extra_content.google.thought_signature`. The history is checked as `generateContent` checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.rows import Host
from innervoice.emulator import gemini
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.gemini.rules import needs_signatures, signed_steps
from innervoice.wire.gemini.serve import write_error
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Refusal

__all__ = ["check", "error_body", "is_here", "sign"]

_PLACE = "extra_content"


def is_here(host: Host | None) -> bool:
    """Whether a host serves Gemini through Chat Completions: it has the member for signatures."""
    return host is not None and _PLACE in host.knows


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Which signatures are refused: missing ones where Gemini requires them, forged and moved ones."""
    contents = [_content(message) for message in map(as_dict, as_list(call.body.get("messages")))]
    if needs_signatures(call.model):
        yield from signed_steps(contents)
    yield from gemini.check_signatures(call, contents)


def sign(call: EmulatedCall, draft: AnswerDraft, block: dict[str, Any], position: int) -> None:
    """Adds the signature to the first call of a turn."""
    if draft.thoughts and position == 0:
        seal = call.seal(kind="thought", call=as_dict(block.get("function")).get("name"))
        block[_PLACE] = {"google": {"thought_signature": seal}}


def error_body(refusal: Refusal) -> list[Any]:
    """A refusal as Google sends it on this path: its own form, in a list."""
    return [write_error(refusal)]


def _content(message: dict[str, Any]) -> dict[str, Any]:
    """A message as one of Gemini's contents, as far as signatures are concerned."""
    if message.get("role") == "tool":
        return {"role": "user", "parts": [{"functionResponse": {}}]}
    if message.get("role") != "assistant":
        return {"role": "user", "parts": [{"text": ""}]}
    calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
    return {"role": "model", "parts": [_part(call) for call in calls]}


def _part(call: dict[str, Any]) -> dict[str, Any]:
    google = as_dict(as_dict(call.get(_PLACE)).get("google"))
    part: dict[str, Any] = {"functionCall": {"name": as_dict(call.get("function")).get("name")}}
    signature = google.get("thought_signature")
    return {**part, "thoughtSignature": signature} if signature is not None else part
