"""The Messages API, with threads: conversations that the server holds under the id of an answer.

What is enforced of threads follows the types and the helpers of the anthropic SDK 2.8.0 (read 2026-11-17). The API names features that
threads do not have; which settings count as which is not documented, so only those that have the feature's own name are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.answering.writing import exact_answer
from innervoice.canon.parts import Part
from innervoice.canon.response import Response
from innervoice.emulator import claude
from innervoice.emulator.call import EmulatedCall, ServerMemory
from innervoice.emulator.dialect_server import DialectServer
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.anthropic import DIALECT
from innervoice.wire.anthropic.serve import (
    THREAD_MEMBERS,
    THREADS_BETA,
    no_thread,
    thread_refusal,
    unsupported_thread,
)
from innervoice.wire.json_access import arguments_of, as_dict, as_list
from innervoice.wire.refusals import Headers, Refusal, Refused

__all__ = ["SERVER"]

_WITHOUT_THREADS = ("cache_control", "context_management", "fallbacks")
"""Members that cannot be combined with a thread."""


def whole(
    body: dict[str, Any], memory: ServerMemory, account: str, headers: Headers
) -> dict[str, Any]:
    """The body with the part of the conversation that the server holds; raises `Refused` if there is none, or it was continued already."""
    thread = body.get("thread")
    if thread is None:
        return body
    if THREADS_BETA not in headers.get("anthropic-beta", ""):
        raise Refused(Refusal(text="thread: Extra inputs are not permitted"))
    if unsupported := [name for name in _WITHOUT_THREADS if body.get(name)]:
        raise Refused(unsupported_thread(f"{', '.join(unsupported)} cannot be used with `thread`"))
    if (refusal := thread_refusal(body)) is not None:
        raise Refused(refusal)
    if as_dict(thread)["type"] == "create":
        return body
    name = as_dict(thread)["previous_message_id"]
    held = memory.responses.get(f"{account} {name}")
    if held is None:
        raise Refused(no_thread(name))
    if held["is_continued"]:
        text = f"{name} has already been continued; continue from the most recent response of the thread"
        raise Refused(Refusal(text=text, code="thread_already_continued"))
    messages = [*held["messages"], *as_list(body.get("messages"))]
    return {**body, **held["members"], "messages": messages}


def is_on(call: EmulatedCall) -> bool:
    """Whether the model thinks in this call."""
    return claude.is_on(call.body, call)


def check(call: EmulatedCall) -> Iterator[Refusal]:
    """Refuses invalid signatures."""
    messages = [as_dict(message) for message in as_list(call.body.get("messages"))]
    system = call.as_read(call.body.get("system"))
    return claude.check(call, messages, system, call.body.get("tools"), call.body)


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn, with signed thinking."""
    body = call.body
    messages = [as_dict(message) for message in as_list(body.get("messages"))]
    prefix = claude.prefix_of(call.as_read(body.get("system")), body.get("tools"), messages)
    parts_here: list[Part] = [
        call.thinking(block.get("thinking", ""), block)
        for block in claude.thinking_blocks(call, draft, body, prefix)
    ]
    if draft.text:
        parts_here.append(call.text(draft.text))
    for position, (name, values) in enumerate(draft.calls):
        parts_here.append(call.tool_call(name, arguments_of(values), call.id("toolu_", position)))
    if body.get("thread") is not None:
        _hold(call, messages, parts_here)
    return parts_here


def _hold(call: EmulatedCall, messages: list[dict[str, Any]], turn: list[Part]) -> None:
    """Holds the conversation and its answer under the id of the answer."""
    body, memory = call.body, call.memory
    content = exact_answer(Response(parts=tuple(turn), ended=True), call.dialect).body["content"]
    previous = as_dict(body["thread"]).get("previous_message_id")
    if before := memory.responses.get(f"{call.account} {previous}"):
        before["is_continued"] = True
    memory.responses[f"{call.account} {call.id(DIALECT.id_start)}"] = {
        "messages": [*messages, {"role": "assistant", "content": content}],
        "members": {name: body[name] for name in THREAD_MEMBERS if name in body},
        "is_continued": False,
    }


def _carried(text: str, seal: str) -> dict[str, Any] | None:
    return {"type": "thinking", "thinking": text, "signature": seal}


SERVER = DialectServer(
    is_on=is_on,
    check=check,
    parts=parts,
    whole=whole,
    carried=_carried,
    overloaded=Refusal(text="Overloaded", status=529, type="overloaded_error"),
)
