"""The server's side of the Interactions API: requests are read here, answers written in `answer.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, ToolResult
from innervoice.canon.request import Request
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.gemini.serve import model_card, model_list
from innervoice.wire.interactions.read import InteractionsReader
from innervoice.wire.interactions.write import KINDS, read_media
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    Query,
    StoredAnswers,
    UserContent,
    assistant_turn,
    checked_messages,
    own_word,
    request_of,
    schema_format,
    setting_of,
    with_role,
    without,
)

__all__ = [
    "DONE",
    "NO_MODEL",
    "STORED",
    "UNKNOWN_MODEL",
    "counted",
    "error_of",
    "model_card",
    "model_list",
    "read_request",
    "status_of",
    "steps_of",
    "write_error",
    "write_stream_error",
]

_DIALECT = "gemini-interactions"
_CONTENT = UserContent(_DIALECT, read_media)
_CHOICES: dict[Any, str] = {"auto": "auto", "none": "none", "any": "required"}
_NEAREST = {**_CHOICES, "validated": "auto"}
_SHOWN = {"auto": "summary", "none": "hidden"}
_JSON = "application/json"
_RESULT = {"type", "call_id", "result", "name", "is_error"}


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body. The API stores by default."""
    config = dict(as_dict(body.get("generation_config")))
    options: dict[str, Any] = {
        "max_tokens": config.pop("max_output_tokens", None),
        "temperature": config.pop("temperature", None),
        "top_p": config.pop("top_p", None),
        "stop": config.pop("stop_sequences", None),
        "tools": body.get("tools"),
        "stream": body.get("stream"),
        "store": body.get("store") is not False,
    }
    read = {"model", "input", "stream", "store"}
    read |= {"tools"} if isinstance(body.get("tools"), list) else set()
    if isinstance(body.get("system_instruction"), str):
        options["system"] = body["system_instruction"]
        read.add("system_instruction")
    elsewhere: dict[str, Any] = {}
    _take_choice(config, options, elsewhere)
    asked = {
        "effort": as_text(config.get("thinking_level")),
        "show": _SHOWN.get(str(config.get("thinking_summaries"))),
    }
    setting = setting_of({name: value for name, value in asked.items() if value})
    if setting is not None:
        options["reasoning"] = setting
        config = without(config, "thinking_level", "thinking_summaries")
    read |= _take_format(body, options, elsewhere)
    rest = {**body, "generation_config": config} if config else without(body, "generation_config")
    messages = _messages(body.get("input"))
    return request_of(rest, _DIALECT, messages, options, read, elsewhere=elsewhere)


def _take_choice(
    config: dict[str, Any], options: dict[str, Any], elsewhere: dict[str, Any]
) -> None:
    """Reads the tool choice; what `Request` cannot express stays where it is."""
    choice = config.get("tool_choice")
    match choice:
        case str() if choice in _CHOICES:
            options["tool_choice"] = _CHOICES[config.pop("tool_choice")]
        case {"allowed_tools": {"mode": "any", "tools": [str(name)], **more}, **rest} if not (
            more or rest or name in _NEAREST or name == "required"
        ):
            options["tool_choice"] = name
            del config["tool_choice"]
        case _:
            mode = as_dict(as_dict(choice).get("allowed_tools")).get("mode")
            word = choice if isinstance(choice, str) else mode
            if isinstance(word, str) and word in _NEAREST:
                elsewhere["tool_choice"] = (None, _NEAREST[word])


def _take_format(
    body: dict[str, Any], options: dict[str, Any], elsewhere: dict[str, Any]
) -> set[str]:
    """Reads the response format, and gives the members that hold nothing else."""
    match body.get("response_format"):
        case {"type": "text", "mime_type": "application/json", **rest} if not (
            rest.keys() - {"schema"}
        ):
            schema = rest.get("schema")
            options["response_format"] = (
                schema_format(schema) if schema else {"type": "json_object"}
            )
            return {"response_format"}
        case {"type": "text", "mime_type": "application/json", **rest}:
            form = {"type": "json_schema" if "schema" in rest else "json_object", **rest}
            elsewhere["response_format"] = (None, form)
        case dict() as schema if body.get("response_mime_type") == _JSON:
            # The older form: the schema itself.
            elsewhere["response_format"] = (None, schema_format(schema))
        case _:
            pass
    return set()


# ---- the input ----------------------------------------------------------------------------------------


def steps_of(value: Any) -> list[Any]:
    """The steps of an input, which may also be a text, a content or a list of contents."""
    if isinstance(value, str):
        return [_user_input([{"type": "text", "text": value}])]
    if isinstance(value, dict):
        return [_user_input([value])] if value.get("type") in ("text", *KINDS) else [value]
    steps: list[Any] = []
    for item in as_list(value):
        is_content = as_dict(item).get("type") in ("text", *KINDS)
        if not is_content and not isinstance(item, str):
            steps.append(item)
            continue
        content = {"type": "text", "text": item} if isinstance(item, str) else item
        if steps and steps[-1].get("bare"):
            steps[-1]["content"].append(content)
        else:
            steps.append({**_user_input([content]), "bare": True})
    return [without(step, "bare") if isinstance(step, dict) else step for step in steps]


def _user_input(content: list[Any]) -> dict[str, Any]:
    return {"type": "user_input", "content": content}


