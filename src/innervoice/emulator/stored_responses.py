"""What OpenAI's server has stored: responses, their events and input items, answers in the background, and conversations.

An answer in the background is complete after it was asked for once: first it is queued, then in progress, then complete. Nothing runs in
between, so the same requests always get the same replies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from innervoice.answering.writing import CREATED, exact_answer, exact_stream
from innervoice.canon.response import Response
from innervoice.emulator.call import EmulatedCall, ServerMemory, digest
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.responses import DIALECT
from innervoice.wire.responses.body import ended_early, unfinished
from innervoice.wire.responses.conversations import (
    EXCLUSIVE,
    checked_items,
    checked_metadata,
    conversation_body,
    deleted_conversation,
    no_conversation,
    no_item,
    page_of,
    with_id,
)
from innervoice.wire.rules import refused
from innervoice.wire.serve import Query

__all__ = ["StoredReply", "answered", "conversation_of", "reply_about", "state_problems"]

_ENCRYPTED = "reasoning.encrypted_content"
_RESPONSE = re.compile(r".*/responses/(resp_\w+)(/cancel|/input_items)?")
_CONVERSATION = re.compile(r".*/conversations(?:/(conv_\w+)(?:(/items)(?:/([^/]+))?)?)?")
_SIZE = 12


class StoredReply(NamedTuple):
    """A reply: a body, or the frames of a stream."""

    body: dict[str, Any]
    frames: Iterator[Frame] | None = None


def reply_about(
    memory: ServerMemory, method: str, path: str, body: Callable[[], dict[str, Any]]
) -> StoredReply | None:
    """The reply to a request about something stored; None if the path names nothing of the kind. Raises `Refused`."""
    url = urlsplit(path)
    query = parse_qs(url.query)
    if match := _RESPONSE.fullmatch(url.path):
        return _of_response(memory, method, match[1], match[2] or "", query)
    if match := _CONVERSATION.fullmatch(url.path):
        return _of_conversation(memory, method, match[1], bool(match[2]), match[3], query, body)
    return None


# ---- responses ------------------------------------------------------------------------------------


def _of_response(
    memory: ServerMemory, method: str, name: str, verb: str, query: Query
) -> StoredReply | None:
    record = memory.responses.get(name)
    if record is None or "answer" not in record:
        raise Refused(Refusal(text=f"Response with id '{name}' not found.", status=404))
    match method, verb:
        case "GET" | "HEAD", "":
            return _shown(record, query)
        case "GET", "/input_items":
            suffix = name.removeprefix("resp_")
            items = [with_id(item, f"{suffix}_{n}") for n, item in enumerate(record["input"])]
            return StoredReply(page_of(items, query))
        case "DELETE", "":
            del memory.responses[name]
            return StoredReply({"id": name, "object": "response", "deleted": True})
        case "POST", "/cancel":
            if not record["echo"].get("background"):
                raise Refused(refused("Cannot cancel a synchronous response."))
            if record["waits"]:
                record["waits"], record["cancelled"] = 0, True
            return StoredReply(_body(record))
    return None


def _shown(record: dict[str, Any], query: Query) -> StoredReply:
    if _ENCRYPTED in [*query.get("include", ()), *query.get("include[]", ())]:
        text = "Encrypted content cannot be requested for persisted responses"
        raise Refused(refused(text, param="include"))
    if query.get("stream", ["false"])[-1] == "true":
        after = int(query.get("starting_after", ["-1"])[-1])
        record["waits"] = 0
        return StoredReply({}, iter(list(_frames(record))[after + 1 :]))
    body = _body(record)
    record["waits"] = max(0, record["waits"] - 1)
    return StoredReply(body)


def _frames(record: dict[str, Any]) -> Iterator[Frame]:
    echo = record["echo"]
    return exact_stream(
        record["answer"], DIALECT.name, _SIZE, echo=echo, queued=bool(echo.get("background"))
    )


def _body(record: dict[str, Any]) -> dict[str, Any]:
    """A response as it is now; what is stored is shown without its encrypted content."""
    body = exact_answer(record["answer"], DIALECT.name, echo=record["echo"]).body
    if record["cancelled"]:
        return ended_early({**body, "output": []}, None)
    if record["waits"]:
        return unfinished(body, "in_progress")
    output = [
        {name: item[name] for name in item if name != "encrypted_content"}
        for item in body["output"]
    ]
    return {**body, "output": output}


def answered(call: EmulatedCall, answer: Response, echo: dict[str, Any]) -> dict[str, Any] | None:
    """Stores an answer; returns the reply to a request for one in the background that is not streamed, else None."""
    record = call.memory.responses.get(answer.id or "")
    is_background = bool(call.body.get("background"))
    if call.dialect != DIALECT.name or record is None:
        return None
    given = call.body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else as_list(given)
    waits = 1 if is_background and not call.stream else 0
    record |= {"answer": answer, "echo": echo, "input": items, "waits": waits, "cancelled": False}
    if not waits:
        return None
    return unfinished(exact_answer(answer, DIALECT.name, echo=echo).body, "queued")


# ---- conversations --------------------------------------------------------------------------------


def state_problems(call: EmulatedCall) -> Iterator[Refusal]:
    """What is wrong with the members of a request that name stored things."""
    name = conversation_of(call.body)
    if name is not None and call.body.get("previous_response_id"):
        yield EXCLUSIVE
    if name is not None and name not in call.memory.conversations:
        yield no_conversation(name)
    if call.body.get("background") and call.body.get("store") is False:
        yield refused("Background mode requires 'store' to be true.", param="background")


def conversation_of(body: dict[str, Any]) -> str | None:
    """The id of the conversation that a request belongs to."""
    value = body.get("conversation")
    name = value.get("id") if isinstance(value, dict) else value
    return str(name) if name else None


def _of_conversation(
    memory: ServerMemory,
    method: str,
    name: str | None,
    has_items: bool,
    item: str | None,
    query: Query,
    body: Callable[[], dict[str, Any]],
) -> StoredReply | None:
    if name is None:
        return _created(memory, body()) if method == "POST" else None
    record = memory.conversations.get(name)
    if record is None:
        raise Refused(no_conversation(name))
    if has_items:
        return _of_items(name, record, method, item, query, body)
    if method == "DELETE":
        del memory.conversations[name]
        return StoredReply(deleted_conversation(name))
    if method == "POST":
        record["metadata"] = checked_metadata(body().get("metadata"))
    return StoredReply(conversation_body(name, CREATED, record["metadata"]))


def _created(memory: ServerMemory, value: dict[str, Any]) -> StoredReply:
    name = f"conv_{digest([len(memory.conversations), value])}"
    items = [
        with_id(item, f"{name.removeprefix('conv_')}_{number}")
        for number, item in enumerate(checked_items(value.get("items")))
    ]
    metadata = checked_metadata(value.get("metadata"))
    memory.conversations[name] = {"metadata": metadata, "items": items}
    return StoredReply(conversation_body(name, CREATED, metadata))


def _of_items(
    name: str,
    record: dict[str, Any],
    method: str,
    item: str | None,
    query: Query,
    body: Callable[[], dict[str, Any]],
) -> StoredReply | None:
    items: list[dict[str, Any]] = record["items"]
    if item is None:
        if method != "POST":
            return StoredReply(page_of(items, query))
        start = f"{name.removeprefix('conv_')}_{len(items)}"
        added = [
            with_id(one, f"{start}_{number}")
            for number, one in enumerate(checked_items(body().get("items")))
        ]
        items += added
        return StoredReply(page_of(added, {"order": ["asc"]}))
    one = next((one for one in items if as_dict(one).get("id") == item), None)
    if one is None:
        raise Refused(no_item(item, name))
    if method == "DELETE":
        items.remove(one)
        return StoredReply(conversation_body(name, CREATED, record["metadata"]))
    return StoredReply(one)
