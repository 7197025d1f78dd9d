"""The server's side of the Responses API: reads requests, writes errors and lists of models."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message, user
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque
from innervoice.canon.request import Request
from innervoice.frames.frame import Frame
from innervoice.wire.dialects import dialect_named
from innervoice.wire.effort_messages import changed_effort
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.responses.body import ECHOED, echo_of, ended_early, unfinished
from innervoice.wire.responses.compactions import ASKED as COMPACTION_ASKED
from innervoice.wire.responses.conversations import page_of, with_id
from innervoice.wire.responses.read import ResponsesReader
from innervoice.wire.responses.write import read_media
from innervoice.wire.serve import (
    NO_MODEL,
    Query,
    StoredAnswers,
    UserContent,
    assistant_turn,
    checked_messages,
    openai_error,
    request_of,
    setting_of,
    with_role,
    without,
)
from innervoice.wire.serve import openai_model as model_card
from innervoice.wire.serve import openai_models as model_list

__all__ = [
    "NO_MODEL",
    "STORED",
    "UNKNOWN_MODEL",
    "model_card",
    "model_list",
    "read_messages",
    "read_request",
    "write_error",
    "write_stream_error",
]

_NAME = "openai-responses"
_UPDATE = "configuration_update"
_CONTENT = UserContent(_NAME, read_media)
_OPTIONS = ("temperature", "top_p", "tools", "parallel_tool_calls", "stream")
_CHOICES = ("auto", "none", "required", "any")
_SUMMARIES = ("auto", "concise", "detailed")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ASIDE = ("item_reference", _UPDATE, "additional_tools", COMPACTION_ASKED)
"""Items that are neither said nor answered."""


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body. The API stores by default."""
    read = {"model", "input", "store", "tool_choice", *_OPTIONS}
    options = {name: body.get(name) for name in _OPTIONS}
    options["store"] = body.get("store") is not False
    if isinstance(body.get("instructions"), str):
        options["system"] = body["instructions"]
        read.add("instructions")
    if isinstance(body.get("max_output_tokens"), int):
        options["max_tokens"] = body["max_output_tokens"]
        read.add("max_output_tokens")
    elsewhere: dict[str, Any] = {}
    options["tool_choice"] = _choice(body.get("tool_choice"), elsewhere)
    text, reasoning = as_dict(body.get("text")), as_dict(body.get("reasoning"))
    if as_dict(text.get("format")):
        options["response_format"] = text["format"]
        text = without(text, "format")
    wishes = {"effort": as_text(reasoning.get("effort"))}
    summary = reasoning.get("summary")
    if summary in _SUMMARIES:
        wishes["show"] = "summary"
    setting = setting_of({name: value for name, value in wishes.items() if value})
    if setting is not None:
        options["reasoning"] = setting
        # "auto" is written for a summary; any other word is kept next to it.
        reasoning = without(reasoning, "effort", *(["summary"] if summary == "auto" else []))
    changed = {"text": text, "reasoning": reasoning}
    read |= {name for name, value in changed.items() if not value}
    changed = {name: value for name, value in changed.items() if value}
    messages = read_messages(body.get("input"))
    return request_of(
        {**body, **changed}, "openai-responses", messages, options, read, elsewhere=elsewhere
    )


def _choice(choice: Any, elsewhere: dict[str, Any]) -> Any:
    match choice:
        case {"type": "function", "name": str(name), **rest} if not rest and name not in _CHOICES:
            return name
        case {"type": "custom", "name": str(name)}:
            elsewhere["tool_choice"] = (choice, name)
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode}:
            elsewhere["tool_choice"] = (choice, mode)
        case _:
            pass
    return choice


