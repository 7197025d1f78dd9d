"""The server's side of the Interactions API: requests are read here, answers written in `answer.py`."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, ToolResult
from innervoice.canon.request import Request
from innervoice.wire.interactions.media import KINDS, read_media
from innervoice.wire.interactions.read import InteractionsReader
from innervoice.wire.interactions.serve_response import write_error, write_stream_error
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.serve_request import (
    UserContent,
    assistant_turn,
    checked_messages,
    request_of,
    schema_format,
    setting_of,
    without,
)

__all__ = ["read_request", "steps_of", "write_error", "write_stream_error"]

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
    known: dict[str, Any] = {
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
        known["system"] = body["system_instruction"]
        read.add("system_instruction")
    elsewhere: dict[str, Any] = {}
    _take_choice(config, known, elsewhere)
    asked = {
        "effort": as_text(config.get("thinking_level")),
        "show": _SHOWN.get(str(config.get("thinking_summaries"))),
    }
    setting = setting_of({name: value for name, value in asked.items() if value})
    if setting is not None:
        known["reasoning"] = setting
        config = without(config, "thinking_level", "thinking_summaries")
    read |= _take_format(body, known, elsewhere)
    rest = {**body, "generation_config": config} if config else without(body, "generation_config")
    messages = _messages(body.get("input"))
    return request_of(rest, _DIALECT, messages, known, read, elsewhere=elsewhere)


def _take_choice(config: dict[str, Any], known: dict[str, Any], elsewhere: dict[str, Any]) -> None:
    """Reads the tool choice; what `Request` cannot express stays where it is."""
    choice = config.get("tool_choice")
    match choice:
        case str() if choice in _CHOICES:
            known["tool_choice"] = _CHOICES[config.pop("tool_choice")]
        case {"allowed_tools": {"mode": "any", "tools": [str(name)], **more}, **rest} if not (
            more or rest or name in _NEAREST or name == "required"
        ):
            known["tool_choice"] = name
            del config["tool_choice"]
        case _:
            mode = as_dict(as_dict(choice).get("allowed_tools")).get("mode")
            word = choice if isinstance(choice, str) else mode
            if isinstance(word, str) and word in _NEAREST:
                elsewhere["tool_choice"] = (None, _NEAREST[word])


def _take_format(
    body: dict[str, Any], known: dict[str, Any], elsewhere: dict[str, Any]
) -> set[str]:
    """Reads the response format, and gives the members that hold nothing else."""
    match body.get("response_format"):
        case {"type": "text", "mime_type": "application/json", **rest} if not (
            rest.keys() - {"schema"}
        ):
            schema = rest.get("schema")
            known["response_format"] = schema_format(schema) if schema else {"type": "json_object"}
            return {"response_format"}
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

    def close() -> None:
        if turn:
            answer = {"object": "interaction", "status": "completed", "steps": list(turn)}
            messages.append(assistant_turn(InteractionsReader(Context()), answer))
            turn.clear()

    is_other = value is not None and not isinstance(value, (str, dict, list))
    steps = checked_messages(value if is_other else steps_of(value), "input")
    for step in steps:
        match step.get("type"):
            case "user_input" | None:
                close()
                messages.append(Message("user", _said(step.get("content"))))
            case "function_result":
                close()
                messages.append(Message("tool", (_result(step),)))
            case _:
                turn.append(step)
    close()
    return messages


def _said(content: Any) -> tuple[Part, ...]:
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
