"""A list of LangChain messages -> the same list, as a target accepts it, in the form in which it was stored."""

from __future__ import annotations

from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, ToolCall, ToolResult
from innervoice.planning.turns import UNANSWERED
from innervoice.repairing.changes import Change, mend
from innervoice.sessions.langchain import MemberPosition, members_of, read_message
from innervoice.wire.chat.reasoning import FIELDS
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["repair_langchain"]


def repair_langchain(items: list[Any], target: str) -> tuple[list[Any], list[str]]:
    """The repaired list, and a line of text for each change."""
    read = [read_message(item) for item in items]
    changes = mend([message for message, _ in read], target)
    by_message: dict[int, list[Change]] = {}
    for change in changes:
        by_message.setdefault(change.message, []).append(change)
    arriving: dict[int, list[int]] = {}
    for change in changes:
        if change.step == "moved":
            arriving.setdefault(change.to, []).append(change.message)
    written: list[Any] = []
    for number, item in enumerate(items):
        own = by_message.get(number, [])
        message, spots = read[number]
        repaired = _changed(item, message, spots, own) if own else item
        if any(change.step == "moved" for change in own):
            continue  # a result is a message of its own, and comes after its call
        if repaired is not None:
            written.append(repaired)
        written += [
            _changed(items[late], *read[late], by_message[late])
            for late in arriving.get(number, ())
        ]
        written += [
            _answer(item, message.parts[change.part or 0], change.id)
            for change in own
            if change.step == "answered"
        ]
    return written, [change.described(f"message {change.message}") for change in changes]


def _changed(
    item: dict[str, Any], message: Message, spots: list[MemberPosition], changes: list[Change]
) -> dict[str, Any] | None:
    """The message without the removed parts and with new ids; None if no part is left."""
    gone = {change.part for change in changes if change.step == "removed"}
    dropped = {spots[part] for part in gone if part is not None}
    if None in gone or dropped.issuperset(spots):
        return None
    members = members_of(item)
    repaired = dict(members)
    if isinstance(repaired.get("content"), list):
        repaired["content"] = [
            block
            for number, block in enumerate(repaired["content"])
            if MemberPosition("content", number) not in dropped
        ]
    if MemberPosition("additional_kwargs") in dropped:
        extra = repaired["additional_kwargs"]
        repaired["additional_kwargs"] = {key: extra[key] for key in extra if key not in FIELDS}
    for change in changes:
        if change.step == "renamed" and change.part is not None:
            repaired = _renamed(repaired, message.parts[change.part], change.id)
    if repaired == members:
        return item
    form = next((name for name in ("kwargs", "data") if item.get(name) is members), None)
    return {**item, form: repaired} if form else repaired


def _renamed(members: dict[str, Any], part: Part, name: str) -> dict[str, Any]:
    """The members with another id for a call or result, wherever the id occurs."""
    if isinstance(part, ToolResult):
        return {**members, "tool_call_id": name}
    assert isinstance(part, ToolCall)
    renamed = dict(members)
    for member in ("tool_calls", "invalid_tool_calls", "content"):
        if isinstance(renamed.get(member), list):
            renamed[member] = [_under(entry, part.id, name) for entry in renamed[member]]
    extra = as_dict(renamed.get("additional_kwargs"))
    if not renamed.get("tool_calls") and isinstance(extra.get("tool_calls"), list):
        calls = [_under(entry, part.id, name) for entry in extra["tool_calls"]]
        renamed["additional_kwargs"] = {**extra, "tool_calls": calls}
    return renamed


def _under(entry: Any, old: str, name: str) -> Any:
    for key in ("id", "call_id"):
        if isinstance(entry, dict) and entry.get(key) == old:
            return {**entry, key: name}
    return entry


def _answer(item: dict[str, Any], call: Part, name: str) -> dict[str, Any]:
    """A message with a result, in the form of the message with the call."""
    members: dict[str, Any] = {
        "content": UNANSWERED,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "tool",
        "name": getattr(call, "name", None),
        "id": None,
        "tool_call_id": name,
        "artifact": None,
        "status": "error",
    }
    if item.get("lc") == 1:
        path = [*as_list(item.get("id"))[:-1], "ToolMessage"]
        others = {key: value for key, value in members.items() if value not in (None, {})}
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": others}
    return {"type": "tool", "data": members} if isinstance(item.get("data"), dict) else members
