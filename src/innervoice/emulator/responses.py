"""The Responses API: encrypted items, stored items, and which item belongs to which reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.parts import Part
from innervoice.emulator.call import EmulatedCall
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.emulator.stored_responses import conversation_of, state_problems
from innervoice.wire.json_access import arguments_of, as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.responses.body import echo_of
from innervoice.wire.responses.compactions import (
    asks_for_compaction,
    compacted_body,
    items_in,
    new_compaction,
    with_trigger,
)
from innervoice.wire.responses.conversations import with_id
from innervoice.wire.responses.read import ResponsesReader
from innervoice.wire.responses.rules import CALLS
from innervoice.wire.rules import refused
from innervoice.wire.serve import assistant_turn

__all__ = ["COMPACT", "SERVER", "compacting", "compaction_answer"]

COMPACT = "/responses/compact"
"""The path at which a compaction is an object of its own."""

_ENCRYPTED = "reasoning.encrypted_content"
_REASONING = ("reasoning", "item_reference")
"""Items that are reasoning, or may stand for it."""
_UNVERIFIED = "The encrypted content for item {item} could not be verified. Reason: {reason}"
_REASONS = {
    "parse": "Encrypted content could not be decrypted or parsed.",
    "item": "Encrypted content item_id did not match the target item id.",
    "account": "Encrypted content organization_id did not match the target organization.",
}
# Hosts with one message for every problem.
_WORDS = {
    "xai": "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from "
    "a previous response.",
    "bedrock-mantle": "encrypted content missing recognized prefix (expected 'rsn_' or 'smry_')",
}
_OTHER_RESOURCE = (
    "The requested item was created under a different Azure OpenAI resource. Items can only be used with the resource "
    "that created them."
)


def is_on(call: EmulatedCall) -> bool:
    """Whether the model reasons in this call."""
    word = as_dict(call.body.get("reasoning")).get("effort")
    return word != "none" if word else call.target.row.default != "none"


def _new_items(call: EmulatedCall) -> list[Any]:
    return items_in(call.body.get("input"))


def conversation(call: EmulatedCall) -> dict[str, Any]:
    """The body with the stored part of the conversation before the new input, and with stored items in place of references to them."""
    stored_before = call.memory.responses.get(str(call.body.get("previous_response_id")))
    items = _new_items(call)
    whole = [
        call.memory.items.get(str(item.get("id")), item)
        if as_dict(item).get("type") == "item_reference"
        else item
        for item in items
    ]
    before = as_list(as_dict(stored_before).get("items"))
    talk = call.memory.conversations.get(conversation_of(call.body) or "")
    return {**call.body, "input": [*before, *as_list(as_dict(talk).get("items")), *whole]}


# ---- refusals -------------------------------------------------------------------------------


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Which items are refused: not decryptable, not stored, sent twice, or without their reasoning."""
    items = [as_dict(item) for item in as_list(call.body.get("input"))]
    yield from state_problems(call)
    yield from _state(call, items)
    if not call.target.host or (not call.target.host.sealed_only and call.provider != "xai"):
        return
    yield from _twice(items)
    sent = {item.get("id") for item in items if item.get("type") in _REASONING}
    for item in items:
        name = item.get("id")
        is_compaction = item.get("type") == "compaction"
        if is_compaction or (item.get("type") == "reasoning" and item.get("encrypted_content")):
            yield from _encrypted(call, item)
        elif item.get("type") in ("reasoning", "item_reference") and name not in call.memory.items:
            yield refused(
                f"Item with id '{name}' not found. Items are not persisted when 'store' is set to false. Try again "
                "with 'store' set to true, or remove this item from your input.",
                status=404,
                param="input",
            )
        needed = call.memory.made_by.get(str(name))
        if needed and needed not in sent and item.get("type") != "item_reference":
            yield refused(
                f"Item '{name}' of type '{item.get('type')}' was provided without its required 'reasoning' item: "
                f"'{needed}'.",
                param="input",
            )


