"""The response object around the items of an answer: its status, its counts, its error, and the members that repeat the request.

Every member that OpenAI's API and Open Responses (https://www.openresponses.org/specification, read 2026-11-17) require is always
written. A request in, the members of the response that repeat it out: `echo_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.wire.json_access import as_dict
from innervoice.wire.serve import own_word, without

__all__ = [
    "ECHOED",
    "echo_of",
    "ended_early",
    "ending",
    "last_event",
    "response_body",
    "unfinished",
]

_DIALECT = "openai-responses"
_INCOMPLETE = ("max_output_tokens", "max_tokens", "max_messages", "content_filter", "steered")
_STATUSES = ("completed", "incomplete", "failed", "cancelled")
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter", "pause": "steered"}

_NUMBER = (int, float)
# Members of a request that its response repeats -> their types, and the value where the request has none.
_REPEATED: dict[str, tuple[type | tuple[type, ...], Any]] = {
    "background": (bool, False),
    "frequency_penalty": (_NUMBER, 0.0),
    "instructions": ((str, list), None),
    "max_output_tokens": (int, None),
    "max_tool_calls": (int, None),
    "metadata": (dict, {}),
    "parallel_tool_calls": (bool, True),
    "presence_penalty": (_NUMBER, 0.0),
    "previous_response_id": (str, None),
    "prompt_cache_key": (str, None),
    "reasoning": (dict, {}),
    "safety_identifier": (str, None),
    "service_tier": (str, "default"),
    "store": (bool, True),
    "temperature": (_NUMBER, 1.0),
    "text": (dict, {}),
    "tool_choice": ((str, dict), "auto"),
    "tools": (list, []),
    "top_logprobs": (int, 0),
    "top_p": (_NUMBER, 1.0),
    "truncation": (str, "disabled"),
    "user": (str, None),
}
ECHOED = tuple(_REPEATED)
"""The members of a request that its response repeats."""
_SECRET = ("authorization", "headers")
"""Members of a tool with credentials, which a response never repeats."""


def echo_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a response that repeat a request, with the API's defaults for those that the request does not have."""
    echo = {name: _value(request.get(name), *row) for name, row in _REPEATED.items()}
    echo["reasoning"] = {"effort": None, "summary": None, **echo["reasoning"]}
    echo["text"] = {**echo["text"], "format": _format(as_dict(echo["text"].get("format")))}
    echo["tools"] = [_tool(tool) for tool in map(as_dict, echo["tools"]) if tool]
    if as_dict(echo["tool_choice"]).get("type") == "allowed_tools":
        echo["tool_choice"] = {"mode": "auto", **echo["tool_choice"]}
    if echo["service_tier"] == "auto":
        echo["service_tier"] = "default"  # a response has the one that was used
    return echo


def _value(value: Any, kind: type | tuple[type, ...], usual: Any) -> Any:
    is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return value if is_right else usual


def _format(options: dict[str, Any]) -> dict[str, Any]:
    if options.get("type") != "json_schema":
        return options or {"type": "text"}
    usual = {"name": "response", "description": None, "schema": None, "strict": False}
    return {**usual, **{name: value for name, value in options.items() if value is not None}}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool.get("type") == "function":
        return {"description": None, "parameters": None, "strict": None, **tool}
    return without(tool, *_SECRET)


def response_body(
    answer: Response,
    output: list[dict[str, Any]],
    *,
    created: int,
    completed: int | None = None,
    echo: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The object around the items. `completed` is the time of its end; `echo` has the members that repeat the request."""
    status, reason = ending(answer)
    return {
        "id": answer.id or "resp_0",
        "object": "response",
        "created_at": created,
        "completed_at": completed if status == "completed" else None,
        "status": status,
        "error": _failure_of(answer) if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": answer.model or "",
        "output": output,
        "usage": _counted(answer.usage),
        **(echo_of({"store": False}) if echo is None else echo),
    }


def unfinished(body: Mapping[str, Any], status: str) -> dict[str, Any]:
    """A response that has not ended: nothing is known of its output."""
    unknown = ("completed_at", "error", "incomplete_details", "usage")
    return {**body, "status": status, **dict.fromkeys(unknown), "output": []}


def ended_early(body: Mapping[str, Any], problem: str | None) -> dict[str, Any]:
    """A response that was cancelled or, with a problem, failed; what it has as output stays."""
    error = {"code": "server_error", "message": problem} if problem else None
    status = "failed" if problem else "cancelled"
    ended = {"completed_at": None, "incomplete_details": None, "error": error}
    return {**body, **ended, "status": status}


def last_event(status: str) -> str:
    """The event that ends the stream of a response; the API has none for one that was cancelled."""
    return f"response.{'failed' if status == 'cancelled' else status}"


def ending(answer: Response) -> tuple[str, str | None]:
    """The status, and the reason of one that is incomplete."""
    word = own_word(answer, _DIALECT)
    if word in _INCOMPLETE:
        return "incomplete", word
    if word in _STATUSES:
        return word, None
    if word is not None and answer.finish_reason is None:
        return "incomplete", word  # a reason that is not known here
    if reason := _REASONS.get(answer.finish_reason or ""):
        return "incomplete", reason
    return "failed" if answer.finish_reason == "error" else "completed", None


def _failure_of(answer: Response) -> dict[str, Any]:
    error = answer.error
    code = error.code if error and isinstance(error.code, str) else "server_error"
    message = (error and error.message) or "The model failed to generate a response."
    return {"code": code, "message": message}


def _counted(usage: Usage) -> dict[str, Any] | None:
    """The counts; the details are always included, as in the API."""
    counts = (usage.input_tokens, usage.output_tokens)
    if counts == (None, None):
        return None
    read, written = (count or 0 for count in counts)
    cached = usage.cached_input_tokens or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": read + written,
    }