def read_messages(value: Any) -> list[Message]:
    """The messages of an input: a text, or a list of items."""
    if isinstance(value, str):
        return [user(value)]
    messages: list[Message] = []
    turn: list[dict[str, Any]] = []

    def close() -> None:
        if turn:
            answer = {"object": "response", "status": "completed", "output": list(turn)}
            messages.append(assistant_turn(ResponsesReader(Context()), answer))
            turn.clear()

    for item in checked_messages(value, "input"):
        kind, role = item.get("type") or "message", item.get("role")
        if kind == "message" and role != "assistant":
            close()
            messages.append(_message_of(item))
        elif kind in _RESULTS:
            close()
            more = item if item.keys() - {"type", "call_id", "output"} else None
            rest = {"type": kind} if kind != "function_call_output" else {}
            result = _CONTENT.result(item.get("call_id"), item.get("output"), block=more)
            messages.append(with_role("tool", (result,), "openai-responses", rest))
        elif kind == _UPDATE and (effort := changed_effort(item, dialect_named(_NAME))):
            close()
            origin = Origin(dialect=_NAME, block=item, item="input")
            messages.append(Message("system", (), origin, effort=effort))
        elif str(kind).endswith("_output") or kind in _ASIDE:
            close()
            raw = Opaque(item, origin=Origin(dialect="openai-responses", item="input"))
            messages.append(Message("user", (raw,)))
        else:
            turn.append(_answered(item))
    close()
    return messages


def _message_of(item: dict[str, Any]) -> Message:
    role = item.get("role")
    rest = without(item, "role", "content")
    if role not in ("system", "user"):
        rest["role"] = role
    name = "system" if role in ("system", "developer") else "user"
    return with_role(name, _CONTENT.parts(item.get("content")), "openai-responses", rest)  # type: ignore[arg-type]


def _answered(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the model; a message may be shortened to one text."""
    content = item.get("content")
    if isinstance(content, str):
        return {**item, "type": "message", "content": [{"type": "output_text", "text": content}]}
    return {**item, "type": item.get("type", "message")}


# ---- Errors.


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error."""
    return openai_error(refusal)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream; its sequence number is unknown here, so it is 0.

    OpenAI's types have the members of the error in the event, its servers and Open Responses have them in `error`: both are written.
    """
    event = {
        "type": "error",
        "code": refusal.code,
        "message": refusal.text,
        "param": refusal.param,
        **openai_error(refusal),
        "sequence_number": 0,
    }
    return Frame(dump_json(event), "error")


# ---- How OpenAI's API describes its models; an unknown one is an invalid request in Responses.


UNKNOWN_MODEL = Refusal(
    text="The requested model '{model}' does not exist.", code="model_not_found", param="model"
)


# ---- Stored responses, and the list of the items that a request had as its input.


_PREVIOUS = "previous_response_id"
_LONGEST_NAME = 200


def _items_of(value: Any) -> list[Any]:
    """The items as they came; words alone are a message of the user's."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else as_list(value)


def _missing(name: str) -> Refusal:
    return Refusal(text=f"Response with id '{name[:_LONGEST_NAME]}' not found.", status=404)


def _no_previous(name: str) -> Refusal:
    return Refusal(
        text=f"Previous response with id '{name[:_LONGEST_NAME]}' not found.",
        code="previous_response_not_found",
        param=_PREVIOUS,
    )


def _no_item(name: str) -> Refusal:
    text = f"Item with id '{name[:_LONGEST_NAME]}' not found."
    return Refusal(text=text, status=404, param="input")


def _deleted(name: str) -> dict[str, Any]:
    return {"id": name, "object": "response", "deleted": True}


def _visible(answer: dict[str, Any], items: list[Any], query: Query) -> dict[str, Any]:
    return answer


# ---- input items -----------------------------------------------------------------------------------------


def _listed(name: str, items: list[Any], query: Query) -> dict[str, Any]:
    """One page of the items of a request; raises `Refused` for an invalid query."""
    suffix = name.removeprefix("resp_")
    with_ids = [with_id(item, f"{suffix}_{number}") for number, item in enumerate(items)]
    return page_of(with_ids, query)


STORED = StoredAnswers(
    dialect="openai-responses",
    noun="response",
    previous=_PREVIOUS,
    output="output",
    goes_on=("completed", "incomplete"),
    ended=("completed", "incomplete", "failed", "cancelled"),
    confirmed_by="store",
    reference="item_reference",
    conversation="conversation",
    echoed=ECHOED,
    echo=echo_of,
    only_there={
        "prompt": "stored prompts are supported only if the request is forwarded unchanged to the provider that has them; send their "
        "text in `instructions` and `input`",
    },
    background="background",
    unfinished=unfinished,
    ended_early=ended_early,
    lost=("previous response", "item with id"),
    items_of=_items_of,
    missing=_missing,
    no_previous=_no_previous,
    no_item=_no_item,
    cannot_cancel="Cannot cancel a synchronous response. Only responses with background=true can be cancelled.",
    deleted=_deleted,
    shown=_visible,
    listed=_listed,
)
