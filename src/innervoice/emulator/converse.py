"""Bedrock Converse: Claude's rules in Converse's blocks, and models that sign nothing."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

from innervoice.canon.parts import Part
from innervoice.emulator import claude
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.controls import is_claude
from innervoice.wire.json_access import arguments_of, as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal

__all__ = ["SERVER"]


def is_on(call: EmulatedCall) -> bool:
    """Whether the model thinks in this call."""
    fields = _fields(call)
    if _is_claude(call):
        return claude.is_on(fields, call)
    off = as_dict(fields.get("reasoningConfig")).get("type") == "disabled"
    return not off and (bool(fields) or call.target.row.default != "none")


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Refuses invalid signatures."""
    if not _is_claude(call):
        return
    for refusal in claude.check(call, *_conversation(call), _fields(call)):
        yield refusal.replace(text=f"The model returned the following errors: {refusal.text}")


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn, with signed thinking for Claude."""
    parts_here: list[Part] = []
    if _is_claude(call):
        messages, system, tools = _conversation(call)
        prefix = claude.prefix_of(system, tools, messages)
        parts_here += [
            call.thinking(block.get("thinking", ""), _from_claude(block))
            for block in claude.thinking_blocks(call, draft, _fields(call), prefix)
        ]
    else:
        parts_here += [
            call.thinking(thought, {"reasoningContent": {"reasoningText": {"text": thought}}})
            for thought in draft.thoughts
        ]
    if draft.text:
        parts_here.append(call.text(draft.text))
    for position, (name, values) in enumerate(draft.calls):
        parts_here.append(call.tool_call(name, arguments_of(values), call.id("tooluse_", position)))
    return parts_here


def _is_claude(call: EmulatedCall) -> bool:
    return is_claude(call.target.row)


def _fields(call: EmulatedCall) -> dict[str, Any]:
    fields = as_dict(call.body.get("additionalModelRequestFields"))
    alias = fields.get("reasoning_config") if _is_claude(call) else None
    return {"thinking": alias, **fields} if isinstance(alias, dict) else fields


def _conversation(call: EmulatedCall) -> tuple[list[dict[str, Any]], Any, Any]:
    messages = [
        {
            **as_dict(turn),
            "content": [_to_claude(block) for block in as_list(as_dict(turn).get("content"))],
        }
        for turn in as_list(call.body.get("messages"))
    ]
    return messages, call.body.get("system"), call.body.get("toolConfig")


def _to_claude(block: Any) -> Any:
    reasoning = as_dict(as_dict(block).get("reasoningContent"))
    text = as_dict(reasoning.get("reasoningText"))
    if text:
        return {
            "type": "thinking",
            "thinking": text.get("text"),
            "signature": text.get("signature"),
        }
    if "redactedContent" in reasoning:
        try:
            data = b64decode(as_text(reasoning["redactedContent"]) or "").decode("ascii")
        except ValueError:
            data = ""
        return {"type": "redacted_thinking", "data": data}
    return block


def _from_claude(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "redacted_thinking":
        # The wire format is a blob, so base64 is encoded as base64 once more.
        return {"reasoningContent": {"redactedContent": b64encode(block["data"].encode()).decode()}}
    text = {"text": block["thinking"], "signature": block["signature"]}
    return {"reasoningContent": {"reasoningText": text}}


def _carried(text: str, seal: str) -> dict[str, Any] | None:
    return {"reasoningContent": {"reasoningText": {"text": text, "signature": seal}}}


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    carried=_carried,
)