def _messages(value: Any) -> list[Message]:
    messages: list[Message] = []
    turn: list[dict[str, Any]] = []

    def close(beside: dict[str, Any] | None = None) -> None:
        if turn:
            answer = {"object": "interaction", "status": "completed", "steps": list(turn)}
            messages.append(assistant_turn(InteractionsReader(Context()), answer, beside))
            turn.clear()

    is_other = value is not None and not isinstance(value, (str, dict, list))
    steps = checked_messages(value if is_other else steps_of(value), "input")
    for step in steps:
        match step.get("type"):
            case "user_input" | None:
                close()
                parts = _content_parts(step.get("content"))
                rest = without(step, "type", "content")
                messages.append(with_role("user", parts, _DIALECT, rest))
            case "model_output" if rest := without(step, "type", "content", "error"):
                # A message of its own, because its members are not those of the whole turn.
                close()
                turn.append(step)
                close(rest)
            case "function_result":
                close()
                messages.append(Message("tool", (_result(step),)))
            case _:
                turn.append(step)
    close()
    return messages


def _content_parts(content: Any) -> tuple[Part, ...]:
    """What a user says. Vercel's SDK puts the results of functions among it."""
    if not isinstance(content, list):
        return _CONTENT.parts(content)
    return tuple(
        _result(block) if as_dict(block).get("type") == "function_result" else _CONTENT.part(block)
        for block in content
    )


def _result(step: dict[str, Any]) -> ToolResult:
    """A result. An object goes home as it came; elsewhere it is JSON."""
    value, failed = step.get("result"), step.get("is_error") is True
    is_usual = isinstance(value, (str, list)) or value is None
    block = None if is_usual and not step.keys() - _RESULT else step
    if is_usual:
        return _CONTENT.result(step.get("call_id"), value, error=failed, block=block)
    name = as_text(step.get("call_id")) or "unknown"
    origin = Origin(dialect=_DIALECT, block=step)
    return ToolResult(name, dump_json(value).decode(), failed, origin)


# ---- How an answer of the Interactions API ends: its status, its counts, and the errors in its place.


DONE = Frame(b"[DONE]", "done")
"""The last frame of every stream."""
_STATUSES: dict[FinishReason | None, str] = {
    "length": "incomplete",
    "content_filter": "incomplete",
    "tool_calls": "requires_action",
    "pause": "requires_continuation",
    "error": "failed",
}
# invalid_request, resource_exhausted and gateway_timeout are Google's; the others follow them.
_CODES = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    409: "aborted",
    402: "failed_precondition",
    429: "resource_exhausted",
    500: "internal",
    503: "unavailable",
    504: "gateway_timeout",
    529: "unavailable",
}


def error_of(refusal: Refusal) -> dict[str, Any]:
    """What is said of a refusal: a sentence and a word."""
    usual = "invalid_request" if refusal.status < 500 else "internal"
    is_own = refusal.code == usual or refusal.code in _CODES.values()
    code = refusal.code if is_own else _CODES.get(refusal.status, usual)
    return {"message": refusal.text, "code": code}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    return {"error": error_of(refusal)}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json({"error": error_of(refusal), "event_type": "error"}), "error")


def status_of(answer: Response) -> str:
    """The status that an answer ends with."""
    return own_word(answer, _DIALECT) or _STATUSES.get(answer.finish_reason, "completed")


def counted(usage: Usage) -> dict[str, int] | None:
    """The counts; the output is counted without thoughts. None if nothing is known."""
    read, written, thought = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
    if read is None and written is None:
        return None
    answer_tokens = max((written or 0) - (thought or 0), 0)
    return {
        "total_tokens": (read or 0) + answer_tokens + (thought or 0),
        "total_input_tokens": read or 0,
        "total_cached_tokens": usage.cached_input_tokens or 0,
        "total_output_tokens": answer_tokens,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": thought or 0,
    }


# ---- What the Interactions API says of models; the words for one that it does not have are ours.


NO_MODEL = Refusal(text="Invalid input at 'model'.")
UNKNOWN_MODEL = Refusal(text="models/{model} was not found.", status=404)


# Stored interactions, after the types of google-genai 3.1.0 and https://ai.google.dev/gemini-api/docs/interactions
# (read 2026-11-16).


_PREVIOUS = "previous_interaction_id"
_THERE = "supported only if the request is forwarded unchanged to Google"


def _missing(name: str) -> Refusal:
    return Refusal(text=f"Interaction with id '{name[:200]}' not found.", status=404)


def _no_previous(name: str) -> Refusal:
    return _missing(name).replace(param=_PREVIOUS)


def _deleted(name: str) -> dict[str, Any]:
    return {}


def _selected(answer: dict[str, Any], items: list[Any], query: Query) -> dict[str, Any]:
    """The interaction; with its input, if the query asks for that."""
    is_asked = any(query.get(name, ["false"])[-1].lower() in ("true", "1") for name in _INPUT)
    return {**answer, "input": items} if is_asked else answer


_INPUT = ("include_input", "includeInput")

STORED = StoredAnswers(
    dialect="gemini-interactions",
    noun="interaction",
    previous=_PREVIOUS,
    output="steps",
    echoed=(_PREVIOUS,),
    goes_on=("completed", "incomplete", "requires_action"),
    ended=("completed", "incomplete", "requires_action", "failed", "cancelled"),
    only_there={
        "background": f"background interactions are {_THERE}; remove `background`",
        "continuation_token": f"continuation_token is {_THERE}; repeat the request without it",
        "environment": f"environment is {_THERE}; remove it",
    },
    lost=("entity was not found", "interaction"),
    items_of=steps_of,
    missing=_missing,
    no_previous=_no_previous,
    cannot_cancel="Only interactions that run in the background can be cancelled.",
    deleted=_deleted,
    shown=_selected,
)