def _state(call: EmulatedCall, items: list[dict[str, Any]]) -> Iterator[Refusal]:
    previous = call.body.get("previous_response_id")
    if not previous:
        return
    stored_before = call.memory.responses.get(str(previous))
    if stored_before is None:
        yield refused(
            f"Previous response with id '{previous}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )
        return
    yield from _unanswered(stored_before["items"], items)
    item_ids = {name for item in stored_before["items"] if (name := as_text(item.get("id")))}
    for item in items:
        if as_text(item.get("id")) in item_ids:
            yield _duplicate(item["id"])


def _twice(items: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Items that a request has twice, whole or as a reference."""
    names: set[str] = set()
    for name in filter(None, (as_text(item.get("id")) for item in items)):
        if name in names:
            yield _duplicate(name)
        names.add(name)


def _duplicate(name: str) -> Refusal:
    text = f"Duplicate item found with id {name}. Remove duplicate items from your input and try again."
    return refused(text, param="input")


def _unanswered(stored: list[dict[str, Any]], items: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Calls of the stored conversation that have no output, there or in the new items."""
    outputs = (as_dict(item) for item in [*stored, *items] if _is_output(item))
    answered = {as_text(item.get("call_id")) for item in outputs}
    for item in map(as_dict, stored):
        kind = str(item.get("type"))
        if kind in CALLS and as_text(item.get("call_id")) not in answered:
            text = f"No tool output found for {CALLS[kind]} {item.get('call_id')}."
            yield refused(text, param="input")


def _is_output(item: Any) -> bool:
    return str(as_dict(item).get("type")).endswith("_output")


def _encrypted(call: EmulatedCall, item: dict[str, Any]) -> Iterator[Refusal]:
    claims = call.claims(item.get("encrypted_content"))
    reason = None
    if claims is None:
        reason = "parse"
    elif claims["account"] != call.account:
        reason = "account"
    elif item.get("id") and claims["item"] != item["id"]:
        reason = "item"
    if reason is None:
        return
    if call.provider in _WORDS:
        yield refused(_WORDS[call.provider])
    elif call.provider == "azure" and reason == "account":
        yield refused(_OTHER_RESOURCE)
    else:
        unnamed = "cmp_unknown" if item.get("type") == "compaction" else "rs_unknown"
        text = _UNVERIFIED.format(item=item.get("id") or unnamed, reason=_REASONS[reason])
        yield refused(text, code="invalid_encrypted_content")


# ---- the answer ------------------------------------------------------------------------------


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn; its items are stored if the request asks for it."""
    items = _compaction(call) or [*_reasoning(call, draft), *_answer_items(call, draft)]
    reasoning = items[0].get("id") if items and items[0]["type"] == "reasoning" else None
    memory = call.memory
    for item in items:
        if reasoning and item["type"] != "reasoning":
            memory.made_by[item["id"]] = reasoning
        if call.body.get("store") is not False:
            memory.items[item["id"]] = item
    if call.body.get("store") is not False:
        history = [*as_list(conversation(call).get("input")), *items]
        memory.responses[call.id("resp_")] = {"items": history}
    if talk := memory.conversations.get(conversation_of(call.body) or ""):
        talk["items"] += [
            with_id(item, f"{call.number}_{number}")
            for number, item in enumerate([*_new_items(call), *items])
        ]
    turn = assistant_turn(
        ResponsesReader(Context(model=call.model)), {"object": "response", "output": items}
    )
    return list(turn.parts)


def _compaction(call: EmulatedCall) -> list[dict[str, Any]]:
    """The one item of an answer to a request for a compaction, where the host makes them."""
    host = call.target.host
    if host is None or not host.compacts or not asks_for_compaction(_new_items(call)):
        return []
    name = call.id("cmp_")
    return [new_compaction(name, call.seal(kind="compaction", item=name))]


def compacting(body: dict[str, Any]) -> dict[str, Any]:
    """A body that was sent to the path for compactions, as a request for an answer; raises `Refused` for what that path does not take."""
    items = items_in(body.get("input"))
    if any(as_dict(item).get("type") == "configuration_update" for item in items):
        text = "The 'configuration_update' item type is not supported with compaction."
        raise Refused(refused(text, param="input"))
    return {**with_trigger(body), "store": False}


def compaction_answer(answer: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """The object that the same path answers with."""
    return compacted_body(answer, items_in(body.get("input")))


def _reasoning(call: EmulatedCall, draft: AnswerDraft) -> list[dict[str, Any]]:
    if not draft.thoughts:
        return []
    name = call.id("rs_")
    summary = as_dict(call.body.get("reasoning")).get("summary")
    row = call.target.row
    asked = "summary" if summary and {"summary", "full"} & set(row.showable) else row.shown
    form = call.behaviour.show or asked
    if call.target.host and not call.target.host.sealed_only and call.provider != "xai":
        texts = [{"type": "reasoning_text", "text": thought} for thought in draft.thoughts]
        return [{"type": "reasoning", "id": name, "summary": [], "content": texts}]
    entries = [{"type": "summary_text", "text": thought} for thought in draft.thoughts]
    item: dict[str, Any] = {
        "type": "reasoning",
        "id": name,
        "summary": [] if form == "hidden" else entries,
    }
    if call.provider != "xai" or _ENCRYPTED in as_list(call.body.get("include")):
        item["encrypted_content"] = call.seal(kind="encrypted", item=name)
    return [item]


def _answer_items(call: EmulatedCall, draft: AnswerDraft) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if draft.text:
        content = [{"type": "output_text", "text": draft.text, "annotations": []}]
        items.append(
            {
                "type": "message",
                "id": call.id("msg_"),
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    for position, (name, values) in enumerate(draft.calls):
        free = isinstance(values, str)
        items.append(
            {
                "type": "custom_tool_call" if free else "function_call",
                "id": call.id("ctc_" if free else "fc_", position),
                "call_id": call.id("call_", position),
                "name": name,
                "input" if free else "arguments": arguments_of(values),
                "status": "completed",
            }
        )
    return items


def _echo(call: EmulatedCall) -> dict[str, Any]:
    """The members of a response that repeat the request."""
    name = conversation_of(call.body)
    return {**echo_of(call.body), **({"conversation": {"id": name}} if name else {})}


def _carried(text: str, seal: str) -> dict[str, Any] | None:
    entries = [{"type": "summary_text", "text": text}] if text else []
    item = {"type": "reasoning", "summary": entries}
    return {**item, "encrypted_content": seal} if seal else item


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    conversation=conversation,
    echo=_echo,
    carried=_carried,
)
